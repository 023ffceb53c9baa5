import { setTimeout as sleep } from 'node:timers/promises'
import { isPassing, runQueue, settleMs } from '../store/queue.ts'
import type { App } from '../store/work.ts'
import { type ClaimedDelivery, claimDue, releaseClaims } from './delivery.claim.ts'
import { createEndpoints } from './delivery.endpoints.ts'
import { createPoster } from './delivery.post.ts'
import { judge } from './delivery.record.ts'
import { createRecorder } from './delivery.recorder.ts'

/**
 * Delivers what is due, until `signal` is aborted; then finishes what is being posted (at most 5 s), gives back the rest
 * and resolves. Any number may run on one database. While the database is away it waits; any other fault rejects, after
 * the same orderly end. Each delivery is posted at least once (decisions.md, Webhooks and events).
 */
export const runDeliveries = (app: App, signal: AbortSignal): Promise<void> =>
  runQueue(app.database, 'svc_deliveries', signal, ({ stop, ring, fail }) => {
    const endpoints = createEndpoints()
    const post = createPoster(app)
    const recorder = createRecorder(app, isPassing, fail)
    const posting = new Set<Promise<void>>()
    const unsent: ClaimedDelivery[] = []

    const deliver = async (claimed: ClaimedDelivery) => {
      const outcome = await post(claimed)
      const nowMs = app.now().getTime()
      if (outcome.stopped) unsent.push(claimed)
      else recorder.add(judge(claimed, outcome, nowMs, Math.random()))
      if (endpoints.done(claimed, outcome, nowMs)) ring()
      if (!stop.aborted) pump(claimed.webhookId)
    }

    const pump = (webhookId: string) => {
      const nowMs = app.now().getTime()
      for (let next = endpoints.next(webhookId, nowMs); next; next = endpoints.next(webhookId, nowMs)) {
        const delivered = deliver(next).finally(() => posting.delete(delivered))
        posting.add(delivered)
      }
    }

    return {
      async claim() {
        const now = app.now()
        const rooms = endpoints.rooms(now.getTime())
        if (rooms.total === 0 || recorder.isStuck) return
        const claims = await claimDue(app.sql, now, rooms)
        endpoints.add(claims, rooms, now.getTime())
        if (!stop.aborted) for (const webhookId of new Set(claims.map((claimed) => claimed.webhookId))) pump(webhookId)
      },

      async finish() {
        unsent.push(...endpoints.drain())
        await Promise.all(posting)
        await recorder.close(settleMs)
        if (unsent.length === 0) return
        const released = releaseClaims(app.sql, unsent).catch(() => {})
        await Promise.race([released, sleep(settleMs, undefined, { ref: false })])
      },
    }
  })
