import type { Block, ColumnsBlock, Content, SectionBlock } from './studio.blocks.ts'
import { leafNodes } from './studio.leaves.ts'
import { createSlots, type Node, node, type Slots } from './studio.nodes.ts'
import type { Part } from './studio.template.ts'
import { type FullTheme, fontFamily, fullTheme } from './studio.theme.ts'
import { urlParts } from './studio.urls.ts'
import { words } from './studio.words.ts'

/** What stands around a row of the mail (MJML's section) adds its colour and its padding to it. */
interface Around {
  background?: string | undefined
  /** In pixels, to the left and the right. */
  side: number
}

/** Beyond it a phone would have no room left for what stands inside. */
const maxSide = 100

const within = (
  around: Around,
  { background, padding = 0 }: { background?: string | undefined; padding?: number | undefined },
): Around => ({
  background: background ?? around.background,
  side: Math.min(around.side + padding, maxSide),
})

const isBox = (block: Block | undefined): block is SectionBlock | ColumnsBlock =>
  block?.type === 'section' || block?.type === 'columns'

/** The blocks of a column, sections in it taken apart: their colour goes to each block. */
const columnNodes = (blocks: readonly Block[], theme: FullTheme, slots: Slots, background?: string): Node[] =>
  blocks.flatMap((block) => {
    if (isBox(block)) return columnNodes(block.children, theme, slots, block.props.background ?? background)
    const nodes = leafNodes(block, theme, slots)
    return background
      ? nodes.map((one) => ({ ...one, attributes: { ...one.attributes, 'container-background-color': background } }))
      : nodes
  })

const row = (around: Around, padding: [top: number, bottom: number], columns: Node[]): Node =>
  node(
    'mj-section',
    {
      padding: `${padding[0]}px ${around.side}px ${padding[1]}px`,
      ...(around.background && { 'background-color': around.background }),
    },
    columns,
  )

const columnsRow = ({ props, children }: ColumnsBlock, around: Around, theme: FullTheme, slots: Slots): Node => {
  const { padding = 0, widths = children.map(() => 1) } = props
  const whole = widths.reduce((sum, width) => sum + width, 0)
  const columns = children.map((child, i) => {
    const box = isBox(child) ? child.props : {}
    const attributes = {
      width: `${Number(((widths[i]! / whole) * 100).toFixed(2))}%`,
      ...(box.background && { 'background-color': box.background }),
      ...(box.padding && { padding: `${box.padding}px` }),
    }
    return node('mj-column', attributes, columnNodes(isBox(child) ? child.children : [child], theme, slots))
  })
  return row(within(around, props), [padding, padding], columns)
}

/** Adds to the padding of a row at its top, or at its bottom. */
const padded = (one: Node, side: 'top' | 'bottom', by: number): Node => {
  const [top, sides, bottom] = String(one.attributes.padding)
    .split(' ')
    .map((part) => Number.parseInt(part, 10))
  const padding = side === 'top' ? [top! + by, sides, bottom] : [top, sides, bottom! + by]
  return { ...one, attributes: { ...one.attributes, padding: padding.map((pixels) => `${pixels}px`).join(' ') } }
}

const sectionRows = ({ props, children }: SectionBlock, around: Around, theme: FullTheme, slots: Slots): Node[] => {
  const { padding = 0 } = props
  const rows = rowsOf(children, within(around, props), theme, slots)
  return rows.map((one, i) => {
    const below = i === 0 ? padded(one, 'top', padding) : one
    return i === rows.length - 1 ? padded(below, 'bottom', padding) : below
  })
}

/** Blocks one after the other share a row of one column; columns are a row, a section is rows. */
const rowsOf = (blocks: readonly Block[], around: Around, theme: FullTheme, slots: Slots): Node[] => {
  const rows: Node[] = []
  for (let i = 0; i < blocks.length; ) {
    const block = blocks[i]!
    if (isBox(block)) {
      if (block.type === 'section') rows.push(...sectionRows(block, around, theme, slots))
      else rows.push(columnsRow(block, around, theme, slots))
      i++
      continue
    }
    const end = blocks.findIndex((other, j) => j > i && isBox(other))
    const run = blocks.slice(i, end < 0 ? undefined : end)
    rows.push(row(around, [0, 0], [node('mj-column', {}, columnNodes(run, theme, slots))]))
    i += run.length
  }
  return rows
}

const logoRow = (theme: FullTheme, name: string, slots: Slots): Node[] => {
  if (!theme.logo) return []
  const image = {
    src: slots.html([{ url: urlParts(theme.logo), kind: 'image' }]),
    alt: slots.text(name),
    width: '160px',
  }
  return [row({ side: 0 }, [12, 0], [node('mj-column', {}, [node('mj-image', image)])])]
}

const footerLink = (link: 'view' | 'unsubscribe', theme: FullTheme): Part[] => [
  '<a href="',
  { link },
  `" style="color:${theme.text}">${words[link]}</a>`,
]

/** The view of the mail in a browser, the way out where there must be one, and the open pixel. */
const footer = (theme: FullTheme, slots: Slots): Node[] => {
  const parts: Part[] = [
    ...footerLink('view', theme),
    { given: 'unsubscribe', parts: [' &nbsp;·&nbsp; ', ...footerLink('unsubscribe', theme)] },
    { given: 'open', parts: ['<img src="', { link: 'open' }, '" width="1" height="1" alt="" style="display:block">'] },
  ]
  const text = { align: 'center', 'font-size': '13px', padding: '8px 20px' }
  return [row({ side: 0 }, [24, 16], [node('mj-column', {}, [node('mj-text', text, slots.html(parts))])])]
}

const head = ({ name, preheader }: Content, theme: FullTheme, slots: Slots): Node =>
  node('mj-head', {}, [
    node('mj-title', {}, slots.text(name)),
    ...(preheader ? [node('mj-preview', {}, slots.text(preheader))] : []),
    node('mj-attributes', {}, [
      node('mj-all', { 'font-family': fontFamily(theme.font) }, []),
      node('mj-text', { color: theme.text, 'font-size': '16px', 'line-height': '1.5', padding: '8px 20px' }, []),
      node('mj-button', { 'font-size': '16px', padding: '8px 20px', 'border-radius': '6px' }, []),
      node('mj-image', { padding: '8px 20px' }, []),
    ]),
  ])

/**
 * The HTML of a project as parts. MJML is loaded here, at the first rendering of a process: it costs a second, and 90 MB
 * that stay.
 */
export const renderHtml = async (content: Content): Promise<Part[]> => {
  const theme = fullTheme(content.theme)
  const slots = createSlots()
  const body = [
    ...logoRow(theme, content.name, slots),
    ...rowsOf(content.blocks, { side: 0 }, theme, slots),
    ...footer(theme, slots),
  ]
  const mail = node('mjml', {}, [
    head(content, theme, slots),
    node('mj-body', { width: `${theme.width}px`, 'background-color': theme.background }, body),
  ])
  const { default: mjml2html } = await import('mjml')
  // No fonts: MJML would have the mail fetch those that it knows from elsewhere.
  const { html } = await mjml2html(mail, { fonts: {}, validationLevel: 'strict' })
  // MJML indents deeply; nothing in a mail depends on it.
  return slots.partsOf(html.replace(/\n\s*/g, '\n'))
}
