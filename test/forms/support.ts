import { createList } from '../../src/contacts/contacts.ts'
import type { EventType } from '../../src/events/events.ts'
import type { Contact, EventData } from '../../src/events/shapes.ts'
import { createForm, FormFile, type FormView, viewForm } from '../../src/forms/forms.ts'
import { addSender } from '../../src/senders/senders.change.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import type { StartOptions, TestAccount, TestApp } from '../support/app.ts'
import { ok, startApp } from '../support/app.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
import { type Given, opened, resolved } from '../support/fixture.ts'

export interface FormsApp extends TestApp {
  dns: DnsServer
}

export const publicUrl = 'https://svc.example'

/** Starts the app with its own DNS server, in which `acme.test` accepts mail. */
export const startForms = async ({ env, ...options }: StartOptions = {}): Promise<FormsApp> => {
  const dns = await openDnsServer()
  dns.set('acme.test', { MX: [[10, 'mx.acme.test']] })
  const app = await startApp({ ...options, env: { SVC_DNS_SERVERS: dns.address, SVC_PUBLIC_URL: publicUrl, ...env } })
  return {
    ...app,
    dns,
    async close() {
      await app.close()
      await dns.close()
    },
  }
}

export interface FormBench {
  account: TestAccount
  listId: string
  form(file?: object): Promise<FormView>
  /** Returns the data of one event of each emitted type. `types` counts the events. */
  events(): Promise<{ [T in EventType]: EventData<T> }>
  types(): Promise<string[]>
  /** A test that expects none compares it with undefined. */
  contact(email?: string): Promise<Contact>
  mails(): Promise<{ email: string; subject: string; text: string; status: string; error: string | null }[]>
  /** Returns the path of the link in the latest queued email. */
  link(): Promise<string>
}

/** Creates an account that can send, with a list and a subscription to all events of forms and contacts. */
export const formBench = async (t: TestApp, plan = 'unlimited'): Promise<FormBench> => {
  const account = await t.account({ plan })
  const { id: listId } = await t.app.work(account.id, 'cli:test', async (w) => {
    await addSender(w, { email: 'hello@shop.example', name: 'The Shop' })
    return createList(w, { name: 'Leads' })
  })
  await createWebhook(
    t.app,
    account.id,
    'cli:test',
    { url: 'http://192.0.2.1/', events: ['contact.created', 'contact.updated', 'form.submitted', 'lead.new'] },
    { createdVia: 'dashboard', trusted: true },
  )
  let forms = 0
  const mails = () =>
    t.app.sql<{ email: string; subject: string; text: string; status: string; error: string | null }>(
      'select email, subject, text, status, error from messages where account_id = $1 order by created_at, id',
      [account.id],
    )
  return {
    account,
    listId,
    mails,
    async form(file = {}) {
      const formFile = FormFile.parse({ name: `Form ${++forms}`, list: 'Leads', fields: ['first_name'], ...file })
      return viewForm(await t.app.work(account.id, 'cli:test', (w) => createForm(w, formFile)), publicUrl)
    },
    async events() {
      return Object.fromEntries((await t.events(account.id)).map(({ type, data }) => [type, data])) as never
    },
    types: async () => (await t.events(account.id)).map(({ type }) => type).sort(),
    async contact(email = 'ada@acme.test') {
      const { body } = await ok(t.request('GET', `/contacts?email=${email}&listId=${listId}`, { key: account.key }))
      return body.contacts[0]!
    },
    async link() {
      const url = /https:\/\/svc\.example(\/f\/confirm\/\S+)/.exec(
        (await mails()).findLast(({ subject }) => subject.startsWith('Please confirm'))!.text,
      )
      return url![1]!
    },
  }
}

export const urlencoded = (fields: Record<string, string>, headers: Record<string, string> = {}) => ({
  body: new URLSearchParams(fields).toString(),
  headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
})

/** `startForms` for the tests of this file or `describe`. */
export const useForms = (options: Given<StartOptions> = {}): FormsApp => opened(() => startForms(resolved(options)))
