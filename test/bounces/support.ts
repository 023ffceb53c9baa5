import { beforeAll, beforeEach } from 'vitest'
import { setMailbox, showMailbox, testMailbox } from '../../src/bounces/bounces.ts'
import { readMailboxes } from '../../src/bounces/mailboxes.read.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { useDnsServer } from '../support/dns.ts'
import { sendingAccount } from '../support/messages.ts'

/** An app with an account for each test, and no mailboxes. `tls.test` and `other.test` are this machine. */
export const useMailboxes = () => {
  const dns = useDnsServer()
  const t = useApp(() => ({
    development: true,
    env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_DNS_SERVERS: dns.address },
  }))
  let account: TestAccount
  beforeAll(() => {
    dns.set('tls.test', { A: ['127.0.0.1'] })
    dns.set('other.test', { A: ['127.0.0.1'] })
  })
  beforeEach(async () => {
    await t.app.sql('delete from bounce_mailboxes')
    account = await sendingAccount(t)
  })
  return {
    t,
    account: () => account,
    set: (url: string, password: string | null = 'secret', of = account) =>
      t.app.work(of.id, 'cli:test', (work) => setMailbox(t.app, work, { url, password })),
    show: (of = account) => t.app.work(of.id, 'cli:test', showMailbox),
    check: () => testMailbox(t.app, account.id, 'cli:test'),
    readAll: () =>
      readMailboxes(t.app, new AbortController().signal, (fault) => {
        throw fault
      }),
  }
}
