import type { ServerResponse } from 'node:http'
import type { Answered } from '../../http/answered.ts'
import type { Arrival } from '../../webhooks/receiver.ts'

const kept = 200
const maxShownBody = 64 * 1024
/** A burst reaches the pages as a few changes instead of thousands of messages. */
const lookMs = 200
const heartbeatMs = 15_000

/** A delivery as the pages and `GET /deliveries` show it. */
export interface Shown {
  seq: number
  /** epoch ms */
  at: number
  type: string
  id: string
  status: number
  verified: boolean
  verdict: Arrival['verdict']
  /** The raw body as text, cut at 64 Ki characters. */
  body: string
  truncated: boolean
}

/** The last deliveries, and how many there were in all. */
export const createDeliveries = () => {
  const deliveries: Shown[] = []
  const counts = { total: 0, notVerified: 0 }
  return {
    add({ at, type, id, verdict, body }: Arrival, status: number) {
      counts.total++
      const verified = verdict === 'ok'
      if (!verified) counts.notVerified++
      const text = body.toString('utf8', 0, maxShownBody)
      const truncated = body.length > maxShownBody
      deliveries.push({ seq: counts.total, at, type, id, status, verified, verdict, body: text, truncated })
      if (deliveries.length > kept) deliveries.shift()
    },
    /** Newest first. */
    newest: (limit: number = kept) => ({ ...counts, deliveries: deliveries.slice(-limit).reverse() }),
  }
}
export type Deliveries = ReturnType<typeof createDeliveries>

export interface ShownCall extends Answered {
  seq: number
  /** epoch ms */
  at: number
}

/** The last requests that the daemon has answered, and how many there were in all. */
export const createCalls = () => {
  const calls: ShownCall[] = []
  let total = 0
  return {
    add(call: Answered, at: number) {
      total++
      calls.push({ ...call, seq: total, at })
      if (calls.length > kept) calls.shift()
    },
    /** Newest first. */
    newest: (limit: number = kept) => ({ total, calls: calls.slice(-limit).reverse() }),
  }
}
export type Calls = ReturnType<typeof createCalls>

/** What can change on a page. */
export type Topic = 'deliveries' | 'mail' | 'calls' | 'clock'

/**
 * Server-Sent Events to every open page: which topics changed; the page asks for itself anew. `stateOf` tells where each
 * topic stands, and is asked while a page is open alone.
 */
export const createStream = (stateOf: () => Record<Topic, string>, headers: Record<string, string>) => {
  const pages = new Set<ServerResponse>()
  let last = stateOf()
  let timers: NodeJS.Timeout[] = []

  const look = () => {
    const state = stateOf()
    const changed = (Object.keys(state) as Topic[]).filter((topic) => state[topic] !== last[topic])
    if (changed.length === 0) return
    last = state
    for (const page of pages) page.write(`event: change\ndata: ${changed.join(' ')}\n\n`)
  }
  const beat = () => {
    for (const page of pages) page.write(':\n\n')
  }
  const rest = () => {
    for (const timer of timers) clearInterval(timer)
    timers = []
  }

  return {
    open(response: ServerResponse) {
      response.writeHead(200, { ...headers, 'content-type': 'text/event-stream' })
      // Whatever happened between the making of the page and this moment: the page looks once more.
      response.write('event: hello\ndata:\n\n')
      pages.add(response)
      if (pages.size === 1) timers = [setInterval(look, lookMs), setInterval(beat, heartbeatMs)]
      response.on('close', () => {
        pages.delete(response)
        if (pages.size === 0) rest()
      })
    },
    close() {
      rest()
      for (const page of pages) page.end()
    },
  }
}
