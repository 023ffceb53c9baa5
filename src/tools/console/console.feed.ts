import type { ServerResponse } from 'node:http'
import type { Answered } from '../../http/answered.ts'
import type { Arrival } from '../../webhooks/receiver.ts'

const kept = 200
const maxShownBody = 64 * 1024
/** Pages get changes at most this often, so that a burst does not become thousands of events. */
const lookMs = 200
const heartbeatMs = 15_000

/** A delivery on the pages and in `GET /deliveries`. */
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

/** Keeps the last deliveries and counts all of them. */
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

/** Keeps the last answered requests and counts all of them. */
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

/** A part of a page that can change. */
export type Topic = 'deliveries' | 'mail' | 'calls' | 'clock'

/**
 * Sends the changed topics as Server-Sent Events to every open page, which then reloads itself. `stateOf` returns the state of
 * each topic; it is called only while a page is open.
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
      // The page reloads once, for changes between its rendering and this connection.
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
