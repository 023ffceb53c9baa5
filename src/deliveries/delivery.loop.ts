import { type Adapter, type Engine, runQueue } from '../queue/engine.ts'
import type { App, Report } from '../store/work.ts'
import { deliveriesChannel } from './deliveries.insert.ts'
import {
  type ClaimedDelivery,
  claimDue,
  freeClaims,
  isTargetDue,
  lookEverywhere,
  releaseClaims,
} from './delivery.claim.ts'
import { createEndpoints } from './delivery.endpoints.ts'
import { createLeftovers } from './delivery.leftovers.ts'
import { readNotice } from './delivery.notice.ts'
import { createPoster, postTimeoutMs } from './delivery.post.ts'
import { judge } from './delivery.record.ts'
import { createRecorder } from './delivery.recorder.ts'

/** How soon to look again while anything is claimed or waits. */
const busyMs = 2000
/** How often every target is looked at, for what no notice and no due time announced. */
const lookMs = 30_000
/** A post that ends this long after its deadline says that this process stood still, and nothing about the endpoint. */
const standstillMs = 2000

const openDeliveries = (
  app: App,
  queue: Engine<ClaimedDelivery>,
  signal: AbortSignal,
  report: Report,
): Adapter<ClaimedDelivery> => {
  const endpoints = createEndpoints()
  const post = createPoster(app)
  const posting = new Set<Promise<void>>()
  const leftovers = createLeftovers(app, signal, report)
  /** Targets that changed while a claim was under way: what it returns of them is outdated. */
  const changed = new Set<string>()
  /** The claims that this process holds, by the delivery's id. */
  const held = new Map<string, number>()
  let isClaiming = false
  let lookAt = 0

  const drop = ({ id, claim }: ClaimedDelivery) => {
    if (held.get(id) === claim) held.delete(id)
  }

  const recorder = createRecorder(app, report, (claimed) => {
    drop(claimed)
    if (endpoints.recorded(claimed, performance.now())) queue.ring()
  })

  const deliver = async (claimed: ClaimedDelivery) => {
    const made = await post(claimed).catch((error) => {
      report(error, { delivery: claimed.id, target: claimed.targetId })
      return null
    })
    if (!made) return queue.giveBack([claimed, ...endpoints.unable(claimed, performance.now())])
    const wasStandingStill = made.status === null && made.durationMs > postTimeoutMs + standstillMs
    const outcome = wasStandingStill ? { ...made, stopped: true } : made
    const random = Math.random()
    const answered = endpoints.answered(claimed, outcome, performance.now(), random)
    queue.giveBack(answered.back)
    if (outcome.stopped) {
      endpoints.recorded(claimed, performance.now())
      queue.giveBack([claimed])
    } else recorder.add(judge(claimed, outcome, random), answered)
    if (!signal.aborted) pump(claimed.targetId)
  }

  const pump = (targetId: string) => {
    // Another worker may own what waits here by now. It is given back as soon as this one has a heartbeat again.
    if (queue.worker === null) return
    const nowMs = performance.now()
    for (let next = endpoints.next(targetId, nowMs); next; next = endpoints.next(targetId, nowMs)) {
      const delivered = deliver(next).finally(() => posting.delete(delivered))
      posting.add(delivered)
    }
  }

  const look = async () => {
    if (performance.now() < lookAt) return
    const isLeft = await lookEverywhere(app.sql)
    leftovers.look()
    lookAt = performance.now() + (isLeft ? busyMs : lookMs)
  }

  return {
    job: 'deliveries',
    table: 'pending_deliveries',
    channels: [deliveriesChannel, 'svc_clock'],
    isDue: isTargetDue,
    notice(channel, payload) {
      const notice = channel === deliveriesChannel ? readNotice(payload) : null
      if (!notice) return
      if ('since' in notice) return endpoints.told(notice.accountId, notice.ids, notice.since, performance.now())
      if (isClaiming) for (const id of notice.changed) changed.add(id)
      leftovers.changed(notice.changed)
      queue.giveBack(endpoints.back(notice.changed, performance.now()))
    },
    missed() {
      queue.giveBack(endpoints.back('all', performance.now()))
      lookAt = 0
    },
    async claim(worker) {
      queue.giveBack(endpoints.back('stalled', performance.now()))
      await look()
      const rooms = endpoints.rooms(performance.now())
      if (rooms.total <= 0) return
      isClaiming = true
      const claims = await claimDue(app.sql, worker, rooms).finally(() => {
        isClaiming = false
      })
      for (const { id, claim } of claims) held.set(id, claim)
      endpoints.add(claims, rooms, performance.now())
      queue.giveBack(endpoints.back([...changed], performance.now()))
      changed.clear()
      if (!signal.aborted) for (const id of new Set(claims.map(({ targetId }) => targetId))) pump(id)
    },
    get isStuck() {
      return recorder.isStuck
    },
    holds: (id) => held.has(id),
    release: (claims) => releaseClaims(app.sql, claims),
    released: (claims) => claims.forEach(drop),
    free: (claims) => freeClaims(app.sql, claims),
    waitMs() {
      const nowMs = performance.now()
      return held.size === 0 && endpoints.isIdle(nowMs) ? Math.max(busyMs, lookAt - nowMs) : busyMs
    },
    async finish() {
      queue.giveBack(endpoints.back('all', performance.now()))
      await Promise.all(posting)
      await recorder.close()
    },
  }
}

/**
 * Delivers what is due until `signal` is aborted; then finishes the posts under way (at most 5 s), returns the rest to the
 * queue. Any number of processes may run it on one database. Each delivery is posted at least once (queue/README.md).
 */
export const runDeliveries = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  runQueue<ClaimedDelivery>(app, signal, report, (queue) => openDeliveries(app, queue, signal, report))
