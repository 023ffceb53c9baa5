import { deliveriesQueue } from '../deliveries/delivery.claim.ts'
import { journeysQueue } from '../journeys/run.due.ts'
import { sendsQueue } from '../messages/mail.claim.ts'
import type { App } from '../store/work.ts'

/** How much of a queue is due, and for how long its oldest has been: seconds, 0 where nothing is. */
export interface QueueDepth {
  queue: string
  depth: number
  oldestSeconds: number
}

const queues = [deliveriesQueue, journeysQueue, sendsQueue]

// What waits for its time (a back-off, a journey's wait, a mail held by a broadcast's rate) is not in line: counted with the
// rest it would hide a queue that stands still.
const reading = `
  with clock as materialized (select svc_now() as now)
  ${queues
    .map(
      ({ name, due }, place) => `select ${place} as place, '${name}' as queue, count(*) as depth,
        coalesce(greatest(extract(epoch from (select now from clock) - min(due_at)), 0), 0)::float8 as "oldestSeconds"
      from (${due}) d`,
    )
    .join(' union all ')}
  order by place`

/** Each queue of the database, as it stands: `deliveries`, `journeys`, `sends`. Reads indexes of what waits, no history. */
export const readQueues = async ({ sql }: Pick<App, 'sql'>): Promise<QueueDepth[]> => {
  const rows = await sql<QueueDepth>(reading)
  return rows.map(({ queue, depth, oldestSeconds }) => ({ queue, depth, oldestSeconds }))
}
