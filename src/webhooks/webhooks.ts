import { LockMode } from '@mikro-orm/postgresql'
import { sampleEvent } from '../events/samples.ts'
import type { EventType } from '../events/types.ts'
import { conflict, missing } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { Work } from '../store/work.ts'
import { type DeliveryDetail, showDelivery } from './webhooks.deliveries.ts'
import { Webhook } from './webhooks.entities.ts'
import { cancelPendingOf, writeEvents } from './webhooks.outbox.ts'
import { type NewSubscription, type Subscription, subscriptionOf } from './webhooks.shapes.ts'

export { createWebhook } from './webhooks.create.ts'
export { purgeDeliveries } from './webhooks.purge.ts'
export { EventName, NewSubscription, NewWebhook, Subscription } from './webhooks.shapes.ts'

const demand = (webhook: Webhook | null, id: string): Webhook => {
  if (!webhook) throw missing(`There is no webhook ${id}`, { hint: 'svc webhooks list' })
  return webhook
}

/** Waits for every transaction that is writing deliveries to it (see webhooks.outbox.ts). */
const lockWebhook = async ({ em }: Work, id: string): Promise<Webhook> =>
  demand(await em.findOne(Webhook, { id }, { lockMode: LockMode.PESSIMISTIC_WRITE }), id)

/** Every subscription of the account, newest first. */
export const listWebhooks = async ({ em }: Work): Promise<Subscription[]> =>
  (await em.find(Webhook, {}, { orderBy: { id: 'desc' } })).map(subscriptionOf)

/** Throws `missing`. */
export const showWebhook = async ({ em }: Work, id: string): Promise<Subscription> =>
  subscriptionOf(demand(await em.findOne(Webhook, { id }), id))

/** How many deliveries are on their way to it: what deleting or disabling it would cancel. */
export const countPending = async ({ sql, accountId }: Work, id: string): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    `select count(*) from deliveries where account_id = $1 and webhook_id = $2 and status = 'pending'`,
    [accountId, id],
  )
  return row!.count
}

/** Removes a subscription, whoever made it, and gives how many pending deliveries that cancelled. Throws `missing`. */
export const deleteWebhook = async (work: Work, id: string): Promise<number> => {
  const webhook = await lockWebhook(work, id)
  const cancelled = await cancelPendingOf(work, [id])
  await work.em.remove(webhook).flush()
  return cancelled
}

/** Ends deliveries to it until it is enabled again, and gives how many pending ones that cancelled. Throws `missing`. */
export const disableWebhook = async (
  work: Work,
  id: string,
): Promise<{ subscription: Subscription; cancelled: number }> => {
  const webhook = await lockWebhook(work, id)
  webhook.status = 'disabled'
  await work.em.flush()
  return { subscription: subscriptionOf(webhook), cancelled: await cancelPendingOf(work, [id]) }
}

/** From now on it gets new events again; what was cancelled stays so until it is replayed. Throws `missing`. */
export const enableWebhook = async (work: Work, id: string): Promise<Subscription> => {
  const webhook = await lockWebhook(work, id)
  webhook.status = 'active'
  webhook.disabledReason = null
  await work.em.flush()
  return subscriptionOf(webhook)
}

/** Gives it a new secret, in this answer only; the old one signs nothing any more. Throws `missing`. */
export const rotateSecret = async (work: Work, box: SecretBox, id: string): Promise<NewSubscription> => {
  const webhook = await lockWebhook(work, id)
  const secret = newSigningSecret()
  webhook.sealedSecret = box.seal(secret, id)
  await work.em.flush()
  return { id, secret, subscription: subscriptionOf(webhook) }
}

/**
 * Sends the webhook a sample with `test: true` inside `data`, of the first type that it subscribed to unless one is named.
 * Throws `missing`, and `conflict` where it is disabled.
 */
export const testWebhook = async (work: Work, id: string, type?: EventType): Promise<DeliveryDetail> => {
  const { events } = await showWebhook(work, id)
  const event = sampleEvent(type ?? events[0]!, { now: work.now.getTime(), test: true })
  const delivery = await writeEvents(work, [event], id)
  if (!delivery) throw conflict(`The webhook ${id} is disabled`, { hint: `svc webhooks enable ${id}` })
  return showDelivery(work, delivery)
}
