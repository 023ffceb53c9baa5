import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import { listen } from '../store/wakeup.ts'
import type { App, Report } from '../store/work.ts'

/** A queue as operators see it (`svc status`, `/metrics`). */
export interface QueueView {
  name: string
  /** SQL that selects `due_at` of each row that is due at the time `clock.now`, claimed or not. */
  due: string
}

/** How long the end may take once the database is away. */
export const settleMs = 3000
/** How long a scheduler's turn under way may take at the end. */
const turnMs = 5000

const firstFaultMs = 100
const longestFaultMs = 60_000
/** A database that was away is found again within this time. */
const longestAbsenceMs = 2000

/** Wakes one waiter; a ring while nobody waits is kept for the next. */
export const createBell = () => {
  let rung = false
  let wake = () => {}
  return {
    ring() {
      rung = true
      wake()
    },
    async wait(limitMs: number) {
      if (!rung) {
        await new Promise<void>((resolve) => {
          const timer = setTimeout(resolve, limitMs)
          wake = () => {
            clearTimeout(timer)
            resolve()
          }
        })
      }
      rung = false
    },
  }
}

export type Bell = ReturnType<typeof createBell>

/** Resolves once `running` has ended, whatever it ended with, or after `ms`: the database may be away. */
export const within = async (ms: number, running: Promise<unknown>): Promise<void> => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  await Promise.race([running.catch(() => {}), promise])
  clearTimeout(timer)
}

/**
 * Repeats `turn` until `signal` is aborted: at each ring of `bell`, and after as many ms as the turn resolves with. A turn
 * that fails is reported and repeated after waits that grow up to a minute; while the database is away, unreported and after
 * two seconds at most. Never rejects: a failure here ends no other loop of the thread.
 */
export const repeat = async (
  bell: Bell,
  signal: AbortSignal,
  report: Report,
  turn: () => Promise<number>,
): Promise<void> => {
  let faultMs = 0
  signal.addEventListener('abort', bell.ring)
  while (!signal.aborted) {
    try {
      const waitMs = await turn()
      faultMs = 0
      if (!signal.aborted) await bell.wait(waitMs)
    } catch (error) {
      const isAway = isUnavailable(error)
      if (!isAway) report(error, {})
      faultMs = Math.min(Math.max(faultMs * 2, firstFaultMs), isAway ? longestAbsenceMs : longestFaultMs)
      await sleep(faultMs, undefined, { signal }).catch(() => {})
    }
  }
  signal.removeEventListener('abort', bell.ring)
}

/**
 * The same, with a bounded end: a statement under way may wait for a lock or for a database that is away, and its transaction
 * ends with its connection.
 */
export const repeatUntil = async (...[bell, signal, report, turn]: Parameters<typeof repeat>): Promise<void> => {
  const running = repeat(bell, signal, report, turn)
  if (!signal.aborted) await once(signal, 'abort')
  await within(turnMs, running)
}

/** A scheduler: it finds what is due by itself and claims nothing that outlives a transaction. */
export interface Schedule {
  /** Does what is due. Resolves with the ms until the next look, at most. */
  turn(): Promise<number>
  /** Finishes what `turn` has begun. */
  finish?(): Promise<void>
}

/** Runs a scheduler at each notice on `channel`, at each ring, and at its own pace, until `signal` is aborted. Never rejects. */
export const runSchedule = async (
  { database }: Pick<App, 'database'>,
  channel: string,
  signal: AbortSignal,
  report: Report,
  open: (bell: Bell) => Schedule,
): Promise<void> => {
  const bell = createBell()
  const { turn, finish } = open(bell)
  const notices = listen(database, channel, bell.ring)
  await repeatUntil(bell, signal, report, turn)
  await within(settleMs, Promise.all([finish?.(), notices.close()]))
}
