import { runQueue } from '../../queue/engine.ts'
import { followLooks, type Looks } from '../../queue/looks.ts'
import { settleMs, within } from '../../queue/loop.ts'
import { defineJob } from '../../store/background.ts'
import type { App, Report } from '../../store/work.ts'
import type { Carrier } from './carrier.ts'
import { createRelayQueues } from './outbox.capacity.ts'
import { type ClaimedMessage, claimDue, findDue, mailChannel, mailQueue, type Stream } from './outbox.claim.ts'
import { createSuppressor } from './outbox.suppress.ts'

/** Interval of checking all streams, for messages without a notice: retries that come due, and lost notices. */
const checkMs = 10_000
const finishMs = 5000

/** Whether any message is queued, or any suppression is pending. */
export const hasMessages = `
  exists (select from message_queue order by account_id, batch limit 1)
  or exists (select from pending_suppressions order by account_id limit 1)`

/** Parses the payload of `noticeOf`. Returns null for a payload that names no stream. */
const readNotice = (payload: string): (Stream & { since: number }) | null => {
  const [since, accountId, batch = ''] = payload.split(' ')
  return accountId ? { accountId, batch, since: Number(since) } : null
}

/**
 * Sends due messages until `signal` is aborted. Then it finishes those on a connection (at most 5 s), releases the rest and
 * resolves. Any number of processes may run it on one database. Each message is sent at most once (docs/queues.md#rules). `looks`
 * is what the worker's heartbeats look for, for other schedulers.
 */
export const runMail = (app: App, signal: AbortSignal, report: Report = () => {}, looks: Looks = {}): Promise<void> =>
  runQueue<ClaimedMessage>(app, signal, report, (queue) => {
    const relays = createRelayQueues()
    const look = followLooks(app, 'messages', () => {})
    let checkAt = 0

    const freed = () => {
      if (relays.hasCapacity(performance.now())) queue.ring()
    }
    const suppressor = createSuppressor(app, report)
    let carrier: Carrier | undefined
    /** Loads the carrier for the first message: without messages the thread stays small. */
    const loadCarrier = async (): Promise<Carrier> => {
      const { createCarrier } = await import('./carrier.ts')
      carrier ??= createCarrier(app, queue, relays, suppressor, { settled() {}, freed, report })
      return carrier
    }

    const checkStreams = async () => {
      if (performance.now() < checkAt) return
      const nextAt = performance.now() + checkMs
      if (checkAt > 0 && look.isIdle) {
        checkAt = nextAt
        return
      }
      void suppressor.run()
      for (const due of await findDue(app.sql)) relays.markDue(due, due.since)
      checkAt = nextAt
    }

    return {
      ...mailQueue(app),
      looks: { ...looks, messages: hasMessages },
      get isStuck() {
        return carrier?.isStuck ?? false
      },
      channels: [mailChannel, 'svc_clock'],
      notice(channel: string, payload: string) {
        const notice = channel === mailChannel ? readNotice(payload) : null
        if (notice) relays.markDue(notice, notice.since)
        else checkAt = 0
      },
      missed() {
        checkAt = 0
      },
      async claim(worker: number) {
        carrier?.giveBack(relays.takeStalled(performance.now()))
        await checkStreams()
        const { requests, total } = relays.claimRequests(performance.now())
        if (total <= 0 || requests.length === 0) return
        const { pump } = await loadCarrier()
        const { claims, found } = await claimDue(app.sql, worker, requests, total)
        queue.track(claims)
        relays.add(claims, requests, found, performance.now())
        pump()
        freed()
      },
      hold: () => carrier?.giveBack(relays.takeBack(() => true)),
      finish() {
        look.close()
        return carrier?.finish(finishMs) ?? within(settleMs, suppressor.close())
      },
    }
  })

export const jobs = [
  defineJob('messages', {
    every: 'a notice, a due time',
    does: 'Hands messages to relays and retries them',
    run: runMail,
  }),
]
