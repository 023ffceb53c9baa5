import { inBatches } from '../store/batches.ts'
import type { App } from '../store/work.ts'

// Only forms contain free text: all other answers are options, numbers, times and amounts.
const dropping = `
  with old as materialized (
    select ctid as row from interactions where kind = 'form' and value is not null and at < $1 order by at limit $2
    for update skip locked
  )
  update interactions i set value = null from old where i.ctid = old.row returning 1`

/**
 * Drops the texts of form answers older than `before`; the answers themselves stay. Works in batches with pauses, until none is left
 * or `signal` is aborted. Returns the number of answers whose text was dropped.
 */
export const dropTexts = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 500,
): Promise<number> => inBatches(batchSize, async () => (await sql(dropping, [before, batchSize])).length, signal)
