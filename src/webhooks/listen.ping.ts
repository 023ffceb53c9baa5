import { setTimeout as sleep } from 'node:timers/promises'
import { findLastError, insertProbe, removeProbe } from '../deliveries/deliveries.ts'
import type { EventType } from '../events/events.ts'
import { sampleEvent } from '../events/samples.ts'
import type { WebhookEvent } from '../events/shapes.ts'
import { Problem } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import { noDaemon } from './webhooks.try.ts'
import { showWebhook } from './webhooks.ts'

const limitMs = 10_000
const pollMs = 200

/** Returns the listener's own test event. It is recognised by its id, and neither shown nor forwarded. */
export const newPing = (type: EventType, now: Date): WebhookEvent =>
  sampleEvent(type, { now: now.getTime(), test: true })

const unreachable = (error: string) =>
  /is not public/.test(error)
    ? new Problem('configuration', 'The daemon may not reach a receiver on this machine', {
        hint: 'start the daemon with SVC_ALLOW_PRIVATE_WEBHOOKS=127.0.0.0/8 (svc dev does)',
      })
    : new Problem('unavailable', `The daemon could not deliver to this receiver: ${error}`, {
        hint: 'run svc listen on the machine of the daemon',
      })

/**
 * Sends the ping through the outbox to this webhook, waits until a daemon delivers it, and removes its delivery. Throws Problem if
 * none arrives within 10 s: `unavailable` without a daemon, `configuration` if the daemon may not reach this machine.
 */
export const verifyDeliveryPath = async (
  app: App,
  subscription: { accountId: string; actor: string; webhookId: string },
  ping: WebhookEvent,
  arrived: Promise<void>,
  signal: AbortSignal,
): Promise<void> => {
  const { accountId, actor, webhookId } = subscription
  const work = { sql: app.sql, accountId }
  const deliveryId = await app.work(accountId, actor, async (work) => {
    const { status } = await showWebhook(work, webhookId)
    return status === 'active' ? insertProbe(work, webhookId, ping) : null
  })
  if (deliveryId === null) throw unreachable('the subscription was removed')
  const delivered = arrived.then(() => true)
  const startedAt = performance.now()
  try {
    while (!signal.aborted) {
      if (await Promise.race([delivered, sleep(pollMs, false)])) return
      const error = await findLastError(work, deliveryId)
      if (error !== null) throw unreachable(error)
      if (performance.now() - startedAt > limitMs) throw noDaemon()
    }
  } finally {
    await removeProbe(work, deliveryId)
  }
}
