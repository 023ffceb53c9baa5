import {
  countPending,
  type DeliveryDetail,
  deleteTarget,
  endOfOverlap,
  endTargets,
  insertEvents,
  publicUrl,
  redirectTarget,
  resealTarget,
  reviveTarget,
  showDelivery,
} from '../deliveries/deliveries.ts'
import type { EmittedEvent, EventType } from '../events/events.ts'
import { sampleEvent } from '../events/samples.ts'
import { conflict, invalid } from '../lib/problem.ts'
import type { SecretBox } from '../lib/secrets.ts'
import { newSigningSecret } from '../lib/signature.ts'
import { parseDuration } from '../lib/since.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { App, Work } from '../store/work.ts'
import { webhooks } from './webhooks.columns.ts'
import { inContractOrder } from './webhooks.create.ts'
import { lockWebhook, showWebhook } from './webhooks.find.ts'
import type { NewSubscription, Subscription, WebhookChange } from './webhooks.shapes.ts'

export { createWebhook } from './webhooks.create.ts'
export { listWebhooks, showWebhook } from './webhooks.find.ts'
export { NewSubscription, NewWebhook, Subscription, WebhookChange } from './webhooks.shapes.ts'
export { countPending, endOfOverlap }

const setEvents = statement(
  'set-events-of-webhook',
  { parameters: types(webhooks, 'accountId', 'id', 'events') },
  'update webhooks set events = :events where account_id = :accountId and id = :id',
)

/**
 * Changes the URL or the events of a subscription. Its id, secret and pending deliveries stay; their next attempts go to the new
 * URL. Throws Problem `not_found`, or `invalid` for a URL that is not public. Opens its own transaction, after it has resolved the
 * URL's host name.
 */
export const updateWebhook = async (
  app: App,
  accountId: string,
  actor: string,
  id: string,
  change: WebhookChange,
): Promise<Subscription> => {
  const url = change.url === undefined ? null : await publicUrl(app, change.url)
  return app.work(accountId, actor, async (work) => {
    const before = await lockWebhook(work, id)
    if (change.events) await work.sql(setEvents, { accountId, id, events: inContractOrder(change.events) })
    if (url !== null && url !== before.url) await redirectTarget(work, id, url)
    return showWebhook(work, id)
  })
}

const deleteRow = statement(
  'delete-webhook',
  { parameters: types(webhooks, 'accountId', 'id') },
  'delete from webhooks where account_id = :accountId and id = :id',
)

/** Deletes a subscription and returns the number of cancelled deliveries. Throws Problem `not_found`. */
export const deleteWebhook = async (work: Work, id: string): Promise<number> => {
  await lockWebhook(work, id)
  await work.sql(deleteRow, { accountId: work.accountId, id })
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

/** The longest overlap of two secrets. */
const maxOverlapMs = 30 * 24 * 3600_000

/** Returns the end of an overlap (`24h`, at most 30 days) that begins at `now`. Throws Problem `invalid`. */
export const overlapEnd = (overlap: string, now: Date): Date => {
  const ms = parseDuration(overlap)
  if (ms < 1000 || ms > maxOverlapMs) throw invalid('overlap must be from 1s to 30d')
  return new Date(now.getTime() + ms)
}

/**
 * Replaces the signing secret and returns the new one. With `overlap` the old secret signs beside it for that time; without one
 * it signs no further attempts, and neither does one that an earlier overlap has kept. Throws Problem `not_found`, or `invalid`
 * for a malformed overlap.
 */
export const rotateSecret = async (
  work: Work,
  box: SecretBox,
  id: string,
  overlap?: string,
): Promise<NewSubscription & { oldSecretUntil?: number }> => {
  const overlapUntil = overlap === undefined ? undefined : overlapEnd(overlap, work.now)
  const subscription = await lockWebhook(work, id)
  const secret = newSigningSecret()
  await resealTarget(work, id, { sealedSecret: box.seal(secret, id), ...(overlapUntil && { overlapUntil }) })
  return { id, secret, subscription, ...(overlapUntil && { oldSecretUntil: overlapUntil.getTime() }) }
}

/** Inserts a delivery of an event of any type for one webhook and returns its id, or null if the webhook is disabled. Throws Problem `not_found`. */
const sendTo = async (work: Work, id: string, event: EmittedEvent): Promise<string | null> => {
  const { status } = await showWebhook(work, id)
  if (status !== 'active') return null
  const [delivery] = await insertEvents(work, [event], [id])
  return delivery ?? null
}

/**
 * Sends the webhook a sample with `test: true` inside `data`. `type` defaults to the webhook's first type. Throws Problem
 * `not_found`, or `conflict` if the webhook is disabled.
 */
export const testWebhook = async (work: Work, id: string, type?: EventType): Promise<DeliveryDetail> => {
  const { events } = await showWebhook(work, id)
  const event = sampleEvent(type ?? events[0]!, { now: work.now.getTime(), test: true })
  const delivery = await sendTo(work, id, event)
  if (!delivery) throw conflict(`The webhook ${id} is disabled`, { hint: `svc webhooks enable ${id}` })
  return showDelivery(work, delivery)
}
