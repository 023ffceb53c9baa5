import { Problem } from '../lib/problem.ts'
import { isUnavailable } from '../store/database.ts'
import type { App, Report } from '../store/work.ts'
import { condemnAddress } from './suppressions.ts'

/*
 * A bounce is recorded first, together with a row in `pending_suppressions`; its address is suppressed in a stage of its own,
 * which deletes that row in the same transaction. So a lock on an address holds up no result, and a crash in between loses
 * nothing: any process that hands mail over takes up what is pending.
 */

const batchSize = 100
/** The longest wait for the lock of one address: the others wait behind it. */
const lockWait = '500ms'
/** An address that is locked is tried again after this time; one whose transaction failed unexpectedly, later. */
const lockedMs = 2000
const faultMs = 60_000

export interface Suppressor {
  /** Suppresses the addresses of all recorded bounces, except those it has to try again later. Never rejects. */
  run(): Promise<void>
  /** Stops after the address at work. */
  close(): Promise<void>
}

interface Pending {
  accountId: string
  messageId: string
}

export const createSuppressor = (app: App, report: Report): Suppressor => {
  /** When to try a message again, in ms of `performance.now()`. */
  const resting = new Map<string, number>()
  let isClosed = false
  let isAsked = false
  let running: Promise<void> | null = null
  let timer: NodeJS.Timeout | undefined

  const suppress = ({ accountId, messageId }: Pending): Promise<void> =>
    app.work(accountId, 'job:mail', async (work) => {
      await work.sql(`select set_config('lock_timeout', '${lockWait}', true)`)
      const rows = await work.sql<{ email: string }>(
        `with taken as (
           delete from pending_suppressions where ctid = (
             select ctid from pending_suppressions where account_id = $1 and message_id = $2 for update skip locked
           ) returning message_id
         )
         select m.email from taken join messages m on m.account_id = $1 and m.id = taken.message_id where m.email <> ''`,
        [accountId, messageId],
      )
      for (const { email } of rows) await condemnAddress(work, email, 'bounced')
    })

  const attempt = async (pending: Pending): Promise<void> => {
    try {
      await suppress(pending)
    } catch (error) {
      const isExpected = isUnavailable(error) || (error instanceof Problem && error.kind === 'missing')
      if (!isExpected) report(error, { message: pending.messageId })
      resting.set(pending.messageId, performance.now() + (isUnavailable(error) ? lockedMs : faultMs))
    }
  }

  const pass = async (): Promise<void> => {
    for (const [id, until] of resting) if (until <= performance.now()) resting.delete(id)
    for (let found = batchSize; found === batchSize && !isClosed; ) {
      const rows = await app.sql<Pending>(
        `select account_id as "accountId", message_id as "messageId" from pending_suppressions
         where message_id <> all($1::text[]) order by account_id, message_id limit ${batchSize}`,
        [[...resting.keys()]],
        'pending-suppressions',
      )
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
    if (resting.size > 0 && !isClosed)
      timer = setTimeout(run, Math.min(...resting.values()) - performance.now()).unref()
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
