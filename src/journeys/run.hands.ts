import type { DueRun, Rooms } from './run.due.ts'

/** Runs of a process at once, and of an account among them. */
const totalLimit = 2048
const accountLimit = 1024

/** The runs that this process has in hand, and those that it leaves alone for a while. */
export const createHands = (ring: () => void) => {
  const held = new Map<string, string>()
  const resting = new Map<string, NodeJS.Timeout>()
  const accounts = new Map<string, number>()
  let isAll = true
  /** The last look brought little: the next one looks for the oldest of all again. */
  let isLong = false

  const count = (accountId: string, change: number) => {
    const runs = (accounts.get(accountId) ?? 0) + change
    if (runs > 0) accounts.set(accountId, runs)
    else accounts.delete(accountId)
  }

  const drop = (ids: readonly string[]) => {
    for (const id of ids) {
      const accountId = held.get(id)
      if (accountId !== undefined) count(accountId, -1)
      held.delete(id)
    }
  }

  return {
    /** Room is given by halves: one look brings many runs, or none. */
    rooms(): Rooms {
      const total = held.size <= totalLimit / 2 ? totalLimit - held.size : 0
      if (total === 0) isAll = false
      const left = [...accounts].map(([accountId, runs]) => [accountId, accountLimit - runs] as const)
      return {
        total,
        accounts: new Map(left),
        accountDefault: accountLimit,
        except: [...held.keys(), ...resting.keys()],
      }
    },
    /** There is far more than can be taken. */
    get isLong() {
      return isLong
    },
    /** `all`: nothing else is due. */
    take(runs: readonly DueRun[], all: boolean) {
      isAll = all
      isLong = !all && runs.length > totalLimit / 4
      for (const { accountId, id } of runs) {
        held.set(id, accountId)
        count(accountId, 1)
      }
    },
    /** Gives whether to look anew: there is room, and there may be something to fill it. */
    drop(accountId: string, ids: readonly string[]): boolean {
      drop(ids)
      return !isAll && held.size <= totalLimit / 2 && (accounts.get(accountId) ?? 0) <= accountLimit / 2
    },
    /** Not to be taken for so long. */
    rest(ids: readonly string[], ms: number) {
      drop(ids)
      for (const id of ids) {
        const wake = () => {
          resting.delete(id)
          ring()
        }
        clearTimeout(resting.get(id))
        resting.set(id, setTimeout(wake, ms).unref())
      }
    },
  }
}
