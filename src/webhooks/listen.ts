import { randomBytes } from 'node:crypto'
import { type EventType, eventTypes } from '../events/types.ts'
import type { Verdict } from '../lib/signature.ts'
import { openRepeats } from '../lib/webhooks.ts'
import { type Forwarder, openForwarder } from '../net/forward.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { openClaim, removeLeftovers, removeSubscription } from './listen.lock.ts'
import { newPing, provePath, removePing } from './listen.ping.ts'
import type { Reply } from './listen.replies.ts'
import { watch } from './listen.watch.ts'
import { type Answer, type Arrival, openReceiver } from './receiver.ts'
import { createWebhook } from './webhooks.ts'

/** One delivery, as it was received and answered. */
export interface Heard {
  /** epoch ms of its arrival */
  at: number
  type: string
  id: string
  /** null where it was left without an answer. */
  status: number | null
  ms: number
  verified: boolean
  /** Its id was delivered before: a retry, a replay, or a repeat after a crash. */
  duplicate: boolean
  verdict: Verdict
  /** Why nothing answered behind `--forward-to`. */
  error: string | null
  event: unknown
}

export interface ListenOptions {
  /** 0 takes a free one. */
  port: number
  events: readonly EventType[] | null
  reply: Reply
  forwardTo: URL | null
}

export interface Hearing {
  ready(listener: { webhookId: string; url: string; secret: string; events: readonly string[] }): void
  delivery(heard: Heard): void
  /** Something that keeps deliveries from coming, or its end. */
  notice(text: string): void
  signal: AbortSignal
}

export interface Heeded {
  events: number
  different: number
  notVerified: number
  /** Why it ended by itself; null where it was told to. */
  ended: string | null
}

const forwardMs = 5000

const countArrivals = () => {
  const isRepeat = openRepeats()
  const counts = { events: 0, different: 0, notVerified: 0 }
  return {
    counts,
    /** Whether the arrival repeats an earlier one. What is not verified proves nothing of its id. */
    count({ id, verdict }: Arrival): boolean {
      counts.events++
      const verified = verdict === 'ok'
      const repeat = verified && isRepeat(id)
      if (!verified) counts.notVerified++
      else if (!repeat) counts.different++
      return repeat
    },
  }
}

interface Answered {
  answer: Answer | null
  error: string | null
}

const answerTo = async (arrival: Arrival, reply: Reply, forwarder: Forwarder | null): Promise<Answered> => {
  if (arrival.verdict !== 'ok') return { answer: { status: 401 }, error: null }
  if (forwarder) {
    const { error, ...answer } = await forwarder.forward(arrival.rawHeaders, arrival.body)
    return { answer, error }
  }
  const status = reply()
  return { answer: status === null ? null : { status }, error: null }
}

/** The subscription of a killed listener is removed by the next one, so a database that is away may keep this one. */
const cleanUp = async (hearing: Hearing, run: () => Promise<unknown>): Promise<void> => {
  try {
    await run()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    hearing.notice('The database is not available: the next svc listen removes the subscription of this one.')
  }
}

/**
 * Receives the account's deliveries on a loopback port until `hearing.signal` is aborted or its subscription ends (cli.md,
 * `svc listen`). The subscription lasts as long as this call. Throws Problem `unavailable` or `configuration` where no
 * daemon can deliver here, and EADDRINUSE where the port is taken.
 */
export const listen = async (
  app: App,
  accountId: string,
  actor: string,
  options: ListenOptions,
  hearing: Hearing,
): Promise<Heeded> => {
  const events = options.events ?? eventTypes
  const ping = newPing(events[0]!, app.now())
  const pinged = Promise.withResolvers<void>()
  const secret = Promise.withResolvers<string>()
  const forwarder = options.forwardTo && openForwarder(options.forwardTo, forwardMs)
  const { counts, count } = countArrivals()
  let lastArrival = performance.now()

  const answer = async (arrival: Arrival): Promise<Answer | null> => {
    const startedAt = performance.now()
    lastArrival = startedAt
    if (arrival.id === ping.id && arrival.verdict === 'ok') {
      pinged.resolve()
      return { status: 204 }
    }
    const duplicate = count(arrival)
    const { answer, error } = await answerTo(arrival, options.reply, forwarder)
    const { at, type, id, verdict, event } = arrival
    const ms = Math.round(performance.now() - startedAt)
    const status = answer?.status ?? null
    hearing.delivery({ at, type, id, status, ms, verified: verdict === 'ok', duplicate, verdict, error, event })
    return answer
  }

  const token = randomBytes(24).toString('base64url')
  const receiver = await openReceiver({
    port: options.port,
    token,
    secret: () => secret.promise,
    now: app.systemNow,
    answer,
  })
  const claim = openClaim(app.database, receiver.hookUrl)
  try {
    await claim.hold()
    await removeLeftovers(app, accountId, actor, claim)
    const input = { url: receiver.hookUrl, events: [...events] }
    const origin = { createdVia: 'dashboard', temporary: true, trusted: true } as const
    const webhook = await createWebhook(app, accountId, actor, input, origin)
    secret.resolve(webhook.secret)
    const { id: webhookId } = webhook
    let pingId: string | null = null
    try {
      pingId = await provePath(app, { accountId, actor, webhookId }, ping, pinged.promise, hearing.signal)
      if (hearing.signal.aborted) return { ...counts, ended: null }
      hearing.ready({ webhookId, url: receiver.hookUrl, secret: webhook.secret, events })
      const { notice, signal } = hearing
      const ended = await watch(app, { accountId, webhookId, claim, lastArrival: () => lastArrival, notice, signal })
      return { ...counts, ended }
    } finally {
      await cleanUp(hearing, async () => {
        await removeSubscription(app, accountId, actor, webhookId)
        if (pingId) await removePing(app, accountId, pingId, ping.id)
      })
    }
  } finally {
    await receiver.close()
    await claim.release()
    await forwarder?.close()
  }
}
