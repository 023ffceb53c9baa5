import type { OpenApp } from '../../src/app/app.ts'
import { type Queued, type QueuedMail, queueMails } from '../../src/messages/messages.ts'
import { runMail } from '../../src/messages/outbox/outbox.run.ts'
import { createSmtpClient } from '../../src/net/smtp.ts'
import { addSender } from '../../src/senders/senders.change.ts'
import type { TestAccount, TestApp } from './app.ts'
import { type Ran, svc } from './cli.ts'
import { atEnd } from './scope.ts'

/** Creates an account with a default sender. */
export const sendingAccount = async (t: TestApp, options?: Parameters<TestApp['account']>[0]): Promise<TestAccount> => {
  const account = await t.account(options)
  await t.app.work(account.id, 'cli:test', (work) => addSender(work, { email: 'hello@shop.example', name: 'The Shop' }))
  return account
}

export const freeform = (more: object = {}) => ({
  to: 'ada@people.example',
  subject: 'Your order',
  html: '<p>It is on its way.</p>',
  text: 'It is on its way.',
  ...more,
})

/** Runs `svc send` with HTML from a pipe and text from a file; `flags` name the recipient and what else is sent. */
export const svcSend = (t: TestApp, account: TestAccount, ...flags: string[]): Promise<Ran> =>
  svc(
    t,
    [
      'send',
      ...flags,
      '--subject',
      'Hi',
      '--html',
      '-',
      '--text',
      `@${import.meta.filename}`,
      '--account',
      account.name,
      '--json',
    ],
    { stdin: '<p>Hi</p>' },
  )

export interface MessageRow {
  id: string
  status: string
  reason: string | null
  error: string | null
  state: string | null
}

export const messagesOf = (app: OpenApp, accountId: string): Promise<MessageRow[]> =>
  app.sql<MessageRow>(
    `select m.id, m.status, m.reason, m.error,
       case when q.id is null then null when q.is_handing then 'handing' when q.worker is not null then 'claimed' else 'queued' end as state
     from messages m left join message_queue q using (account_id, id) where account_id = $1 order by m.email, m.id`,
    [accountId],
  )

/** Returns the number of the account's messages by status. */
export const tallyMessages = async (app: OpenApp, accountId: string): Promise<Record<string, number>> => {
  const rows = await app.sql<{ status: string; count: number }>(
    'select status, count(*) from messages where account_id = $1 group by status',
    [accountId],
  )
  return Object.fromEntries(rows.map(({ status, count }) => [status, count]))
}

/** Queues a freeform email to each address, in one transaction. */
export const queueMany = (
  app: OpenApp,
  accountId: string,
  count: number,
  more: Partial<QueuedMail> = {},
  batch?: { id: string; isHeld: boolean },
): Promise<Queued[]> =>
  app.work(accountId, 'cli:test', (work) =>
    queueMails(
      app,
      work,
      Array.from({ length: count }, (_, i) => ({
        to: `person${i}@people.example`,
        type: 'transactional' as const,
        key: null,
        source: { kind: 'journey' as const, id: 'jrn_1' },
        subject: `Mail ${i}`,
        content: { html: '<p>Hi</p>', text: 'Hi' },
        ...more,
      })),
      batch,
    ),
  )

/**
 * Runs the mail loop in this process until the end of the test or `stop`, which shut it down gracefully. Its SMTP client is its
 * own, as in the thread of a job: it closes it, and the app still sends.
 */
export const startMail = (app: OpenApp): { stop(): Promise<void> } => {
  const stop = new AbortController()
  const running = runMail({ ...app, smtp: createSmtpClient(app.resolver) }, stop.signal, (fault) => {
    throw fault
  })
  running.catch(() => {})
  const end = () => {
    stop.abort()
    return running
  }
  atEnd(end)
  return { stop: end }
}
