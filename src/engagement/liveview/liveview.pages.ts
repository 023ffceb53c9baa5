import { readBrand } from '../../accounts/accounts.ts'
import { usableLang } from '../../lib/common-shapes.ts'
import { Problem } from '../../lib/problem.ts'
import { number } from '../../lib/quantity.ts'
import { type Html, html } from '../../pages/html.ts'
import {
  failurePage,
  formBytes,
  notFoundPage,
  ownPath,
  type Page,
  type PageCall,
  type PageView,
  tooLarge,
} from '../../pages/page.ts'
import type { App } from '../../store/work.ts'
import { type Block, headingLevels, type LeafBlock, leavesOf, type MarkupPage } from '../../studio/studio.ts'
import { recipientWork } from '../engagement.recipient.ts'
import { isScanned } from '../engagement.scanners.ts'
import { findSentByToken, type SentMail } from '../engagement.sent.ts'
import { isMachine, type Visit } from '../engagement.visits.ts'
import type { BlockKind } from '../interactions/blocks.ts'
import { recordInteraction } from '../interactions/interactions.record.ts'
import type { BlockForm, BlockPage, Entered } from './blocks.views.ts'
import { liveViewStyle } from './liveview.style.ts'
import { answerBlock, filledLeaves, type LiveView, markupsOf, showLiveView, textsOf } from './view.ts'

/**
 * Submits a block without leaving the page: posts the form, and replaces the block with its new version from the response. The
 * URL then names no answer, so that a reload does not answer again.
 *
 * Answers at once what the followed link names, but only for a person: the page is visible and has the focus, and no program
 * drives the browser. Scanners open pages in the background, and some run scripts.
 */
const script = `
document.addEventListener('submit', async (event) => {
  const form = event.target, section = form.closest('section')
  if (!form.dataset.inPlace || !window.fetch) return
  event.preventDefault()
  const body = new URLSearchParams(new FormData(form, event.submitter))
  try {
    const reply = await fetch(form.action, { method: 'POST', body })
    const page = new DOMParser().parseFromString(await reply.text(), 'text/html')
    const next = page.getElementById(section.id)
    if (!next) throw new Error()
    section.replaceWith(next)
    document.querySelector('main > [data-progress]').replaceWith(page.querySelector('main > [data-progress]'))
    history.replaceState(null, '', form.action)
    next.tabIndex = -1
    next.focus()
  } catch {
    const { submitter } = event
    if (submitter?.name) {
      const pressed = document.createElement('input')
      Object.assign(pressed, { type: 'hidden', name: submitter.name, value: submitter.value })
      form.append(pressed)
    }
    form.submit()
  }
})
// While an option has the focus: its letter or number answers, and arrows move. Elsewhere letters stay those of the browser.
document.addEventListener('keydown', (event) => {
  const { target, key } = event
  const group = target.closest('.options')
  if (!group || event.ctrlKey || event.metaKey || event.altKey) return
  const options = [...group.querySelectorAll('.option')]
  const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[key]
  if (step) {
    event.preventDefault()
    return options.at((options.indexOf(target) + step) % options.length).focus()
  }
  const isNumber = group.classList.contains('row')
  const option = isNumber
    ? options.find(({ value }) => value === (key === '0' ? '10' : key))
    : /^[a-z]$/i.test(key) && options[key.toUpperCase().charCodeAt(0) - 65]
  if (!option) return
  event.preventDefault()
  option.form.requestSubmit(option)
})
const answerAtOnce = () => {
  const option = document.querySelector('form[data-at-once] .chosen')
  if (!option || document.visibilityState !== 'visible' || !document.hasFocus() || navigator.webdriver) return
  delete option.form.dataset.atOnce
  option.form.requestSubmit(option)
}
addEventListener('focus', answerAtOnce)
document.addEventListener('visibilitychange', answerAtOnce)
answerAtOnce()
`

interface First {
  blockId: string
  /** The answer that the link names. */
  value?: string | undefined
  /** The answer is recorded as soon as the page knows that a person sees it. */
  isAtOnce?: boolean
}

/** The view and everything else that a page shows. */
interface Shown {
  app: App
  view: LiveView
  token: string
  forms: readonly BlockForm[]
  /** The levels of headings by block id. */
  levels: ReadonlyMap<string, number>
  /** The language of the project or else of the account, also of dates and numbers. It is null for English. */
  lang: string | null
  /** The name of the account, or of the email's sender. */
  host: string | null
  /** The HTML of texts by block id. */
  texts: ReadonlyMap<string, string>
  /** The `html` blocks by block id. */
  markups: ReadonlyMap<string, MarkupPage>
  /** The block that the followed link names is first on the page. */
  first?: First | undefined
  /** Why an answer was refused, and what was posted. */
  refusal?: { blockId: string; sentence: string; status: number; entered: Entered }
}

const link = (url: string, content: Html | string, className?: string): Html =>
  url
    ? html`<a href="${url}" rel="noopener noreferrer"${className && html` class="${className}"`}>${content}</a>`
    : html`${content}`

/** Images of other hosts are replaced by their alternative text: hosted pages load nothing from other hosts. */
const isOwnImage = ({ config }: App, src: string): boolean =>
  URL.parse(src)?.origin === URL.parse(config.publicUrl)?.origin

const image = ({ app }: Shown, { src, alt, href }: Extract<LeafBlock, { type: 'image' }>['props']): Html => {
  const isOwn = isOwnImage(app, src)
  const content = isOwn
    ? html`<img src="${src}" alt="${alt}">`
    : html`<span class="quiet">Picture: ${alt || 'untitled'}</span>`
  return html`<p>${link(href ?? (isOwn ? '' : src), content)}</p>`
}

const heading = (level: number, { text, align = 'left' }: Extract<LeafBlock, { type: 'heading' }>['props']): Html => {
  const tag = { text: `h${level}` }
  return html`<${tag} class="${align}">${text}</${tag}>`
}

/** Returns the path of the page, with a block as its first. */
const pathOf = (app: App, token: string, first: string | undefined): string =>
  `${ownPath(app, `/v/${token}`)}${first === undefined ? '' : `?${new URLSearchParams({ block: first })}`}`

const interactive = (shown: Shown, block: LeafBlock): Html => {
  const { view, token, forms, first, refusal } = shown
  const form = forms.find(({ type }) => type === block.type)
  if (!form) return html``
  const isFirst = first?.blockId === block.id
  const page: BlockPage = {
    state: Object.hasOwn(view.state, block.id) ? view.state[block.id] : undefined,
    isFirst,
    chosen: isFirst ? first?.value : undefined,
    now: shown.app.now().getTime(),
    lang: shown.lang,
    host: shown.host,
    entered: refusal?.blockId === block.id ? refusal.entered : {},
  }
  const url = pathOf(shown.app, token, first?.blockId)
  const isLeaving = form.leaves || form.next
  // Without a fragment if the form redirects: browsers would carry it over to the URL of the other page.
  const target = isLeaving ? html`action="${url}"` : html`action="${url}#${block.id}" data-in-place="true"`
  const isAtOnce = isFirst && first.isAtOnce
  const focus = isLeaving && html` tabindex="-1" autofocus`
  return html`<section id="${block.id}"${isFirst && html` class="first"`}>
${refusal?.blockId === block.id && html`<p class="problem" role="alert"${focus}>${refusal.sentence}</p>`}
<form method="post" ${target}${isAtOnce && html` data-at-once="true"`}>
<input type="hidden" name="block" value="${block.id}">
${form.form(block as never, page)}
</form>
</section>
`
}

const leaf = (shown: Shown, block: LeafBlock): Html => {
  switch (block.type) {
    case 'heading':
      return heading(shown.levels.get(block.id)!, block.props)
    case 'text':
      return html`<div class="${block.props.align ?? 'left'}">${{ text: shown.texts.get(block.id) ?? '' }}</div>`
    case 'html': {
      const { html: text, setsColors } = shown.markups.get(block.id)!
      return html`<div class="markup html-${block.id}${setsColors && ' own-colors'}">${{ text }}</div>\n`
    }
    case 'image':
      return image(shown, block.props)
    case 'button':
      return html`<p class="${block.props.align ?? 'left'}">${link(block.props.url, block.props.label, 'button')}</p>`
    case 'divider':
      return html`<hr>`
    case 'spacer':
      return html``
    default:
      return interactive(shown, block)
  }
}

/** The class of a box with its own background; the colours are in the page's style sheet. */
const boxClass = ({ id }: Block): string => `box-${id}`

const blockHtml = (shown: Shown, block: Block): Html => {
  if (block.id === shown.first?.blockId) return html``
  if (!('children' in block)) return leaf(shown, block)
  const children = block.children.map((child) => blockHtml(shown, child))
  const inside =
    block.type === 'columns'
      ? html`<div class="columns">${children.map((child) => html`<div>${child}</div>`)}</div>`
      : children
  return block.props.background
    ? html`<div class="box ${boxClass(block)}">${inside}</div>`
    : html`<div class="part">${inside}</div>`
}

const boxesOf = (blocks: readonly Block[]): { className: string; background: string }[] =>
  blocks.flatMap((block) => {
    if (!('children' in block)) return []
    const { background } = block.props
    return [...(background ? [{ className: boxClass(block), background }] : []), ...boxesOf(block.children)]
  })

/**
 * The level of an interactive block's own heading. An answered quiz has one too, but it is not always shown, so later headings
 * must not depend on it.
 */
const ownLevel = (block: LeafBlock): number | undefined =>
  block.type === 'form' || block.type === 'booking' || block.type === 'checkout' ? 2 : undefined

/** Returns whether an email has more than one block. */
const hasOthers = (blocks: readonly Block[]): boolean => leavesOf(blocks).length > 1

/** Returns the block that a query names, if people can answer it. */
const firstOf = (sent: SentMail, forms: readonly BlockForm[], { block }: PageCall['query']): First | undefined => {
  const found = filledLeaves(sent).find(({ id }) => id === block)
  return found && forms.some(({ type }) => type === found.type) ? { blockId: found.id } : undefined
}

const questions: ReadonlySet<string> = new Set(['vote', 'rating', 'quiz', 'form'])

/** Says how many of an email's questions are answered, and leads to the next, once the recipient answers one. */
const progress = ({ view, first, lang }: Shown): Html => {
  const asked = leavesOf(view.blocks).filter(({ type }) => questions.has(type))
  const open = asked.filter(({ id }) => !Object.hasOwn(view.state, id))
  const done = asked.length - open.length
  const isFirst = asked.some(({ id }) => id === first?.blockId)
  if (asked.length < 2 || (!isFirst && done === 0)) return html`<div data-progress></div>`
  const next = open.find(({ id }) => id !== first?.blockId) ?? open[0]
  const [shown, all] = [number(done, lang), number(asked.length, lang)]
  return html`<nav data-progress class="progress" aria-label="Questions">
<div><span>${next ? `${shown} of ${all} answered` : `All ${all} answered. Thank you.`}</span>
<progress max="${asked.length}" value="${done}" aria-label="Answered questions"></progress></div>
${next && html`<a href="#${next.id}">Next question</a>`}
</nav>`
}

const pageOf = async (sent: SentMail, given: Omit<Shown, 'levels' | 'markups'>): Promise<PageView> => {
  const { app } = given
  const levels = headingLevels(given.view.blocks, 1, ownLevel)
  const markups = await markupsOf(sent, levels, (src) => isOwnImage(app, src))
  const shown = { ...given, levels, markups }
  const { project, theme, blocks } = shown.view
  const first = leavesOf(blocks).find(({ id }) => id === shown.first?.blockId)
  const used = shown.forms.filter((form) => leavesOf(blocks).some(({ type }) => type === form.type))
  return {
    ...(shown.refusal && { status: shown.refusal.status }),
    title: project.name,
    ...(shown.lang !== null && { lang: shown.lang }),
    style: [
      liveViewStyle(theme, boxesOf(blocks)),
      ...used.flatMap(({ style }) => style ?? []),
      ...markups.values().map(({ style }) => style),
    ].join('\n'),
    script: [script, ...used.flatMap((form) => form.script ?? [])].join('\n'),
    formsLeave: used.some(({ leaves }) => leaves),
    body: html`<h1 class="hidden">${project.name}</h1>
${first && interactive(shown, first)}${first && hasOthers(blocks) && html`<h2 class="rest">The email</h2>\n`}${blocks.map(
  (block) => blockHtml(shown, block),
)}
${progress(shown)}`,
  }
}

/** Failures that are shown at the answered block, with their status. Every other failure has a page of its own. */
const refusals: Partial<Record<Problem['kind'], number>> = { invalid: 400, conflict: 409, upstream: 502 }

/** Returns why an answer was refused, with the label of the field instead of its name. */
const sentenceOf = ({ message }: Problem, form: BlockForm, block: LeafBlock): string => {
  const named = form.labels?.(block as never).filter(([name]) => message.startsWith(`value.${name} `)) ?? []
  // A field name may be the beginning of another one.
  const [longest] = named.toSorted(([a], [b]) => b.length - a.length)
  return longest ? `${longest[1]}${message.slice(`value.${longest[0]}`.length)}` : message
}

/** Returns the language, the host and the texts of the page of an email. */
const detailsOf = async (app: App, sent: SentMail) => {
  const { lang, brandName } = await readBrand({ sql: app.sql, accountId: sent.accountId })
  const host = brandName ?? (sent.from?.name || null)
  return { lang: usableLang(sent.content.lang) ?? lang, host, texts: await textsOf(sent) }
}

const path = '/v/:token'

/**
 * Whether a URL is a link of the email: to the whole email, or of an answer. The way back from a payment names a block that
 * leaves the page, and the way to another time of a booking a block without an answer.
 */
const isOfEmail = (sent: SentMail, forms: readonly BlockForm[], { block, value }: PageCall['query']): boolean => {
  if (block === undefined) return true
  const type = filledLeaves(sent).find(({ id }) => id === block)?.type
  return value !== undefined && !forms.find((form) => form.type === type)?.leaves
}

const noLongerShown: PageView = failurePage(
  404,
  'This email is no longer available',
  'We keep what an email said for a limited time only, and this one was removed. The links in the email itself still work.',
)

/**
 * Records that a recipient followed a link of the email to its live view: a click, once for each block whose link it
 * was, and once for the link to the whole email. So a person who looks at a question without answering counts, too. Returns
 * whether a machine followed it.
 */
const recordVisit = async (app: App, sent: SentMail, visit: Visit, block: string | undefined): Promise<boolean> => {
  const blockId = filledLeaves(sent).find(({ id }) => id === block)?.id ?? null
  return recipientWork(app, sent, async (work) => {
    const isBot = isMachine(visit, 'click') || (await isScanned(work, sent))
    const value = `${app.config.publicUrl}/v`
    await recordInteraction(work, sent, { kind: 'click', blockId, value, isBot, onOther: 'keep' })
    return isBot
  })
}

/** The hosted live view (docs/reference/studio.md#live-view); `kinds` and `forms` are the interactive blocks of all features. */
export const pagesOf = (kinds: readonly BlockKind[], forms: readonly BlockForm[]): readonly Page[] => [
  {
    method: 'GET',
    path,
    token: 'liveview',
    async handle({ app, params, query, method, headers }) {
      const token = params.token!
      const sent = await findSentByToken(app, token)
      if (!sent) return notFoundPage
      if (sent.isDropped) return noLongerShown
      const isFollowed = isOfEmail(sent, forms, query)
      const isBot = isFollowed && (await recordVisit(app, sent, { method, headers }, query.block))
      const view = await showLiveView(app, sent, kinds, 'person')
      const named = firstOf(sent, forms, query)
      const first = named && { ...named, value: query.value, isAtOnce: !isBot }
      return pageOf(sent, { app, view, token, forms, ...(await detailsOf(app, sent)), first })
    },
  },
  {
    method: 'POST',
    path,
    token: 'liveview',
    isLarge: true,
    async handle({ app, params, query, form, raw }) {
      const token = params.token!
      const sent = await findSentByToken(app, token)
      const blockId = form.block ?? ''
      const block = sent ? filledLeaves(sent).find(({ id }) => id === blockId) : undefined
      const blockForm = block && forms.find(({ type }) => type === block.type)
      if (raw.length > formBytes(blockForm?.maxLengths?.(block as never) ?? [])) return tooLarge
      if (sent?.isDropped) return noLongerShown
      if (!sent || !blockForm) return notFoundPage
      const first = firstOf(sent, forms, query)
      try {
        const value = blockForm.valueOf(block as never, form)
        const { redirectUrl } = await answerBlock(app, sent, kinds, { blockId, value })
        const next = redirectUrl ?? (await blockForm.next?.(app, sent, block as never))
        return { redirect: next ?? `${pathOf(app, token, first?.blockId)}#${blockId}` }
      } catch (error) {
        const status = error instanceof Problem ? refusals[error.kind] : undefined
        if (!(error instanceof Problem) || !status) throw error
        if (error.kind === 'upstream') app.report(error, { accountId: sent.accountId })
        const view = await showLiveView(app, sent, kinds, 'person')
        return pageOf(sent, {
          app,
          view,
          token,
          forms,
          ...(await detailsOf(app, sent)),
          first,
          refusal: { blockId, sentence: sentenceOf(error, blockForm, block), status, entered: form },
        })
      }
    },
  },
]
