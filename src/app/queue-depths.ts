/*
 * A queue's depth is what is due. Back-offs, waits of journeys and held emails would hide a queue that stands still.
 * Metrics and status count only what is due. There is no number for everything that is still to come.
 */

import { deliveriesQueue } from '../deliveries/queue/queue.rows.ts'
import { journeysQueue } from '../journeys/engine/runs.rows.ts'
import { sendsQueue } from '../messages/messages.queue.ts'
import { heldSince, type QueueName } from '../queue/holds.ts'
import { typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'

/** The number of due items of a queue, and for how long the oldest has been due, in seconds (0 without due items). */
export interface QueueDepth {
  queue: QueueName
  depth: number
  oldestSeconds: number
  /** When it was paused (epoch ms). It is null if the queue is not paused. */
  pausedAt: number | null
}

const queues = [deliveriesQueue, journeysQueue, sendsQueue]

// Items that wait for their time (a back-off, a journey's wait, a broadcast's rate) do not count: they would hide a queue
// that is stuck.
const readDepths = statement(
  'read-depths-of-queues',
  {
    row: {
      place: 'int4',
      queue: typed<QueueName>('text'),
      depth: 'int8',
      oldestSeconds: 'float8',
      pausedAt: 'int8?',
    },
  },
  `
  with clock as materialized (select svc_now() as now)
  ${queues
    .map(
      ({ name, due }, place) => `select ${place} as place, '${name}' as queue, count(*) as depth,
        coalesce(greatest(extract(epoch from (select now from clock) - min(due_at)), 0), 0)::float8 as "oldestSeconds",
        (${heldSince(name)}) as "pausedAt"
      from (${due}) d`,
    )
    .join(' union all ')}
  order by place`,
)

/** Returns the depth of each queue: `deliveries`, `journeys`, `sends`. Reads only indexes of waiting items, no history. */
export const readQueues = async ({ sql }: Pick<App, 'sql'>): Promise<QueueDepth[]> => {
  const rows = await sql(readDepths)
  return rows.map(({ place: _, ...depth }) => depth)
}
