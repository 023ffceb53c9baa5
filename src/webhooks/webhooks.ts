import {
  countPending,
  type DeliveryDetail,
  deleteTarget,
  endTargets,
  insertEvents,
  resealTarget,
  reviveTarget,
  showDelivery,
} from '../deliveries/deliveries.ts'
import { sampleEvent } from '../events/samples.ts'
import type { EmittedEvent, EventType } from '../events/types.ts'
import { conflict } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { Work } from '../store/work.ts'
import { entitiesOf, lockWebhook, showWebhook } from './webhooks.find.ts'
import type { NewSubscription, Subscription } from './webhooks.shapes.ts'

export { createWebhook } from './webhooks.create.ts'
export { listWebhooks, showWebhook } from './webhooks.find.ts'
export { NewSubscription, NewWebhook, Subscription, WebhookChange } from './webhooks.shapes.ts'
export { updateWebhook } from './webhooks.update.ts'
export { countPending }

/** Deletes a subscription and returns the number of cancelled deliveries. Throws Problem `not_found`. */
export const deleteWebhook = async (work: Work, id: string): Promise<number> => {
  await lockWebhook(work, id)
  const [em, { Webhook }] = await entitiesOf(work)
  await em.nativeDelete(Webhook, { id })
  return deleteTarget(work, id)
}

/** Disables a subscription and cancels its pending deliveries; `cancelled` is their number. Throws Problem `not_found`. */
export const disableWebhook = async (
  work: Work,
  id: string,
): Promise<{ subscription: Subscription; cancelled: number }> => {
  await lockWebhook(work, id)
  const cancelled = await endTargets(work, [id], null)
  return { subscription: await showWebhook(work, id), cancelled }
}

/** Enables a subscription for new events. Cancelled deliveries stay cancelled until they are replayed. Throws Problem `not_found`. */
export const enableWebhook = async (work: Work, id: string): Promise<Subscription> => {
  const { status } = await lockWebhook(work, id)
  if (status !== 'active') await reviveTarget(work, id)
  return showWebhook(work, id)
}

/** Replaces the signing secret and returns the new one. The old secret signs no further attempts. Throws Problem `not_found`. */
export const rotateSecret = async (work: Work, box: SecretBox, id: string): Promise<NewSubscription> => {
  const subscription = await lockWebhook(work, id)
  const secret = newSigningSecret()
  await resealTarget(work, id, { sealedSecret: box.seal(secret, id) })
  return { id, secret, subscription }
}

/** Inserts a delivery of an event of any type for one webhook and returns its id; null if the webhook is disabled. Throws Problem `not_found`. */
export const sendTo = async (work: Work, id: string, event: EmittedEvent): Promise<string | null> => {
  const { status } = await showWebhook(work, id)
  if (status !== 'active') return null
  const [delivery] = await insertEvents(work, [event], [{ id, events: [event.type] }])
  return delivery ?? null
}

/**
 * Sends the webhook a sample with `test: true` inside `data`. `type` defaults to the webhook's first type. Throws Problem
 * `missing`, or `conflict` if the webhook is disabled.
 */
export const testWebhook = async (work: Work, id: string, type?: EventType): Promise<DeliveryDetail> => {
  const { events } = await showWebhook(work, id)
  const event = sampleEvent(type ?? events[0]!, { now: work.now.getTime(), test: true })
  const delivery = await sendTo(work, id, event)
  if (!delivery) throw conflict(`The webhook ${id} is disabled`, { hint: `svc webhooks enable ${id}` })
  return showDelivery(work, delivery)
}
