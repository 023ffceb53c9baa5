import { setTimeout as sleep } from 'node:timers/promises'
import { statement } from '../store/statement.ts'
import type { App } from '../store/work.ts'
import { takeStep } from './broadcasts.step.ts'

/** Wait while another process takes a step of the same broadcast. */
const lockedMs = 50

const readIsOpen = statement(
  'is-broadcast-open',
  { row: { isOpen: 'bool' }, parameters: { accountId: 'text', id: 'text' } },
  `select finished_at is null and paused_at is null and checkpoint is not null as "isOpen" from broadcasts where account_id = :accountId and id = :id`,
)

/**
 * Takes the steps of a broadcast until all its messages are queued (or ended, if it is cancelled), or until `signal` is aborted. A
 * daemon's job may do the same at the same time, and continues after this. Calls `onStep` after each step.
 */
export const queueBroadcast = async (
  app: App,
  accountId: string,
  id: string,
  { actor, signal, onStep }: { actor: string; signal: AbortSignal; onStep(): Promise<void> },
): Promise<void> => {
  const isOpen = async () => (await app.sql(readIsOpen, { accountId, id }))[0]?.isOpen ?? false
  while (!signal.aborted) {
    const step = await takeStep(app, accountId, actor, id)
    await onStep()
    if (step?.isMore) continue
    if (step || !(await isOpen())) return
    await sleep(lockedMs)
  }
}
