import { missing } from '../lib/problem.ts'
import type { Sql } from '../store/database.ts'
import type { Work } from '../store/work.ts'
import { type Subscription, subscriptionOf, type WebhookRow } from './webhooks.shapes.ts'

const selecting = `
  select w.id, w.api_key_id as "apiKeyId", t.url, w.events, w.created_via as "createdVia", t.status,
    t.disabled_reason as "disabledReason", w.created_at as "createdAt", t.last_delivery_at as "lastDeliveryAt",
    t.last_failure_at as "lastFailureAt", t.last_error as "lastError"
  from webhooks w join delivery_targets t on t.account_id = w.account_id and t.id = w.id`

/** Every subscription of the account, newest first. */
export const listWebhooks = async ({ sql, accountId }: Work): Promise<Subscription[]> =>
  (await sql<WebhookRow>(`${selecting} where w.account_id = $1 order by w.id desc`, [accountId])).map(subscriptionOf)

const find = async (sql: Sql, accountId: string, id: string, lock: string): Promise<Subscription> => {
  const [row] = await sql<WebhookRow>(`${selecting} where w.account_id = $1 and w.id = $2 ${lock}`, [accountId, id])
  if (!row) throw missing(`There is no webhook ${id}`, { hint: 'svc webhooks list' })
  return subscriptionOf(row)
}

/** Throws `missing`. */
export const showWebhook = ({ sql, accountId }: Work, id: string): Promise<Subscription> => find(sql, accountId, id, '')

/** The same, held against every other change of it. */
export const lockWebhook = ({ sql, accountId }: Work, id: string): Promise<Subscription> =>
  find(sql, accountId, id, 'for no key update')
