import { tagParts } from '../lib/tags.ts'
import type { Block, Content, LeafBlock } from './studio.blocks.ts'

/** Returns all blocks without children, in the order of the email. */
export const leavesOf = (blocks: readonly Block[]): LeafBlock[] =>
  blocks.flatMap((block) => ('children' in block ? leavesOf(block.children) : [block]))

/**
 * Returns the level of each heading by its block's id: the author's level, lowered where it would skip one, because screen readers
 * report a skipped level as a missing part. `above` is the level of the heading above the blocks; the author's level 1 is one below
 * it. `own` returns the level of a heading that a block renders itself. An `html` block has the level of the last heading before it.
 */
export const headingLevels = (
  blocks: readonly Block[],
  above: number,
  own: (block: LeafBlock) => number | undefined = () => undefined,
): ReadonlyMap<string, number> => {
  const levels = new Map<string, number>()
  let last = above
  for (const block of leavesOf(blocks)) {
    if (block.type === 'heading') {
      last = Math.min(above + (block.props.level ?? 1), last + 1)
      levels.set(block.id, last)
    } else if (block.type === 'html') {
      levels.set(block.id, last)
      // Its own headings are at least as deep.
      if (/<h[1-6]/i.test(block.props.html)) last = above + 1
    } else last = own(block) ?? last
  }
  return levels
}

/** The properties of blocks that contain the URL of a link. */
const linkNames = ['url', 'href']

const linksOf = (block: LeafBlock): string[] => {
  const props: Record<string, unknown> = block.props
  return linkNames.flatMap((name) => (typeof props[name] === 'string' ? props[name] : []))
}

/** Returns the distinct merge fields in the links of a version: what a click on an old email needs. */
export const linkFields = async ({ blocks }: Pick<Content, 'blocks'>): Promise<string[]> => {
  const leaves = leavesOf(blocks)
  const linksInside = async ({ type, props }: LeafBlock): Promise<string[]> => {
    // Loads the parsers.
    if (type === 'text') return (await import('./studio.rich.ts')).richLinks(props.text)
    if (type !== 'html') return []
    const { markupLinks } = await import('./studio.markup.ts')
    const { sanitized } = await import('./studio.sanitize.ts')
    return markupLinks(sanitized(props.html))
  }
  const inside = await Promise.all(leaves.map(linksInside))
  const parts = leaves.flatMap((block, i) => [...linksOf(block), ...inside[i]!]).flatMap(tagParts)
  return [...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : part.tag)))]
}
