import { createWebinar, NewWebinar, type WebinarView } from '../../src/webinars/webinars.ts'
import type { TestAccount, TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'

export const hour = 3_600_000

/** Creates a webinar as `svc webinars create` does. */
export const makeWebinar = (t: TestApp, account: TestAccount, more: object = {}): Promise<WebinarView> =>
  t.app.work(account.id, 'cli:test', (work) => createWebinar(work, NewWebinar.parse({ title: 'Live!', ...more })))

export const register = (t: TestApp, account: TestAccount, id: string, email: string, name = 'Ada') =>
  t.request('POST', `/webinars/${id}/register`, { key: account.key, body: { email, name } })

export const webinarOf = async (t: TestApp, account: TestAccount, id: string): Promise<WebinarView> => {
  const { body } = await ok(t.request('GET', '/webinars', { key: account.key }))
  return body.webinars.find((webinar) => webinar.id === id)!
}

export interface MailRow {
  email: string
  subject: string
  status: string
  error: string | null
  projectId: string | null
  text: string | null
  html: string | null
  mergeData: Record<string, string> | null
  key: string | null
}

/** The account's emails in the outbox, by address and subject. */
export const mailsOf = (t: TestApp, account: TestAccount): Promise<MailRow[]> =>
  t.app.sql<MailRow>(
    `select email, subject, status, error, project_id as "projectId", text, html, merge_data as "mergeData", key
     from messages
     where account_id = $1 order by email, subject`,
    [account.id],
  )

/** `<address> <subject>` of each email. */
export const mailed = async (t: TestApp, account: TestAccount): Promise<string[]> =>
  (await mailsOf(t, account)).map(({ email, subject }) => `${email} ${subject}`)

/** The path of a link in an email's text, by the text before it. */
export const linkIn = ({ text }: { text: string | null }, label: string): `/${string}` => {
  const [, link] = new RegExp(`${label}: (\\S+)`).exec(text ?? '') ?? []
  if (!link) throw new Error(`There is no link ${label} in ${text}`)
  return new URL(link).pathname as `/${string}`
}

/** Marks all emails of the account as sent. */
export const sendAll = (t: TestApp, account: TestAccount) =>
  t.app.sql(
    `with gone as (delete from message_queue where account_id = $1 returning id)
     update messages m set status = 'sent', finished_at = m.created_at from gone where m.account_id = $1 and m.id = gone.id`,
    [account.id],
  )
