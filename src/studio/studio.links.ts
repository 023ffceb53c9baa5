import { tagParts } from '../lib/tags.ts'
import type { Block, Content } from './studio.blocks.ts'

/** The properties of blocks that hold the address of a link. */
const linkNames = ['url', 'href']

const linksOf = (block: Block): string[] => {
  if ('children' in block) return block.children.flatMap(linksOf)
  const props: Record<string, unknown> = block.props
  return linkNames.flatMap((name) => (typeof props[name] === 'string' ? props[name] : []))
}

/** The merge fields that the links of a version are filled with, each once: what a click on an old email needs. */
export const linkFields = ({ blocks }: Pick<Content, 'blocks'>): string[] => {
  const parts = blocks.flatMap(linksOf).flatMap(tagParts)
  return [...new Set(parts.flatMap((part) => (typeof part === 'string' ? [] : part.tag)))]
}
