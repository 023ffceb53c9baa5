import { type Adapter, type Engine, runQueue } from '../../queue/engine.ts'
import type { Looks } from '../../queue/looks.ts'
import { createAlarms } from '../../queue/loop.ts'
import { defineJob } from '../../store/background.ts'
import type { App, Report } from '../../store/work.ts'
import { deliveriesChannel, readNotice } from '../deliveries.notices.ts'
import type { ClaimedDelivery } from './claim.statement.ts'
import { claimDue, isTargetDue, releaseClaims, scheduleUnclaimed } from './deliveries.claim.ts'
import { resultOf } from './deliveries.record.ts'
import { createEndpoints } from './endpoints.ts'
import { createLeftovers } from './leftovers.ts'
import { createPoster, postTimeoutMs } from './post.ts'
import { createRecorder } from './recorder.ts'

/** The wait for the next claim while anything is claimed or waits. */
const busyMs = 2000
/** Interval of the search in all targets for deliveries that no notice and no due time announced. */
const searchMs = 30_000
/** After missed notices, the search is repeated every `busyMs` for this long: a commit without an answer may still take effect. */
const unsureMs = 10_000
/** A post that ends this long after its deadline shows that this process was suspended, and says nothing about the endpoint. */
const suspensionMs = 2000

const openDeliveries = (
  app: App,
  queue: Engine<ClaimedDelivery>,
  signal: AbortSignal,
  report: Report,
  looks: Looks,
): Adapter<ClaimedDelivery> => {
  const endpoints = createEndpoints()
  const post = createPoster(app)
  const posting = new Set<Promise<void>>()
  const leftovers = createLeftovers(app, signal, report)
  /** Targets that changed while a claim was running: its rows of them are outdated. */
  const changed = new Set<string>()
  let isClaiming = false
  let searchAt = 0
  let unsureUntil = 0

  const alarms = createAlarms(queue.ring)
  const recorder = createRecorder(app, report, {
    recorded(claimed) {
      queue.untrack(claimed)
      if (endpoints.recorded(claimed, performance.now())) queue.ring()
    },
    retried: alarms.set,
  })

  const deliver = async (claimed: ClaimedDelivery) => {
    const posted = await post(claimed).catch((error) => {
      report(error, { delivery: claimed.id, target: claimed.targetId })
      return null
    })
    if (!posted) return queue.giveBack([claimed, ...endpoints.postFailed(claimed, performance.now())])
    const wasSuspended = posted.status === null && posted.durationMs > postTimeoutMs + suspensionMs
    const outcome = wasSuspended ? { ...posted, stopped: true } : posted
    const random = Math.random()
    const answered = endpoints.answered(claimed, outcome, performance.now(), random)
    queue.giveBack(answered.back)
    if (outcome.stopped) {
      endpoints.recorded(claimed, performance.now())
      queue.giveBack([claimed])
    } else recorder.add(resultOf(claimed, outcome, random), answered)
    if (!signal.aborted) pump(claimed.targetId)
  }

  const pump = (targetId: string) => {
    // Another worker may own the waiting claims by now. They are given back as soon as this worker has a heartbeat again.
    if (queue.worker === null || queue.isHeld) return
    for (const next of endpoints.next(targetId, performance.now())) {
      const delivered = deliver(next).finally(() => posting.delete(delivered))
      posting.add(delivered)
    }
  }

  const search = async () => {
    if (performance.now() < searchAt) return
    const isLeft = await scheduleUnclaimed(app.sql)
    leftovers.search()
    const nowMs = performance.now()
    searchAt = nowMs + (isLeft || nowMs < unsureUntil ? busyMs : searchMs)
  }

  return {
    job: 'deliveries',
    queue: 'deliveries',
    table: 'pending_deliveries',
    channels: [deliveriesChannel, 'svc_clock'],
    isDue: isTargetDue,
    looks,
    notice(channel, payload) {
      const notice = channel === deliveriesChannel ? readNotice(payload) : null
      if (!notice) return
      if ('since' in notice)
        return endpoints.noteUnclaimed(notice.accountId, notice.ids, notice.since, performance.now())
      if (isClaiming) for (const id of notice.changed) changed.add(id)
      leftovers.changed(notice.changed)
      queue.giveBack(endpoints.back(notice.changed, performance.now()))
    },
    missed() {
      queue.giveBack(endpoints.back('all', performance.now()))
      searchAt = 0
      unsureUntil = performance.now() + unsureMs
    },
    async claim(worker) {
      queue.giveBack(endpoints.back('stalled', performance.now()))
      await search()
      const capacity = endpoints.capacity(performance.now())
      if (capacity.total <= 0) return
      isClaiming = true
      const claims = await claimDue(app.sql, worker, capacity).finally(() => {
        isClaiming = false
      })
      queue.track(claims)
      endpoints.add(claims, capacity, performance.now())
      queue.giveBack(endpoints.back([...changed], performance.now()))
      changed.clear()
      if (!signal.aborted) for (const id of new Set(claims.map(({ targetId }) => targetId))) pump(id)
    },
    hold: () => queue.giveBack(endpoints.back('all', performance.now())),
    get isStuck() {
      return recorder.isStuck
    },
    release: (claims) => releaseClaims(app.sql, claims),
    free: (claims) => releaseClaims(app.sql, claims),
    waitMs() {
      const nowMs = performance.now()
      return queue.isEmpty && endpoints.isIdle(nowMs) ? Math.max(busyMs, searchAt - nowMs) : busyMs
    },
    async finish() {
      queue.giveBack(endpoints.back('all', performance.now()))
      await Promise.all(posting)
      await recorder.close()
      alarms.clear()
    },
  }
}

/**
 * Delivers due deliveries until `signal` is aborted; then finishes running posts (at most 5 s) and returns the rest to the queue.
 * Any number of processes may run it on one database. Each delivery is posted at least once (docs/queues.md#rules). `looks` is
 * what the worker's heartbeats look for, for other schedulers.
 */
export const runDeliveries = (
  app: App,
  signal: AbortSignal,
  report: Report = () => {},
  looks: Looks = {},
): Promise<void> =>
  runQueue<ClaimedDelivery>(app, signal, report, (queue) => openDeliveries(app, queue, signal, report, looks))

export const jobs = [
  defineJob('deliveries', {
    every: 'a notice, a due time',
    does: 'Posts webhook deliveries and retries them',
    run: runDeliveries,
  }),
]
