import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import { listen } from '../store/wakeup.ts'
import type { App } from '../store/work.ts'
import { type ClaimedDelivery, claimDue, releaseClaims } from './delivery.claim.ts'
import { createEndpoints } from './delivery.endpoints.ts'
import { createPoster } from './delivery.post.ts'
import { judge } from './delivery.record.ts'
import { createRecorder } from './delivery.recorder.ts'

/** Notices wake the loop; this is for what they do not tell: retries that come due, and notices that were lost. */
const pollMs = 1000
/** The last results and releases have this long, when the database is away at the end. */
const settleMs = 3000

/** The database is away, or chose this statement to end a deadlock: the same again may succeed. */
const isPassing = (error: unknown): boolean => isUnavailable(error) || (error as { code?: string }).code === '40P01'

/** Wakes one waiter; a ring while nobody waits is kept for the next. */
const createBell = () => {
  let rung = false
  let wake = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    async wait(limitMs: number) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
    },
  }
}

/**
 * Delivers what is due, until `signal` is aborted; then finishes what is being posted (at most 5 s), gives back the rest
 * and resolves. Any number may run on one database. While the database is away it waits; any other fault rejects, after
 * the same orderly end. Each delivery is posted at least once (decisions.md, Webhooks and events).
 */
export const runDeliveries = async (app: App, signal: AbortSignal): Promise<void> => {
  const fault = new AbortController()
  const stop = AbortSignal.any([signal, fault.signal])
  const bell = createBell()
  const endpoints = createEndpoints()
  const post = createPoster(app)
  const recorder = createRecorder(app, isPassing, (error) => fault.abort(error))
  const posting = new Set<Promise<void>>()
  const unsent: ClaimedDelivery[] = []

  const deliver = async (claimed: ClaimedDelivery) => {
    const outcome = await post(claimed)
    const nowMs = app.now().getTime()
    if (outcome.stopped) unsent.push(claimed)
    else recorder.add(judge(claimed, outcome, nowMs, Math.random()))
    if (endpoints.done(claimed, outcome, nowMs)) bell.ring()
    if (!stop.aborted) pump(claimed.webhookId)
  }

  const pump = (webhookId: string) => {
    const nowMs = app.now().getTime()
    for (let next = endpoints.next(webhookId, nowMs); next; next = endpoints.next(webhookId, nowMs)) {
      const delivered = deliver(next).finally(() => posting.delete(delivered))
      posting.add(delivered)
    }
  }

  const claim = async () => {
    const now = app.now()
    const rooms = endpoints.rooms(now.getTime())
    if (rooms.total === 0 || recorder.isStuck) return
    const claims = await claimDue(app.sql, now, rooms)
    endpoints.add(claims, rooms, now.getTime())
    if (!stop.aborted) for (const webhookId of new Set(claims.map((claimed) => claimed.webhookId))) pump(webhookId)
  }

  const notices = listen(app.database, 'svc_deliveries', bell.ring)
  stop.addEventListener('abort', bell.ring)
  try {
    while (!stop.aborted) {
      await claim().catch((error) => {
        if (!isPassing(error)) fault.abort(error)
      })
      await bell.wait(pollMs)
    }
  } finally {
    unsent.push(...endpoints.drain())
    await Promise.all(posting)
    await recorder.close(settleMs)
    const released = unsent.length > 0 ? releaseClaims(app.sql, unsent).catch(() => {}) : undefined
    await Promise.race([Promise.all([released, notices.close()]), sleep(settleMs, undefined, { ref: false })])
  }
  if (fault.signal.aborted) throw fault.signal.reason
}
