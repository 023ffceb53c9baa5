import { usableLang } from '../lib/common-shapes.ts'
import type { Block, ColumnsBlock, Content, SectionBlock } from './studio.blocks.ts'
import { conditionOf } from './studio.conditions.ts'
import { darkStyle, groundClass, outlined, ownColors } from './studio.dark.ts'
import { leafNodes, type RenderContext } from './studio.leaves.ts'
import { compileMjml } from './studio.mjml.ts'
import { createPlaceholders, type Node, node, type Placeholders } from './studio.nodes.ts'
import { headingLevels } from './studio.outline.ts'
import type { Part } from './studio.template.ts'
import { type FullTheme, fontFamily, fullTheme } from './studio.theme.ts'
import { urlParts } from './studio.urls.ts'
import { words } from './studio.words.ts'

/** The background and padding that a row of the email (an MJML section) inherits from the blocks that contain it. */
interface RowContext {
  background?: string | undefined
  /** Padding to the left and the right, in pixels. */
  side: number
}

/** More padding would leave no space for the content on a phone. */
const maxSide = 100

const nestedIn = (
  inherited: RowContext,
  { background, padding = 0 }: { background?: string | undefined; padding?: number | undefined },
): RowContext => ({
  background: background ?? inherited.background,
  side: Math.min(inherited.side + padding, maxSide),
})

const isBox = (block: Block | undefined): block is SectionBlock | ColumnsBlock =>
  block?.type === 'section' || block?.type === 'columns'

/** Returns the classes of an element of a column on a background, from its own. */
const classesOn = (background: string, own = ''): string => {
  if (own === ownColors) return own
  return `${own === outlined ? outlined : 'ink'} ${groundClass(background)}`
}

/**
 * Returns the elements of a column. Sections inside a column are flattened: each of their blocks gets their background. `around` is that of
 * the column.
 */
const columnNodes = (
  blocks: readonly Block[],
  context: RenderContext,
  around: string | undefined,
  background?: string,
): Node[] =>
  blocks.flatMap((block) => {
    const shown = (nodes: Node[]) => context.placeholders.shownIf(conditionOf(block), nodes)
    if (isBox(block)) return shown(columnNodes(block.children, context, around, block.props.background ?? background))
    const nodes = leafNodes(block, context, background ?? around)
    if (!background) return shown(nodes)
    return shown(
      nodes.map((one) => ({
        ...one,
        attributes: {
          ...one.attributes,
          'container-background-color': background,
          'css-class': classesOn(background, one.attributes['css-class']),
        },
      })),
    )
  })

const row = (inherited: RowContext, padding: [top: number, bottom: number], columns: Node[]): Node =>
  node(
    'mj-section',
    {
      padding: `${padding[0]}px ${inherited.side}px ${padding[1]}px`,
      ...(inherited.background && {
        'background-color': inherited.background,
        'css-class': groundClass(inherited.background),
      }),
    },
    columns,
  )

const columnsRow = ({ props, children }: ColumnsBlock, inherited: RowContext, context: RenderContext): Node => {
  const { padding = 0, widths = children.map(() => 1) } = props
  const own = nestedIn(inherited, props)
  const whole = widths.reduce((sum, width) => sum + width, 0)
  const columns = children.map((child, i) => {
    const box = isBox(child) ? child.props : {}
    const attributes = {
      width: `${Number(((widths[i]! / whole) * 100).toFixed(2))}%`,
      ...(box.background && { 'background-color': box.background, 'css-class': groundClass(box.background) }),
      ...(box.padding && { padding: `${box.padding}px` }),
    }
    const around = box.background ?? own.background
    const nodes = isBox(child)
      ? context.placeholders.shownIf(conditionOf(child), columnNodes(child.children, context, around))
      : columnNodes([child], context, around)
    return node('mj-column', attributes, nodes)
  })
  return row(own, [padding, padding], columns)
}

/** Adds pixels to the top or bottom padding of a row. */
const padded = (one: Node, side: 'top' | 'bottom', by: number): Node => {
  const [top, sides, bottom] = String(one.attributes.padding)
    .split(' ')
    .map((part) => Number.parseInt(part, 10))
  const padding = side === 'top' ? [top! + by, sides, bottom] : [top, sides, bottom! + by]
  return { ...one, attributes: { ...one.attributes, padding: padding.map((pixels) => `${pixels}px`).join(' ') } }
}

const sectionRows = ({ props, children }: SectionBlock, inherited: RowContext, context: RenderContext): Node[] => {
  const { padding = 0 } = props
  const rows = rowsOf(children, nestedIn(inherited, props), context)
  // Marks of conditions stand between the rows.
  const isRow = ({ tagName }: Node) => tagName === 'mj-section'
  const [first, last] = [rows.findIndex(isRow), rows.findLastIndex(isRow)]
  return rows.map((one, i) => {
    const below = i === first ? padded(one, 'top', padding) : one
    return i === last ? padded(below, 'bottom', padding) : below
  })
}

/** Consecutive blocks share a row with one column. Columns become one row, a section becomes one or more rows. */
const rowsOf = (blocks: readonly Block[], inherited: RowContext, context: RenderContext): Node[] => {
  const rows: Node[] = []
  for (let i = 0; i < blocks.length; ) {
    const block = blocks[i]!
    if (isBox(block)) {
      const own =
        block.type === 'section' ? sectionRows(block, inherited, context) : [columnsRow(block, inherited, context)]
      rows.push(...context.placeholders.shownIf(conditionOf(block), own))
      i++
      continue
    }
    const end = blocks.findIndex((other, j) => j > i && isBox(other))
    const run = blocks.slice(i, end < 0 ? undefined : end)
    rows.push(row(inherited, [0, 0], [node('mj-column', {}, columnNodes(run, context, inherited.background))]))
    i += run.length
  }
  return rows
}

const logoRow = (theme: FullTheme, name: string, placeholders: Placeholders): Node[] => {
  if (!theme.logo) return []
  const image = {
    src: placeholders.html([{ url: urlParts(theme.logo), kind: 'image' }]),
    alt: placeholders.text(name),
    width: '160px',
    align: 'left',
  }
  return [row({ side: 0 }, [16, 0], [node('mj-column', {}, [node('mj-image', image)])])]
}

const footerLink = (link: 'view' | 'unsubscribe', theme: FullTheme): Part[] => [
  '<a href="',
  { link },
  `" class="ink-link" style="color:${theme.text}">${words[link]}</a>`,
]

/**
 * Returns a link that no person sees, before all others: a program that follows it is following all links. It has no
 * text, and screen readers and keyboards skip it.
 */
const honeypot = ({ placeholders }: RenderContext): Node =>
  node(
    'mj-raw',
    {},
    placeholders.html([
      {
        given: 'honeypot',
        parts: ['<a href="', { link: 'honeypot' }, '" style="display:none" aria-hidden="true" tabindex="-1"></a>'],
      },
    ]),
  )

/** The link to the live view, the unsubscribe link and the open pixel, the last two only if given. */
const footer = ({ theme, placeholders }: RenderContext): Node[] => {
  const parts: Part[] = [
    ...footerLink('view', theme),
    { given: 'unsubscribe', parts: [' &nbsp;·&nbsp; ', ...footerLink('unsubscribe', theme)] },
    { given: 'unsubscribe', parts: [{ given: 'postalAddress', parts: ['<br><br>', { addressBetween: '<br>' }] }] },
    { given: 'open', parts: ['<img src="', { link: 'open' }, '" width="1" height="1" alt="" style="display:block">'] },
  ]
  const text = { align: 'center', 'font-size': '13px', padding: '8px 20px' }
  return [row({ side: 0 }, [24, 16], [node('mj-column', {}, [node('mj-text', text, placeholders.html(parts))])])]
}

const head = ({ name, preheader, blocks }: Content, { theme, placeholders }: RenderContext): Node =>
  node('mj-head', {}, [
    node('mj-title', {}, placeholders.text(name)),
    node('mj-raw', {}, '<meta name="color-scheme" content="light dark">'),
    node('mj-style', {}, darkStyle(theme, blocks)),
    ...(preheader ? [node('mj-preview', {}, placeholders.text(preheader))] : []),
    node('mj-attributes', {}, [
      node('mj-all', { 'font-family': fontFamily(theme.font) }, []),
      node(
        'mj-text',
        { 'css-class': 'ink', color: theme.text, 'font-size': '16px', 'line-height': '1.5', padding: '8px 20px' },
        [],
      ),
      node(
        'mj-button',
        { 'font-size': '16px', 'font-weight': 'bold', padding: '8px 20px', 'border-radius': '6px' },
        [],
      ),
      node('mj-table', { 'css-class': 'ink' }, []),
      node('mj-image', { padding: '8px 20px' }, []),
    ]),
  ])

/** Returns the HTML of a project as parts. Loads MJML. */
export const renderHtml = async (content: Content): Promise<Part[]> => {
  const theme = fullTheme(content.theme)
  const placeholders = createPlaceholders()
  const context = { theme, placeholders, levels: headingLevels(content.blocks, 0), lang: usableLang(content.lang) }
  const body = [
    honeypot(context),
    ...logoRow(theme, content.name, placeholders),
    ...rowsOf(content.blocks, { side: 0 }, context),
    ...footer(context),
  ]
  const mail = node('mjml', { lang: content.lang ?? 'en' }, [
    head(content, context),
    node('mj-body', { width: `${theme.width}px`, 'background-color': theme.background }, body),
  ])
  return placeholders.partsOf(await compileMjml(mail))
}
