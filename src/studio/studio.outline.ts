import { tagParts } from '../lib/tags.ts'
import type { Block, Content, LeafBlock } from './studio.blocks.ts'

/** Returns all blocks without children, in the order of the email. */
export const leavesOf = (blocks: readonly Block[]): LeafBlock[] =>
  blocks.flatMap((block) => ('children' in block ? leavesOf(block.children) : [block]))

/**
 * Returns the level of each heading by its block's id: the author's level, lowered where it would skip one, because screen readers
 * report a skipped level as a missing part. `above` is the level of the heading above the blocks; the author's level 1 is one below
 * it. `own` returns the level of a heading that a block renders itself.
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
  // Loads the parser of texts.
  const { richLinks } = await import('./studio.rich.ts')
  const inTexts = (block: LeafBlock) => (block.type === 'text' ? richLinks(block.props.text) : [])
  const parts = leavesOf(blocks)
    .flatMap((block) => [...linksOf(block), ...inTexts(block)])
    .flatMap(tagParts)
  return [...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : part.tag)))]
}
