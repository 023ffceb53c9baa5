import { joinTarget } from '../deliveries/deliveries.ts'
import { noSuch } from '../lib/problem.ts'
import type { Sql } from '../store/database.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { Subscription } from './webhooks.shapes.ts'

/** A subscription with its target, as the database stores it. */
type WebhookRow = Omit<Subscription, 'apiKeyId' | 'disabledReason' | 'lastError' | `${string}At`> & {
  apiKeyId: string | null
  disabledReason: Subscription['disabledReason'] | null
  createdAt: Date
  lastDeliveryAt: Date | null
  lastFailureAt: Date | null
  lastError: string | null
}

/** Returns the subscription as the API shows it. */
export const subscriptionOf = (webhook: WebhookRow): Subscription => ({
  id: webhook.id,
  ...(webhook.apiKeyId && { apiKeyId: webhook.apiKeyId }),
  url: webhook.url,
  events: webhook.events,
  createdVia: webhook.createdVia,
  status: webhook.status,
  ...(webhook.disabledReason && { disabledReason: webhook.disabledReason }),
  createdAt: webhook.createdAt.getTime(),
  ...(webhook.lastDeliveryAt && { lastDeliveryAt: webhook.lastDeliveryAt.getTime() }),
  ...(webhook.lastFailureAt && { lastFailureAt: webhook.lastFailureAt.getTime() }),
  ...(webhook.lastError && { lastError: webhook.lastError }),
})

/** The state of a target that was just created. */
export const newTargetState = {
  status: 'active' as const,
  disabledReason: null,
  lastDeliveryAt: null,
  lastFailureAt: null,
  lastError: null,
}

/** The EntityManager of the unit of work and the entity. They are loaded on the first call, because listeners must not load them. */
export const entitiesOf = (work: Work) => work.em(import('./webhooks.entities.ts'))

const readingWebhooks = (name: string, rest: string) =>
  statement<WebhookRow>(
    name,
    {
      id: 'text',
      apiKeyId: 'text',
      url: 'text',
      events: '_text',
      createdVia: 'text',
      status: 'text',
      disabledReason: 'text',
      createdAt: 'timestamptz',
      lastDeliveryAt: 'timestamptz',
      lastFailureAt: 'timestamptz',
      lastError: 'text',
    },
    `select w.id, w.api_key_id as "apiKeyId", t.url, w.events, w.created_via as "createdVia", t.status,
       t.disabled_reason as "disabledReason", w.created_at as "createdAt", t.last_delivery_at as "lastDeliveryAt",
       t.last_failure_at as "lastFailureAt", t.last_error as "lastError"
     from webhooks w ${joinTarget('w')} where w.account_id = $1 ${rest}`,
  )

const readWebhooks = readingWebhooks('read-webhooks', 'order by w.id desc')
const readWebhook = readingWebhooks('read-webhook', 'and w.id = $2')
const readWebhookLocked = readingWebhooks('read-webhook-locked', 'and w.id = $2 for no key update')

/** Returns all subscriptions of the account, newest first. */
export const listWebhooks = async ({ sql, accountId }: Work): Promise<Subscription[]> =>
  (await sql(readWebhooks, [accountId])).map(subscriptionOf)

const find = async (sql: Sql, reading: typeof readWebhook, accountId: string, id: string): Promise<Subscription> => {
  const [row] = await sql(reading, [accountId, id])
  if (!row) throw noSuch('webhook', id, { hint: 'svc webhooks list' })
  return subscriptionOf(row)
}

/** Returns a subscription. Throws Problem `not_found`. */
export const showWebhook = ({ sql, accountId }: Work, id: string): Promise<Subscription> =>
  find(sql, readWebhook, accountId, id)

/** Locks a subscription against other changes and returns it. Throws Problem `not_found`. */
export const lockWebhook = ({ sql, accountId }: Work, id: string): Promise<Subscription> =>
  find(sql, readWebhookLocked, accountId, id)
