import { Problem } from '../../lib/problem.ts'
import { isUnavailable } from '../../store/database.ts'
import { statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import { notifyEnded } from '../deliveries.cancel.ts'
import { endTargets, lockTargets } from '../targets/end.ts'
import { endedOf, type Recorded, type Result, recordResults } from './deliveries.record.ts'
import { goneStatus } from './post.ts'

/** Concurrent transactions: the queue's few other connections claim, and record plain results. */
const atOnce = 2
/** A transaction that waits longer for a lock is tried again later; the others continue. */
const lockWaitMs = 100

const explainGone = statement(
  'explain-gone-target',
  { parameters: { accountId: 'text', targetId: 'text' } },
  `update delivery_targets set last_failure_at = svc_now(), last_error = 'answered ${goneStatus}'
   where account_id = :accountId and id = :targetId and disabled_reason = 'gone'`,
)

const endGone = async (work: Work, targetId: string) => {
  await endTargets(work, [targetId], 'gone')
  await work.sql(explainGone, { accountId: work.accountId, targetId })
}

const limitLockWait = statement(
  'limit-lock-wait-of-record',
  { row: { set_config: 'text' } },
  `select set_config('lock_timeout', '${lockWaitMs}ms', true)`,
)

/** Records results of one target. 410 ends a subscription and its pending deliveries; a journey is notified of the end of its call. */
const write = (app: App, results: readonly Result[]): Promise<Recorded> => {
  const { kind, accountId, targetId } = results[0]!.claimed
  return app.work(accountId, 'job:deliveries', async (work) => {
    await work.sql(limitLockWait)
    // Every transaction that locks both locks the target before its deliveries.
    if (kind !== 'journey') await lockTargets(work.sql, accountId, [targetId])
    const recorded = await recordResults(work.sql, results)
    if (kind === 'journey') {
      const ended = recorded.written.flatMap((one) => endedOf(one) ?? [])
      await notifyEnded(work, ended)
    } else if (recorded.written.some(({ result }) => result.status === 'cancelled')) await endGone(work, targetId)
    return recorded
  })
}

/**
 * Records results together with their effects, in one transaction for each target. A target whose rows another transaction has
 * locked delays only itself: its results are returned as `locked`. Rejects with the first unexpected error, which one of the
 * results may have caused.
 */
export const recordWithEffects = async (app: App, results: readonly Result[]): Promise<Recorded> => {
  const recorded: Recorded = { written: [], locked: [] }
  const faults: unknown[] = []
  const groups = Map.groupBy(results, ({ claimed }) => claimed.targetId).values()
  const writeNext = async () => {
    for (const group of groups) {
      try {
        const { written, locked } = await write(app, group)
        recorded.written.push(...written)
        recorded.locked.push(...locked)
      } catch (error) {
        if (isUnavailable(error)) recorded.locked.push(...group)
        // A Problem means that the account is being deleted, and its deliveries with it.
        else if (!(error instanceof Problem)) faults.push(error)
      }
    }
  }
  await Promise.all(Array.from({ length: atOnce }, writeNext))
  if (faults.length > 0) throw faults[0]
  return recorded
}
