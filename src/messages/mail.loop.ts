import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import { createBell, settleMs } from '../store/queue.ts'
import type { App, Report } from '../store/work.ts'
import { openWorker } from '../store/worker.ts'
import { createCarrier } from './mail.carrier.ts'
import { claimDue, findDue, freeClaimsOf, mailChannel, type Stream } from './mail.claim.ts'
import { createLanes } from './mail.lanes.ts'
import { createReconciler } from './mail.reconcile.ts'

/** Notices wake the loop; this is for what they do not tell. */
const pollMs = 2000
/** What neither notices nor claims told: retries that came due, those of a process that was killed. */
const lookMs = 10_000
const finishMs = 5000
const longestFaultMs = 60_000

/** As `noticeOf` makes it; null for a notice that names nothing. */
export const readNotice = (payload: string): (Stream & { since: number }) | null => {
  const [since, accountId, batch = ''] = payload.split(' ')
  return accountId ? { accountId, batch, since: Number(since) } : null
}

/**
 * Hands over messages that are due, until `signal` is aborted; then finishes those on a connection (at most 5 s), releases the
 * rest and resolves. Any number may run on one database. While the database is away it waits; an unexpected error is reported,
 * and the loop goes on with growing waits. Each message is sent at most once (decisions.md, Send).
 */
export const runMail = async (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> => {
  const lanes = createLanes()
  const bell = createBell()
  let lookAt = 0

  const worker = openWorker(app.database, 'mail', [mailChannel, 'svc_clock'], {
    notice(channel, payload) {
      const notice = channel === mailChannel ? readNotice(payload) : null
      if (notice) lanes.told(notice, notice.since)
      else lookAt = 0
      bell.ring()
    },
    connected() {
      lookAt = 0
      bell.ring()
    },
    async died(ids) {
      const isDone = await freeClaimsOf(app, ids)
      lookAt = 0
      bell.ring()
      return isDone
    },
  })

  const carrier = createCarrier(app, lanes, {
    settled() {},
    freed() {
      if (lanes.hasRoom(performance.now())) bell.ring()
    },
    report,
  })

  const reconciler = createReconciler(app, { worker: () => worker.id, held: carrier.held, report })

  const look = async () => {
    if (performance.now() < lookAt) return
    carrier.suppress()
    const nextAt = performance.now() + lookMs
    for (const due of await findDue(app.sql)) lanes.told(due, due.since)
    lookAt = nextAt
  }

  const claim = async () => {
    carrier.giveBack(lanes.stalled(performance.now()))
    await look()
    const { asks, total } = lanes.rooms(performance.now())
    if (worker.id === null || carrier.isStuck || total <= 0 || asks.length === 0) return
    const { claims, found } = await claimDue(app.sql, worker.id, asks, total)
    carrier.hold(claims)
    lanes.add(claims, asks, found, performance.now())
    if (signal.aborted) return
    carrier.pump()
    if (lanes.hasRoom(performance.now())) bell.ring()
  }

  let faultMs = 0
  signal.addEventListener('abort', bell.ring)
  while (!signal.aborted) {
    try {
      await claim()
      if (worker.id !== null) app.beat()
      faultMs = 0
    } catch (error) {
      if (isUnavailable(error)) reconciler.suspect()
      else report(error, {})
      faultMs = Math.min(Math.max(faultMs * 2, 100), longestFaultMs)
      await sleep(faultMs, undefined, { signal }).catch(() => {})
    }
    await bell.wait(pollMs)
  }
  reconciler.close()
  await carrier.finish(finishMs)
  await Promise.race([worker.close(), sleep(settleMs, undefined, { ref: false })])
}
