import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../store/work.ts'
import { advanceBroadcast } from './broadcasts.step.ts'

/** Somebody else is at it. */
const elsewhereMs = 50

/**
 * Takes the steps of a broadcast until all its mails are queued, or ended where it is cancelled, or `signal` is aborted; a
 * job of a daemon may do the same beside it, and goes on where this stops. `onStep` is called after each.
 */
export const queueBroadcast = async (
  app: App,
  accountId: string,
  id: string,
  { actor, signal, onStep }: { actor: string; signal: AbortSignal; onStep(): Promise<void> },
): Promise<void> => {
  const isOpen = async () => {
    const [row] = await app.sql<{ isOpen: boolean }>(
      `select finished_at is null and checkpoint is not null as "isOpen" from broadcasts where account_id = $1 and id = $2`,
      [accountId, id],
    )
    return row?.isOpen ?? false
  }
  while (!signal.aborted) {
    const step = await app.work(accountId, actor, (work) => advanceBroadcast(app, work, id))
    await onStep()
    if (step?.isMore) continue
    if (step || !(await isOpen())) return
    await sleep(elsewhereMs)
  }
}
