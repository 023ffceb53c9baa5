import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { Problem } from '../../lib/problem.ts'
import type { RowOf } from '../../store/column-types.ts'
import { isUnavailable } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import type { App, Report } from '../../store/work.ts'
import { pendingSuppressions } from '../messages.columns.ts'

/*
 * A bounce is recorded first, with a row in `pending_suppressions`. A second transaction suppresses the address and deletes that
 * row. So a lock on an address, which can last long, delays no result, and a crash between the two loses nothing: any process that
 * sends email handles the pending rows. In between, the address can get one more message.
 */

const batchSize = 100
/** Maximum wait for the lock of one address. It is short because the other addresses wait behind it. */
const lockWait = '500ms'
/** A locked address is retried after `lockedMs`, one that failed with an unexpected error after `errorRetryMs`. */
const lockedMs = 2000
const errorRetryMs = 60_000

export interface Suppressor {
  /** Suppresses the addresses of all recorded bounces, except those that wait for their retry. Never rejects. */
  run(): Promise<void>
  /** Stops after the current address. */
  close(): Promise<void>
}

const pendingColumns = columns(pendingSuppressions, ['accountId', 'messageId'])

type Pending = RowOf<typeof pendingColumns.types>

const findPending = preparedStatement(
  'pending-suppressions',
  { row: pendingColumns.types, parameters: { except: '_text' } },
  `select ${pendingColumns.list} from pending_suppressions
   where message_id <> all(:except::text[]) and account_id <> all(array${closedAccountIds}) order by account_id, message_id limit ${batchSize}`,
)

const limitLockWait = statement(
  'limit-lock-wait-of-suppression',
  { row: { set_config: 'text' } },
  `select set_config('lock_timeout', '${lockWait}', true)`,
)

const takePending = statement(
  'take-pending-suppression',
  { row: { messageId: 'text' }, parameters: pendingColumns.types },
  `delete from pending_suppressions where ctid = (
     select ctid from pending_suppressions where account_id = :accountId and message_id = :messageId for update skip locked
   ) returning message_id as "messageId"`,
)

export const createSuppressor = (app: App, report: Report): Suppressor => {
  /** When to retry a message, in ms of `performance.now()`. */
  const retryAt = new Map<string, number>()
  let isClosed = false
  let isAsked = false
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined

  const suppress = async ({ accountId, messageId }: Pending): Promise<void> => {
    // Loaded for the first bounce, which keeps the thread small.
    const [{ suppressAndFlag }, { holdRecipient }] = await Promise.all([
      import('../../suppressions/suppressions.ts'),
      import('../messages.recipient.ts'),
    ])
    await app.work(accountId, 'job:mail', async (work) => {
      await work.sql(limitLockWait)
      const rows = await work.sql(takePending, { accountId, messageId })
      const email = rows.length > 0 ? await holdRecipient(work, messageId) : null
      if (email !== null) await suppressAndFlag(work, email, 'bounced')
    })
  }

  const attempt = async (pending: Pending): Promise<void> => {
    try {
      await suppress(pending)
    } catch (error) {
      const isExpected = isUnavailable(error) || (error instanceof Problem && error.kind === 'not_found')
      if (!isExpected) report(error, { message: pending.messageId })
      retryAt.set(pending.messageId, performance.now() + (isUnavailable(error) ? lockedMs : errorRetryMs))
    }
  }

  const pass = async (): Promise<void> => {
    for (const [id, until] of retryAt) if (until <= performance.now()) retryAt.delete(id)
    for (let found = batchSize; found === batchSize && !isClosed; ) {
      const rows = await app.sql(findPending, { except: [...retryAt.keys()] })
      found = rows.length
      for (const row of rows) if (!isClosed) await attempt(row)
    }
  }

  const passes = async (): Promise<void> => {
    while (isAsked && !isClosed) {
      isAsked = false
      await pass().catch((error) => {
        if (!isUnavailable(error)) report(error, {})
      })
    }
    running = null
    clearTimeout(timer)
    if (retryAt.size > 0 && !isClosed)
      timer = setTimeout(run, Math.max(0, Math.min(...retryAt.values()) - performance.now())).unref()
  }

  const run = (): Promise<void> => {
    isAsked = true
    running ??= passes()
    return running
  }

  return {
    run,
    async close() {
      isClosed = true
      clearTimeout(timer)
      await running
    },
  }
}
