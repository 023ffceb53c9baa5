import type { ServerResponse } from 'node:http'
import type { Answered, Content } from '../../http/answered.ts'
import type { Arrival } from '../../webhooks/receiver.ts'
import { shownJson, shownJsonText, shownQuery, subjectOf } from './console.shown.ts'

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
  /** epoch ms of the system's clock, which only moves forward: the order of the pages */
  arrived: number
  type: string
  id: string
  /** What the event is about, such as the title of a deal and the address of its contact. It is empty if that is unknown. */
  subject: string
  status: number
  verified: boolean
  verdict: Arrival['verdict']
  /** The raw body as text, cut at 64 Ki characters. */
  body: string
  truncated: boolean
}

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
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
      const subject = truncated ? '' : subjectOf(jsonOf(text))
      const [seq, arrived] = [counts.total, Date.now()]
      deliveries.push({ seq, at, arrived, type, id, subject, status, verified, verdict, body: text, truncated })
      if (deliveries.length > kept) deliveries.shift()
    },
    /** Returns the newest ones first. */
    newest: (limit: number = kept) => ({ ...counts, deliveries: deliveries.slice(-limit).reverse() }),
  }
}
export type Deliveries = ReturnType<typeof createDeliveries>

export interface ShownCall extends Answered {
  seq: number
  /** epoch ms */
  at: number
  /** epoch ms of the system's clock */
  arrived: number
  query: string
  /** The bodies without keys, secrets and tokens, cut at 16 Ki characters. They are null if there are none. */
  sent: string | null
  received: string | null
}

/** Keeps the last answered requests and counts all of them. Masks their content before it keeps it. */
export const createCalls = () => {
  const calls: ShownCall[] = []
  let total = 0
  return {
    add(call: Answered, content: Content | null, at: number) {
      total++
      calls.push({
        ...call,
        seq: total,
        at,
        arrived: Date.now(),
        query: shownQuery(content?.query ?? ''),
        sent: content?.sent === undefined || content.sent === null ? null : shownJson(content.sent),
        received: content?.received ? shownJsonText(content.received) : null,
      })
      if (calls.length > kept) calls.shift()
    },
    /** Returns the newest ones first. */
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
