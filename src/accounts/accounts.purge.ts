import { inBatches } from '../store/batches.ts'
import type { App } from '../store/work.ts'

// A window that is counted in meanwhile is looked at again once its row is free, and stays.
const oldWindows = `
  with old as materialized (
    select ctid as row from rate_windows where started_at < now() - interval '1 hour' order by started_at limit $1
    for update skip locked
  ), gone as (
    delete from rate_windows where ctid = any(array(select row from old)) returning 1
  )
  select count(*) from gone`

/** Deletes the windows of rate limits in which nobody has called for an hour, in batches with rests. */
export const purgeRateWindows = ({ sql }: Pick<App, 'sql'>, signal?: AbortSignal, batchSize = 1000): Promise<number> =>
  inBatches(batchSize, async () => (await sql<{ count: number }>(oldWindows, [batchSize]))[0]!.count, signal)
