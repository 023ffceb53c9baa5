import { activeAccounts } from '../../accounts/accounts.rows.ts'
import { type Claim, claimsJson, ownedRows } from '../../queue/claims.ts'
import type { Adapter } from '../../queue/engine.ts'
import { countEnded } from '../../results/results.rows.ts'
import { relayOf, type StoredRelay } from '../../senders/relays.rows.ts'
import { typed } from '../../store/column-types.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { App } from '../../store/work.ts'
import { messageQueue } from '../messages.columns.ts'
import { endedColumns } from '../messages.ended.ts'
import { countEnds, isPaused } from '../messages.queue.ts'

/*
 * A message belongs to the worker that claimed it, for as long as that worker lives (docs/queues.md#rules). It is marked
 * (`is_handing`, messages/outbox/mark.ts) when a connection takes it and before any of its content is sent. If its worker dies, an unmarked
 * message is claimed again, and a marked one ends as failed, because the relay may have it. So each message is sent at most
 * once, and a crash leaves at most one message in doubt per open connection.
 *
 * Emails of a broadcast wait in a stream of their own, so that a broadcast of any size does not delay other emails of its account: the
 * queue's index has the batch before the time, and a relay's queue lets single emails pass. Broadcasts of one account take turns.
 * Their ended messages are counted in a row for each recording, which the broadcast adds up, because counting the messages themselves
 * would read all of them.
 */

/**
 * The mail jobs listen on this channel. A payload is `<microseconds> <account> <batch>`; after any other one they check all
 * streams.
 */
export const mailChannel = 'svc_mail'

/** Returns the notice that a stream has messages due since a time (microseconds since the epoch). */
export const noticeOf = ({ accountId, batch }: Stream, dueAt: number): string => `${dueAt} ${accountId} ${batch}`

export const queueTable = 'message_queue'

export interface ClaimedMessage extends Claim {
  /** It is empty for a message without a batch. */
  batch: string
  tries: number
  isPatient: boolean
  /** It is null for the relay of the platform. */
  relay: StoredRelay | null
  /** It is set if this process has just inserted the message. Otherwise the content is loaded. */
  content?: Content
  /** It is set when the claim is released: the message is due again after this many ms. */
  retryMs?: number
}

/** All that is needed to compose a message. */
export interface Content {
  /** The message that its attachments are stored with. It is null if it has none. */
  attachmentsOf: string | null
  accountId: string
  id: string
  type: 'transactional' | 'marketing'
  email: string
  fromEmail: string
  fromName: string
  replyTo: string | null
  subject: string
  html: string | null
  text: string | null
  calendar: string | null
  projectId: string | null
  projectVersion: number | null
  mergeData: Record<string, string> | null
  /** Headers that the caller added. */
  headers: Record<string, string> | null
  /** What the headers To and Cc of a call with several recipients say. It is null if they say only `email`. */
  addressees: { to: string; cc: readonly string[] } | null
  createdAt: Date
  /** When it was created, or when it was scheduled for. */
  dueAt: Date
  /** The sealed DKIM key of its domain. It is null if the domain is not verified. */
  sealedKey: string | null
  domain: string
  /** The account's postal address, for marketing email of projects. It is undefined if it was not loaded. */
  postalAddress?: string | null
}

/** Messages that wait together, ordered by due time: a batch of an account, or all its messages without a batch (''). */
export interface Stream {
  accountId: string
  batch: string
}

export const streamKey = ({ accountId, batch }: Stream): string => `${accountId} ${batch}`

/** A stream that may have unclaimed messages since a time (microseconds), and how many may be claimed. */
export interface ClaimRequest extends Stream {
  capacity: number
  since: number
}

/** The due rows that a claim found in a stream: `found` rows up to `last` (microseconds), whether it could claim them or not. */
export interface Found extends Stream {
  found: number
  last: number
}

// `id` is null if nothing in the stream could be claimed. Rows are addressed by ctid and joined laterally, as in deliveries, so that the planner can only choose the index scan.
const claimMessages = preparedStatement(
  'claim-messages',
  {
    row: {
      ...types(messageQueue, 'accountId', 'batch'),
      found: 'int8',
      last: 'int8',
      id: 'text?',
      ...types(messageQueue, 'claim', 'tries', 'isPatient'),
      relay: typed<StoredRelay | null>('json'),
    },
    parameters: { worker: 'int4', requests: 'jsonb', total: 'int8' },
  },
  `
  with clock as materialized (
    select svc_now() as now
  ), ask as materialized (
    select * from jsonb_to_recordset(:requests::jsonb) as a("accountId" text, batch text, capacity int, since float8)
    where exists (select from ${activeAccounts} o where o.id = a."accountId")
      and not ${isPaused('a."accountId"', 'a.batch')}
  ), due as materialized (
    select a."accountId" as account, a.batch, d.*,
      row_number() over (partition by a."accountId", a.batch order by d.due_at) as turn
    from ask a, clock cross join lateral (
      select ctid as row, due_at from message_queue
      where account_id = a."accountId" and batch = a.batch and due_at >= to_timestamp(a.since / 1e6 - 1e-6)
        and due_at <= clock.now and worker is null
      order by due_at limit a.capacity
    ) d
  ), locked as materialized (
    select ctid as row from message_queue
    where ctid = any(array(select row from due order by turn, due_at limit :total)) and worker is null for update skip locked
  ), taken as (
    update message_queue set worker = :worker, claim = claim + 1 where ctid = any(array(select row from locked))
    returning account_id, id, batch, claim, tries, is_patient, due_at
  )
  select f.account as "accountId", f.batch, f.found, (extract(epoch from f.last) * 1e6)::int8 as last, t.id, t.claim, t.tries,
    t.is_patient as "isPatient", ${relayOf('f.account')} as relay
  from (select account, batch, count(*) as found, max(due_at) as last from due group by account, batch) f
    left join taken t on t.account_id = f.account and t.batch = f.batch
  order by t.due_at`,
)

/**
 * Claims due messages of the requested streams, at most `total`: the oldest of each stream first, the streams in turn. Skips
 * accounts that are being deleted, and paused batches. Returns the claims, and what was found in each stream.
 */
export const claimDue = async (
  sql: Sql,
  worker: number,
  requests: readonly ClaimRequest[],
  total: number,
): Promise<{ claims: ClaimedMessage[]; found: Map<string, Found> }> => {
  const rows = await sql(claimMessages, { worker, requests: JSON.stringify(requests), total })
  return {
    claims: rows.flatMap(({ found: _, last: __, id, ...row }) => (id === null ? [] : { ...row, id, worker })),
    found: new Map(rows.map((row) => [streamKey(row), row])),
  }
}

const releaseMessages = preparedStatement(
  'release-messages',
  {
    row: { ...types(messageQueue, 'id', 'accountId', 'batch'), dueAt: 'int8' },
    parameters: { claims: 'jsonb', retryMs: 'float8' },
  },
  `
  update message_queue q set worker = null, is_handing = false, claim = q.claim + 1,
    due_at = case when :retryMs::float8 > 0 then svc_now() + :retryMs * interval '1 ms' else q.due_at end
  from (select l.row from ${ownedRows(queueTable, '', ':claims')}) l where q.ctid = l.row
  returning q.id, q.account_id as "accountId", q.batch, (extract(epoch from q.due_at) * 1e6)::int8 as "dueAt"`,
)

/**
 * Returns unsent claims to the queue, each due again after its `retryMs`, and notifies the mail jobs. Resolves with the ids of the
 * released messages; rows that another transaction has locked, and rows of newer claims, stay unchanged.
 */
const releaseClaims = async (
  { sql, database }: Pick<App, 'sql' | 'database'>,
  claims: readonly ClaimedMessage[],
): Promise<Set<string>> => {
  const released = new Set<string>()
  for (const [retryMs, same] of Map.groupBy(claims, (claim) => claim.retryMs ?? 0)) {
    const rows = await sql(releaseMessages, { claims: claimsJson(same), retryMs })
    for (const [, own] of Map.groupBy(rows, streamKey)) {
      database.notices.announce(mailChannel, noticeOf(own[0]!, Math.min(...own.map(({ dueAt }) => dueAt))))
    }
    for (const { id } of rows) released.add(id)
  }
  return released
}

/** The error of a message whose worker died while the relay may have received it. */
export const unknownState = 'delivery state unknown'

const freeMessages = statement(
  'free-messages',
  { row: { failed: 'int8' }, parameters: { claims: 'jsonb' } },
  `
  with locked as materialized (
    select l.row from ${ownedRows(queueTable, '', ':claims')}
  ), gone as (
    delete from message_queue where ctid = any(array(select row from locked)) and is_handing returning account_id, id, batch
  ), tallied as (
    ${countEnds(`select account_id, batch, 'failed' as status from gone`)}
  ), freed as (
    update message_queue set worker = null, claim = claim + 1
    where ctid = any(array(select row from locked)) and not is_handing
  ), ended as (
    update messages m set status = 'failed', error = '${unknownState}', finished_at = svc_now()
    from gone where m.account_id = gone.account_id and m.id = gone.id returning ${endedColumns('m')}
  ), counted as (
    ${countEnded('select * from ended')}
  )
  select count(*) as failed from gone`,
)

/**
 * Frees the claims of a dead worker: marked messages fail with `unknownState`, the others can be claimed again. Rows that another
 * transaction has locked, and rows of newer claims, stay unchanged.
 */
export const freeClaims = async (
  { sql, counters, database }: Pick<App, 'sql' | 'counters' | 'database'>,
  claims: readonly Claim[],
): Promise<void> => {
  const [row] = await sql(freeMessages, { claims: claimsJson(claims) })
  counters.count('sends', 'failed', row!.failed)
  database.notices.announce(mailChannel)
}

/** Returns what all workers of the queue of messages have in common. */
export const mailQueue = (app: App): Pick<Adapter<ClaimedMessage>, 'job' | 'queue' | 'table' | 'release' | 'free'> => ({
  job: 'mail',
  queue: 'sends',
  table: queueTable,
  release: (claims) => releaseClaims(app, claims),
  free: (claims) => freeClaims(app, claims),
})

const findDueMessages = preparedStatement(
  'find-due-messages',
  { row: { ...types(messageQueue, 'accountId', 'batch'), since: 'int8' } },
  `with recursive waiting as (
     (select account_id, batch from message_queue order by account_id, batch limit 1)
     union all
     select n.account_id, n.batch from waiting w cross join lateral (
       select q.account_id, q.batch from message_queue q where (q.account_id, q.batch) > (w.account_id, w.batch)
       order by q.account_id, q.batch limit 1
     ) n
   )
   select w.account_id as "accountId", w.batch, (extract(epoch from d.due_at) * 1e6)::int8 as since
   from waiting w, (select svc_now() as now) clock cross join lateral (
     select due_at from message_queue
     where account_id = w.account_id and batch = w.batch and due_at <= clock.now and worker is null order by due_at limit 1
   ) d where exists (select from ${activeAccounts} a where a.id = w.account_id)
     and not ${isPaused('w.account_id', 'w.batch')}`,
)

/**
 * Returns the streams with due and unclaimed messages, and since when (microseconds), without accounts that are being deleted
 * and paused batches. Reads one index entry for each stream.
 */
export const findDue = (sql: Sql): Promise<(Stream & { since: number })[]> => sql(findDueMessages)
