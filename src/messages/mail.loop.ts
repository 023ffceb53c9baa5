import { runQueue } from '../queue/engine.ts'
import type { App, Report } from '../store/work.ts'
import { createCarrier } from './mail.carrier.ts'
import { type ClaimedMessage, claimDue, findDue, mailChannel, type Stream } from './mail.claim.ts'
import { createLanes } from './mail.lanes.ts'

/** How often all streams are looked at, for what no notice announced: retries that come due, and notices that were lost. */
const lookMs = 10_000
const finishMs = 5000

/** As `noticeOf` makes it; null for a notice that names nothing. */
export const readNotice = (payload: string): (Stream & { since: number }) | null => {
  const [since, accountId, batch = ''] = payload.split(' ')
  return accountId ? { accountId, batch, since: Number(since) } : null
}

/**
 * Hands over messages that are due, until `signal` is aborted; then finishes those on a connection (at most 5 s), releases the
 * rest and resolves. Any number of processes may run it on one database. Each message is sent at most once (queue/README.md).
 */
export const runMail = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runQueue<ClaimedMessage>(app, signal, report, (queue) => {
    const lanes = createLanes()
    let lookAt = 0

    const freed = () => {
      if (lanes.hasRoom(performance.now())) queue.ring()
    }
    const carrier = createCarrier(app, queue, lanes, { settled() {}, freed, report })

    const look = async () => {
      if (performance.now() < lookAt) return
      carrier.suppress()
      const nextAt = performance.now() + lookMs
      for (const due of await findDue(app.sql)) lanes.told(due, due.since)
      lookAt = nextAt
    }

    return Object.assign(carrier.adapter, {
      channels: [mailChannel, 'svc_clock'],
      notice(channel: string, payload: string) {
        const notice = channel === mailChannel ? readNotice(payload) : null
        if (notice) lanes.told(notice, notice.since)
        else lookAt = 0
      },
      missed() {
        lookAt = 0
      },
      async claim(worker: number) {
        carrier.giveBack(lanes.stalled(performance.now()))
        await look()
        const { asks, total } = lanes.rooms(performance.now())
        if (total <= 0 || asks.length === 0) return
        const { claims, found } = await claimDue(app.sql, worker, asks, total)
        carrier.hold(claims)
        lanes.add(claims, asks, found, performance.now())
        carrier.pump()
        freed()
      },
      finish: () => carrier.finish(finishMs),
    })
  })
