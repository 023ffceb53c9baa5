import { Counts, freeCapacity } from '../../queue/capacity.ts'
import type { Capacity, DueRun } from './runs.due.ts'

/** Maximum runs in flight of a process, and of one account within it. */
const totalLimit = 2048
const accountLimit = 1024

/** Returns the in-flight runs of this process, and the runs that it skips for some time. `ring` wakes the loop. */
export const createInFlight = (ring: () => void) => {
  /** Account by run. */
  const inFlight = new Map<string, string>()
  const skipped = new Map<string, NodeJS.Timeout>()
  const accounts = new Counts()
  /** No other run is due. */
  let isComplete = true
  /** The last query returned many runs, and more are due: the next query distributes among accounts at once. */
  let hasBacklog = false

  const remove = (ids: readonly string[]) => {
    for (const id of ids) {
      const accountId = inFlight.get(id)
      if (accountId !== undefined) accounts.add(accountId, -1)
      inFlight.delete(id)
    }
  }

  return {
    /** Returns how many runs the next claim may take. */
    capacity(): Capacity {
      const total = freeCapacity(totalLimit, inFlight.size)
      if (total === 0) isComplete = false
      const left = [...accounts].map(([accountId, runs]) => [accountId, accountLimit - runs] as const)
      return {
        total,
        accounts: new Map(left),
        accountDefault: accountLimit,
        except: [...inFlight.keys(), ...skipped.keys()],
      }
    },
    /** Whether far more runs are due than fit. */
    get hasBacklog() {
      return hasBacklog
    },
    /** Adds the runs that a query returned. `areAll` says that no other run is due. */
    add(runs: readonly DueRun[], areAll: boolean) {
      isComplete = areAll
      hasBacklog = !areAll && runs.length > totalLimit / 4
      for (const { accountId, id } of runs) {
        inFlight.set(id, accountId)
        accounts.add(accountId, 1)
      }
    },
    /** Removes runs of an account. Returns whether to look for due runs again: there is capacity, and more runs may be due. */
    remove(accountId: string, ids: readonly string[]): boolean {
      remove(ids)
      return (
        !isComplete &&
        freeCapacity(totalLimit, inFlight.size) > 0 &&
        freeCapacity(accountLimit, accounts.of(accountId)) > 0
      )
    },
    /** Removes runs, and skips them for `ms`. */
    skip(ids: readonly string[], ms: number) {
      remove(ids)
      for (const id of ids) {
        const wake = () => {
          skipped.delete(id)
          ring()
        }
        clearTimeout(skipped.get(id))
        skipped.set(id, setTimeout(wake, ms).unref())
      }
    },
  }
}
