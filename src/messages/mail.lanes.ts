import { timeoutBackoffMs } from '../lib/backoff.ts'
import type { HandOver } from '../net/smtp.ts'
import { type Ask, type ClaimedMessage, type Found, type Stream, streamKey } from './mail.claim.ts'

/*
 * Who may have how much claimed at once. Each relay has a lane: what waits for it in this process, and what it has in hand.
 * A relay that answers earns room for claims ahead; one that has not answered yet, or takes its time, gets few, and one that
 * is away none for a while. So a relay that hangs holds its own mail and nobody else's. The accounts of a lane share it.
 * Batches get what room single mails leave, and single mails pass them: they wait for what is in hand, and for no batch.
 */

/** Claims of a process at once. */
const totalLimit = 2048
/** In hand at once: loaded, on a connection, or not recorded yet. Only those on a connection are in doubt after a crash. */
const handLimit = 30
/** Claims for a relay that has not answered this process yet, and of all of those; and after it did not answer. */
const newLimit = 5
const newPool = 512
const hangingLimit = 1
const answeringLimit = 100
/** A relay that has not answered for so long gets no more. */
const stallMs = 3000
const idleMs = 60_000

interface Lane {
  key: string
  /** Single mails before those of batches. */
  waiting: ClaimedMessage[]
  inHand: number
  /** How many of those that wait or are in hand are single mails. */
  singles: number
  limit: number
  /** Times in a row that it could not be reached. */
  failures: number
  quietUntil: number
  /** Since when it has had something to answer, or answered last. */
  busyAt: number
  usedAt: number
}

/** The lane of a message: the platform's relay is one for all accounts. */
export const laneOf = ({ accountId, relay }: ClaimedMessage): string => (relay ? accountId : 'platform')

const open = (key: string, nowMs: number): Lane => ({
  key,
  waiting: [],
  inHand: 0,
  singles: 0,
  limit: newLimit,
  failures: 0,
  quietUntil: 0,
  busyAt: nowMs,
  usedAt: nowMs,
})

const claimedOf = ({ waiting, inHand }: Lane): number => waiting.length + inHand
const isSingle = ({ batch }: Stream): boolean => batch === ''

/** Times in ms of `performance.now()`. */
export const createLanes = () => {
  const lanes = new Map<string, Lane>()
  /** Where the mail of an account went last. */
  const homes = new Map<string, string>()
  /** Streams in which there may be something unclaimed, and since when; the one that was served longest ago first. */
  const since = new Map<string, Stream & { dueAt: number }>()

  const total = () => [...lanes.values()].reduce((sum, lane) => sum + claimedOf(lane), 0)

  /** For single mails what batches have claimed takes no room. */
  const roomOf = (lane: Lane | undefined, nowMs: number, forSingle: boolean): number => {
    if (!lane) return newLimit
    const isStalled = lane.inHand > 0 && nowMs - lane.busyAt > stallMs
    if (nowMs < lane.quietUntil || isStalled) return 0
    const claimed = forSingle ? lane.singles : claimedOf(lane)
    return claimed * 2 <= lane.limit ? lane.limit - claimed : 0
  }

  const forgetIdle = (nowMs: number) => {
    for (const lane of lanes.values()) {
      if (claimedOf(lane) === 0 && nowMs - lane.usedAt > idleMs && nowMs >= lane.quietUntil) lanes.delete(lane.key)
    }
  }

  return {
    /** There may be something in the stream that is due since a time (microseconds since the epoch). */
    told({ accountId, batch }: Stream, dueAt: number): void {
      const key = streamKey({ accountId, batch })
      since.set(key, { accountId, batch, dueAt: Math.min(since.get(key)?.dueAt ?? dueAt, dueAt) })
    },

    /** What the next claim asks for. The streams of a lane have equal parts of it, and take turns where it is too small. */
    rooms(nowMs: number): { asks: Ask[]; total: number } {
      forgetIdle(nowMs)
      let unproven = newPool
      for (const lane of lanes.values()) if (lane.limit < answeringLimit) unproven -= claimedOf(lane)
      const laneKey = ({ accountId }: Stream) => homes.get(accountId) ?? `new ${accountId}`
      const streams = [...since.values()].sort((a, b) => Number(isSingle(b)) - Number(isSingle(a)))
      const shares = Map.groupBy(streams, (stream) => `${laneKey(stream)} ${isSingle(stream)}`)
      const asks = [...shares.values()].flatMap((sharing) => {
        const lane = lanes.get(laneKey(sharing[0]!))
        const isProven = lane?.limit === answeringLimit
        const room = roomOf(lane, nowMs, isSingle(sharing[0]!))
        let left = isProven ? room : Math.max(0, Math.min(room, unproven))
        if (!isProven) unproven -= left
        const each = Math.ceil(left / sharing.length)
        return sharing.flatMap(({ accountId, batch, dueAt }) => {
          const part = Math.min(each, left)
          left -= part
          return part > 0 ? { accountId, batch, room: part, since: dueAt } : []
        })
      })
      return { asks, total: totalLimit - total() }
    },

    /** Takes what a claim brought, and remembers who may have more. */
    add(
      claims: readonly ClaimedMessage[],
      asks: readonly Ask[],
      found: ReadonlyMap<string, Found>,
      nowMs: number,
    ): void {
      for (const claimed of claims) this.push(claimed, nowMs)
      for (const { accountId, batch, room, since: asked } of asks) {
        const key = streamKey({ accountId, batch })
        const there = found.get(key)
        const told = since.get(key)?.dueAt
        since.delete(key)
        const hasMore = there !== undefined && there.found >= room
        const next = hasMore ? there.last : null
        // What a notice told meanwhile holds beside what the claim leaves.
        const isNews = told !== undefined && told !== asked
        if (next !== null) since.set(key, { accountId, batch, dueAt: isNews ? Math.min(told, next) : next })
        else if (isNews) since.set(key, { accountId, batch, dueAt: told })
      }
    },

    push(claimed: ClaimedMessage, nowMs: number): void {
      const key = laneOf(claimed)
      homes.set(claimed.accountId, key)
      const lane = lanes.getOrInsertComputed(key, () => open(key, nowMs))
      lane.usedAt = nowMs
      if (!isSingle(claimed)) lane.waiting.push(claimed)
      else {
        lane.singles++
        const behind = lane.waiting.findIndex((waiting) => !isSingle(waiting))
        lane.waiting.splice(behind < 0 ? lane.waiting.length : behind, 0, claimed)
      }
    },

    /** Whether a claim that was cut by room may be followed by another one. */
    hasRoom: (nowMs: number): boolean =>
      [...since.values()].some(
        (stream) => roomOf(lanes.get(homes.get(stream.accountId) ?? ''), nowMs, isSingle(stream)) > 0,
      ),

    /** The next messages to hand over, as many as their lanes may have in hand. */
    next(nowMs: number): ClaimedMessage[] {
      const next: ClaimedMessage[] = []
      for (const lane of lanes.values()) {
        const taken = lane.waiting.splice(0, handLimit - lane.inHand)
        if (taken.length > 0 && lane.inHand === 0) lane.busyAt = nowMs
        lane.inHand += taken.length
        next.push(...taken)
      }
      return next
    },

    /** The relay has answered, or not. Gives what waits for it and is to be given back, as it is away. */
    answered(claimed: ClaimedMessage, outcome: HandOver, nowMs: number, random: number): ClaimedMessage[] {
      const lane = lanes.get(laneOf(claimed))!
      const isAway = outcome.kind === 'unreached' || (outcome.kind === 'refused' && outcome.code === 421)
      if (!isAway && outcome.kind !== 'unknown') {
        lane.busyAt = nowMs
        lane.failures = 0
        lane.limit = answeringLimit
        return []
      }
      lane.limit = hangingLimit
      if (!isAway) return []
      // Those that were in hand together fail together: that is once.
      if (nowMs >= lane.quietUntil) lane.failures++
      lane.quietUntil = Math.max(lane.quietUntil, nowMs + timeoutBackoffMs(lane.failures + 1, random))
      return this.takeBack((waiting) => waiting.isPatient && laneOf(waiting) === lane.key)
    },

    /** It is recorded, or not ours any more. */
    done(claimed: ClaimedMessage): void {
      const lane = lanes.get(laneOf(claimed))!
      lane.inHand--
      if (isSingle(claimed)) lane.singles--
    },

    /** Takes out of the lanes what waits and was chosen: nothing of it has left. */
    takeBack(isChosen: (claimed: ClaimedMessage) => boolean): ClaimedMessage[] {
      return [...lanes.values()].flatMap((lane) => {
        const back = lane.waiting.filter(isChosen)
        lane.waiting = lane.waiting.filter((claimed) => !isChosen(claimed))
        lane.singles -= back.filter(isSingle).length
        return back
      })
    },

    /** What waits for relays that have not answered for a while: others may have more luck. */
    stalled(nowMs: number): ClaimedMessage[] {
      const stalled = new Set(
        [...lanes.values()].flatMap((lane) => (lane.inHand > 0 && nowMs - lane.busyAt > stallMs ? lane.key : [])),
      )
      return stalled.size === 0 ? [] : this.takeBack((claimed) => claimed.isPatient && stalled.has(laneOf(claimed)))
    },
  }
}
