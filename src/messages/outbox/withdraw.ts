import { returnQuota } from '../../accounts/accounts.ts'
import { conflict, noSuch } from '../../lib/problem.ts'
import { countEnded } from '../../results/results.rows.ts'
import type { RowOf, TypeMap } from '../../store/column-types.ts'
import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { messages } from '../messages.columns.ts'
import { cancelledError, endedColumns } from '../messages.ended.ts'
import { isBatch } from '../messages.queue.ts'
import { unknownState } from './outbox.claim.ts'

const withdrawnTypes = {
  email: 'text',
  sourceId: 'text',
  /** A connection had taken it, so that it may be sent. */
  isTaken: 'bool',
} as const

type Withdrawn = RowOf<typeof withdrawnTypes>

const counting = 'select account_id, project_id, cause, day, metric, count from ended'

const rowTypes = { ...withdrawnTypes, month: 'text' } as const

/** Makes a statement that ends queued messages: `found` is a query of their rows in the queue, as `q`, with the parameters `by`. */
const withdrawing = <const By extends TypeMap>(name: string, by: By, found: string) =>
  statement(
    name,
    {
      row: rowTypes,
      parameters: { accountId: 'text', error: 'text', now: 'timestamptz', ...by },
    },
    // The rows are locked in the order of their ids (docs/locking.md), which a deletion by itself does not promise.
    `with held as materialized (
       ${found} order by q.id for update of q
     ), gone as (
       delete from message_queue q using held where q.account_id = :accountId and q.id = held.id returning q.id, q.is_handing
     ), ended as (
       update messages m set status = 'failed', error = case when g.is_handing then '${unknownState}' else :error end,
         finished_at = :now
       from gone g where m.account_id = :accountId and m.id = g.id
       returning m.created_at, m.email, m.source_id, g.is_handing, ${endedColumns('m')}
     ), counted as (
       ${countEnded(counting)}
     )
     select email, source_id as "sourceId", is_handing as "isTaken",
       to_char(created_at at time zone 'UTC', 'YYYY-MM-01') as month
     from ended`,
  )

const byKeys = withdrawing(
  'withdraw-messages',
  { keys: '_text' },
  `select q.id from messages m join message_queue q on q.account_id = :accountId and q.id = m.id
   where m.account_id = :accountId and m.key = any(:keys)`,
)

// Starts from the queue, because no index of messages has the source.
const bySources = withdrawing(
  'withdraw-messages-of-sources',
  { sources: '_text' },
  `select q.id from message_queue q cross join lateral (
     select from messages where account_id = :accountId and id = q.id and source_kind = 'lifecycle' and source_id = any(:sources) limit 1
   ) m where q.account_id = :accountId and q.batch = ''`,
)

// Starts from the messages to the address, by their index: the queue may be long, and each cancelled registration runs this.
const bySourcesTo = withdrawing(
  'withdraw-messages-of-sources-to',
  { sources: '_text', to: 'text' },
  `select q.id from messages m join message_queue q on q.account_id = :accountId and q.id = m.id and q.batch = ''
   where m.account_id = :accountId and m.email = :to and m.source_kind = 'lifecycle' and m.source_id = any(:sources)`,
)

/** Counts withdrawn messages, and returns the volume of those that no connection had taken. */
const countWithdrawn = (work: Work, rows: readonly RowOf<typeof rowTypes>[]): void => {
  const { count } = work
  if (rows.length > 0) count('sends', 'failed', rows.length)
  const waited = Map.groupBy(
    rows.filter(({ isTaken }) => !isTaken),
    ({ month }) => month,
  )
  work.last(async () => {
    for (const [month, { length: units }] of waited) await returnQuota(work, 'sends', month, units)
  })
}

/**
 * Ends single messages that have not been sent, by their keys, as failed with `error`, and returns their volume to the quota.
 * A message that a connection has taken can't be called back: its state is unknown until the relay's answer corrects it, and it is
 * not tried again. Returns the number of messages that will certainly not be sent.
 */
export const withdrawMails = async (work: Work, keys: readonly string[], error: string): Promise<number> => {
  const { sql, accountId, now } = work
  const rows = await sql(byKeys, { accountId, error, now, keys })
  countWithdrawn(work, rows)
  return rows.filter(({ isTaken }) => !isTaken).length
}

/** The journey, or the event of a course or webinar, that queued messages. */
interface Source {
  kind: 'journey' | 'lifecycle'
  id: string
}

/**
 * Withdraws, as `withdrawMails`, all queued lifecycle messages of the sources, with or without a key. With `to`, withdraws only
 * those to this address. Returns them.
 */
export const withdrawMailsOfSources = async (
  work: Work,
  sources: readonly string[],
  error: string,
  to?: string,
): Promise<Withdrawn[]> => {
  const { sql, accountId, now } = work
  const found = { accountId, error, now, sources }
  const rows = to === undefined ? await sql(bySources, found) : await sql(bySourcesTo, { ...found, to })
  countWithdrawn(work, rows)
  return rows
}

const pageSize = 1000

const ofSource = { accountId: 'text', kind: 'text', id: 'text' } as const

const findQueuedOf = statement(
  'queued-messages-of-source',
  { row: types(messages, 'id', 'key'), parameters: { ...ofSource, after: 'text' } },
  `select q.id, m.key from (
     select id from message_queue where account_id = :accountId and batch = '' and id > :after order by id limit ${pageSize}
   ) q left join lateral (
     select key from messages where account_id = :accountId and id = q.id and source_kind = :kind and source_id = :id limit 1
   ) m on true order by q.id`,
)

/**
 * Withdraws, as `withdrawMails`, the messages with a key that a source has queued, among one page of the account's queue after `after`
 * (an id). Returns their number, and the last id of the page; null after the last page.
 */
export const withdrawMailsOf = async (
  work: Work,
  { kind, id }: Source,
  after: string,
  error: string,
): Promise<{ emails: number; last: string | null }> => {
  const page = await work.sql(findQueuedOf, { accountId: work.accountId, kind, id, after })
  const keys = page.flatMap(({ key }) => key ?? [])
  const emails = keys.length > 0 ? await withdrawMails(work, keys, error) : 0
  return { emails, last: page.length < pageSize ? null : page.at(-1)!.id }
}

const countQueuedOf = statement(
  'count-queued-of-source',
  { row: { emails: 'int8' }, parameters: ofSource },
  `select count(*) as emails from message_queue q join messages m on m.account_id = q.account_id and m.id = q.id
   where q.account_id = :accountId and q.batch = '' and not q.is_handing
     and m.source_kind = :kind and m.source_id = :id and m.key is not null`,
)

/** Counts the messages that `withdrawMailsOf` would withdraw. */
export const countMailsOf = async ({ sql, accountId }: Work, { kind, id }: Source): Promise<number> =>
  (await sql(countQueuedOf, { accountId, kind, id }))[0]!.emails

const findCalled = statement(
  'find-message-to-cancel',
  {
    row: { ...types(messages, 'status', 'sourceKind'), isInBatch: 'bool', first: 'text' },
    parameters: types(messages, 'accountId', 'id'),
  },
  `select status, source_kind as "sourceKind", coalesce(copy_of, id) as first,
     exists (select from message_queue where account_id = :accountId and id = :id and ${isBatch('batch')}) as "isInBatch"
   from messages where account_id = :accountId and id = :id`,
)

/** What makes emails besides POST /send and `svc send`. Such an email can't be cancelled by its id. */
const otherOrigins: Readonly<Record<string, string>> = {
  journey: 'belongs to a journey',
  lifecycle: 'is a lifecycle email',
}

const cancelCall = statement(
  'cancel-messages-of-call',
  {
    row: { month: 'text', count: 'int8' },
    parameters: { accountId: 'text', first: 'text', now: 'timestamptz' },
  },
  `with call as materialized (
     select id from messages where account_id = :accountId and id = :first
     union all
     select id from messages where account_id = :accountId and copy_of = :first
   ), gone as (
     delete from message_queue q using call where q.account_id = :accountId and q.id = call.id and not q.is_handing returning q.id
   ), ended as (
     update messages m set status = 'failed', error = '${cancelledError}', finished_at = :now
     from gone where m.account_id = :accountId and m.id = gone.id returning m.created_at, ${endedColumns('m')}
   ), counted as (
     ${countEnded(counting)}
   )
   select to_char(created_at at time zone 'UTC', 'YYYY-MM-01') as month, count(*) as count from ended group by 1`,
)

const uncancelledTypes = { id: 'text', to: 'text', ...types(messages, 'status') } as const

/** A message of a cancelled call that is being sent, or has been. */
type Uncancelled = RowOf<typeof uncancelledTypes>

const readUncancelled = statement(
  'read-uncancelled-messages',
  { row: uncancelledTypes, parameters: { accountId: 'text', first: 'text' } },
  `select id, email as "to", status from (
     select id, email, status, error from messages where account_id = :accountId and id = :first
     union all
     select id, email, status, error from messages where account_id = :accountId and copy_of = :first
   ) m where status in ('pending', 'sent') or error = '${unknownState}' order by id`,
)

/**
 * Cancels a pending message with all copies of its call, and returns their volume to the quota. Returns the messages of the call
 * that could not be cancelled. Throws Problem `not_found`, or `conflict` if it has ended, no call made it, or if all of the call is
 * being handed over.
 */
export const cancelSend = async (work: Work, id: string): Promise<Uncancelled[]> => {
  const { sql, accountId, now, count } = work
  const [message] = await sql(findCalled, { accountId, id })
  if (!message) throw noSuch('send', id, { hint: 'svc sends list' })
  if (message.status !== 'pending') throw conflict(`The send ${id} has ended: ${message.status}`)
  const origin = message.isInBatch ? 'belongs to a broadcast' : otherOrigins[message.sourceKind]
  if (origin) throw conflict(`The send ${id} ${origin}`)
  const months = await sql(cancelCall, { accountId, first: message.first, now })
  if (months.length === 0) throw conflict(`The send ${id} is being sent`)
  for (const { count: units } of months) count('sends', 'failed', units)
  work.last(async () => {
    for (const { month, count: units } of months) await returnQuota(work, 'sends', month, units)
  })
  return sql(readUncancelled, { accountId, first: message.first })
}
