import { inBatches } from '../store/batches.ts'
import type { App } from '../store/work.ts'

// Only forms hold free text: all other answers are options, numbers, times and amounts.
const dropping = `
  with old as materialized (
    select ctid as row from interactions where kind = 'form' and value is not null and at < $1 order by at limit $2
    for update skip locked
  )
  update interactions i set value = null from old where i.ctid = old.row returning 1`

/**
 * Drops what recipients wrote into forms before `before`; that they answered stays. In batches with rests until nothing is left or
 * `signal` is aborted. Returns how many answers lost their text.
 */
export const dropTexts = (
  { sql }: Pick<App, 'sql'>,
  before: Date,
  signal?: AbortSignal,
  batchSize = 500,
): Promise<number> => inBatches(batchSize, async () => (await sql(dropping, [before, batchSize])).length, signal)
