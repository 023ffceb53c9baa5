import type { Outcome } from './contacts.write.ts'
import type { Batch } from './imports.batch.ts'

/** Every data row is in exactly one of the five. */
export interface Counts {
  created: number
  updated: number
  unchanged: number
  /** New to the account, where the plan has no room for another. */
  skipped: number
  rejected: number
}

export const noCounts = (): Counts => ({ created: 0, updated: 0, unchanged: 0, skipped: 0, rejected: 0 })

export const addCounts = (sum: Counts, more: Counts): Counts => ({
  created: sum.created + more.created,
  updated: sum.updated + more.updated,
  unchanged: sum.unchanged + more.unchanged,
  skipped: sum.skipped + more.skipped,
  rejected: sum.rejected + more.rejected,
})

/**
 * The rows of a batch by what became of their addresses. The first row of an address counts as what all of its rows did
 * to what was stored, each later one as what it did to the rows before; those of a skipped address are skipped with it.
 */
export const countRows = (batch: Batch, outcomes: ReadonlyMap<string, Outcome>): Counts => {
  const counts = { ...noCounts(), rejected: batch.rejects.length }
  for (const { email } of batch.writes) {
    const outcome = outcomes.get(email) ?? 'skipped'
    const { changed, same } = batch.repeats.get(email) ?? { changed: 0, same: 0 }
    counts[outcome]++
    counts[outcome === 'skipped' ? 'skipped' : 'updated'] += changed
    counts[outcome === 'skipped' ? 'skipped' : 'unchanged'] += same
  }
  return counts
}
