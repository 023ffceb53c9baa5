import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../../store/database.ts'
import type { App, Report } from '../../store/work.ts'
import { cancelLeftovers, cancelWithoutTarget, findLeftovers } from '../targets/targets.ended.ts'

/** A transaction that wrote for a target while it ended may commit later: the target is checked this many times, with pauses. */
const checks = 3
const pauseMs = 2000

/**
 * Cancels deliveries that are left for ended targets, until `signal` is aborted. It runs beside the loop, in small transactions,
 * so that any number of them delays no other delivery.
 */
export const createLeftovers = (app: Pick<App, 'sql' | 'work'>, signal: AbortSignal, report: Report) => {
  const wanted = new Map<string, number>()
  let isMoving = false

  const reportUnexpected = (error: unknown, about: Record<string, unknown>) => {
    if (!isUnavailable(error)) report(error, about)
  }

  const moveOf = async (id: string) => {
    try {
      await cancelLeftovers(app.sql, id, signal)
      const left = wanted.get(id)! - 1
      if (left > 0) wanted.set(id, left)
      else wanted.delete(id)
    } catch (error) {
      reportUnexpected(error, { target: id })
    }
  }

  const move = async () => {
    while (wanted.size > 0 && !signal.aborted) {
      for (const id of [...wanted.keys()]) await moveOf(id)
      await sleep(pauseMs, undefined, { signal, ref: false }).catch(() => {})
    }
    isMoving = false
  }

  const want = (ids: readonly string[], times: number) => {
    for (const id of ids) wanted.set(id, Math.max(times, wanted.get(id) ?? 0))
    if (isMoving || wanted.size === 0) return
    isMoving = true
    void move()
  }

  return {
    /** Call this for targets that have ended or changed. */
    changed: (ids: readonly string[]) => want(ids, checks),
    /** Searches for deliveries of ended targets, and of targets that do not exist, which no notice announced. Runs in the background. */
    search() {
      findLeftovers(app.sql)
        .then(async ({ ended, missing }) => {
          want(ended, 1)
          for (const target of missing) {
            const cancelled = await cancelWithoutTarget(app, target)
            if (cancelled > 0) report(new Error('Deliveries without a target were cancelled'), { ...target, cancelled })
          }
        })
        .catch((error) => reportUnexpected(error, {}))
    },
  }
}
