import { setTimeout as sleep } from 'node:timers/promises'
import { sampleEvent } from '../events/samples.ts'
import type { WebhookEvent } from '../events/shapes.ts'
import type { EventType } from '../events/types.ts'
import { Problem } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import type { DeliveryAttempt } from './webhooks.entities.ts'
import { writeEvents } from './webhooks.outbox.ts'

const limitMs = 10_000
const pollMs = 200

/** An event of the listener's own, told apart by its id: never shown, never handed on. */
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

const noDaemon = () =>
  new Problem('unavailable', 'No daemon runs the jobs on this database, so nothing would ever be delivered', {
    hint: 'svc dev (or svc serve) in another terminal',
  })

const lastError = async (app: App, accountId: string, deliveryId: string): Promise<string | null> => {
  const [row] = await app.sql<{ attempts: DeliveryAttempt[] }>(
    'select attempts from deliveries where account_id = $1 and id = $2',
    [accountId, deliveryId],
  )
  return row?.attempts.at(-1)?.error ?? null
}

/**
 * Sends the ping through the outbox to this one webhook and waits until a daemon has brought it. Throws a Problem that says
 * why none does within 10 s: `unavailable` without a daemon, `configuration` where it may not reach this machine.
 */
export const provePath = async (
  app: App,
  subscription: { accountId: string; actor: string; webhookId: string },
  ping: WebhookEvent,
  arrived: Promise<void>,
  signal: AbortSignal,
): Promise<void> => {
  const { accountId, actor, webhookId } = subscription
  const deliveryId = await app.work(accountId, actor, (work) => writeEvents(work, [ping], webhookId))
  const came = arrived.then(() => true)
  const startedAt = performance.now()
  while (!signal.aborted) {
    if (await Promise.race([came, sleep(pollMs, false)])) return
    const error = deliveryId === null ? 'the subscription was removed' : await lastError(app, accountId, deliveryId)
    if (error !== null) throw unreachable(error)
    if (performance.now() - startedAt > limitMs) throw noDaemon()
  }
}

/** Takes the ping out of the account's history. */
export const removePing = async (app: App, accountId: string, eventId: string): Promise<void> => {
  await app.sql('delete from deliveries where account_id = $1 and event_id = $2', [accountId, eventId])
  await app.sql('delete from events where account_id = $1 and id = $2', [accountId, eventId])
}
