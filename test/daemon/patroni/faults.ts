import { setTimeout as sleep } from 'node:timers/promises'
import type { Fault } from '../chaos/faults.ts'
import type { Patroni } from './cluster.ts'

/** Signals a process that may already have ended. */
export const kill = (pid: number, signal: NodeJS.Signals): void => {
  try {
    process.kill(pid, signal)
  } catch {
    // The process has ended.
  }
}

/** Longer than the leader's lease, so that another node is promoted. */
const freezeMs = 30_000

/** Faults of the nodes, one at a time: each ends when the cluster is whole again. */
export const patroniFaults = (patroni: Patroni): Fault[] => {
  let turn: Promise<unknown> = Promise.resolve()
  const inTurn = (name: string, breakLeader: (over: AbortSignal) => Promise<string>): Fault => ({
    name,
    run({ over }) {
      const next = turn.then(async () => {
        if (over.aborted) return 'not done: the run is over'
        const what = await breakLeader(over)
        await patroni.whole()
        return what
      })
      turn = next
      return next
    },
  })
  return [
    inTurn('leader kill -9', async () => {
      const leader = await patroni.whole()
      const [postmaster] = await patroni.postgres(leader)
      kill(postmaster!, 'SIGKILL')
      await sleep(3000)
      return leader.name
    }),
    inTurn('leader lost', async () => {
      const leader = await patroni.whole()
      await patroni.restart(leader)
      return leader.name
    }),
    inTurn('switchover', async () => {
      const leader = await patroni.whole()
      await patroni.switchover(leader)
      return leader.name
    }),
    inTurn('leader frozen', async () => {
      const leader = await patroni.whole()
      const pids = [patroni.agent(leader).pid!, ...(await patroni.postgres(leader))]
      for (const pid of pids) kill(pid, 'SIGSTOP')
      await sleep(freezeMs)
      for (const pid of pids.toReversed()) kill(pid, 'SIGCONT')
      return `${leader.name}, ${freezeMs / 1000} s`
    }),
  ]
}
