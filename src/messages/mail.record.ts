import { nextRetryMs } from '../lib/backoff.ts'
import type { HandOver } from '../net/smtp.ts'
import { claimsJson, ownedRows, splitByOutcome } from '../queue/claims.ts'
import type { Sql } from '../store/database.ts'
import { type ClaimedMessage, queueTable, tallying, unknownState } from './mail.claim.ts'
import { marking } from './mail.mark.ts'

/** What became of one claim. `queued`: the relay was away or put it off, and it is tried again after `waitMs`. */
export interface Result {
  claimed: ClaimedMessage
  status: 'sent' | 'failed' | 'suppressed' | 'queued'
  reason: string | null
  error: string | null
  waitMs: number
  /** The relay says that there is no such recipient. */
  isBounced: boolean
  /** The relay's own reply to a marked message: it replaces the verdict of a worker that took this one for dead. */
  isReply: boolean
  /** It replaces one that the database refused to store. */
  isReplacement?: boolean
}

/** The enhanced status of an address that is none (RFC 3463), as a server says it first; 7 and 8 are about the sender. */
const noSuchRecipient = /^\d{3}[ -]5\.1\.(?![78]\b)\d/

/** The outcome of a hand-over that says something about the message or its relay. */
export type Verdict = Exclude<HandOver, { kind: 'withdrawn' }>

const refusedSentence = (response: string) => `The relay refused the message: ${response}`

const putOff = (claimed: ClaimedMessage, error: string, random: number): Result => {
  const waitMs = claimed.isPatient ? nextRetryMs(claimed.tries + 1, random) : null
  const ending = { claimed, reason: null, error, isBounced: false, isReply: false }
  return waitMs === null ? { ...ending, status: 'failed', waitMs: 0 } : { ...ending, status: 'queued', waitMs }
}

/**
 * What a hand-over leads to (decisions.md, Send): sent; failed, where the relay refuses or nobody knows; where it puts the
 * mail off or can't be reached, failed for a caller who waits, and tried again for the rest. `random` in [0, 1).
 */
export const judge = (claimed: ClaimedMessage, outcome: Verdict, random: number): Result => {
  const ended = { claimed, reason: null, waitMs: 0, isBounced: false, isReply: false }
  if (outcome.kind === 'accepted') return { ...ended, status: 'sent', error: null, isReply: true }
  if (outcome.kind === 'unknown') return { ...ended, status: 'failed', error: unknownState }
  if (outcome.kind === 'unreached') return putOff(claimed, `The relay could not be reached: ${outcome.reason}`, random)
  const error = refusedSentence(outcome.response)
  if (outcome.code < 500) return putOff(claimed, error, random)
  const isBounced = outcome.ofRecipient && noSuchRecipient.test(outcome.response)
  return { ...ended, status: 'failed', error, isBounced, isReply: true }
}

export const suppressedResult = (claimed: ClaimedMessage, reason: string): Result => ({
  claimed,
  status: 'suppressed',
  reason,
  error: null,
  waitMs: 0,
  isBounced: false,
  isReply: false,
})

export const failedResult = (claimed: ClaimedMessage, error: string): Result => ({
  claimed,
  status: 'failed',
  reason: null,
  error,
  waitMs: 0,
  isBounced: false,
  isReply: false,
})

/** Replaces a result that the database refused to store. */
export const unrecordable = ({ claimed }: Result): Result => ({
  ...failedResult(claimed, 'The result could not be recorded'),
  isReplacement: true,
})

const resultColumns =
  ', batch text, tries int, status text, reason text, error text, "waitMs" float8, "isBounced" boolean'

const suppressingLater = (ended: string) => `
  insert into pending_suppressions (account_id, message_id) select "accountId", id from ${ended} e where "isBounced"
  on conflict do nothing`

// Skips rows that are locked, in the queue or among the messages: no other result waits for them. A connection that has ended
// one message takes the next at once, so results and marks share the statement: it saves a commit, and a crash can't leave both
// messages of the connection in doubt.
const recording = `
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
    ${tallying('select account_id, batch, status from gone')}
  ), bounced as (
    ${suppressingLater('result')}
  ), ended as (
    update messages m set status = r.status, reason = r.reason, error = r.error, finished_at = clock.now
    from result r, clock where m.ctid = r.message and r.status <> 'queued'
  ), ${marking('$2')}
  select id from result union all select id from sendable`

// A relay's reply that comes after others ended the message, because they took this worker for dead. Only the worker that
// had marked the message can have a reply, and a marked message is claimed by nobody else: so the reply is about this row.
const correcting = `
  with late as materialized (
    select c.*, m.message from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text${resultColumns}) cross join lateral (
      select ctid as message from messages
      where account_id = c."accountId" and id = c.id and status = 'failed' and error = '${unknownState}'
        and not exists (select from message_queue q where q.account_id = c."accountId" and q.id = c.id)
      limit 1 for no key update skip locked
    ) m
  ), tallied as (
    insert into message_tallies (account_id, batch, status, count)
    select l."accountId", l.batch, t.status, t.count from late l cross join lateral (
      values (l.status, 1), ('failed', -1)
    ) t (status, count) where l.batch <> '' and l.status <> 'failed'
  ), bounced as (
    ${suppressingLater('late')}
  ), ended as (
    update messages m set status = l.status, error = l.error, finished_at = svc_now() from late l where m.ctid = l.message
  )
  select id from late`

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

/** Those whose message still ends as `unknownState`: its row is locked. */
const stillUnknown = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql<{ id: string }>(
    `select c.id from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text)
     join messages m on m.account_id = c."accountId" and m.id = c.id
     where m.status = 'failed' and m.error = '${unknownState}'`,
    [encode(results)],
  )
  return new Set(rows.map(({ id }) => id))
}

const correct = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql<{ id: string }>(correcting, [encode(results)], 'correct-messages')
  return new Set(rows.map(({ id }) => id))
}

/** What became of results and marks. The results in none of the lists belong to messages that are not ours any more. */
export interface Recorded {
  written: Result[]
  /** They replaced `unknownState`, which is counted as failed already. */
  corrected: Result[]
  /** To record later. */
  locked: Result[]
  /** The ids of the messages that may be sent. */
  marked: ReadonlySet<string>
}

/**
 * Records results, and marks the messages that connections have taken (`marking`), by one statement: more only for rows that
 * are locked or not ours any more.
 */
export const recordResults = async (
  sql: Sql,
  results: readonly Result[],
  taken: readonly ClaimedMessage[],
): Promise<Recorded> => {
  const rows = await sql<{ id: string }>(recording, [encode(results), claimsJson(taken)], 'record-messages')
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
