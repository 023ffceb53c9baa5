import { readableOn, textContrast, visibleOn } from '../lib/colors.ts'
import { escapeHtml } from '../lib/escape-html.ts'
import { tagParts } from '../lib/tags.ts'
import type { LeafBlock } from './studio.blocks.ts'
import { outlined, ownColors } from './studio.dark.ts'
import { markupParts, setsColors } from './studio.markup.ts'
import { type Node, node, type Placeholders } from './studio.nodes.ts'
import { type Look, richHtml } from './studio.rich.ts'
import { sanitized } from './studio.sanitize.ts'
import type { Part } from './studio.template.ts'
import { type FullTheme, fontFamily } from './studio.theme.ts'
import { urlParts } from './studio.urls.ts'
import { bookingLine, priceLines, words } from './studio.words.ts'

/** Renders each type of block without children to MJML elements of a column. */

type Props<Type extends LeafBlock['type']> = Extract<LeafBlock, { type: Type }>['props']

const sizes = { 1: '28px', 2: '22px', 3: '18px' } as const
type Level = keyof typeof sizes

/** What the renderers of all blocks share. `levels` are the levels of headings by block id (studio.outline.ts). */
export interface RenderContext {
  theme: FullTheme
  placeholders: Placeholders
  levels: ReadonlyMap<string, number>
  lang: string | undefined
}

/** The background of the blocks around a block, if they have one. */
type Ground = string | undefined

const heading = (
  id: string,
  { text, level = 1, align = 'left' }: Props<'heading'>,
  { placeholders, levels }: RenderContext,
): Node => {
  const tag = `h${levels.get(id) ?? level}`
  const style = `margin:0;font-size:${sizes[level as Level]};line-height:1.25;font-weight:bold`
  return node('mj-text', { align }, `<${tag} style="${style}">${placeholders.text(text)}</${tag}>`)
}

const look = ({ text }: FullTheme): Look => ({
  paragraph: (isLast) => ` style="margin:${isLast ? '0' : '0 0 12px'}"`,
  list: (isLast) => ` style="margin:${isLast ? '0' : '0 0 12px'};padding-left:24px"`,
  item: ' style="margin:0 0 4px"',
  link: ` class="ink-link" style="color:${text}"`,
  code: ' style="font-family:monospace"',
})

const paragraphs = ({ text, level, align = 'left' }: Props<'text'>, { theme, placeholders }: RenderContext): Node =>
  node(
    'mj-text',
    { align, ...(level && { 'font-size': sizes[level as Level] }) },
    placeholders.html(richHtml(text, look(theme))),
  )

/** Sets the author's colours on the light background in dark mode, too (`ownColors`). */
const markup = (id: string, { html }: Props<'html'>, context: RenderContext, ground: Ground): Node => {
  const { theme, placeholders, levels } = context
  const safe = sanitized(html)
  const content = markupParts(safe, {
    above: 0,
    last: levels.get(id) ?? 0,
    link: (style) =>
      /(?:^|;)color:/.test(style)
        ? ` style="${escapeHtml(style)}"`
        : ` class="ink-link" style="${escapeHtml([`color:${theme.text}`, style].filter(Boolean).join(';'))}"`,
    style: (style) => ` style="${escapeHtml(style)}"`,
    isShown: () => true,
  })
  const own = { 'css-class': ownColors, 'container-background-color': ground ?? theme.background }
  return node('mj-text', setsColors(safe) ? own : {}, placeholders.html(content))
}

const image = ({ src, alt, href, width }: Props<'image'>, placeholders: Placeholders): Node =>
  node('mj-image', {
    src: placeholders.html([{ url: urlParts(src), kind: 'image' }]),
    alt: placeholders.text(alt),
    ...(href && { href: placeholders.html([{ url: urlParts(href), kind: 'link' }]) }),
    ...(width && { width: `${width}px` }),
  })

const buttonNode = (href: string, label: string, theme: FullTheme, align: string): Node =>
  node('mj-button', { href, 'background-color': theme.primary, color: readableOn(theme.primary), align }, label)

/** The colours of the buttons that answer a block: outlined, so that the author's own button is the main one. */
const outline = ({ primary, background }: FullTheme, ground: Ground): { ink: string; ground: string } => ({
  ink: visibleOn([ground ?? background], primary, textContrast),
  ground: ground ?? background,
})

const question = (text: string, placeholders: Placeholders): Node =>
  node('mj-text', { 'font-weight': 'bold', padding: '16px 20px 8px' }, placeholders.text(text))

const answerLink = (blockId: string, value: string): Part => ({ answer: blockId, value: tagParts(value) })

/** A button as wide as its column. With MJML's own button only the label could be clicked. */
const wideButton = (href: string, label: string, theme: FullTheme, around: Ground): Node => {
  const { ink, ground } = outline(theme, around)
  const cell = `border:1px solid ${ink};border-radius:6px;background:${ground};mso-padding-alt:10px 16px`
  const link = [
    `display:block;padding:10px 16px;border-radius:6px;color:${ink};font-family:${fontFamily(theme.font)}`,
    'font-size:16px;font-weight:bold;line-height:120%;text-decoration:none',
  ].join(';')
  return node(
    'mj-text',
    { padding: '4px 20px', 'css-class': outlined },
    `<table role="presentation" border="0" cellpadding="0" cellspacing="0" width="100%" style="border-collapse:separate">
<tr><td align="center" bgcolor="${ground}" style="${cell}"><a href="${href}" target="_blank" style="${link}">${label}</a></td></tr>
</table>`,
  )
}

/** A vote or a quiz: a button for each option. */
const choice = (id: string, props: Props<'vote'>, { theme, placeholders }: RenderContext, ground: Ground): Node[] => [
  question(props.question, placeholders),
  ...props.options.map((option) =>
    wideButton(placeholders.html([answerLink(id, option)]), placeholders.text(option), theme, ground),
  ),
]

/** Outlook ignores the padding of links, so there each number is in a cell of its own. */
const rating = (id: string, props: Props<'rating'>, { theme, placeholders }: RenderContext, around: Ground): Node[] => {
  const { ink, ground } = outline(theme, around)
  const style = [
    'display:inline-block;min-width:40px;margin:0 4px 6px 0;padding:8px 0;border-radius:6px;text-align:center',
    `border:1px solid ${ink};background:${ground};color:${ink};text-decoration:none;font-weight:bold`,
  ].join(';')
  const links = Array.from({ length: props.max }, (_, i) => {
    const value = String(i + 1)
    const link = `<a href="${placeholders.html([answerLink(id, value)])}" title="${value} / ${props.max}" style="${style}">${value}</a>`
    const cell = `<td bgcolor="${ground}" align="center" width="40" style="border:1px solid ${ink};mso-padding-alt:8px 0">`
    return `<!--[if mso]>${cell}<![endif]-->${link}<!--[if mso]></td><td width="4"></td><![endif]-->`
  })
  const row = ['<!--[if mso]><table role="presentation" cellpadding="0" cellspacing="0"><tr><![endif]-->', ...links]
  return [
    question(props.question, placeholders),
    node('mj-text', { 'css-class': outlined }, [...row, '<!--[if mso]></tr></table><![endif]-->'].join('\n')),
  ]
}

/** A block that is answered on the hosted page only: a title, lines about it, and a button that links to the page. */
const invitation = (
  id: string,
  block: { title: string; lines: string[]; label: string },
  { theme, placeholders }: RenderContext,
  around: Ground,
): Node[] => {
  const { ink, ground } = outline(theme, around)
  const look = { 'background-color': ground, color: ink, border: `1px solid ${ink}`, 'css-class': outlined }
  const href = placeholders.html([{ link: 'view', at: id }])
  return [
    question(block.title, placeholders),
    ...(block.lines.length > 0 ? [node('mj-text', { padding: '0 20px 8px' }, block.lines.join('<br>'))] : []),
    node('mj-button', { href, align: 'left', ...look }, block.label),
  ]
}

const checkout = (id: string, props: Props<'checkout'>, context: RenderContext, ground: Ground): Node[] => {
  const { theme, placeholders, lang } = context
  const { items, total } = priceLines(props, lang)
  const cells = (name: string, price: string, weight: string) =>
    `<tr><td style="padding:4px 0;font-weight:${weight}">${name}</td><td style="padding:4px 0;text-align:right;white-space:nowrap;font-weight:${weight}">${price}</td></tr>`
  const rows = items.map(([name, price]) => cells(placeholders.text(name), price, 'normal'))
  const table = node(
    'mj-table',
    { padding: '0 20px 8px', color: theme.text, 'font-size': '16px', role: 'presentation' },
    [...rows, cells('Total', total, 'bold')].join('\n'),
  )
  const [title, button] = invitation(id, { title: props.title, lines: [], label: words.checkout }, context, ground)
  return [title!, table, button!]
}

/** Returns the MJML elements of one block. */
export const leafNodes = (block: LeafBlock, context: RenderContext, ground: Ground): Node[] => {
  const { theme, placeholders } = context
  switch (block.type) {
    case 'heading':
      return [heading(block.id, block.props, context)]
    case 'text':
      return [paragraphs(block.props, context)]
    case 'html':
      return [markup(block.id, block.props, context, ground)]
    case 'image':
      return [image(block.props, placeholders)]
    case 'button': {
      const { label, url, align = 'left' } = block.props
      return [
        buttonNode(placeholders.html([{ url: urlParts(url), kind: 'link' }]), placeholders.text(label), theme, align),
      ]
    }
    case 'divider':
      return [
        node('mj-divider', {
          'border-width': `${block.props.height ?? 1}px`,
          'border-color': '#d1d5db',
          padding: '12px 20px',
        }),
      ]
    case 'spacer':
      return [node('mj-spacer', { height: `${block.props.height ?? 24}px` })]
    case 'vote':
    case 'quiz':
      return choice(block.id, block.props, context, ground)
    case 'rating':
      return rating(block.id, block.props, context, ground)
    case 'form': {
      const { title, fields } = block.props
      const lines = [fields.map(({ label }) => placeholders.text(label)).join(' · ')]
      return invitation(block.id, { title, lines, label: words.form }, context, ground)
    }
    case 'booking':
      return invitation(
        block.id,
        { title: block.props.title, lines: [bookingLine(block.props, context.lang)], label: words.booking },
        context,
        ground,
      )
    case 'checkout':
      return checkout(block.id, block.props, context, ground)
  }
}
