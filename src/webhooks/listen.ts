import { randomBytes } from 'node:crypto'
import { type EventType, eventTypes } from '../events/events.ts'
import type { Verdict } from '../lib/signature.ts'
import { openRepeats } from '../lib/webhooks.ts'
import { type Forwarder, openForwarder } from '../net/forward.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import { openListenerLock, removeOrphanedSubscriptions, removeSubscription } from './listen.lock.ts'
import { newPing, verifyDeliveryPath } from './listen.ping.ts'
import { watch } from './listen.watch.ts'
import { type Answer, type Arrival, openReceiver } from './receiver.ts'
import { createWebhook } from './webhooks.ts'

export interface ReceivedDelivery {
  /** epoch ms of its arrival */
  at: number
  type: string
  id: string
  /** It is null if the delivery got no answer. */
  status: number | null
  ms: number
  verified: boolean
  /** Its id was delivered before: a retry, a replay, or a repeat after a crash. */
  duplicate: boolean
  verdict: Verdict
  /** Why the URL of `--forward-to` did not answer. */
  error: string | null
  event: unknown
}

/** Returns the status for the next delivery, or null for no answer. */
export type Reply = () => number | null

interface ListenOptions {
  /** If it is 0, any free port is taken. */
  port: number
  events: readonly EventType[] | null
  reply: Reply
  forwardTo: URL | null
}

interface ListenHandlers {
  ready(listener: { webhookId: string; url: string; secret: string; events: readonly string[] }): void
  delivery(heard: ReceivedDelivery): void
  /** Called when deliveries can no longer arrive, and when they can again. */
  notice(text: string): void
  signal: AbortSignal
}

export interface ListenSummary {
  events: number
  distinct: number
  notVerified: number
  /** Why the subscription ended. It is null if the user stopped the command. */
  ended: string | null
}

const forwardMs = 5000

const countArrivals = () => {
  const isRepeat = openRepeats()
  const counts = { events: 0, distinct: 0, notVerified: 0 }
  return {
    counts,
    /** Counts a delivery and returns whether it repeats an earlier one. The id of an unverified delivery is ignored. */
    count({ id, verdict }: Arrival): boolean {
      counts.events++
      const verified = verdict === 'ok'
      const repeat = verified && isRepeat(id)
      if (!verified) counts.notVerified++
      else if (!repeat) counts.distinct++
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

/** Cleans up. If the database is unavailable the subscription stays: the next `svc listen` removes it as orphaned. */
const cleanUp = async (handlers: ListenHandlers, run: () => Promise<unknown>): Promise<void> => {
  try {
    await run()
  } catch (error) {
    if (!isUnavailable(error)) throw error
    handlers.notice('The database is not available, so this subscription remains until the next svc listen removes it.')
  }
}

/**
 * Receives the account's deliveries on a loopback port, over a temporary subscription, until `handlers.signal` is aborted or the
 * subscription ends (docs/reference/cli.md#testing-webhooks). Throws Problem `unavailable` or `configuration` if no daemon can
 * deliver to this port, and EADDRINUSE if the port is taken.
 */
export const listen = async (
  app: App,
  accountId: string,
  actor: string,
  options: ListenOptions,
  handlers: ListenHandlers,
): Promise<ListenSummary> => {
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
    handlers.delivery({ at, type, id, status, ms, verified: verdict === 'ok', duplicate, verdict, error, event })
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
  const lock = openListenerLock(app.database, receiver.hookUrl)
  try {
    await lock.hold()
    await removeOrphanedSubscriptions(app, accountId, actor, lock)
    const input = { url: receiver.hookUrl, events: [...events] }
    const origin = { createdVia: 'dashboard', temporary: true, trusted: true } as const
    const webhook = await createWebhook(app, accountId, actor, input, origin)
    secret.resolve(webhook.secret)
    const { id: webhookId } = webhook
    try {
      await verifyDeliveryPath(app, { accountId, actor, webhookId }, ping, pinged.promise, handlers.signal)
      if (handlers.signal.aborted) return { ...counts, ended: null }
      handlers.ready({ webhookId, url: receiver.hookUrl, secret: webhook.secret, events })
      const { notice, signal } = handlers
      const ended = await watch(app, { accountId, webhookId, lock, lastArrival: () => lastArrival, notice, signal })
      return { ...counts, ended }
    } finally {
      await cleanUp(handlers, () => removeSubscription(app, accountId, actor, webhookId))
    }
  } finally {
    await receiver.close()
    await lock.release()
    await forwarder?.close()
  }
}
