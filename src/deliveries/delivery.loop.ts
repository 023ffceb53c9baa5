import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import { createBell, settleMs } from '../store/queue.ts'
import type { App, Report } from '../store/work.ts'
import { openWorker, type WorkerEvents } from '../store/worker.ts'
import { deliveriesChannel } from './deliveries.insert.ts'
import {
  type ClaimedDelivery,
  claimDue,
  freeClaimsOf,
  isTargetDue,
  lookEverywhere,
  releaseClaims,
} from './delivery.claim.ts'
import { createEndpoints } from './delivery.endpoints.ts'
import { readNotice } from './delivery.notice.ts'
import { createPoster, postTimeoutMs } from './delivery.post.ts'
import { judge, type Result } from './delivery.record.ts'
import { createRecorder } from './delivery.recorder.ts'
import { createStrays } from './delivery.strays.ts'

/** Notices and the worker's beats wake the loop; this is for what it knows itself, as long as it is at work. */
const pollMs = 2000
/** What neither notices nor due times told. */
const lookMs = 30_000
const longestFaultMs = 60_000
/** A failure that comes so much after its deadline is our own standing still, and says nothing of the endpoint. */
const standstillMs = 2000

/**
 * Delivers what is due, until `signal` is aborted; then finishes what is being posted (at most 5 s), gives back the rest
 * and resolves. Any number may run on one database. While the database is away it waits; a fault of ours is reported, and
 * the loop goes on with growing waits. Each delivery is posted at least once (decisions.md, Webhooks and events).
 */
export const runDeliveries = async (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> => {
  const endpoints = createEndpoints()
  const post = createPoster(app)
  const bell = createBell()
  const posting = new Set<Promise<void>>()
  const back: ClaimedDelivery[] = []
  const strays = createStrays(app, signal, { isPassing: isUnavailable, report })
  /** Targets that changed while a claim was under way: what it brings of them is of before. */
  const changed = new Set<string>()
  /** What we know to have claimed, by id, with the claim. */
  const ours = new Map<string, number>()
  /** A claim failed: it may have taken what we know nothing of. */
  let isUnsure = false
  let isClaiming = false
  let lookAt = 0

  const isDone = ({ id, claim }: ClaimedDelivery) => {
    if (ours.get(id) === claim) ours.delete(id)
  }

  const giveBack = (claims: readonly ClaimedDelivery[]) => {
    if (claims.length === 0) return
    back.push(...claims)
    bell.ring()
  }

  const events: WorkerEvents = {
    notice(channel, payload) {
      const notice = channel === deliveriesChannel ? readNotice(payload) : null
      if (notice && 'changed' in notice) {
        if (isClaiming) for (const id of notice.changed) changed.add(id)
        strays.changed(notice.changed)
        giveBack(endpoints.back(notice.changed, performance.now()))
      } else if (notice) endpoints.told(notice.accountId, notice.ids, notice.since, performance.now())
      bell.ring()
    },
    connected() {
      // Notices were missed: what waits may have ended, and there may be more.
      giveBack(endpoints.back('all', performance.now()))
      lookAt = 0
      bell.ring()
    },
    async died(ids) {
      const { freed, left } = await freeClaimsOf(app.sql, ids)
      if (freed > 0) {
        lookAt = 0
        bell.ring()
      }
      return !left
    },
  }
  const worker = openWorker(app.database, 'deliveries', [deliveriesChannel, 'svc_clock'], events, {
    isDue: isTargetDue,
    due: bell.ring,
  })

  const recorder = createRecorder(app, {
    recorded: ({ claimed }: Result) => {
      isDone(claimed)
      if (endpoints.recorded(claimed, performance.now())) bell.ring()
    },
    isPassing: isUnavailable,
    report,
  })

  const deliver = async (claimed: ClaimedDelivery) => {
    const made = await post(claimed).catch((error) => {
      report(error, { delivery: claimed.id, target: claimed.targetId })
      return null
    })
    if (!made) {
      back.push(claimed, ...endpoints.unable(claimed, performance.now()))
      return
    }
    const isOurs = made.status === null && made.durationMs > postTimeoutMs + standstillMs
    const outcome = isOurs ? { ...made, stopped: true } : made
    const random = Math.random()
    const answered = endpoints.answered(claimed, outcome, performance.now(), random)
    giveBack(answered.back)
    if (outcome.stopped) {
      endpoints.recorded(claimed, performance.now())
      back.push(claimed)
    } else recorder.add(judge(claimed, outcome, random), answered)
    if (!signal.aborted) pump(claimed.targetId)
  }

  const pump = (targetId: string) => {
    // What waits may be another's by now. It is given back when we are sure of ourselves again.
    if (worker.id === null) return
    const nowMs = performance.now()
    for (let next = endpoints.next(targetId, nowMs); next; next = endpoints.next(targetId, nowMs)) {
      const delivered = deliver(next).finally(() => posting.delete(delivered))
      posting.add(delivered)
    }
  }

  const release = async () => {
    const claims = back.splice(0)
    if (claims.length === 0) return
    await releaseClaims(app.sql, claims).catch((error) => {
      back.push(...claims)
      throw error
    })
    claims.forEach(isDone)
  }

  const look = async () => {
    if (performance.now() < lookAt) return
    const isLeft = await lookEverywhere(app.sql)
    strays.look()
    lookAt = performance.now() + (isLeft ? pollMs : lookMs)
  }

  const freeLost = async (id: number) => {
    if (isUnsure) isUnsure = (await freeClaimsOf(app.sql, [id], [...ours.keys()])).left
  }

  const claim = async () => {
    const nowMs = performance.now()
    back.push(...endpoints.back('stalled', nowMs))
    await release()
    await look()
    const rooms = endpoints.rooms(nowMs)
    const { id: me } = worker
    if (me === null || recorder.isStuck || rooms.total <= 0) return
    await freeLost(me)
    isClaiming = true
    isUnsure = true
    const claims = await claimDue(app.sql, me, rooms).finally(() => {
      isClaiming = false
    })
    isUnsure = false
    for (const { id, claim: nth } of claims) ours.set(id, nth)
    endpoints.add(claims, rooms, performance.now())
    giveBack(endpoints.back([...changed], performance.now()))
    changed.clear()
    if (!signal.aborted) for (const id of new Set(claims.map(({ targetId }) => targetId))) pump(id)
  }

  const finish = async () => {
    back.push(...endpoints.back('all', performance.now()))
    await Promise.all(posting)
    await recorder.close(settleMs)
    await Promise.race([release().catch(() => {}), sleep(settleMs, undefined, { ref: false })])
    await Promise.race([worker.close(), sleep(settleMs, undefined, { ref: false })])
  }

  /** With nothing at hand it waits to be woken, until the next look. */
  const waitMs = (nowMs: number) => {
    const isIdle = posting.size + ours.size + back.length === 0 && !isUnsure && endpoints.isIdle(nowMs)
    return isIdle ? Math.max(pollMs, lookAt - nowMs) : pollMs
  }

  let faultMs = 0
  signal.addEventListener('abort', bell.ring)
  while (!signal.aborted) {
    try {
      await claim()
      faultMs = 0
    } catch (error) {
      if (!isUnavailable(error)) report(error, {})
      faultMs = Math.min(Math.max(faultMs * 2, 100), longestFaultMs)
      await sleep(faultMs, undefined, { signal }).catch(() => {})
    }
    await bell.wait(faultMs > 0 ? pollMs : waitMs(performance.now()))
  }
  await finish()
}
