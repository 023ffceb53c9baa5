import { MailboxFailure, withMailbox } from '../net/imap.ts'
import { createBell, repeatUntil } from '../queue/loop.ts'
import { isUnavailable } from '../store/database.ts'
import { lockClasses } from '../store/locks.ts'
import type { App, Report } from '../store/work.ts'
import { keptBytes } from './bounces.split.ts'
import { ingestMessage } from './bounces.ts'
import { accessOf, mailboxColumns, type StoredMailbox } from './mailboxes.ts'

/*
 * A message in a mailbox is marked as seen after what it says is recorded: whoever is killed in between reads it again, and
 * knows it then. One process at a time reads a mailbox, by a lock of its session that ends with it however it ends.
 */

const everyMs = 60_000
/** Who comes a little early is not late by a minute. */
const slackMs = 5000
/** How long one mailbox has its turn; what is left waits for the next minute. */
const turnMs = 40_000
/** Then it is cut off. */
const limitMs = 50_000
/** One that hangs holds back few others. */
const atOnce = 16

interface DueMailbox extends StoredMailbox {
  accountId: string
}

/** Reads what is unread in a mailbox, records and then marks it, message by message; cut off when `signal` is aborted. */
const readMailbox = async (app: App, mailbox: DueMailbox, signal: AbortSignal, report: Report): Promise<void> => {
  const { accountId } = mailbox
  const endsAt = performance.now() + turnMs
  await withMailbox(app.resolver, accessOf(app, accountId, mailbox), signal, async (box) => {
    for (const uid of await box.unseen()) {
      if (signal.aborted || performance.now() > endsAt) break
      const raw = await box.read(uid, keptBytes)
      if (!raw) continue
      try {
        await ingestMessage(app, raw, { accountId, actor: 'job:bounces' })
      } catch (error) {
        // A fault of ours with this one, which stays unread: those behind it do not wait for it.
        if (isUnavailable(error)) throw error
        report(error, { account: accountId, uid })
        continue
      }
      await box.markSeen(uid)
    }
  })
}

const findDue = (app: App, accountId: string | null): Promise<DueMailbox[]> =>
  app.sql<DueMailbox>(
    `select b.account_id as "accountId", ${mailboxColumns} from bounce_mailboxes b
     join accounts a on a.id = b.account_id and a.deleted_at is null
     where (b.read_at is null or b.read_at <= $1) and ($2::text is null or b.account_id = $2)
     order by b.read_at nulls first, b.account_id`,
    [new Date(app.now().getTime() - everyMs + slackMs), accountId],
  )

/**
 * Reads each account's mailbox that has not been read for a minute, unless another process does, and notes how it went.
 * A server that fails is the operator's affair, and stands in `svc bounces mailbox show`; faults of ours are reported.
 */
export const readMailboxes = async (app: App, signal: AbortSignal, report: Report): Promise<void> => {
  const due = await findDue(app, null)
  if (due.length === 0) return
  const guard = await app.database.connect()
  const attempt = async (mailbox: DueMailbox): Promise<string | null> => {
    try {
      await readMailbox(app, mailbox, AbortSignal.any([signal, AbortSignal.timeout(limitMs)]), report)
      return null
    } catch (error) {
      if (error instanceof MailboxFailure) return error.message
      if (!isUnavailable(error)) report(error, { account: mailbox.accountId })
      return 'it could not be read, for a fault of ours'
    }
  }
  const read = async (accountId: string) => {
    const { rows } = await guard.query('select pg_try_advisory_lock($1, hashtext($2)) as mine', [
      lockClasses.mailbox,
      accountId,
    ])
    if (!rows[0].mine) return
    try {
      // Another process may have read it since it was found due.
      const [mailbox] = await findDue(app, accountId)
      if (!mailbox || signal.aborted) return
      const error = await attempt(mailbox)
      if (signal.aborted) return
      await app.sql('update bounce_mailboxes set read_at = $2, error = $3 where account_id = $1', [
        accountId,
        app.now(),
        error,
      ])
    } finally {
      await guard.query('select pg_advisory_unlock($1, hashtext($2))', [lockClasses.mailbox, accountId])
    }
  }
  try {
    const waiting = due.values()
    const readNext = async () => {
      for (const { accountId } of waiting) await read(accountId)
    }
    await Promise.all(Array.from({ length: atOnce }, readNext))
  } finally {
    await guard.end()
  }
}

/** Reads the mailboxes each minute until `signal` is aborted; a message that is being read then is cut off and read again. */
export const runMailboxes = (app: App, signal: AbortSignal, report: Report = () => {}): Promise<void> =>
  repeatUntil(createBell(), signal, report, async () => {
    await readMailboxes(app, signal, report)
    return everyMs
  })
