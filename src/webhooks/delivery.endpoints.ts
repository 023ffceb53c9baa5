import type { PostOutcome } from '../net/http.ts'
import type { ClaimedDelivery, Rooms } from './delivery.claim.ts'
import { goneStatus, postTimeoutMs } from './delivery.post.ts'

/*
 * Who may have how much claimed at once. An endpoint that answers earns more, one that times out soon holds next to
 * nothing, so that one that hangs takes neither sockets nor turns from the rest.
 */

/** Claims of a process at once: what is posting and what waits for its turn. */
const totalLimit = 2048
const accountLimit = 512
/** Claims of an endpoint: the first, the fewest, and the most. */
const firstLimit = 16
const leastLimit = 4
const mostLimit = 512
/** Posts to an endpoint at once. Claims beyond it wait here for a moment, so that fast endpoints never wait for SQL. */
const postingLimit = 64
/** An endpoint that takes longer gets no claims ahead: what waits here could no longer be cancelled. */
const fastMs = 100
/** After 410 an endpoint gets nothing for so long: by then its webhook is disabled. */
const goneMs = 2000
/** A failure that took longer held its socket for nothing. */
const hangMs = 1000

/** One endpoint as this process knows it. */
interface Endpoint {
  accountId: string
  webhookId: string
  limit: number
  posting: number
  waiting: ClaimedDelivery[]
  /** The last claim filled its room: there may be more to claim. */
  more: boolean
  /** Nothing is claimed for it or posted to it before (epoch ms). */
  quietUntil: number
}

const claimedOf = ({ posting, waiting }: Endpoint): number => posting + waiting.length

/** Room is given by halves of the limit at least: one claim brings many rows, or none. */
const roomOf = (endpoint: Endpoint, nowMs: number): number => {
  const claimed = claimedOf(endpoint)
  return claimed * 2 <= endpoint.limit && nowMs >= endpoint.quietUntil ? endpoint.limit - claimed : 0
}

export const createEndpoints = () => {
  const endpoints = new Map<string, Endpoint>()
  const accounts = new Map<string, number>()
  let total = 0

  const known = ({ webhookId, accountId }: ClaimedDelivery): Endpoint => {
    let endpoint = endpoints.get(webhookId)
    if (!endpoint) {
      endpoint = { accountId, webhookId, limit: firstLimit, posting: 0, waiting: [], more: false, quietUntil: 0 }
      endpoints.set(webhookId, endpoint)
    }
    return endpoint
  }

  const count = (accountId: string, change: 1 | -1) => {
    total += change
    const claimed = (accounts.get(accountId) ?? 0) + change
    if (claimed > 0) accounts.set(accountId, claimed)
    else accounts.delete(accountId)
  }

  const adapt = (endpoint: Endpoint, { ok, durationMs }: Pick<PostOutcome, 'ok' | 'durationMs'>) => {
    if (ok) endpoint.limit = Math.min(durationMs <= fastMs ? mostLimit : postingLimit, endpoint.limit + 1)
    else if (durationMs >= hangMs) endpoint.limit = Math.max(leastLimit, Math.floor(endpoint.limit / 2))
  }

  /** The slow ones are remembered: forgotten, they would begin with more than they have earned. */
  const forgetIdle = (endpoint: Endpoint, nowMs: number) => {
    const isIdle = claimedOf(endpoint) === 0 && !endpoint.more && nowMs >= endpoint.quietUntil
    if (isIdle && endpoint.limit >= firstLimit) endpoints.delete(endpoint.webhookId)
  }

  /** What waits for an endpoint that is gone is left to the cancelling that follows. */
  const quieten = (endpoint: Endpoint, nowMs: number) => {
    endpoint.quietUntil = nowMs + goneMs
    for (const _ of endpoint.waiting.splice(0)) count(endpoint.accountId, -1)
  }

  return {
    /** The rooms of the next claim. */
    rooms(nowMs: number): Rooms {
      const rooms: Rooms = {
        total: totalLimit - total,
        endpoints: {},
        endpointDefault: firstLimit,
        accounts: {},
        accountDefault: accountLimit,
      }
      for (const endpoint of endpoints.values()) {
        const room = roomOf(endpoint, nowMs)
        rooms.endpoints[endpoint.webhookId] = room
        if (room === 0) endpoint.more = true
      }
      for (const [accountId, claimed] of accounts) rooms.accounts[accountId] = accountLimit - claimed
      return rooms
    },

    /** Takes what a claim brought, and remembers whose room it filled. */
    add(claims: readonly ClaimedDelivery[], rooms: Rooms, nowMs: number): void {
      const brought = new Map<string, number>()
      for (const claimed of claims) {
        const { webhookId, accountId } = claimed
        known(claimed).waiting.push(claimed)
        count(accountId, 1)
        for (const id of [webhookId, accountId]) brought.set(id, (brought.get(id) ?? 0) + 1)
      }
      const isFull = (id: string, room: number) => (brought.get(id) ?? 0) >= room
      for (const endpoint of endpoints.values()) {
        const { webhookId, accountId } = endpoint
        const room = rooms.endpoints[webhookId] ?? rooms.endpointDefault
        if (room === 0) continue
        endpoint.more =
          claims.length >= rooms.total ||
          isFull(accountId, rooms.accounts[accountId] ?? rooms.accountDefault) ||
          isFull(webhookId, room)
        forgetIdle(endpoint, nowMs)
      }
    },

    /**
     * The next delivery to post to the endpoint, if it has one waiting and may have one more posting. One whose lease could
     * end before its post does is left to the lease.
     */
    next(webhookId: string, nowMs: number): ClaimedDelivery | undefined {
      const endpoint = endpoints.get(webhookId)
      if (!endpoint || endpoint.posting >= Math.min(postingLimit, endpoint.limit)) return undefined
      if (nowMs < endpoint.quietUntil) return undefined
      for (let claimed = endpoint.waiting.shift(); claimed; claimed = endpoint.waiting.shift()) {
        if (claimed.leasedUntil - nowMs > postTimeoutMs) {
          endpoint.posting++
          return claimed
        }
        count(endpoint.accountId, -1)
      }
      return undefined
    },

    /** A post has ended. Gives whether to claim anew: there is room, and there may be something to fill it. */
    done({ webhookId }: ClaimedDelivery, outcome: PostOutcome, nowMs: number): boolean {
      const endpoint = endpoints.get(webhookId)!
      endpoint.posting--
      count(endpoint.accountId, -1)
      adapt(endpoint, outcome)
      if (outcome.status === goneStatus) quieten(endpoint, nowMs)
      forgetIdle(endpoint, nowMs)
      return endpoint.more && roomOf(endpoint, nowMs) > 0
    },

    /** Takes back all that waits. */
    drain(): ClaimedDelivery[] {
      const waiting = [...endpoints.values()].flatMap((endpoint) => endpoint.waiting.splice(0))
      for (const { accountId } of waiting) count(accountId, -1)
      return waiting
    },
  }
}
