/*
 * A command that ignores a signal is cut off. Ctrl-C must end every command, whatever it waits for. A command that does
 * not watch for the signal is cut off two seconds after it: its transaction rolls back. One that watches, or opened
 * something for itself, ends by itself. After 14 s every process ends. What a mail server answers after that is not
 * recorded.
 */

import { Problem } from '../lib/problem.ts'

/**
 * A second signal within this time counts as the first one, sent twice: `timeout` signals its child and then the whole group. The
 * signal that npm forwards, after the terminal has signalled the group, may arrive later.
 */
const sameSignalMs = process.env.npm_command ? 1000 : 200
/** The process exits at the latest after this: process managers kill after 15 s. */
const limitMs = 14_000
/** A command that does not handle the signal has this long to finish before it is cut off. */
const cutOffMs = 2000

/** How often a process that npm started checks that its parent still runs. */
const orphanMs = 500

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

export interface Interruption {
  readonly signal: AbortSignal
  /** The exit status of the interruption; null without one. 0 if the reader of stdout closed the pipe. */
  readonly status: number | null
  /** The error of stdout, such as a full disk. */
  readonly fault: Problem | null
  /** Rejects some time after the signal. Never rejects if `handlesSignal()` is true when the signal arrives. */
  cutOff(handlesSignal: () => boolean): Promise<never>
  end(): void
}

/**
 * Watches for interruptions: SIGINT, SIGTERM, a closed terminal (SIGHUP) and an error of stdout. The first one asks for a
 * clean stop. A second signal exits immediately; so does the limit of 14 s, with the status of `statusAtLimit()` if it is
 * known. Call this before opening anything that has to be closed.
 */
export const watchInterruption = (statusAtLimit: () => number | null): Interruption => {
  const stop = new AbortController()
  let status: number | null = null
  let fault: Problem | null = null
  let since = 0
  let limit: NodeJS.Timeout | undefined
  const interrupt = (by: number) => {
    if (stop.signal.aborted) return
    status = by
    since = performance.now()
    limit = setTimeout(() => process.exit(by === signals.SIGINT ? by : (statusAtLimit() ?? by)), limitMs)
    limit.unref()
    stop.abort()
    // A command that reads standard input would wait for its end. A question reads a raw terminal, and ends by itself.
    if (!process.stdin.isRaw) process.stdin.destroy()
  }
  const onSignal = (name: NodeJS.Signals) => {
    const code = signals[name as keyof typeof signals]
    if (stop.signal.aborted && performance.now() - since > sameSignalMs) process.exit(code)
    interrupt(code)
  }
  const onOutputError = ({ code }: NodeJS.ErrnoException) => {
    // EIO: the terminal was closed, and SIGHUP follows.
    const isGone = code === 'EPIPE' || code === 'EIO'
    if (!isGone) fault ??= new Problem('internal', `The output can't be written (${code})`)
    interrupt(isGone ? 0 : 1)
  }
  // npm signals the shell that runs us, which dies without forwarding the signal: the shell's death counts as SIGTERM.
  const parent = process.ppid
  const orphaned = () => {
    if (process.ppid !== parent) interrupt(signals.SIGTERM)
  }
  const watching = process.env.npm_command ? setInterval(orphaned, orphanMs).unref() : undefined
  for (const name of Object.keys(signals)) process.on(name, onSignal)
  process.stdout.on('error', onOutputError)
  return {
    signal: stop.signal,
    get status() {
      return status
    },
    get fault() {
      return fault
    },
    cutOff: (handlesSignal) =>
      new Promise((_, reject) => {
        const cut = () => {
          if (!handlesSignal()) setTimeout(() => reject(stop.signal.reason), cutOffMs).unref()
        }
        if (stop.signal.aborted) cut()
        else stop.signal.addEventListener('abort', cut, { once: true })
      }),
    end() {
      clearTimeout(limit)
      clearInterval(watching)
      for (const name of Object.keys(signals)) process.off(name, onSignal)
      process.stdout.off('error', onOutputError)
    },
  }
}
