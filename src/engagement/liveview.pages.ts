import { Problem } from '../lib/problem.ts'
import { type Html, html } from '../pages/html.ts'
import { notFound, type Page, type PageView } from '../pages/page.ts'
import type { App } from '../store/work.ts'
import { type Block, type LeafBlock, readableOn } from '../studio/studio.ts'
import type { BlockKind } from './engagement.blocks.ts'
import { leavesOf, sentOfToken } from './engagement.sent.ts'
import type { BlockForm, BlockPage } from './liveview.forms.pages.ts'
import { liveViewStyle } from './liveview.style.ts'
import { answerBlock, filledLeaves, type LiveView, showLiveView } from './liveview.ts'

/** A posted block is shown anew where it stands: the page is asked for, its part taken out, and put in place of the old one. */
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
    next.tabIndex = -1
    next.focus()
  } catch { form.submit() }
})
`

/** What a page shows beside the view itself. */
interface Shown {
  app: App
  view: LiveView
  token: string
  forms: readonly BlockForm[]
  /** What the link in the mail names. */
  chosen?: { blockId: string; value: string }
  /** Why an answer was not taken. */
  refusal?: { blockId: string; sentence: string; status: number }
}

const paragraphs = (text: string): Html[] =>
  text
    .replace(/\r\n?/g, '\n')
    .split(/\n{2,}/)
    .map((paragraph) => html`<p>${paragraph.split('\n').map((line, i) => [i > 0 && html`<br>`, line])}</p>`)

const link = (url: string, content: Html | string, className?: string): Html =>
  url
    ? html`<a href="${url}" rel="noopener noreferrer"${className && html` class="${className}"`}>${content}</a>`
    : html`${content}`

/** Pictures of other hosts are not loaded, only named: no page asks anything of elsewhere. */
const picture = ({ app }: Shown, { src, alt, href }: Extract<LeafBlock, { type: 'image' }>['props']): Html => {
  const isOwn = URL.parse(src)?.origin === URL.parse(app.config.publicUrl)?.origin
  const image = isOwn
    ? html`<img src="${src}" alt="${alt}">`
    : html`<span class="quiet">Picture: ${alt || 'untitled'}</span>`
  return html`<p>${link(href ?? (isOwn ? '' : src), image)}</p>`
}

const heading = ({ text, level = 1, align = 'left' }: Extract<LeafBlock, { type: 'heading' }>['props']): Html => {
  const tag = { text: `h${level + 1}` }
  return html`<${tag} class="${align}">${text}</${tag}>`
}

const interactive = (shown: Shown, block: LeafBlock): Html => {
  const { view, token, forms, chosen, refusal } = shown
  const form = forms.find(({ type }) => type === block.type)
  if (!form) return html``
  const page: BlockPage = {
    state: view.state[block.id],
    chosen: chosen?.blockId === block.id ? chosen.value : undefined,
  }
  // The part of the page that is asked for would stand in the other host's address too.
  const inPlace = !form.leaves && html` data-in-place="true"`
  return html`<section id="${block.id}">
${refusal?.blockId === block.id && html`<p class="problem" role="alert">${refusal.sentence}</p>`}<form method="post" action="/v/${token}${!form.leaves && `#${block.id}`}"${inPlace}>
<input type="hidden" name="block" value="${block.id}">
${form.form(block as never, page)}
</form></section>
`
}

const leaf = (shown: Shown, block: LeafBlock): Html => {
  switch (block.type) {
    case 'heading':
      return heading(block.props)
    case 'text':
      return html`<div class="${block.props.align ?? 'left'}">${paragraphs(block.props.text)}</div>`
    case 'image':
      return picture(shown, block.props)
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

/** Boxes with a ground of their own, each with its class: their colours stand in the page's style. */
const boxClass = ({ id }: Block): string => `box-${id}`

const blockHtml = (shown: Shown, block: Block): Html => {
  if (!('children' in block)) return leaf(shown, block)
  const children = block.children.map((child) => blockHtml(shown, child))
  const inside =
    block.type === 'columns'
      ? html`<div class="columns">${children.map((child) => html`<div>${child}</div>`)}</div>`
      : children
  return block.props.background ? html`<div class="box ${boxClass(block)}">${inside}</div>` : html`<div>${inside}</div>`
}

const boxStyles = (blocks: readonly Block[], text: string): string =>
  blocks
    .flatMap((block) => {
      if (!('children' in block)) return []
      const { background } = block.props
      // The author's text where it can be read on the box, else black or white.
      const ink = background && readableOn(background) === readableOn(text) ? readableOn(background) : text
      const own = background
        ? [`.${boxClass(block)} { background: ${background}; --ink: ${ink}; --quiet: ${ink}; color: ${ink} }`]
        : []
      return [...own, boxStyles(block.children, text)]
    })
    .join('\n')

const pageOf = (shown: Shown): PageView => {
  const { project, theme, blocks } = shown.view
  return {
    ...(shown.refusal && { status: shown.refusal.status }),
    title: project.name,
    style: liveViewStyle(theme) + boxStyles(blocks, theme.text),
    script,
    formsLeave: leavesOf(blocks).some((block) => shown.forms.some(({ type, leaves }) => leaves && type === block.type)),
    body: html`<h1 class="hidden">${project.name}</h1>
${blocks.map((block) => blockHtml(shown, block))}`,
  }
}

const path = '/v/:token'

const noLongerShown: PageView = {
  status: 404,
  title: 'This email is no longer available',
  body: html`<h1>This email is no longer available</h1>
<p>We keep what an email said for a limited time only, and this one was removed. The links in the email itself still work.</p>`,
}

/** The hosted live view (decisions.md, Studio projects); `kinds` and `forms` are the interactive blocks of all features. */
export const pagesOf = (kinds: readonly BlockKind[], forms: readonly BlockForm[]): readonly Page[] => [
  {
    method: 'GET',
    path,
    async handle({ app, params, query }) {
      const token = params.token!
      const sent = await sentOfToken(app, token)
      if (!sent) return notFound
      if (sent.isDropped) return noLongerShown
      const view = await showLiveView(app, sent, kinds)
      const { block: blockId, value } = query
      const chosen = blockId !== undefined && value !== undefined ? { chosen: { blockId, value } } : {}
      return pageOf({ app, view, token, forms, ...chosen })
    },
  },
  {
    method: 'POST',
    path,
    async handle({ app, params, form }) {
      const token = params.token!
      const sent = await sentOfToken(app, token)
      if (!sent) return notFound
      if (sent.isDropped) return noLongerShown
      const blockId = form.block ?? ''
      const block = filledLeaves(sent).find(({ id }) => id === blockId)
      const blockForm = block && forms.find(({ type }) => type === block.type)
      if (!blockForm) return notFound
      try {
        const value = blockForm.valueOf(block as never, form)
        const { redirectUrl } = await answerBlock(app, sent, kinds, { blockId, value })
        return { redirect: redirectUrl ?? `/v/${token}#${blockId}` }
      } catch (error) {
        if (!(error instanceof Problem) || (error.kind !== 'invalid' && error.kind !== 'conflict')) throw error
        const view = await showLiveView(app, sent, kinds)
        const status = error.kind === 'conflict' ? 409 : 400
        return pageOf({ app, view, token, forms, refusal: { blockId, sentence: error.message, status } })
      }
    },
  },
]
