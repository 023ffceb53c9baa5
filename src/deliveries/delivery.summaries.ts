import type { Sql } from '../store/database.ts'
import type { Report } from '../store/work.ts'
import { type Result, type Summary, summarize } from './delivery.record.ts'

/** A target's row learns of its deliveries at once, and then once in so long. */
export const summaryMs = 1000
/** One that somebody has locked is tried again after so long, one that fails by a fault of ours after the other. */
const lockedRetryMs = 200
const faultMs = 60_000
const maxKept = 10_000

/** What a result says of its target beside itself. */
export interface Bearing {
  timeouts: number
  quietMs: number
}

interface Ports {
  /** The database is away, or too busy: the same again may succeed. */
  isPassing(error: unknown): boolean
  report: Report
}

/** Gathers what targets' rows are to learn. Times in ms of `performance.now()`. */
export const createSummaries = (sql: Sql, { isPassing, report }: Ports) => {
  const pending = new Map<string, Summary>()
  const writtenAt = new Map<string, number>()
  const notBefore = new Map<string, number>()

  const merge = (id: string, change: Partial<Summary>) => {
    const none = { id, deliveredAt: null, failedAt: null, error: null, timeouts: 0, quietMs: 0, retryAt: null }
    pending.set(id, { ...(pending.get(id) ?? none), ...change })
  }

  const dueNow = (all: boolean): Summary[] => {
    const nowMs = performance.now()
    const isDue = ({ id, retryAt, quietMs }: Summary) =>
      all || retryAt !== null || quietMs > 0 || nowMs - (writtenAt.get(id) ?? -summaryMs) >= summaryMs
    return [...pending.values()].filter((one) => nowMs >= (notBefore.get(one.id) ?? 0) && isDue(one))
  }

  const written = (summary: Summary) => {
    writtenAt.set(summary.id, performance.now())
    if (pending.get(summary.id) !== summary) return
    pending.delete(summary.id)
    notBefore.delete(summary.id)
  }

  const writeTogether = async (due: readonly Summary[]) => {
    const done = await summarize(sql, due)
    for (const summary of due) {
      if (done.has(summary.id)) written(summary)
      else notBefore.set(summary.id, performance.now() + lockedRetryMs)
    }
  }

  /** What the database refuses together it may take one by one. */
  const writeApart = async (due: readonly Summary[]) => {
    for (const summary of due) {
      try {
        await writeTogether([summary])
      } catch (error) {
        if (isPassing(error)) throw error
        report(error, { target: summary.id })
        notBefore.set(summary.id, performance.now() + faultMs)
      }
    }
  }

  return {
    /** An attempt that was made, whether or not its result is recorded. */
    note({ claimed: { targetId }, attempt, startedAt }: Result, { timeouts, quietMs }: Bearing) {
      const at = startedAt + attempt.durationMs
      const outcome = attempt.error === null ? { deliveredAt: at } : { failedAt: at, error: attempt.error }
      merge(targetId, { ...outcome, timeouts, ...(quietMs > 0 && { quietMs }) })
    },
    retry(targetId: string, dueAt: number) {
      merge(targetId, { retryAt: Math.min(pending.get(targetId)?.retryAt ?? dueAt, dueAt) })
    },
    get isEmpty() {
      return pending.size === 0
    },
    isDue: (all: boolean) => dueNow(all).length > 0,
    /** Writes what is due to be written; `all`, whatever was written lately. Rejects with a passing fault alone. */
    async write(all: boolean) {
      const due = dueNow(all)
      if (due.length === 0) return
      if (writtenAt.size > maxKept) writtenAt.clear()
      await writeTogether(due).catch((error) => {
        if (isPassing(error)) throw error
        return writeApart(due)
      })
    },
  }
}
