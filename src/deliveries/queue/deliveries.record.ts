import { askedQuietMs, nextRetryMs, timeoutBackoffMs } from '../../lib/backoff.ts'
import type { PostOutcome } from '../../net/http.ts'
import { ownedRows, splitByOutcome } from '../../queue/claims.ts'
import type { RowOf } from '../../store/column-types.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement } from '../../store/statement.ts'
import type { CallEnd } from '../deliveries.cancel.ts'
import type { DeliveryAttempt } from '../deliveries.entities.ts'
import { tallyingEnds } from '../deliveries.stats.ts'
import type { ClaimedDelivery } from './claim.statement.ts'
import { goneStatus } from './post.ts'

export interface Result {
  claimed: ClaimedDelivery
  tries: number
  status: 'delivered' | 'pending' | 'exhausted' | 'cancelled'
  /** The wait before the next attempt in ms. It is null if there is none. */
  waitMs: number | null
  /** The attempt without its time, which the database computes from its age. */
  attempt: Omit<DeliveryAttempt, 'at'>
  /** Start of the attempt, in ms of `performance.now()`. */
  startedAt: number
}

/**
 * Returns the result of an attempt that has just ended (docs/reference/events.md#delivery): delivered, tried again later,
 * exhausted, or cancelled if the endpoint is gone. `random` is in [0, 1).
 */
export const resultOf = (claimed: ClaimedDelivery, outcome: PostOutcome, random: number): Result => {
  const { status, error, durationMs, snippet } = outcome
  const tries = claimed.tries + 1
  const waitMs = nextRetryMs(tries, random, outcome.retryAfterSeconds ?? 0)
  const failed = status === goneStatus ? 'cancelled' : waitMs === null ? 'exhausted' : 'pending'
  const next = outcome.ok ? 'delivered' : failed
  const attempt = { status, error, durationMs, snippet }
  const startedAt = performance.now() - durationMs
  return { claimed, tries, status: next, waitMs: next === 'pending' ? waitMs : null, attempt, startedAt }
}

/** Whether the endpoint did not answer although it had time to. */
export const isTimeout = ({ status, durationMs }: PostOutcome): boolean => status === null && durationMs >= 1000

/** Returns how many ms the endpoint is quiet after an attempt: at its own request, or for consecutive time-outs. 0 if it is not quiet. */
export const quietMsAfter = (outcome: PostOutcome, timeouts: number, random: number): number => {
  const { status, retryAfterSeconds } = outcome
  if ((status === 429 || status === 503) && retryAfterSeconds) return askedQuietMs(retryAfterSeconds, random)
  return timeoutBackoffMs(timeouts, random)
}

const encode = (results: readonly Result[]): string =>
  JSON.stringify(
    results.map(({ claimed: { accountId, id, claim, worker }, tries, status, waitMs, attempt, startedAt }) => ({
      ageMs: performance.now() - startedAt,
      accountId,
      id,
      claim,
      worker,
      tries,
      status,
      waitMs,
      attempt,
    })),
  )

/** A delivery after its attempt was recorded. */
const recorded = {
  id: 'text',
  attempts: 'int4',
  /** The time of the next attempt, in microseconds since the epoch. It is null if there is none. */
  dueAt: 'int8?',
} as const

const resultColumns = ', tries int, status text, "waitMs" float8, attempt jsonb, "ageMs" float8'

/**
 * Records results, as `encode` returns them: a failed attempt with tries left sets the due time of the next one, every other
 * result moves the delivery to history. Skips rows that another transaction has locked, so that no other result waits for them.
 */
const recordDeliveries = preparedStatement(
  'record-deliveries',
  { row: recorded, parameters: { results: 'jsonb' } },
  `with clock as materialized (
     select svc_now() as now
   ), result as materialized (
     select l.row, c.id, c.tries, c.status, c."waitMs",
       c.attempt || jsonb_build_object('at', (extract(epoch from clock.now) * 1000)::int8 - c."ageMs"::int8) as attempt
     from clock, ${ownedRows('pending_deliveries', resultColumns, ':results')}
   ), retried as (
     update pending_deliveries p
     set tries = r.tries,
       due_at = clock.now + r."waitMs" * interval '1 ms',
       worker = null,
       attempts = p.attempts || r.attempt
     from result r, clock
     where p.ctid = r.row and r.status = 'pending'
     returning p.id, jsonb_array_length(p.attempts) as attempts, (extract(epoch from p.due_at) * 1e6)::int8 as due_at
   ), gone as (
     delete from pending_deliveries p
     using result r
     where p.ctid = r.row and r.status <> 'pending'
     returning p.account_id, p.id, p.target_id, p.key, p.type, p.body, p.created_at, p.claim, r.tries, r.status,
       p.attempts || r.attempt as attempts
   ), moved as (
     insert into ended_deliveries
       (account_id, id, target_id, key, type, body, created_at, claim, tries, status, attempts, finished_at)
     select gone.*, clock.now
     from gone, clock
   ), tallied as (
     ${tallyingEnds('gone', 'clock')}
   )
   select id, attempts, due_at as "dueAt" from retried
   union all
   select id, jsonb_array_length(attempts), null from gone`,
)

export interface Recorded {
  written: { result: Result; row: RowOf<typeof recorded> }[]
  /** Another transaction has locked the rows: try again. A result in neither array belongs to a newer claim, or was cancelled. */
  locked: Result[]
}

/** Records results in one statement, or two if a row is locked or belongs to another worker. It waits for no lock. */
export const recordResults = async (sql: Sql, results: readonly Result[]): Promise<Recorded> => {
  const found = await sql(recordDeliveries, { results: encode(results) })
  const rows = new Map(found.map((row) => [row.id, row]))
  const changed = new Set(rows.keys())
  const { done, locked } = await splitByOutcome(sql, 'pending_deliveries', results, ({ claimed }) => claimed, changed)
  return { written: done.map((result) => ({ result, row: rows.get(result.claimed.id)! })), locked }
}

/** Returns the end of a delivery, as the listeners receive it, or null if it will be tried again. */
export const endedOf = ({ result, row }: Recorded['written'][number]): CallEnd | null => {
  const { claimed, status, attempt } = result
  if (status === 'pending') return null
  return { id: claimed.id, status, attempts: row.attempts, lastStatus: attempt.status, lastError: attempt.error }
}

/** Statistics of attempts, for the target's row. Times are in ms of `performance.now()` unless stated otherwise. */
export interface Summary {
  id: string
  deliveredAt: number | null
  failedAt: number | null
  error: string | null
  /** Time-outs since the last answer. */
  timeouts: number
  /** How many ms from now on nothing is posted. */
  quietMs: number
  /** The due time of its first retry, in microseconds since the epoch. It is null if there is none. */
  retryAt: number | null
}

const agesOf = ({ deliveredAt, failedAt, ...summary }: Summary) => {
  const ago = (at: number | null) => (at === null ? null : performance.now() - at)
  return { ...summary, deliveredAgoMs: ago(deliveredAt), failedAgoMs: ago(failedAt) }
}

/**
 * Writes summaries, as `agesOf` returns them. A quiet time puts off the next due time, and a retry lowers it to its own but
 * not below a quiet time. A changed due time has a new version, so that no claim overwrites it with what it computed before.
 */
const summarizeTargets = preparedStatement(
  'summarize-targets',
  { row: { id: 'text' }, parameters: { summaries: 'jsonb' } },
  `with summary as materialized (
     select *
     from jsonb_to_recordset(:summaries::jsonb) as s(id text, "deliveredAgoMs" float8, "failedAgoMs" float8, error text, timeouts int,
       "quietMs" float8, "retryAt" float8)
   ), clock as materialized (
     select svc_now() as now
   ), written as (
     update delivery_targets t
     set last_delivery_at = coalesce(s.now - s."deliveredAgoMs" * interval '1 ms', last_delivery_at),
       last_failure_at = coalesce(s.now - s."failedAgoMs" * interval '1 ms', last_failure_at),
       last_error = coalesce(s.error, last_error),
       timeouts = s.timeouts,
       quiet_until = case when s."quietMs" > 0 then s.quiet else t.quiet_until end,
       next_due_at = case
         when s."quietMs" > 0 then greatest(s.quiet, least(t.next_due_at, s.retry))
         when s.retry is not null then greatest(least(t.next_due_at, s.retry), t.quiet_until)
         else t.next_due_at end,
       version = t.version + case when s."quietMs" > 0 or s.retry is not null then 1 else 0 end
     from (
       select s.*, clock.now,
         clock.now + s."quietMs" * interval '1 ms' as quiet,
         to_timestamp(s."retryAt" / 1e6 - 1e-6) as retry,
         l.row
       from clock, summary s
       cross join lateral (
         select ctid as row
         from delivery_targets
         where id = s.id and status = 'active'
         for no key update skip locked
       ) l
     ) s
     where t.ctid = s.row
     returning t.id
   )
   select id from written
   union all
   select s.id
   from summary s
   where not exists (select from delivery_targets t where t.id = s.id and t.status = 'active')`,
)

/**
 * Writes summaries of active targets. Returns the ids of targets that were written or have ended; those that another transaction
 * has locked are missing.
 */
export const summarize = async (sql: Sql, summaries: readonly Summary[]): Promise<Set<string>> => {
  const rows = await sql(summarizeTargets, { summaries: JSON.stringify(summaries.map(agesOf)) })
  return new Set(rows.map(({ id }) => id))
}
