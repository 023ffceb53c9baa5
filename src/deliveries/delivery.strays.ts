import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Report } from '../store/work.ts'
import { cancelStrays, findStrays } from './deliveries.end.ts'

/** What was written for a target while it ended is looked for so often, a pause apart: transactions end. */
const looks = 3
const pauseMs = 2000

interface Ports {
  /** The database is away, or too busy: the same again may succeed. */
  isPassing(error: unknown): boolean
  report: Report
}

/**
 * Moves what is left on the way to targets that have ended, until `signal` is aborted: beside the loop, one small
 * transaction after another, so that however much it is holds nobody back.
 */
export const createStrays = ({ sql }: Pick<App, 'sql'>, signal: AbortSignal, { isPassing, report }: Ports) => {
  const wanted = new Map<string, number>()
  let isMoving = false

  const moveOf = async (id: string) => {
    try {
      await cancelStrays(sql, id, signal)
      const left = wanted.get(id)! - 1
      if (left > 0) wanted.set(id, left)
      else wanted.delete(id)
    } catch (error) {
      if (!isPassing(error)) report(error, { target: id })
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
    /** Looks for those that nobody told of. What was moved lately makes that slow: nobody waits for it. */
    look() {
      findStrays(sql).then(
        (ids) => want(ids, 1),
        (error) => {
          if (!isPassing(error)) report(error, {})
        },
      )
    },
  }
}
