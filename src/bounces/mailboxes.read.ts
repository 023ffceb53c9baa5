import { activeAccounts } from '../accounts/accounts.rows.ts'
import { lockClasses } from '../lib/locks.ts'
import { MailboxFailure, withMailbox } from '../net/imap.ts'
import { createBell, repeatUntil } from '../queue/loop.ts'
import { defineJob } from '../store/background.ts'
import type { RowOf } from '../store/column-types.ts'
import { isUnavailable, sqlOn } from '../store/database.ts'
import { type Statement, statement } from '../store/statement.ts'
import type { App, Report } from '../store/work.ts'
import { accessOf, mailboxColumns } from './mailboxes.ts'
import { maxMessageBytes } from './split.ts'

/*
 * A message in a mailbox is marked as seen after its report is recorded. If the process dies in between, the message is read again
 * and its report is recognised. One process at a time reads a mailbox: it holds a session-level advisory lock, which PostgreSQL
 * releases when the session ends.
 */

const everyMs = 60_000
/** A mailbox is due this much earlier, so that a run that starts a little early does not skip it for another minute. */
const slackMs = 5000
/** No new message is read after this time; the rest waits for the next minute. */
const turnMs = 40_000
/** The connection is closed after this time. */
const limitMs = 50_000
/** Mailboxes that are read in parallel, so that a server that hangs delays few others. */
const concurrency = 16

type DueMailbox = RowOf<typeof mailboxColumns.types>

/** Reads the unread messages of a mailbox: records, then marks each one. The connection is closed when `signal` is aborted. */
const readMailbox = async (app: App, mailbox: DueMailbox, signal: AbortSignal, report: Report): Promise<void> => {
  const { accountId } = mailbox
  const endsAt = performance.now() + turnMs
  // Loaded for the first mailbox, which keeps the thread small.
  const { ingestMessage } = await import('./ingest.ts')
  await withMailbox(app.resolver, accessOf(app, accountId, mailbox), signal, async (box) => {
    let areMarked = true
    for (const uid of await box.unseen()) {
      if (signal.aborted || performance.now() > endsAt) break
      const raw = await box.read(uid, maxMessageBytes)
      if (!raw) continue
      try {
        await ingestMessage(app, raw, { accountId, actor: 'job:bounces' })
      } catch (error) {
        // After an unexpected error the message stays unread, and the next one is read.
        if (isUnavailable(error)) throw error
        report(error, { account: accountId, uid })
        continue
      }
      areMarked = (await box.markSeen(uid)) && areMarked
    }
    if (!areMarked) throw new MailboxFailure('messages cannot be marked as seen: they are read again each minute')
  })
}

const findUnread = statement(
  'find-due-mailboxes',
  {
    row: mailboxColumns.types,
    parameters: { before: 'timestamptz', accountId: 'text?' },
  },
  `select ${mailboxColumns.list} from bounce_mailboxes b
   join ${activeAccounts} a on a.id = b.account_id
   where (b.read_at is null or b.read_at <= :before) and (:accountId::text is null or b.account_id = :accountId)
   order by b.read_at nulls first, b.account_id`,
)

const findDue = (app: App, accountId: string | null): Promise<DueMailbox[]> =>
  app.sql(findUnread, { before: new Date(app.now().getTime() - everyMs + slackMs), accountId })

const lockOf = `${lockClasses.mailbox}, hashtext(:accountId)`

const tryMailboxLock = statement(
  'try-mailbox-lock',
  { row: { isMine: 'bool' }, parameters: { accountId: 'text' } },
  `select pg_try_advisory_lock(${lockOf}) as "isMine"`,
)

const unlockMailbox = statement(
  'unlock-mailbox',
  { row: { pg_advisory_unlock: 'bool' }, parameters: { accountId: 'text' } },
  `select pg_advisory_unlock(${lockOf})`,
)

const noteRead = statement(
  'note-mailbox-read',
  { parameters: { accountId: 'text', updatedAt: 'timestamptz', readAt: 'timestamptz', error: 'text?' } },
  // A mailbox that was set meanwhile has not been read. Times in JavaScript have no microseconds.
  `update bounce_mailboxes set read_at = :readAt, error = :error where account_id = :accountId and date_trunc('milliseconds', updated_at) = :updatedAt`,
)

/**
 * Reads each account's mailbox that has not been read for a minute, unless another process reads it, and stores the result. An
 * error of the mail server is shown by `svc bounces mailbox show`; unexpected errors are passed to `report`.
 */
export const readMailboxes = async (app: App, signal: AbortSignal, report: Report): Promise<void> => {
  const due = await findDue(app, null)
  if (due.length === 0) return
  const guard = await app.database.connect()
  // The mailboxes are read in parallel, but the connection that holds their locks runs one statement at a time.
  let last: Promise<unknown> = Promise.resolve()
  const onGuard = <Row extends object>(query: Statement<Row, { accountId: string }>, accountId: string) => {
    const answer = last.catch(() => {}).then(() => sqlOn(guard)(query, { accountId }))
    last = answer
    return answer
  }
  const attempt = async (mailbox: DueMailbox): Promise<string | null> => {
    try {
      await readMailbox(app, mailbox, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]), report)
      return null
    } catch (error) {
      if (error instanceof MailboxFailure) return error.message
      if (isUnavailable(error)) return 'the database was not available'
      report(error, { account: mailbox.accountId })
      return 'it could not be read because of an unexpected error; see the log'
    }
  }
  const read = async (accountId: string) => {
    if (!(await onGuard(tryMailboxLock, accountId))[0]!.isMine) return
    try {
      // Another process may have read it since it was found due.
      const [mailbox] = await findDue(app, accountId)
      if (!mailbox || signal.aborted) return
      const error = await attempt(mailbox)
      if (signal.aborted) return
      await app.sql(noteRead, { accountId, updatedAt: mailbox.updatedAt, readAt: app.now(), error })
    } finally {
      await onGuard(unlockMailbox, accountId)
    }
  }
  try {
    const waiting = due.values()
    const readNext = async () => {
      for (const { accountId } of waiting) {
        await read(accountId).catch((error) => {
          if (isUnavailable(error)) throw error
          report(error, { account: accountId })
        })
      }
    }
    await Promise.all(Array.from({ length: concurrency }, readNext))
  } finally {
    await guard.end()
  }
}

/** Reads the mailboxes every minute until `signal` is aborted. A message that is being read then is read again by the next run. */
export const runMailboxes = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  repeatUntil(createBell(), signal, report, async () => {
    await readMailboxes(app, signal, report)
    return everyMs
  })

export const jobs = [
  defineJob('mailboxes', {
    every: '1 min',
    does: 'Reads reports from bounce mailboxes',
    run: runMailboxes,
  }),
]
