import { nextRetryMs } from '../lib/backoff.ts'
import type { PostOutcome } from '../net/http.ts'
import type { Database, Sql } from '../store/database.ts'
import type { ClaimedDelivery } from './delivery.claim.ts'
import { goneStatus } from './delivery.post.ts'
import type { DeliveryAttempt } from './webhooks.entities.ts'
import { cancelled } from './webhooks.outbox.ts'

/** What became of one claim. Times in epoch ms. */
export interface Result {
  accountId: string
  id: string
  webhookId: string
  claim: number
  tries: number
  status: 'delivered' | 'pending' | 'exhausted' | 'cancelled'
  /** When it is tried again. */
  dueAt: number | null
  at: number
  attempt: DeliveryAttempt
}

/**
 * What an attempt leads to (decisions.md, Webhooks and events): delivered, tried again later, exhausted, or cancelled where
 * the endpoint is gone. `at`, when the attempt ended, in epoch ms; `random` in [0, 1).
 */
export const judge = (claimed: ClaimedDelivery, outcome: PostOutcome, at: number, random: number): Result => {
  const { accountId, id, webhookId, claim } = claimed
  const { status, error, durationMs, snippet } = outcome
  const tries = claimed.tries + 1
  const waitMs = nextRetryMs(tries, random, outcome.retryAfterSeconds ?? 0)
  const failed = status === goneStatus ? 'cancelled' : waitMs === null ? 'exhausted' : 'pending'
  const next = outcome.ok ? 'delivered' : failed
  const dueAt = next === 'pending' ? at + waitMs! : null
  const attempt = { at: at - durationMs, status, error, durationMs, snippet }
  return { accountId, id, webhookId, claim, tries, status: next, dueAt, at, attempt }
}

const time = (column: string) => `to_timestamp(${column} / 1000.0)`

// Webhooks are locked before deliveries and in the order of their ids, as by everybody who locks both. Not kept
// prepared, as in delivery.claim.ts.
const recording = `
  with result as materialized (
    select * from jsonb_to_recordset($1::jsonb) as r(
      "accountId" text, id text, "webhookId" text, claim int, tries int, status text, "dueAt" float8, at float8, attempt jsonb)
  ), endpoint as materialized (
    select id from webhooks where id in (select "webhookId" from result) order by id for no key update
  ), written as (
    update deliveries d
    set status = r.status, tries = r.tries, due_at = coalesce(${time('r."dueAt"')}, d.due_at), leased_until = null,
      attempts = d.attempts || r.attempt, finished_at = case when r.status <> 'pending' then ${time('r.at')} end
    from result r join endpoint on endpoint.id = r."webhookId"
    where d.account_id = r."accountId" and d.id = r.id and d.claim = r.claim and d.status = 'pending'
    returning d.webhook_id, r.status = 'cancelled' as gone, r.at, r.attempt ->> 'error' as error
  ), summary as (
    select webhook_id, max(at) filter (where error is null) as delivered_at,
      max(at) filter (where error is not null) as failed_at,
      (array_agg(error order by at desc) filter (where error is not null))[1] as error, bool_or(gone) as gone
    from written group by webhook_id
  )
  update webhooks w
  set last_delivery_at = coalesce(${time('delivered_at')}, last_delivery_at),
    last_failure_at = coalesce(${time('failed_at')}, last_failure_at), last_error = coalesce(s.error, last_error)
  from summary s where w.id = s.webhook_id
  returning w.account_id as "accountId", w.id, s.gone`

interface Touched {
  accountId: string
  id: string
  gone: boolean
}

export const write = (sql: Sql, results: readonly Result[]): Promise<Touched[]> =>
  sql<Touched>(recording, [JSON.stringify(results)])

/** An endpoint that answered 410 ends its webhook, and all that is pending for it, with the record of that answer. */
const writeGone = (database: Database, results: readonly Result[], now: Date): Promise<void> =>
  database.transaction(async (sql) => {
    const ids = results.flatMap(({ status, webhookId }) => (status === 'cancelled' ? [webhookId] : []))
    // As webhooks.outbox.ts asks of who disables: nobody is writing deliveries to them from here on.
    await sql('select from webhooks where id = any($1) order by id for update', [ids])
    for (const { accountId, id } of (await write(sql, results)).filter((webhook) => webhook.gone)) {
      await sql(
        `update webhooks set status = 'disabled', disabled_reason = 'gone'
         where account_id = $1 and id = $2 and status = 'active'`,
        [accountId, id],
      )
      await sql(
        `update deliveries set ${cancelled}, finished_at = $3
         where account_id = $1 and webhook_id = $2 and status = 'pending'`,
        [accountId, id, now],
      )
    }
  })

/** Records results by one statement. A result whose claim is no longer the newest, or that was cancelled, is dropped. */
export const recordResults = async (database: Database, results: readonly Result[], now: Date): Promise<void> => {
  if (results.some(({ status }) => status === 'cancelled')) await writeGone(database, results, now)
  else await write(database.sql, results)
}
