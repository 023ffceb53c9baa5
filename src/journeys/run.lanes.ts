type Task = () => Promise<void>

/** Runs tasks, `limit` at once, `each` of them for one account; the rest waits here, and the accounts take turns. */
export const createLanes = ({ limit, each }: { limit: number; each: number }) => {
  /** In the order of their turns. */
  const waiting = new Map<string, Task[]>()
  const busy = new Map<string, number>()
  const going = new Set<Promise<void>>()

  const count = (accountId: string, change: 1 | -1) => {
    const tasks = (busy.get(accountId) ?? 0) + change
    if (tasks > 0) busy.set(accountId, tasks)
    else busy.delete(accountId)
  }

  /** The next task of the account whose turn it is, which then waits for all others. */
  const next = (): [string, Task] | null => {
    for (const [accountId, tasks] of waiting) {
      if ((busy.get(accountId) ?? 0) >= each) continue
      const task = tasks.shift()!
      waiting.delete(accountId)
      if (tasks.length > 0) waiting.set(accountId, tasks)
      return [accountId, task]
    }
    return null
  }

  const pump = () => {
    while (going.size < limit) {
      const turn = next()
      if (!turn) return
      const [accountId, task] = turn
      count(accountId, 1)
      const ended = task().finally(() => {
        going.delete(ended)
        count(accountId, -1)
        pump()
      })
      going.add(ended)
    }
  }

  return {
    /** `task` may not reject. */
    push(accountId: string, task: Task): void {
      const tasks = waiting.get(accountId)
      if (tasks) tasks.push(task)
      else waiting.set(accountId, [task])
      pump()
    },
    /** Resolves once nothing runs and nothing waits. */
    async idle(): Promise<void> {
      while (going.size > 0) await Promise.all(going)
    },
  }
}
