import { setTimeout as sleep } from 'node:timers/promises'
import { type DeliveryDetail, showDelivery } from '../deliveries/deliveries.ts'
import type { EventType } from '../events/events.ts'
import { conflict, Problem } from '../lib/problem.ts'
import { readHeld } from '../queue/holds.ts'
import { isRunning } from '../queue/lease.ts'
import type { App } from '../store/work.ts'
import { showWebhook, testWebhook } from './webhooks.ts'

const pollMs = 100
/** A daemon that has just started registers its worker within this time. */
const startMs = 3000

export const noDaemon = () =>
  new Problem('unavailable', 'No daemon runs the jobs of this database, so nothing would be delivered', {
    hint: 'svc dev (or svc serve) in another terminal',
  })

/**
 * Throws Problem `unavailable` without a daemon that delivers, or `conflict` while the queue is paused. Returns early once
 * `signal` is aborted.
 */
const requireDaemon = async ({ sql }: App, signal: AbortSignal): Promise<void> => {
  const startedAt = performance.now()
  while (!signal.aborted && !(await isRunning(sql, 'deliveries'))) {
    if (performance.now() - startedAt > startMs) throw noDaemon()
    await sleep(pollMs)
  }
  if ((await readHeld(sql)).includes('deliveries'))
    throw conflict('The queue deliveries is paused, so nothing would be delivered', {
      hint: 'svc queues resume deliveries',
    })
}

/**
 * Sends the webhook a sample with `test: true` inside `data`, and waits for the first attempt. Returns the delivery after it, or null
 * once `signal` is aborted. Throws Problem `not_found`, `conflict` if the webhook is disabled or the queue is paused, `unavailable`
 * if no daemon delivers: then nothing is sent; `upstream` if `limitMs` pass without an attempt.
 */
export const tryWebhook = async (
  app: App,
  { accountId, actor, id, type }: { accountId: string; actor: string; id: string; type?: EventType | undefined },
  { limitMs, signal }: { limitMs: number; signal: AbortSignal },
): Promise<DeliveryDetail | null> => {
  await app.work(accountId, actor, (work) => showWebhook(work, id))
  await requireDaemon(app, signal)
  if (signal.aborted) return null
  const sent = await app.work(accountId, actor, (work) => testWebhook(work, id, type))
  const startedAt = performance.now()
  while (!signal.aborted) {
    const delivery = await app.work(accountId, actor, (work) => showDelivery(work, sent.id))
    if (delivery.history.length > 0 || delivery.status !== 'pending') return delivery
    if (performance.now() - startedAt > limitMs)
      throw new Problem('upstream', `The delivery ${sent.id} has had no attempt yet`, {
        hint: `svc deliveries show ${sent.id}`,
      })
    await sleep(pollMs)
  }
  return null
}
