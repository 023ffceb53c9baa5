import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { cancelLeftovers, cancelWithoutTarget, findLeftovers } from './deliveries.end.ts'

/** A transaction that wrote for a target while it ended may commit later: the target is looked at this often, with pauses. */
const looks = 3
const pauseMs = 2000

/**
 * Cancels deliveries that are left for targets which have ended, until `signal` is aborted: beside the loop, one small
 * transaction after another, so that any number of them delays nobody.
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
    /** These targets have ended or changed. */
    changed: (ids: readonly string[]) => want(ids, looks),
    /** Looks for deliveries that no notice announced: of ended targets, and of targets that do not exist. Nobody waits for it. */
    look() {
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
