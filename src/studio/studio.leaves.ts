import { tagParts } from '../lib/tags.ts'
import type { LeafBlock } from './studio.blocks.ts'
import { type Node, node, type Slots, textParts } from './studio.nodes.ts'
import type { Part } from './studio.template.ts'
import { type FullTheme, fontFamily, readableOn } from './studio.theme.ts'
import { urlParts } from './studio.urls.ts'
import { bookingLine, priceLines, words } from './studio.words.ts'

/** Each kind of block that holds no others, as MJML elements of a column. */

type Props<Type extends LeafBlock['type']> = Extract<LeafBlock, { type: Type }>['props']

const sizes = { 1: '28px', 2: '22px', 3: '18px' } as const
type Level = keyof typeof sizes

const heading = ({ text, level = 1, align = 'left' }: Props<'heading'>, slots: Slots): Node => {
  const style = `margin:0;font-size:${sizes[level as Level]};line-height:1.25;font-weight:bold`
  return node('mj-text', { align }, `<h${level} style="${style}">${slots.text(text)}</h${level}>`)
}

const withBreaks = (parts: Part[]): Part[] =>
  parts.map((part) => (typeof part === 'string' ? part.replace(/\n/g, '<br>') : part))

/** A blank line ends a paragraph, a line end is one. */
const paragraphs = ({ text, level, align = 'left' }: Props<'text'>, slots: Slots): Node => {
  const all = text.replace(/\r\n?/g, '\n').split(/\n{2,}/)
  const content = all.map((paragraph, i) => {
    const margin = i < all.length - 1 ? '0 0 12px' : '0'
    return `<p style="margin:${margin}">${slots.html(withBreaks(textParts(paragraph)))}</p>`
  })
  return node('mj-text', { align, ...(level && { 'font-size': sizes[level as Level] }) }, content.join('\n'))
}

const image = ({ src, alt, href, width }: Props<'image'>, slots: Slots): Node =>
  node('mj-image', {
    src: slots.html([{ url: urlParts(src), kind: 'image' }]),
    alt: slots.text(alt),
    ...(href && { href: slots.html([{ url: urlParts(href), kind: 'link' }]) }),
    ...(width && { width: `${width}px` }),
  })

const buttonNode = (href: string, label: string, theme: FullTheme, align: string): Node =>
  node('mj-button', { href, 'background-color': theme.primary, color: readableOn(theme.primary), align }, label)

const question = (text: string, slots: Slots): Node =>
  node('mj-text', { 'font-weight': 'bold', padding: '16px 20px 8px' }, slots.text(text))

const answerLink = (blockId: string, value: string): Part => ({ answer: blockId, value: tagParts(value) })

/** A button as wide as its column. MJML's own would take a click on its label alone. */
const wideButton = (href: string, label: string, { primary, font }: FullTheme): Node => {
  const cell = `border-radius:6px;background:${primary};mso-padding-alt:10px 16px`
  const link = [
    `display:block;padding:10px 16px;border-radius:6px;color:${readableOn(primary)};font-family:${fontFamily(font)}`,
    'font-size:16px;line-height:120%;text-decoration:none',
  ].join(';')
  return node(
    'mj-text',
    { padding: '4px 20px' },
    `<table role="presentation" border="0" cellpadding="0" cellspacing="0" width="100%" style="border-collapse:separate">
<tr><td align="center" bgcolor="${primary}" style="${cell}"><a href="${href}" target="_blank" style="${link}">${label}</a></td></tr>
</table>`,
  )
}

/** A vote or a quiz: a button for each option. */
const choice = (id: string, props: Props<'vote'>, theme: FullTheme, slots: Slots): Node[] => [
  question(props.question, slots),
  ...props.options.map((option) => wideButton(slots.html([answerLink(id, option)]), slots.text(option), theme)),
]

const rating = (id: string, props: Props<'rating'>, theme: FullTheme, slots: Slots): Node[] => {
  const style = [
    'display:inline-block;min-width:40px;margin:0 4px 6px 0;padding:8px 0;border-radius:6px;text-align:center',
    `background:${theme.primary};color:${readableOn(theme.primary)};text-decoration:none;font-weight:bold`,
  ].join(';')
  const links = Array.from({ length: props.max }, (_, i) => {
    const value = String(i + 1)
    return `<a href="${slots.html([answerLink(id, value)])}" title="${value} / ${props.max}" style="${style}">${value}</a>`
  })
  return [question(props.question, slots), node('mj-text', {}, links.join('\n'))]
}

/** What can only be answered on the hosted page: a title, a line on it, and a button that leads there. */
const invitation = (
  id: string,
  block: { title: string; lines: string[]; label: string },
  theme: FullTheme,
  slots: Slots,
): Node[] => [
  question(block.title, slots),
  ...(block.lines.length > 0 ? [node('mj-text', { padding: '0 20px 8px' }, block.lines.join('<br>'))] : []),
  buttonNode(slots.html([{ link: 'view', at: id }]), block.label, theme, 'left'),
]

const checkout = (id: string, props: Props<'checkout'>, theme: FullTheme, slots: Slots): Node[] => {
  const { items, total } = priceLines(props)
  const cells = (name: string, price: string, weight: string) =>
    `<tr><td style="padding:4px 0;font-weight:${weight}">${name}</td><td style="padding:4px 0;text-align:right;white-space:nowrap;font-weight:${weight}">${price}</td></tr>`
  const rows = items.map(([name, price]) => cells(slots.text(name), price, 'normal'))
  const table = node(
    'mj-table',
    { padding: '0 20px 8px', color: theme.text, 'font-size': '16px' },
    [...rows, cells('Total', total, 'bold')].join('\n'),
  )
  const [title, button] = invitation(id, { title: props.title, lines: [], label: words.checkout }, theme, slots)
  return [title!, table, button!]
}

/** The elements of one block. */
export const leafNodes = (block: LeafBlock, theme: FullTheme, slots: Slots): Node[] => {
  switch (block.type) {
    case 'heading':
      return [heading(block.props, slots)]
    case 'text':
      return [paragraphs(block.props, slots)]
    case 'image':
      return [image(block.props, slots)]
    case 'button': {
      const { label, url, align = 'left' } = block.props
      return [buttonNode(slots.html([{ url: urlParts(url), kind: 'link' }]), slots.text(label), theme, align)]
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
      return choice(block.id, block.props, theme, slots)
    case 'rating':
      return rating(block.id, block.props, theme, slots)
    case 'form': {
      const { title, fields } = block.props
      const lines = [fields.map(({ label }) => slots.text(label)).join(' · ')]
      return invitation(block.id, { title, lines, label: words.form }, theme, slots)
    }
    case 'booking':
      return invitation(
        block.id,
        { title: block.props.title, lines: [bookingLine(block.props)], label: words.booking },
        theme,
        slots,
      )
    case 'checkout':
      return checkout(block.id, block.props, theme, slots)
  }
}
