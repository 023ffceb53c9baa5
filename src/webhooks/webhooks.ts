import {
  countPending,
  type DeliveryDetail,
  deleteTarget,
  endTargets,
  insertEvents,
  reviveTarget,
  showDelivery,
  tellChanged,
} from '../deliveries/deliveries.ts'
import { sampleEvent } from '../events/samples.ts'
import type { EventType } from '../events/types.ts'
import { conflict } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import type { EmittedEvent, Work } from '../store/work.ts'
import { lockWebhook, showWebhook } from './webhooks.find.ts'
import type { NewSubscription, Subscription } from './webhooks.shapes.ts'

export { createWebhook } from './webhooks.create.ts'
export { listWebhooks, showWebhook } from './webhooks.find.ts'
export { NewSubscription, NewWebhook, Subscription } from './webhooks.shapes.ts'
export { countPending }

/** Removes a subscription, whoever made it, and gives how many pending deliveries that cancelled. Throws `missing`. */
export const deleteWebhook = async (work: Work, id: string): Promise<number> => {
  await lockWebhook(work, id)
  await work.sql('delete from webhooks where account_id = $1 and id = $2', [work.accountId, id])
  return deleteTarget(work, id)
}

/** Ends deliveries to it until it is enabled again, and gives how many pending ones that cancelled. Throws `missing`. */
export const disableWebhook = async (
  work: Work,
  id: string,
): Promise<{ subscription: Subscription; cancelled: number }> => {
  await lockWebhook(work, id)
  const cancelled = await endTargets(work, [id], null)
  return { subscription: await showWebhook(work, id), cancelled }
}

/** From now on it gets new events again; what was cancelled stays so until it is replayed. Throws `missing`. */
export const enableWebhook = async (work: Work, id: string): Promise<Subscription> => {
  const { status } = await lockWebhook(work, id)
  if (status !== 'active') await reviveTarget(work, id)
  return showWebhook(work, id)
}

/** Gives it a new secret, in this answer only; the old one signs nothing any more. Throws `missing`. */
export const rotateSecret = async (work: Work, box: SecretBox, id: string): Promise<NewSubscription> => {
  const subscription = await lockWebhook(work, id)
  const secret = newSigningSecret()
  await work.sql('update delivery_targets set sealed_secret = $3 where account_id = $1 and id = $2', [
    work.accountId,
    id,
    box.seal(secret, id),
  ])
  await tellChanged(work, id)
  return { id, secret, subscription }
}

/** Sends one webhook an event, whatever it subscribed to, and gives the delivery's id; null where it is not active. Throws `missing`. */
export const sendTo = async (work: Work, id: string, event: EmittedEvent): Promise<string | null> => {
  const { status } = await showWebhook(work, id)
  if (status !== 'active') return null
  const [delivery] = await insertEvents(work, [event], [{ id, events: [event.type] }])
  return delivery ?? null
}

/**
 * Sends the webhook a sample with `test: true` inside `data`, of the first type that it subscribed to unless one is named.
 * Throws `missing`, and `conflict` where it is disabled.
 */
export const testWebhook = async (work: Work, id: string, type?: EventType): Promise<DeliveryDetail> => {
  const { events } = await showWebhook(work, id)
  const event = sampleEvent(type ?? events[0]!, { now: work.now.getTime(), test: true })
  const delivery = await sendTo(work, id, event)
  if (!delivery) throw conflict(`The webhook ${id} is disabled`, { hint: `svc webhooks enable ${id}` })
  return showDelivery(work, delivery)
}
