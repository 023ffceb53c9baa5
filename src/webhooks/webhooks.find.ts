import { joinTarget } from '../deliveries/deliveries.ts'
import type { EventType } from '../events/events.ts'
import { noSuch } from '../lib/problem.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { webhooks } from './webhooks.columns.ts'
import type { Subscription } from './webhooks.shapes.ts'

const ownColumns = columns(webhooks, ['id', 'apiKeyId', 'events', 'createdVia', 'createdAt'], 'w')

const subscriptionTypes = {
  ...ownColumns.types,
  events: typed<EventType[]>('_text'),
  url: 'text',
  status: typed<Subscription['status']>('text'),
  disabledReason: typed<Subscription['disabledReason'] | null>('text'),
  lastDeliveryAt: 'timestamptz?',
  lastFailureAt: 'timestamptz?',
  lastError: 'text?',
} as const

/** A subscription with its target, as the database stores it. */
type WebhookRow = RowOf<typeof subscriptionTypes>

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

const selected = `select ${ownColumns.list}, t.url, t.status, t.disabled_reason as "disabledReason",
  t.last_delivery_at as "lastDeliveryAt", t.last_failure_at as "lastFailureAt", t.last_error as "lastError"
  from webhooks w ${joinTarget('w')} where w.account_id = :accountId`

const readWebhooks = statement(
  'read-webhooks',
  { row: subscriptionTypes, parameters: { accountId: 'text' } },
  `${selected} order by w.id desc`,
)

const selectWebhook = (name: string, lock = '') =>
  statement(
    name,
    { row: subscriptionTypes, parameters: { accountId: 'text', id: 'text' } },
    `${selected} and w.id = :id ${lock}`,
  )
const readWebhook = selectWebhook('read-webhook')
const readWebhookLocked = selectWebhook('read-webhook-locked', 'for no key update')

/** Returns all subscriptions of the account, newest first. */
export const listWebhooks = async ({ sql, accountId }: Work): Promise<Subscription[]> =>
  (await sql(readWebhooks, { accountId })).map(subscriptionOf)

const find = async (read: typeof readWebhook, { sql, accountId }: Work, id: string): Promise<Subscription> => {
  const [row] = await sql(read, { accountId, id })
  if (!row) throw noSuch('webhook', id, { hint: 'svc webhooks list' })
  return subscriptionOf(row)
}

/** Returns a subscription. Throws Problem `not_found`. */
export const showWebhook = (work: Work, id: string): Promise<Subscription> => find(readWebhook, work, id)

/** Locks a subscription against other changes and returns it. Throws Problem `not_found`. */
export const lockWebhook = (work: Work, id: string): Promise<Subscription> => find(readWebhookLocked, work, id)
