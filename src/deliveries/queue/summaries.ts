import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable, type Sql } from '../../store/database.ts'
import type { Report } from '../../store/work.ts'
import { type Result, type Summary, summarize } from './deliveries.record.ts'

/** Statistics of a target are written immediately, then at most once per interval. */
const intervalMs = 1000
/** Wait before a locked row is tried again, and (`faultMs`) before a target whose statement failed unexpectedly is. */
const lockedRetryMs = 200
const faultMs = 60_000
const maxKept = 10_000

/** The effect of a result on its target: consecutive time-outs, and the quiet time in ms. */
export interface TargetEffect {
  timeouts: number
  quietMs: number
}

/** Collects statistics of targets and writes them, also in the background. Times are in ms of `performance.now()`. */
export const createSummaries = (sql: Sql, report: Report) => {
  const pending = new Map<string, Summary>()
  const writtenAt = new Map<string, number>()
  const notBefore = new Map<string, number>()
  let timer: NodeJS.Timeout | undefined
  let isClosed = false

  const writeLater = () => {
    if (isClosed) return
    timer ??= setTimeout(() => {
      timer = undefined
      write().catch(() => {})
    }, intervalMs).unref()
  }

  const merge = (id: string, change: Partial<Summary>) => {
    const none = { id, deliveredAt: null, failedAt: null, error: null, timeouts: 0, quietMs: 0, retryAt: null }
    pending.set(id, { ...(pending.get(id) ?? none), ...change })
    writeLater()
  }

  const dueNow = (all: boolean): Summary[] => {
    const nowMs = performance.now()
    const isDue = ({ id, retryAt, quietMs }: Summary) =>
      all || retryAt !== null || quietMs > 0 || nowMs - (writtenAt.get(id) ?? -intervalMs) >= intervalMs
    return [...pending.values()].filter((one) => nowMs >= (notBefore.get(one.id) ?? 0) && isDue(one))
  }

  const written = (summary: Summary) => {
    writtenAt.set(summary.id, performance.now())
    if (pending.get(summary.id) !== summary) return
    pending.delete(summary.id)
    notBefore.delete(summary.id)
  }

  const writeBatch = async (due: readonly Summary[]) => {
    const done = await summarize(sql, due)
    for (const summary of due) {
      if (done.has(summary.id)) written(summary)
      else notBefore.set(summary.id, performance.now() + lockedRetryMs)
    }
  }

  /** Writes summaries one by one: one that the database refuses does not block the others. */
  const writeEach = async (due: readonly Summary[]) => {
    for (const summary of due) {
      try {
        await writeBatch([summary])
      } catch (error) {
        if (isUnavailable(error)) throw error
        report(error, { target: summary.id })
        notBefore.set(summary.id, performance.now() + faultMs)
      }
    }
  }

  /** Rejects only while the database is unavailable; summaries that were not written stay for the next call. */
  const write = async (all = false) => {
    const due = dueNow(all)
    try {
      if (due.length > 0)
        await writeBatch(due).catch((error) => {
          if (isUnavailable(error)) throw error
          return writeEach(due)
        })
    } finally {
      if (writtenAt.size > maxKept) writtenAt.clear()
      if (pending.size > 0) writeLater()
    }
  }

  return {
    /** Adds an attempt, whether or not its result is recorded. */
    note({ claimed: { targetId }, attempt, startedAt }: Result, { timeouts, quietMs }: TargetEffect) {
      const at = startedAt + attempt.durationMs
      const outcome = attempt.error === null ? { deliveredAt: at } : { failedAt: at, error: attempt.error }
      merge(targetId, { ...outcome, timeouts, ...(quietMs > 0 && { quietMs }) })
    },
    retry(targetId: string, dueAt: number) {
      merge(targetId, { retryAt: Math.min(pending.get(targetId)?.retryAt ?? dueAt, dueAt) })
    },
    write: () => write(),
    /** Writes the remaining summaries if the database accepts them within `deadlineMs`. */
    async close(deadlineMs: number) {
      isClosed = true
      clearTimeout(timer)
      const endsAt = performance.now() + deadlineMs
      while (pending.size > 0 && performance.now() < endsAt) {
        await write(true).catch(() => {})
        if (pending.size > 0) await sleep(lockedRetryMs)
      }
    },
  }
}
