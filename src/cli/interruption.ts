import { Problem } from '../lib/problem.ts'

/** A terminal tells every process of its group, and npm tells its child once more: that is one keystroke. */
const sameKeystrokeMs = 1000
/** Who asked to stop has waited long enough; process managers kill after 15 s. */
const limitMs = 14_000
/** A command that does not look for the signal has this long to be done with what it does; then it is cut off. */
const unheededMs = 2000

/** How soon who was started by npm finds that its parent is gone. */
const orphanMs = 500

const signals = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const

export interface Interruption {
  readonly signal: AbortSignal
  /** The exit status of what ended the command early, null where nothing did: 0 where the reader of stdout had seen enough. */
  readonly status: number | null
  /** What was wrong with stdout: a full disk. */
  readonly fault: Problem | null
  /** Rejects when the command has not ended a while after the signal; never, as long as `heeded()` is true. */
  unheeded(heeded: () => boolean): Promise<never>
  end(): void
}

/**
 * Watches for what ends a command early: SIGINT, SIGTERM, a terminal that closes (SIGHUP) and a stdout that takes no more.
 * The first asks for a clean stop; a second signal, or 14 s, ends the process at once, with `statusAtLimit()` where that
 * is known by then. To be called before anything is opened that would be left behind.
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
    limit = setTimeout(() => process.exit(statusAtLimit() ?? by), limitMs)
    limit.unref()
    stop.abort()
  }
  const onSignal = (name: NodeJS.Signals) => {
    const code = signals[name as keyof typeof signals]
    if (stop.signal.aborted && performance.now() - since > sameKeystrokeMs) process.exit(code)
    interrupt(code)
  }
  const onOutputError = ({ code }: NodeJS.ErrnoException) => {
    // EIO: the terminal is gone, and its SIGHUP is about to come.
    const isGone = code === 'EPIPE' || code === 'EIO'
    if (!isGone) fault ??= new Problem('unauthorized', `The output can't be written (${code})`)
    interrupt(isGone ? 0 : 1)
  }
  // npm hands a signal to the shell between, which dies of it and tells nobody: its death is the signal.
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
    unheeded: (heeded) =>
      new Promise((_, reject) => {
        const cut = () => {
          if (!heeded()) setTimeout(() => reject(stop.signal.reason), unheededMs).unref()
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
