import { meets } from '../lib/filter.match.ts'
import { type Filter, parseFilter } from '../lib/filter.ts'
import type { Block } from './studio.blocks.ts'

type MergeData = Readonly<Record<string, string>>

/*
 * Conditions of blocks (docs/reference/studio.md#conditions): filters of merge fields.
 */

/**
 * Parses a condition. Every name is a merge field, except `terms`: names with another meaning in filters. Throws Problem `invalid` with
 * the column of the first mistake.
 */
export const parseCondition = (text: string, terms: Pick<ReadonlySet<string>, 'has'> = new Set()): Filter =>
  parseFilter(text, {
    terms: new Map(),
    columns: { has: (name) => !terms.has(name), [Symbol.iterator]: () => [].values() },
  })

/** Characters of a value that are compared: more than a filter has, and as many as a field of a contact. Values of POST /send may have 8 MB. */
const comparedLength = 10_000

export const meetsCondition = (condition: Filter, data: MergeData, nowMs: number): boolean =>
  meets(condition, (field) => (Object.hasOwn(data, field) ? data[field]!.slice(0, comparedLength) : undefined), nowMs)

const parsed = new WeakMap<Block, Filter>()

/** Returns the condition of a block, or null if it is always shown. */
export const conditionOf = (block: Block): Filter | null => {
  if (block.showIf === undefined) return null
  const known = parsed.get(block)
  if (known) return known
  const condition = parseCondition(block.showIf)
  parsed.set(block, condition)
  return condition
}

/** Returns the blocks that merge data shows at a time, without their conditions, which recipients must not see. */
export const shownBlocks = (blocks: readonly Block[], data: MergeData, nowMs: number): Block[] =>
  blocks.flatMap((block): Block[] => {
    const condition = conditionOf(block)
    if (condition && !meetsCondition(condition, data, nowMs)) return []
    const { showIf: _, ...shown } = block
    return ['children' in shown ? { ...shown, children: shownBlocks(shown.children, data, nowMs) } : shown]
  })
