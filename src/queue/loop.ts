import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import { listen } from '../store/wakeup.ts'
import type { App, Report } from '../store/work.ts'
import type { QueueName } from './holds.ts'
import { followLooks } from './looks.ts'

/** A queue as operators see it (`svc status`, `/metrics`). */
export interface QueueView {
  name: QueueName
  /** SQL that selects `due_at` of each row that is due at the time `clock.now`, claimed or not. */
  due: string
}

/**
 * Returns a recursive common table expression `turn (account_id, due)` with the earliest due time of each account that has pending
 * rows. It reads one index entry for each of these accounts, so that an account can be skipped whatever it has pending. The table
 * needs an index on `(account_id, due)` with the condition `pending`; `due` is an expression of its columns.
 */
export const turnOfAccounts = (table: string, due: string, pending: string): string => `turn as (
     (select account_id, ${due} as due from ${table} where ${pending} order by account_id, ${due} limit 1)
     union all
     select n.account_id, n.due from turn t cross join lateral (
       select account_id, ${due} as due from ${table}
       where ${pending} and account_id > t.account_id order by account_id, ${due} limit 1
     ) n
   )`

/** How long closing may take if the database is unavailable. */
export const settleMs = 3000
/** How long a scheduler's running turn may take after the abort. */
const turnMs = 5000

const firstFaultMs = 100
const longestFaultMs = 60_000
/** Longest wait between tries while the database is unavailable. */
const longestAbsenceMs = 2000

/** Returns a bell that wakes one waiter. A ring without a waiter is kept for the next wait. */
export const createBell = () => {
  let rung = false
  let wake = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    /** Resolves at a ring (true), or after at least `limitMs` (timers count whole milliseconds, so one is added). */
    async wait(limitMs: number): Promise<boolean> {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, Math.ceil(limitMs) + 1)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      const isRung = rung
      rung = false
      return isRung
    },
  }
}

type Bell = ReturnType<typeof createBell>

export const alarmStepMs = 250
/** Polls find what is due later: they add little to such a wait. */
const longestAlarmMs = 60_000

/** Returns alarms that call `ring`. All of one step share a timer, so there are at most 241 timers. */
export const createAlarms = (ring: () => void) => {
  const timers = new Map<number, NodeJS.Timeout>()
  return {
    /** Rings after `waitMs`, at most `alarmStepMs` later. A wait of more than a minute is left to polls. */
    set(waitMs: number): void {
      if (waitMs > longestAlarmMs) return
      const nowMs = performance.now()
      const step = Math.ceil((nowMs + waitMs) / alarmStepMs)
      if (timers.has(step)) return
      const end = () => {
        timers.delete(step)
        ring()
      }
      timers.set(step, setTimeout(end, Math.ceil(step * alarmStepMs - nowMs)))
    },
    clear(): void {
      for (const timer of timers.values()) clearTimeout(timer)
      timers.clear()
    },
  }
}

/** Resolves once `running` has settled, or after `ms`: the database may be unavailable. */
export const within = async (ms: number, running: Promise<unknown>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([running.catch(() => {}), promise])
  clearTimeout(timer)
}

/**
 * Repeats `turn` until `signal` is aborted: at each ring of `bell`, and after the number of ms that the turn resolves with. It gets
 * whether it is more than the end of that wait: the first turn, one after a ring, or a repetition. A turn that fails is reported and repeated after waits that grow to a minute; while the database is unavailable, unreported and after
 * at most two seconds. Never rejects, so a failure does not end other loops of the thread.
 */
export const repeat = async (
  bell: Bell,
  signal: AbortSignal,
  report: Report,
  turn: (isAsked: boolean) => Promise<number>,
): Promise<void> => {
  let faultMs = 0
  let isAsked = true
  signal.addEventListener('abort', bell.ring)
  while (!signal.aborted) {
    try {
      const waitMs = await turn(isAsked)
      faultMs = 0
      if (!signal.aborted) isAsked = await bell.wait(waitMs)
    } catch (error) {
      isAsked = true
      const isAway = isUnavailable(error)
      if (!isAway) report(error, {})
      faultMs = Math.min(Math.max(faultMs * 2, firstFaultMs), isAway ? longestAbsenceMs : longestFaultMs)
      await sleep(faultMs, undefined, { signal }).catch(() => {})
    }
  }
  signal.removeEventListener('abort', bell.ring)
}

/**
 * The same, but resolves at most `turnMs` after the abort: a running statement may wait for a lock or for an unavailable
 * database. Its transaction ends with its connection.
 */
export const repeatUntil = async (...[bell, signal, report, turn]: Parameters<typeof repeat>): Promise<void> => {
  const running = repeat(bell, signal, report, turn)
  if (!signal.aborted) await once(signal, 'abort')
  await within(turnMs, running)
}

/** A scheduler: it queries for due work, and holds no claim longer than a transaction. */
interface Schedule {
  /**
   * Does the due work. Resolves with the longest wait until the next turn, in ms. Unless `isAsked`, it may do nothing if
   * heartbeats have found no work (looks.ts).
   */
  turn(isAsked: boolean): Promise<number>
  /** Finishes work that `turn` has started. */
  finish?(): unknown
}

/**
 * Runs a scheduler at each notice on `channel`, if it is not null, at each ring, and at its own interval, until `signal` is aborted.
 * Never rejects.
 */
export const runSchedule = async (
  { database }: Pick<App, 'database'>,
  channel: string | null,
  signal: AbortSignal,
  report: Report,
  open: (bell: Bell) => Schedule,
): Promise<void> => {
  const bell = createBell()
  const { turn, finish } = open(bell)
  const notices = channel === null ? null : listen(database, channel, bell.ring)
  await repeatUntil(bell, signal, report, turn)
  await within(settleMs, Promise.all([finish?.(), notices?.close()]))
}

const dueMs = 10_000
/** Work that failed is skipped for this time. */
const skipMs = 60_000

/**
 * Runs `turn` every ten seconds, and immediately after the clock of a development database is moved, until `signal` is aborted.
 * What `turn` adds to `failed` is skipped for a minute. While heartbeats find no work for `scheduler`, no turn runs. Any number
 * of processes can run it on one database.
 */
export const runDue = (
  app: Pick<App, 'database' | 'looks' | 'onClockMoved'>,
  scheduler: string,
  signal: AbortSignal,
  report: Report,
  turn: (failed: Set<string>) => Promise<void>,
): Promise<void> =>
  runSchedule(app, null, signal, report, ({ ring }) => {
    const look = followLooks(app, scheduler, ring)
    const ignoreClock = app.onClockMoved(ring)
    const failed = new Set<string>()
    let retryAt = performance.now() + skipMs
    return {
      async turn(isAsked) {
        if (!isAsked && look.isIdle) return dueMs
        if (performance.now() >= retryAt) {
          failed.clear()
          retryAt = performance.now() + skipMs
        }
        await turn(failed)
        return dueMs
      },
      finish() {
        look.close()
        ignoreClock()
      },
    }
  })
