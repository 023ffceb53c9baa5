import { Counts } from '../../queue/capacity.ts'

type Task = () => Promise<void>

/** Returns a pool that runs at most `limit` tasks at once, and at most `each` of one account. Accounts with waiting tasks take turns. */
export const createTaskPool = ({ limit, each }: { limit: number; each: number }) => {
  /** Waiting tasks by account; the accounts are in the order of their turns. */
  const waiting = new Map<string, Task[]>()
  const busy = new Counts()
  const running = new Set<Promise<void>>()

  /** Removes and returns the next task. Its account moves to the end of the order. */
  const next = (): [string, Task] | null => {
    for (const [accountId, tasks] of waiting) {
      if (busy.of(accountId) >= each) continue
      const task = tasks.shift()!
      waiting.delete(accountId)
      if (tasks.length > 0) waiting.set(accountId, tasks)
      return [accountId, task]
    }
    return null
  }

  const pump = () => {
    while (running.size < limit) {
      const turn = next()
      if (!turn) return
      const [accountId, task] = turn
      busy.add(accountId, 1)
      const ended = task().finally(() => {
        running.delete(ended)
        busy.add(accountId, -1)
        pump()
      })
      running.add(ended)
    }
  }

  return {
    /** Adds a task, which must not reject. */
    push(accountId: string, task: Task): void {
      const tasks = waiting.get(accountId)
      if (tasks) tasks.push(task)
      else waiting.set(accountId, [task])
      pump()
    },
    /** Resolves when all tasks have ended. */
    async idle(): Promise<void> {
      while (running.size > 0) await Promise.all(running)
    },
  }
}
