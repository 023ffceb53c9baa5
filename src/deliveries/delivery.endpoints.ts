import type { PostOutcome } from '../net/http.ts'
import type { Ask, ClaimedDelivery, Rooms } from './delivery.claim.ts'
import { goneStatus } from './delivery.post.ts'
import { isTimeout, quietMsAfter } from './delivery.record.ts'
import { countedBytes, createSlots, newLimit, type Standing, totalLimit } from './delivery.slots.ts'

/*
 * Who may have how much claimed at once. Slots are for those who answer: an endpoint that answers earns more, those that
 * have not answered yet and those that time out share a small part of the process's slots, whatever their number and their
 * accounts'. A slot counts from the claim until the result is recorded.
 */

/** Claims of an endpoint that answers: the first, the fewest, and the most. */
const firstLimit = 16
const leastLimit = 4
const mostLimit = 1024
/** Posts to an endpoint at once. Claims beyond it wait here for a moment, so that fast endpoints never wait for SQL. */
const postingLimit = 64
/** An endpoint that takes longer gets no claims ahead: they would wait here, and others could take them. */
const fastMs = 100
const slowMs = 1000
/** An endpoint that has not answered for so long gets no more claims, and gives those back that it has ahead. */
const stallMs = 1000
/** What an endpoint has earned is kept for so long after its last delivery. */
const idleMs = 60_000
/** How so many of those that are forgotten stood is remembered. */
const maxRemembered = 10_000
/** After 410 an endpoint gets nothing for so long: by then its target has ended. */
const goneMs = 2000
/** For so long a quiet endpoint gets nothing by our own knowledge; by then its target's row says until when. */
const quietHereMs = 2000
/** After a fault of ours (a secret that can't be opened) an endpoint gets nothing for so long. */
const faultMs = 60_000

/** One target as this process knows it. Times in ms of `performance.now()`, unless they say otherwise. */
interface Endpoint {
  id: string
  accountId: string
  standing: Standing
  limit: number
  posting: number
  unrecorded: number
  waiting: ClaimedDelivery[]
  /** Of all that is claimed for it. */
  bytes: number
  /** There may be something unclaimed that is due since then (microseconds since the epoch). */
  since: number | null
  /** The same, as notices told since the last claim began: that claim may not have seen it. */
  told: number | null
  /** Time-outs since the last answer. */
  timeouts: number
  timedOutAt: number
  /** Since when it has had something to answer, or answered last. */
  busyAt: number
  usedAt: number
  quietUntil: number
}

const limits = { new: newLimit, answering: firstLimit, hanging: 1 }

const open = (id: string, accountId: string, standing: Standing, nowMs: number): Endpoint => {
  const times = { timedOutAt: 0, busyAt: nowMs, usedAt: nowMs, quietUntil: 0 }
  const counts = { posting: 0, unrecorded: 0, waiting: [], bytes: 0, since: null, told: null }
  return { id, accountId, standing, limit: limits[standing], timeouts: 0, ...counts, ...times }
}

const claimedOf = ({ posting, unrecorded, waiting }: Endpoint): number => posting + unrecorded + waiting.length

const earliest = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b)

const mayHave = ({ since, told }: Endpoint): boolean => since !== null || told !== null

const isStalled = ({ posting, busyAt }: Endpoint, nowMs: number): boolean => posting > 0 && nowMs - busyAt > stallMs

/** Room is given by halves of the limit at least: one claim brings many rows, or none. */
const roomOf = (endpoint: Endpoint, nowMs: number): number => {
  const claimed = claimedOf(endpoint)
  if (nowMs < endpoint.quietUntil || isStalled(endpoint, nowMs)) return 0
  return claimed * 2 <= endpoint.limit ? endpoint.limit - claimed : 0
}

export const createEndpoints = () => {
  const endpoints = new Map<string, Endpoint>()
  const remembered = new Map<string, Standing>()
  const slots = createSlots()
  /** The last claim was cut by a limit of the process: there may be more for who has room. */
  let isCut = false

  const stand = (endpoint: Endpoint, standing: Standing) => {
    const claimed = claimedOf(endpoint)
    slots.count(endpoint, -claimed, -endpoint.bytes)
    slots.count({ accountId: endpoint.accountId, standing }, claimed, endpoint.bytes)
    endpoint.standing = standing
    endpoint.limit = limits[standing]
  }

  const take = (endpoint: Endpoint, size: number) => {
    endpoint.bytes += size
    slots.count(endpoint, 1, size)
  }

  const free = (endpoint: Endpoint, { bytes }: ClaimedDelivery) => {
    const size = countedBytes(bytes)
    endpoint.bytes -= size
    slots.count(endpoint, -1, -size)
  }

  /** What waits is taken back: nothing of it was posted. */
  const takeBack = (endpoint: Endpoint): ClaimedDelivery[] => {
    const taken = endpoint.waiting.splice(0)
    for (const claimed of taken) free(endpoint, claimed)
    if (taken.length > 0) endpoint.since = earliest(endpoint.since, taken[0]!.dueAt)
    return taken
  }

  const quieten = (endpoint: Endpoint, ms: number, nowMs: number): ClaimedDelivery[] => {
    endpoint.quietUntil = Math.max(endpoint.quietUntil, nowMs + Math.min(ms, quietHereMs))
    const taken = takeBack(endpoint)
    endpoint.since = null
    endpoint.told = null
    return taken
  }

  const find = (id: string, accountId: string, nowMs: number): Endpoint =>
    endpoints.getOrInsertComputed(id, () => open(id, accountId, remembered.get(id) ?? 'new', nowMs))

  const remember = ({ id, standing }: Endpoint) => {
    remembered.delete(id)
    if (standing !== 'new') remembered.set(id, standing)
    if (remembered.size > maxRemembered) remembered.delete(remembered.keys().next().value!)
  }

  const forgetIdle = (nowMs: number) => {
    for (const endpoint of endpoints.values()) {
      if (claimedOf(endpoint) > 0 || mayHave(endpoint) || nowMs < endpoint.quietUntil) continue
      const hasEarned = endpoint.limit > firstLimit && nowMs - endpoint.usedAt < idleMs
      if (hasEarned) continue
      remember(endpoint)
      endpoints.delete(endpoint.id)
    }
  }

  const adaptToAnswer = (endpoint: Endpoint, { ok, durationMs }: PostOutcome) => {
    endpoint.timeouts = 0
    if (endpoint.standing !== 'answering') stand(endpoint, 'answering')
    if (ok) endpoint.limit = Math.min(durationMs <= fastMs ? mostLimit : postingLimit, endpoint.limit + 1)
    else if (durationMs >= slowMs) endpoint.limit = Math.max(leastLimit, Math.floor(endpoint.limit / 2))
  }

  const adaptToTimeout = (endpoint: Endpoint, { durationMs }: PostOutcome, nowMs: number) => {
    // What was posted before the time-out that is counted already says nothing new.
    if (nowMs - durationMs < endpoint.timedOutAt) return
    endpoint.timeouts++
    endpoint.timedOutAt = nowMs
    if (endpoint.standing !== 'hanging') stand(endpoint, 'hanging')
  }

  return {
    /** The rooms of the next claim. */
    rooms(nowMs: number): Rooms {
      forgetIdle(nowMs)
      const left = { new: slots.left('new'), hanging: slots.left('hanging') }
      const asks = [...endpoints.values()].map((endpoint): Ask => {
        const { id, accountId, standing } = endpoint
        const since = earliest(endpoint.since, endpoint.told)
        endpoint.since = since
        endpoint.told = null
        const room = roomOf(endpoint, nowMs)
        return { id, since, room: standing === 'answering' ? room : left[standing].take(accountId, room) }
      })
      return {
        asks,
        total: slots.total(),
        ...slots.ofAccounts(),
        bytes: slots.bytes(),
        unknown: { room: newLimit, ...left.new.inUnits(newLimit) },
        hanging: left.hanging.inUnits(1),
      }
    },

    /** Takes what a claim for `rooms` brought, and remembers who may have more. */
    add(claims: readonly ClaimedDelivery[], rooms: Rooms, nowMs: number): void {
      const brought = Map.groupBy(claims, ({ targetId }) => targetId)
      const ofAccounts = new Map<string, number>()
      for (const claimed of claims) {
        const { targetId, accountId, timeouts } = claimed
        const endpoint = find(targetId, accountId, nowMs)
        if (endpoint.standing === 'new' && timeouts > 0) stand(endpoint, 'hanging')
        if (endpoint.standing === 'hanging') endpoint.timeouts = Math.max(endpoint.timeouts, timeouts)
        endpoint.usedAt = nowMs
        endpoint.waiting.push(claimed)
        take(endpoint, countedBytes(claimed.bytes))
        ofAccounts.set(accountId, (ofAccounts.get(accountId) ?? 0) + 1)
      }
      const bytes = slots.bytes()
      isCut = claims.length >= rooms.total || bytes.total <= 0
      const isAccountCut = (id: string) =>
        (ofAccounts.get(id) ?? 0) >= (rooms.accounts[id] ?? rooms.accountDefault) || (bytes.accounts[id] ?? 1) <= 0
      const asked = new Map(rooms.asks.map((ask) => [ask.id, ask]))
      for (const id of new Set([...asked.keys(), ...brought.keys()])) {
        const endpoint = endpoints.get(id)
        const { room, since } = asked.get(id) ?? { room: rooms.unknown.room, since: null }
        if (!endpoint || room === 0) continue
        const rows = brought.get(id) ?? []
        const cut = isCut || isAccountCut(endpoint.accountId) ? (since ?? rows[0]?.dueAt ?? null) : null
        endpoint.since = rows.length >= room ? rows.at(-1)!.dueAt : cut
      }
    },

    /** Nothing is claimed, nothing may wait to be, and none is left alone for a while. */
    isIdle: (nowMs: number): boolean =>
      endpoints.values().every((endpoint) => {
        return claimedOf(endpoint) === 0 && !mayHave(endpoint) && nowMs >= endpoint.quietUntil
      }),

    /** There may be something for these targets of an account since a time (microseconds since the epoch). */
    told(accountId: string, ids: readonly string[], since: number, nowMs: number): void {
      for (const id of ids) {
        const endpoint = find(id, accountId, nowMs)
        endpoint.told = earliest(endpoint.told, since)
      }
    },

    /** The next delivery to post to the endpoint, if it has one waiting and may have one more posting. */
    next(id: string, nowMs: number): ClaimedDelivery | undefined {
      const endpoint = endpoints.get(id)
      if (!endpoint || endpoint.posting >= Math.min(postingLimit, endpoint.limit)) return undefined
      if (nowMs < endpoint.quietUntil) return undefined
      const claimed = endpoint.waiting.shift()
      if (!claimed) return undefined
      if (endpoint.posting === 0) endpoint.busyAt = nowMs
      endpoint.posting++
      return claimed
    },

    /**
     * A post has ended; its slot counts until `recorded`. Gives how long the endpoint is to be left alone (ms, 0: not at
     * all), its time-outs in a row, and what is to be given back because of it.
     */
    answered({ targetId }: ClaimedDelivery, outcome: PostOutcome, nowMs: number, random: number) {
      const endpoint = endpoints.get(targetId)!
      endpoint.posting--
      endpoint.unrecorded++
      if (outcome.stopped) return { timeouts: endpoint.timeouts, quietMs: 0, back: [] }
      if (isTimeout(outcome)) adaptToTimeout(endpoint, outcome, nowMs)
      else {
        endpoint.busyAt = nowMs
        adaptToAnswer(endpoint, outcome)
      }
      const { timeouts } = endpoint
      const quietMs = quietMsAfter(outcome, timeouts, random)
      if (outcome.status === goneStatus) return { timeouts, quietMs: 0, back: quieten(endpoint, goneMs, nowMs) }
      if (quietMs > 0) return { timeouts, quietMs, back: quieten(endpoint, quietMs, nowMs) }
      return { timeouts, quietMs, back: endpoint.standing === 'hanging' ? takeBack(endpoint) : [] }
    },

    /** It could not be posted, by a fault of ours: nothing is, for a while. Gives what is to be given back because of it. */
    unable(claimed: ClaimedDelivery, nowMs: number): ClaimedDelivery[] {
      const endpoint = endpoints.get(claimed.targetId)!
      endpoint.posting--
      free(endpoint, claimed)
      endpoint.quietUntil = nowMs + faultMs
      return takeBack(endpoint)
    },

    /** Its result is recorded, or it was given back. Gives whether to claim anew: there is room, and may be something for it. */
    recorded(claimed: ClaimedDelivery, nowMs: number): boolean {
      const endpoint = endpoints.get(claimed.targetId)!
      endpoint.unrecorded--
      free(endpoint, claimed)
      if (endpoint.standing !== 'answering') return true
      if (isCut && slots.total() * 4 >= totalLimit) return true
      return mayHave(endpoint) && roomOf(endpoint, nowMs) > 0
    },

    /** Takes back what waits for endpoints that have stalled, for these targets, or for all. */
    back(which: 'stalled' | 'all' | readonly string[], nowMs: number): ClaimedDelivery[] {
      const all = [...endpoints.values()]
      if (which === 'all') return all.flatMap(takeBack)
      if (which === 'stalled') return all.filter((endpoint) => isStalled(endpoint, nowMs)).flatMap(takeBack)
      return which.flatMap((id) => (endpoints.has(id) ? takeBack(endpoints.get(id)!) : []))
    },
  }
}
