import { invalidEmails } from '../../contacts/contacts.rows.ts'
import { countEnded } from '../../results/results.rows.ts'
import { scanList } from '../../segments/segments.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { AccountSql, Work } from '../../store/work.ts'
import { leftOf } from '../../suppressions/suppressions.rows.ts'
import { messageQueue, messageTallies } from '../messages.columns.ts'
import { endedColumns } from '../messages.ended.ts'
import { heldUntil } from '../messages.queue.ts'
import { mailChannel, noticeOf } from './outbox.claim.ts'

/*
 * A batch is a set of messages that were queued together (`queueMails` with a batch). They wait in a stream of their own, behind the
 * account's single messages. The feature that created the batch sets its pace, can cancel it, and reads its results from counters.
 */

/** Number of ended messages of a batch, by status. */
interface BatchCounts {
  sent: number
  failed: number
  suppressed: number
}

const ofBatch = types(messageQueue, 'accountId', 'batch')

const takeCounts = preparedStatement(
  'take-tally',
  { row: types(messageTallies, 'status', 'count'), parameters: ofBatch },
  `with taken as (delete from message_tallies where account_id = :accountId and batch = :batch returning status, count)
   select status, sum(count)::int as count from taken group by status`,
)

/** Returns the messages of a batch that ended since the last call, and deletes these counters: each message is reported once. */
export const takeBatchCounts = async ({ sql, accountId }: Work, batch: string): Promise<BatchCounts> => {
  const rows = await sql(takeCounts, { accountId, batch })
  return { sent: 0, failed: 0, suppressed: 0, ...Object.fromEntries(rows.map((row) => [row.status, row.count])) }
}

const releaseHeld = statement(
  'release-held-messages',
  { row: { dueAt: 'int8?' }, parameters: { ...ofBatch, count: 'int4', most: 'int8' } },
  `with clock as materialized (
     select svc_now() as now
   ), waiting as materialized (
     select count(*) as count from (
       select from message_queue where account_id = :accountId and batch = :batch and due_at < ${heldUntil} limit :most
     ) w
   ), held as materialized (
     select ctid as row from message_queue where account_id = :accountId and batch = :batch and due_at = ${heldUntil}
     limit (select greatest(least(:count::int, :most - count), 0) from waiting) for update skip locked
   ), numbered as (
     select row, row_number() over () as nth from held
   ), released as (
     update message_queue q set due_at = clock.now + n.nth * interval '1 microsecond'
     from numbered n, clock where q.ctid = n.row returning q.due_at
   )
   select (extract(epoch from min(due_at)) * 1e6)::int8 as "dueAt" from released`,
)

/**
 * Releases at most `count` held messages of a batch, fewer if more than `most` released ones would wait: the pace is not caught up
 * after a time in which the relay was unavailable.
 */
export const releaseMails = async (
  { sql, accountId, announce }: Work,
  batch: string,
  { count, most }: { count: number; most: number },
): Promise<void> => {
  const [released] = await sql(releaseHeld, { accountId, batch, count, most })
  if (released!.dueAt !== null)
    announce(mailChannel, noticeOf({ accountId, batch }, released!.dueAt), { ownFirst: true })
}

const insertPause = statement(
  'pause-batch',
  { parameters: ofBatch },
  'insert into message_pauses (account_id, batch) values (:accountId, :batch) on conflict do nothing',
)

/** Holds the messages of a batch back, except those that a connection has taken, until `resumeBatch`. */
export const pauseBatch = async ({ sql, accountId }: Work, batch: string): Promise<void> => {
  await sql(insertPause, { accountId, batch })
}

const deletePause = statement(
  'resume-batch',
  { parameters: ofBatch },
  'delete from message_pauses where account_id = :accountId and batch = :batch',
)

/** Ends a pause, if there is one. */
export const resumeBatch = async ({ sql, accountId, announce }: Work, batch: string): Promise<void> => {
  await sql(deletePause, { accountId, batch })
  announce(mailChannel)
}

const dropWaiting = statement(
  'drop-messages-of-batch',
  { row: { count: 'int8' }, parameters: ofBatch },
  `with gone as (
     delete from message_queue where account_id = :accountId and batch = :batch and not is_handing returning 1
   ) select count(*) as count from gone`,
)

/**
 * Removes the messages of a batch from the queue, except those that a connection has taken. Returns their number. `failDropped`
 * then ends them.
 */
export const dropBatch = async ({ sql, accountId }: Work, batch: string): Promise<number> => {
  const [row] = await sql(dropWaiting, { accountId, batch })
  return row!.count
}

const findQueued = statement(
  'find-message-of-batch',
  { parameters: ofBatch },
  'select from message_queue where account_id = :accountId and batch = :batch limit 1',
)

/** Returns whether the queue has no message of a batch any more. All its results are in the counters then. */
export const isBatchOut = async ({ sql, accountId }: Work, batch: string): Promise<boolean> =>
  (await sql(findQueued, { accountId, batch })).length === 0

const pageSize = 1000

const failPage = statement(
  'fail-dropped-messages',
  {
    row: { last: 'text?', size: 'int8', month: 'text?', count: 'int8' },
    parameters: { accountId: 'text', after: 'text', end: 'text', error: 'text', now: 'timestamptz' },
  },
  `with page as materialized (
     select id, key, status from messages where account_id = :accountId and key > :after and key < :end
     order by key limit ${pageSize}
   ), ended as (
     update messages m set status = 'failed', error = :error, finished_at = :now from page p
     where m.account_id = :accountId and m.id = p.id and p.status = 'pending' and m.status = 'pending'
       and not exists (select from message_queue q where q.account_id = :accountId and q.id = p.id)
     returning m.created_at, ${endedColumns('m')}
   ), counted as (
     ${countEnded('select account_id, project_id, cause, day, metric, count from ended')}
   ), months as (
     select to_char(created_at at time zone 'UTC', 'YYYY-MM-01') as month, count(*) as count from ended group by 1
   )
   select (select max(key) from page) as last, (select count(*) from page) as size, month, coalesce(count, 0) as count
   from (select) one left join months on true`,
)

/**
 * Marks pending messages that are not queued any more as failed, among those whose keys begin with `prefix`. Works on one page of
 * keys after `after`. Returns the `last` key of the page (null after the last page) and, in `months`, how many messages counted
 * against the quota of which month.
 */
export const failDropped = async (
  { sql, accountId, now }: Work,
  prefix: string,
  after: string,
  error: string,
): Promise<{ last: string | null; failed: number; months: { month: string; count: number }[] }> => {
  const keys = { after: after > prefix ? after : prefix, end: `${prefix}\u{10FFFF}` }
  const rows = await sql(failPage, { accountId, ...keys, error, now })
  const { last, size } = rows[0]!
  return {
    last: size < pageSize ? null : last,
    failed: rows.reduce((sum, { count }) => sum + count, 0),
    months: rows.flatMap(({ month, count }) => (month === null ? [] : { month, count })),
  }
}

/**
 * Counts the emails of a batch that were sent, by variant. `prefix` is the prefix of the keys of its messages. `variant` returns
 * an SQL expression of the variant's number for an address. Erased people are left out. Reads all messages of the batch.
 */
export const countSentByVariant = async (
  { sql, accountId }: AccountSql,
  prefix: string,
  variant: (email: string) => string,
): Promise<Map<number, number>> => {
  const rows = await sql<{ variant: number; sent: number }>(
    `select (${variant('email')})::int as variant, count(*)::int as sent from messages
     where account_id = $1 and key > $2 and key < $3 and email <> '' and status = 'sent' group by 1`,
    [accountId, prefix, `${prefix}\u{10FFFF}`],
  )
  return new Map(rows.map(({ variant: number, sent }) => [number, sent]))
}

export interface RecipientCounts {
  recipients: number
  suppressed: number
}

/**
 * Returns the number of recipients, and how many of them get no marketing email (of a topic, if there is one) at this moment.
 * `query` selects their addresses as `email`, each once, with `params`. Suppression is checked again when a message is queued,
 * and when it is sent.
 */
export const countRecipients = async (
  work: Work,
  query: string,
  params: readonly unknown[],
  topicId: string | null,
): Promise<RecipientCounts> => {
  const [account, topic] = [`$${params.length + 1}`, `$${params.length + 2}`]
  const [row] = await scanList<RecipientCounts>(
    work,
    `select count(*)::int8 as recipients, (count(*) filter (where is_suppressed))::int8 as suppressed from (
       select c.email in (${leftOf(account, topic)})
         or c.email in (${invalidEmails(account)}) as is_suppressed
       from (${query}) c
     ) c`,
    [...params, work.accountId, topicId ?? ''],
  )
  return row!
}
