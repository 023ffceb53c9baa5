import { returnQuota } from '../../accounts/accounts.ts'
import { nextRetryMs } from '../../lib/backoff.ts'
import { Problem } from '../../lib/problem.ts'
import type { SendOutcome } from '../../net/smtp.ts'
import { claimsJson, ownedRows, splitByOutcome } from '../../queue/claims.ts'
import { countEnded } from '../../results/results.rows.ts'
import { isUnavailable, type Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { utcDay } from '../../store/tallies.ts'
import type { App } from '../../store/work.ts'
import { causeOf, endedColumns } from '../messages.ended.ts'
import { countEnds, isBatch } from '../messages.queue.ts'
import { marking } from './mark.ts'
import { type ClaimedMessage, queueTable, unknownState } from './outbox.claim.ts'

/** The result of one claim. After a temporary failure it is `queued`, and retried after `waitMs`. */
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
  /** The message was not offered to a relay, so its volume is returned. */
  isUntouched?: boolean
}

/** A reply with the enhanced status code of a bad recipient address (RFC 3463). The codes 5.1.7 and 5.1.8 are about the sender. */
const noSuchRecipient = /^\d{3}[ -]5\.1\.(?![78]\b)\d/

/** The outcome of a hand-over that was not withdrawn: it says something about the message or its relay. */
type RelayOutcome = Exclude<SendOutcome, { kind: 'withdrawn' }>

const refusedSentence = (response: string) => `The relay refused the message: ${response}`

/** Returns a result with the defaults of most results. */
const resultOf = (claimed: ClaimedMessage, status: Result['status'], more: Partial<Result> = {}): Result => ({
  claimed,
  status,
  reason: null,
  error: null,
  waitMs: 0,
  isBounced: false,
  isReply: false,
  ...more,
})

export const suppressedResult = (claimed: ClaimedMessage, reason: string): Result =>
  resultOf(claimed, 'suppressed', { reason, isUntouched: true })

const failedResult = (claimed: ClaimedMessage, error: string): Result => resultOf(claimed, 'failed', { error })

/** Returns the result of a message that lacks something, so that it can't be handed over. */
export const lackingResult = (claimed: ClaimedMessage, error: string): Result =>
  resultOf(claimed, 'failed', { error, isUntouched: true })

/** Replaces a result that the database refused to store. */
export const unrecordable = ({ claimed }: Result): Result =>
  resultOf(claimed, 'failed', { error: 'The result could not be recorded', isReplacement: true })

const putOff = (claimed: ClaimedMessage, error: string, random: number): Result => {
  const waitMs = claimed.isPatient ? nextRetryMs(claimed.tries + 1, random) : null
  return waitMs === null ? failedResult(claimed, error) : resultOf(claimed, 'queued', { error, waitMs })
}

/**
 * Returns the result of a hand-over (docs/reference/mail.md#outcomes): sent if the relay accepted the message; failed if it
 * refused it or its answer is unknown. After a temporary failure, or if the relay can't be reached, a message with a waiting
 * caller fails, and any other one is retried. `random` is in [0, 1).
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
const recordMessages = preparedStatement(
  'record-messages',
  { row: { id: 'text' }, parameters: { results: 'jsonb', taken: 'jsonb' } },
  `
  with clock as materialized (
    select svc_now() as now
  ), mine as materialized (
    select l.row, c.* from ${ownedRows(queueTable, resultColumns, ':results')}
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
  ), ${marking(':taken')}
  select id from result union all select id from sendable`,
)

// Records a relay's reply that arrives after another worker presumed this one dead and ended the message. Only the worker that
// marked the message can have a reply, and no other worker claims a marked message, so the reply belongs to this row.
const correctMessages = preparedStatement(
  'correct-messages',
  { row: { id: 'text' }, parameters: { results: 'jsonb' } },
  `
  with late as materialized (
    select c.*, m.* from jsonb_to_recordset(:results::jsonb) as c("accountId" text, id text${resultColumns}) cross join lateral (
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
        accountId,
        id,
        batch,
        claim,
        worker,
        tries: tries + 1,
        status,
        reason,
        error,
        waitMs,
        isBounced,
      }),
    ),
  )

const findUnknown = statement(
  'find-messages-of-unknown-state',
  { row: { id: 'text' }, parameters: { results: 'jsonb' } },
  `select c.id from jsonb_to_recordset(:results::jsonb) as c("accountId" text, id text)
   join messages m on m.account_id = c."accountId" and m.id = c.id
   where m.status = 'failed' and m.error = '${unknownState}'`,
)

/** Returns the ids of messages that still have the error `unknownState`, because their rows were locked. */
const stillUnknown = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql(findUnknown, { results: encode(results) })
  return new Set(rows.map(({ id }) => id))
}

const correct = async (sql: Sql, results: readonly Result[]): Promise<Set<string>> => {
  if (results.length === 0) return new Set()
  const rows = await sql(correctMessages, { results: encode(results) })
  return new Set(rows.map(({ id }) => id))
}

/** The outcome of recordMessages. Results in none of the lists belong to messages that this process has lost. */
interface Recorded {
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
  const rows = await sql(recordMessages, { results: encode(results), taken: claimsJson(taken) })
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

const limitLockWait = statement(
  'limit-lock-wait-of-volume',
  { row: { set_config: 'text' } },
  `select set_config('lock_timeout', '500ms', true)`,
)

const countByMonth = statement(
  'months-of-messages',
  { row: { month: 'text', count: 'int8' }, parameters: { accountId: 'text', ids: '_text' } },
  `select to_char(created_at at time zone 'UTC', 'YYYY-MM-01') as month, count(*) as count from messages
   where account_id = :accountId and id = any(:ids) group by 1`,
)

const none: Recorded = { written: [], corrected: [], locked: [], marked: new Set() }

const recordOfAccount = async (app: App, accountId: string, results: readonly Result[]): Promise<Recorded> => {
  try {
    return await app.work(accountId, 'job:mail', async (work) => {
      await work.sql(limitLockWait)
      const recorded = await recordResults(work.sql, results, [])
      const ids = recorded.written.map(({ claimed }) => claimed.id)
      for (const { month, count } of await work.sql(countByMonth, { accountId, ids }))
        await returnQuota(work, 'sends', month, count)
      return recorded
    })
  } catch (error) {
    // Another transaction has locked the volume of the account. Other accounts don't wait for it.
    if (isUnavailable(error)) return { ...none, locked: [...results] }
    // The account is being exported: the message moves with it unsent, once its claim is freed.
    if (error instanceof Problem && (error.kind === 'unavailable' || error.kind === 'gone')) return none
    // The account is being deleted, and so is its volume.
    if (error instanceof Problem && error.kind === 'not_found') return recordResults(app.sql, results, [])
    throw error
  }
}

/**
 * Records results as `recordResults` does. Those of messages that were not offered to a relay are recorded account by
 * account, and their volume is returned to the month's quota in the same transaction.
 */
export const recordAll = async (
  app: App,
  results: readonly Result[],
  taken: readonly ClaimedMessage[],
): Promise<Recorded> => {
  const [untouched, others] = [
    results.filter(({ isUntouched }) => isUntouched),
    results.filter((result) => !result.isUntouched),
  ]
  const all = [others.length + taken.length > 0 ? await recordResults(app.sql, others, taken) : none]
  for (const [accountId, group] of Map.groupBy(untouched, ({ claimed }) => claimed.accountId))
    all.push(await recordOfAccount(app, accountId, group))
  return {
    written: all.flatMap(({ written }) => written),
    corrected: all.flatMap(({ corrected }) => corrected),
    locked: all.flatMap(({ locked }) => locked),
    marked: all[0]!.marked,
  }
}
