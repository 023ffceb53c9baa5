/** Runs tasks in the order in which they come: `limit` at once, `each` of them for one account; the rest waits here. */
export const createLanes = ({ limit, each }: { limit: number; each: number }) => {
  const waiting: { accountId: string; run: () => Promise<void> }[] = []
  const busy = new Map<string, number>()
  const going = new Set<Promise<void>>()

  const count = (accountId: string, change: 1 | -1) => {
    const tasks = (busy.get(accountId) ?? 0) + change
    if (tasks > 0) busy.set(accountId, tasks)
    else busy.delete(accountId)
  }

  const pump = () => {
    while (going.size < limit) {
      const place = waiting.findIndex(({ accountId }) => (busy.get(accountId) ?? 0) < each)
      if (place < 0) return
      const [{ accountId, run }] = waiting.splice(place, 1) as [(typeof waiting)[number]]
      count(accountId, 1)
      const ended = run().finally(() => {
        going.delete(ended)
        count(accountId, -1)
        pump()
      })
      going.add(ended)
    }
  }

  return {
    /** `run` may not reject. */
    push(accountId: string, run: () => Promise<void>): void {
      waiting.push({ accountId, run })
      pump()
    },
    /** Resolves once nothing runs and nothing waits. */
    async idle(): Promise<void> {
      while (going.size > 0) await Promise.all(going)
    },
  }
}
