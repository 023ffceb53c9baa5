import { nextRetryMs } from '../../lib/backoff.ts'
import type { SendOutcome } from '../../net/smtp.ts'
import { claimsJson, ownedRows, splitByOutcome } from '../../queue/claims.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import { countEnds, isBatch } from '../messages.queue.ts'
import { causeOf, countEnded, endedColumns } from '../results/results.ts'
import { type ClaimedMessage, queueTable, unknownState } from './claim.ts'
import { marking } from './mark.ts'

/** The result of one claim. `queued`: a temporary failure; the message is retried after `waitMs`. */
export interface Result {
  claimed: ClaimedMessage
  status: 'sent' | 'failed' | 'suppressed' | 'queued'
  reason: string | null
  error: string | null
  waitMs: number
  /** The relay rejected the recipient as unknown. */
  isBounced: boolean
  /** The relay replied to a marked message. This result replaces that of a worker that presumed this one dead. */
  isReply: boolean
  /** Replaces a result that the database refused to store. */
  isReplacement?: boolean
}

/** A reply with the enhanced status code of a bad recipient address (RFC 3463). The codes 5.1.7 and 5.1.8 are about the sender. */
const noSuchRecipient = /^\d{3}[ -]5\.1\.(?![78]\b)\d/

/** The outcome of a hand-over that was not withdrawn: it says something about the message or its relay. */
type RelayOutcome = Exclude<SendOutcome, { kind: 'withdrawn' }>

const refusedSentence = (response: string) => `The relay refused the message: ${response}`

/** Returns a result with the defaults of most results. */
const resultOf = (claimed: ClaimedMessage, status: Result['status'], more: Partial<Result> = {}): Result => ({
  ...{ claimed, status, reason: null, error: null, waitMs: 0, isBounced: false, isReply: false },
  ...more,
})

export const suppressedResult = (claimed: ClaimedMessage, reason: string): Result =>
  resultOf(claimed, 'suppressed', { reason })

export const failedResult = (claimed: ClaimedMessage, error: string): Result => resultOf(claimed, 'failed', { error })

/** Replaces a result that the database refused to store. */
export const unrecordable = ({ claimed }: Result): Result =>
  resultOf(claimed, 'failed', { error: 'The result could not be recorded', isReplacement: true })

const putOff = (claimed: ClaimedMessage, error: string, random: number): Result => {
  const waitMs = claimed.isPatient ? nextRetryMs(claimed.tries + 1, random) : null
  return waitMs === null ? failedResult(claimed, error) : resultOf(claimed, 'queued', { error, waitMs })
}

/**
 * Returns the result of a hand-over (docs/reference/mail.md#outcomes): sent if the relay accepted the message; failed if it refused
 * it or its answer is unknown. After a temporary failure, or if the relay can't be reached, a message with a waiting caller fails,
 * and any other one is retried. `random` in [0, 1).
 */
export const resultOfSend = (claimed: ClaimedMessage, outcome: RelayOutcome, random: number): Result => {
  if (outcome.kind === 'accepted') return resultOf(claimed, 'sent', { isReply: true })
  if (outcome.kind === 'unknown') return failedResult(claimed, unknownState)
  if (outcome.kind === 'unreached') return putOff(claimed, `The relay could not be reached: ${outcome.reason}`, random)
  const error = refusedSentence(outcome.response)
  if (outcome.code < 500) return putOff(claimed, error, random)
  const isBounced = outcome.ofRecipient && noSuchRecipient.test(outcome.response)
  return resultOf(claimed, 'failed', { error, isBounced, isReply: true })
}

const resultColumns =
  ', batch text, tries int, status text, reason text, error text, "waitMs" float8, "isBounced" boolean'

const suppressingLater = (ended: string) => `
  insert into pending_suppressions (account_id, message_id) select "accountId", id from ${ended} e where "isBounced"
  on conflict do nothing`

// Skips locked rows of both tables, so that no other result waits for them. A connection that has finished one message takes the
// next at once. Recording the one and marking the other in the same statement saves a commit, and after a crash at most one message
// of the connection is in an unknown state.
const recording = preparedStatement<{ id: string }>(
  'record-messages',
  { id: 'text' },
  `
  with clock as materialized (
    select svc_now() as now
  ), mine as materialized (
    select l.row, c.* from ${ownedRows(queueTable, resultColumns)}
  ), result as materialized (
    select mine.*, m.message from mine cross join lateral (
      select ctid as message from messages where account_id = mine."accountId" and id = mine.id for no key update skip locked
    ) m
  ), again as (
    update message_queue q set worker = null, is_handing = false, tries = r.tries, claim = q.claim + 1,
      due_at = clock.now + r."waitMs" * interval '1 ms'
    from result r, clock where q.ctid = r.row and r.status = 'queued'
  ), gone as (
    delete from message_queue q using result r where q.ctid = r.row and r.status <> 'queued'
    returning q.account_id, q.batch, r.status
  ), tallied as (
    ${countEnds('select account_id, batch, status from gone')}
  ), bounced as (
    ${suppressingLater('result')}
  ), ended as (
    update messages m set status = r.status, reason = r.reason, error = r.error, finished_at = clock.now
    from result r, clock where m.ctid = r.message and r.status <> 'queued'
    returning ${endedColumns('m')}
  ), counted as (
    ${countEnded('select * from ended')}
  ), ${marking('$2')}
  select id from result union all select id from sendable`,
)

// Records a relay's reply that arrives after another worker presumed this one dead and ended the message. Only the worker that
// marked the message can have a reply, and no other worker claims a marked message, so the reply belongs to this row.
const correcting = preparedStatement<{ id: string }>(
  'correct-messages',
  { id: 'text' },
  `
  with late as materialized (
    select c.*, m.* from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text${resultColumns}) cross join lateral (
      select ctid as message, project_id, ${causeOf('messages')} as cause, ${utcDay('finished_at')} as day from messages
      where account_id = c."accountId" and id = c.id and status = 'failed' and error = '${unknownState}'
        and not exists (select from message_queue q where q.account_id = c."accountId" and q.id = c.id)
      limit 1 for no key update skip locked
    ) m
  ), tallied as (
    insert into message_tallies (account_id, batch, status, count)
    select l."accountId", l.batch, t.status, t.count from late l cross join lateral (
      values (l.status, 1), ('failed', -1)
    ) t (status, count) where ${isBatch('l.batch')} and l.status <> 'failed'
  ), bounced as (
    ${suppressingLater('late')}
  ), ended as (
    update messages m set status = l.status, error = l.error, finished_at = svc_now() from late l where m.ctid = l.message
    returning ${endedColumns('m')}
  ), counted as (
    ${countEnded(`select * from ended union all select "accountId", project_id, cause, day, 'failed', -1 from late`)}
  )
  select id from late`,
)

const encode = (results: readonly Result[]): string =>
  JSON.stringify(
    results.map(
      ({ claimed: { accountId, id, batch, claim, worker, tries }, status, reason, error, waitMs, isBounced }) => ({
        ...{ accountId, id, batch, claim, worker },
        tries: tries + 1,
        ...{ status, reason, error, waitMs, isBounced },
      }),
    ),
  )

const findUnknown = statement<{ id: string }>(
  'find-messages-of-unknown-state',
  { id: 'text' },
  `select c.id from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text)
   join messages m on m.account_id = c."accountId" and m.id = c.id
   where m.status = 'failed' and m.error = '${unknownState}'`,
)

/** Returns the ids of messages that still have the error `unknownState`, because their rows were locked. */
const stillUnknown = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql(findUnknown, [encode(results)])
  return new Set(rows.map(({ id }) => id))
}

const correct = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql(correcting, [encode(results)])
  return new Set(rows.map(({ id }) => id))
}

/** The outcome of recording. Results in none of the lists belong to messages that this process has lost. */
export interface Recorded {
  written: Result[]
  /** Results that replaced `unknownState`, which was counted as failed before. */
  corrected: Result[]
  /** Results to record later, because their rows are locked. */
  locked: Result[]
  /** The ids of the messages that may be sent. */
  marked: ReadonlySet<string>
}

/**
 * Records results, and marks the messages that connections have taken (`marking`), in one statement. Only for rows that are locked
 * or lost it needs more.
 */
export const recordResults = async (
  sql: Sql,
  results: readonly Result[],
  taken: readonly ClaimedMessage[],
): Promise<Recorded> => {
  const rows = await sql(recording, [encode(results), claimsJson(taken)])
  const marked = new Set(rows.map(({ id }) => id))
  const { done: written, locked } = await splitByOutcome(sql, queueTable, results, ({ claimed }) => claimed, marked)
  if (written.length + locked.length === results.length) return { written, corrected: [], locked, marked }
  const known = new Set([...written, ...locked])
  const late = results.filter((result) => result.isReply && !known.has(result))
  const corrected = await correct(sql, late)
  const unknown = await stillUnknown(
    sql,
    late.filter(({ claimed }) => !corrected.has(claimed.id)),
  )
  return {
    written,
    corrected: late.filter(({ claimed }) => corrected.has(claimed.id)),
    locked: [...locked, ...late.filter(({ claimed }) => unknown.has(claimed.id))],
    marked,
  }
}
