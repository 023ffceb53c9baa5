import { hash, randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { BroadcastChannel, getEnvironmentData, setEnvironmentData } from 'node:worker_threads'
import { statement } from './statement.ts'

/*
 * Notices tell the jobs of all processes what a commit has made due. They leave after the commit, in a statement of their own:
 * a transaction that calls pg_notify locks the notice queue of the whole server until its commit is durable, so such
 * transactions commit one at a time (docs/queues.md#notices). The threads of this process get them directly.
 *
 * A process that dies between its commit and the notice loses the notice. The polls of the jobs find the work.
 */

/** Notices that are announced within this time share a statement. */
const gatherMs = 2
/**
 * Work that the jobs of this process can do is announced to other processes this much later. Otherwise all of them would claim it
 * at the same time, and most would find nothing: a POST /deals with an event beside three idle daemons took 3.8 instead of 2.5 ms
 * of CPU (bench `daemons`, 2026-11-24).
 */
const headStartMs = 50
/** More notices than this do not wait for the database. The polls of the jobs find what the dropped ones announce. */
const mostWaiting = 10_000

export interface Notice {
  channel: string
  payload: string
}

export interface Notices {
  /** Announces what a committed transaction has made due. Never throws: a notice that can't be sent is dropped. */
  announce(channel: string, payload?: string, how?: { ownFirst: boolean }): void
  /** Notifies only the threads of this process. */
  tell(channel: string, payload: string): void
  /**
   * Calls `hearer` for each notice that a thread of this process announces on one of the channels, until the returned function is
   * called.
   */
  hear(channels: readonly string[], hearer: (notice: Notice) => void): () => void
  /** Returns the payload of a notice that arrived by LISTEN, or null if `hear` has reported it already. */
  fromElsewhere(received: string): string | null
  /** Sends the waiting notices, and ends. */
  close(): Promise<void>
}

/** The environment data that identifies this process. Threads inherit it from the thread that starts them. */
export const processKey = 'svc process'
/** The environment data that is set if this process has jobs. */
export const jobsKey = 'svc jobs'
if (getEnvironmentData(processKey) === undefined) setEnvironmentData(processKey, randomUUID().slice(0, 8))

// The setting applies to the statement's own transaction: a lost notice costs a poll, so its commit need not be durable.
const sendNotices = statement(
  'send-notices',
  { row: { sent: 'void' }, parameters: { channels: '_text', payloads: '_text' } },
  `with setting as materialized (
     select set_config('synchronous_commit', 'off', true)
   )
   select pg_notify(n.channel, n.payload) as sent from setting, unnest(:channels::text[], :payloads::text[]) as n(channel, payload)`,
)

/**
 * The end of a payload: the process that sent it. Daemons of earlier versions, which send none, take it for one more id that they do
 * not know.
 */
const markPattern = /(?:^| )(@[\w-]{12})$/

/** What is sent: one payload for each channel. */
interface Sent {
  channels: readonly string[]
  payloads: readonly string[]
}

type Run = (sending: typeof sendNotices, sent: Sent) => Promise<unknown>

/**
 * Opens the notices of one database. `url` identifies the database among those that this process uses. `run` runs the statement
 * that sends notices to other processes, outside any transaction.
 */
export const openNotices = (url: string, run: Run, waitMs = headStartMs): Notices => {
  // Threads that know the database under different addresses reach each other by LISTEN only.
  const origin = hash('sha256', `${getEnvironmentData(processKey)} ${url}`, 'base64url').slice(0, 12)
  const mark = `@${origin}`
  const hearers = new Map<string, Set<(notice: Notice) => void>>()
  /** By channel: a message wakes only the threads that have opened its channel. */
  const threads = new Map<string, BroadcastChannel>()
  /** The waiting notices by channel and payload: equal ones are sent once. */
  const waiting = new Map<string, Notice>()
  let sending: Promise<void> | undefined
  /** When the waiting notices leave, in ms of `performance.now()`. `wake` ends the wait if this becomes earlier. */
  let leaveAt = Number.POSITIVE_INFINITY
  let wake = () => {}
  let toThreads: Notice[] = []
  let isClosed = false

  const tellHearers = (notice: Notice) => {
    for (const hearer of hearers.get(notice.channel) ?? []) hearer(notice)
  }

  const threadsOn = (channel: string): BroadcastChannel =>
    threads.getOrInsertComputed(channel, () => {
      const opened = new BroadcastChannel(`${channel} ${origin}`)
      opened.unref()
      opened.onmessage = ({ data }) => {
        for (const payload of data as string[]) tellHearers({ channel, payload })
      }
      return opened
    })

  const postToThreads = () => {
    if (!isClosed) {
      for (const [channel, notices] of Map.groupBy(toThreads, (notice) => notice.channel))
        threadsOn(channel).postMessage(notices.map(({ payload }) => payload))
    }
    toThreads = []
  }

  const send = async (): Promise<void> => {
    while (waiting.size > 0) {
      const leftMs = leaveAt - performance.now()
      if (leftMs > 0 && !isClosed) {
        const { promise, resolve } = Promise.withResolvers<void>()
        wake = resolve
        await Promise.race([sleep(leftMs, undefined, { ref: false }), promise])
        continue
      }
      leaveAt = Number.POSITIVE_INFINITY
      const notices = [...waiting.values()]
      waiting.clear()
      const payloads = notices.map(({ payload }) => (payload === '' ? mark : `${payload} ${mark}`))
      await run(sendNotices, { channels: notices.map(({ channel }) => channel), payloads }).catch(() => {})
    }
    sending = undefined
  }

  const tell = (notice: Notice) => {
    tellHearers(notice)
    // One message for the notices of a turn of the event loop.
    if (toThreads.push(notice) === 1) setImmediate(postToThreads)
  }

  return {
    announce(channel, payload = '', { ownFirst } = { ownFirst: false }) {
      // What runs after the close, such as the end of a request, leaves its work to the polls.
      if (isClosed) return
      const notice = { channel, payload }
      tell(notice)
      if (waiting.size < mostWaiting) waiting.set(`${channel} ${payload}`, notice)
      const isPatient = ownFirst && getEnvironmentData(jobsKey) === true
      const at = performance.now() + (isPatient ? waitMs : gatherMs)
      if (at < leaveAt) {
        leaveAt = at
        wake()
      }
      sending ??= send()
    },
    tell(channel, payload) {
      if (!isClosed) tell({ channel, payload })
    },
    hear(channels, hearer) {
      for (const channel of channels) {
        threadsOn(channel)
        hearers.getOrInsertComputed(channel, () => new Set()).add(hearer)
      }
      return () => {
        for (const channel of channels) hearers.get(channel)?.delete(hearer)
      }
    },
    fromElsewhere(received) {
      const [marked = '', found] = markPattern.exec(received) ?? []
      return found === mark ? null : received.slice(0, received.length - marked.length)
    },
    async close() {
      postToThreads()
      isClosed = true
      wake()
      await sending
      for (const opened of threads.values()) opened.close()
    },
  }
}
