import { notFound } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'

/*
 * A held (paused) queue starts nothing, in any process on the database (docs/queues.md#paused-queues). The workers of deliveries and
 * messages read the hold with each heartbeat, so that no turn costs a statement more; journeys and schedulers read it in the
 * statements that find their work.
 */

/** The queues, by the names that metrics and commands have for them. */
export const queueNames = ['deliveries', 'journeys', 'sends'] as const
export type QueueName = (typeof queueNames)[number]

/** Notices on this channel make workers read whether their queue is held. */
export const holdsChannel = 'svc_queues'

/** Returns an SQL condition: the queue is held. */
export const isHeld = (queue: QueueName): string => `exists (select from queue_holds where queue = '${queue}')`

/** Returns SQL that selects since when the queue is held (epoch ms), or null if it is not. */
export const heldSince = (queue: QueueName): string =>
  `select floor(extract(epoch from held_at) * 1000)::int8 from queue_holds where queue = '${queue}'`

/** Returns the queue of this name. Throws Problem `not_found`. */
export const queueOfName = (name: string): QueueName => {
  const queue = queueNames.find((known) => known === name)
  if (queue) return queue
  throw notFound(`Unknown queue "${name}"; available: ${queueNames.join(', ')}`)
}

const insertHolds = statement(
  'hold-queues',
  { parameters: { queues: '_text' } },
  'insert into queue_holds (queue, held_at) select queue, svc_now() from unnest(:queues::text[]) q(queue) on conflict do nothing',
)

/** Holds queues. One that is held already keeps its time. */
export const holdQueues = async (sql: Sql, queues: readonly QueueName[]): Promise<void> => {
  await sql(insertHolds, { queues })
}

const deleteHolds = statement(
  'release-queues',
  { parameters: { queues: '_text' } },
  'delete from queue_holds where queue = any(:queues)',
)

export const releaseQueues = async (sql: Sql, queues: readonly QueueName[]): Promise<void> => {
  await sql(deleteHolds, { queues })
}

const selectHeld = statement(
  'read-held-queues',
  { row: { queue: typed<QueueName>('text') } },
  'select queue from queue_holds order by queue',
)

export const readHeld = async (sql: Sql): Promise<QueueName[]> => (await sql(selectHeld)).map(({ queue }) => queue)

// The schema of the backup may be older than the table. Its migration accepts the existing table.
const createHolds = statement(
  'create-queue-holds',
  {},
  'create table if not exists queue_holds (queue text not null, held_at timestamptz not null, primary key (queue))',
)

const insertRestoredHolds = statement(
  'hold-restored-queues',
  { parameters: { queueNames: '_text' } },
  'insert into queue_holds (queue, held_at) select queue, clock_timestamp() from unnest(:queueNames::text[]) q(queue) on conflict do nothing',
)

/** Holds all queues, in a transaction that restores a backup of any known schema. */
export const holdRestored = async (sql: Sql): Promise<void> => {
  await sql(createHolds)
  await sql(insertRestoredHolds, { queueNames })
}
