import type { Outcome } from '../write/write-contacts.ts'
import type { Batch } from './batch.ts'

/** Every data row counts in exactly one of the six. */
export interface Counts {
  created: number
  updated: number
  unchanged: number
  /** New addresses beyond the plan's contact limit. */
  skipped: number
  rejected: number
  /** Rows whose person has opted out elsewhere (`--from`). */
  suppressed: number
}

export const noCounts = (): Counts => ({ created: 0, updated: 0, unchanged: 0, skipped: 0, rejected: 0, suppressed: 0 })

export const addCounts = (sum: Counts, more: Counts): Counts => ({
  created: sum.created + more.created,
  updated: sum.updated + more.updated,
  unchanged: sum.unchanged + more.unchanged,
  skipped: sum.skipped + more.skipped,
  rejected: sum.rejected + more.rejected,
  suppressed: sum.suppressed + more.suppressed,
})

/**
 * Counts the rows of a batch by the outcomes of their addresses. The first row of an address counts as the outcome of all its rows; each
 * later row counts as its change to the rows before. All rows of a skipped address are skipped.
 */
export const countRows = (batch: Batch, outcomes: ReadonlyMap<string, Outcome>): Counts => {
  const suppressed = batch.states?.suppressed.values().reduce((sum, rows) => sum + rows, 0) ?? 0
  const counts = { ...noCounts(), rejected: batch.rejects.length, suppressed }
  for (const { email } of batch.writes) {
    const outcome = outcomes.get(email) ?? 'skipped'
    const { changed, same } = batch.repeats.get(email) ?? { changed: 0, same: 0 }
    counts[outcome]++
    counts[outcome === 'skipped' ? 'skipped' : 'updated'] += changed
    counts[outcome === 'skipped' ? 'skipped' : 'unchanged'] += same
  }
  return counts
}
