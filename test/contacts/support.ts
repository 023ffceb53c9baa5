import { createList } from '../../src/contacts/contacts.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { type StartOptions, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'

export interface ContactsApp extends TestApp {
  dns: DnsServer
  list(account: TestAccount, name?: string): Promise<{ id: string; name: string }>
  /** From here on the account's contact events are recorded in its outbox. */
  subscribe(account: TestAccount): Promise<void>
  post(account: TestAccount, body: unknown): ReturnType<TestApp['request']>
  get(account: TestAccount, query: string): ReturnType<TestApp['request']>
}

/** The app with a DNS server of its own, in which `acme.test` takes mail. */
export const startContacts = async (options: StartOptions = {}): Promise<ContactsApp> => {
  const dns = await openDnsServer()
  dns.set('acme.test', { MX: [[10, 'mx.acme.test']] })
  const app = await startApp({ ...options, env: { SVC_DNS_SERVERS: dns.address, ...options.env } })
  return {
    ...app,
    dns,
    list: ({ id }, name = 'Customers') => app.app.work(id, 'cli:test', (work) => createList(work, { name })),
    async subscribe({ id }) {
      const input = { url: 'http://192.0.2.1/hook', events: ['contact.created', 'contact.updated'] as const }
      const how = { createdVia: 'dashboard', trusted: true } as const
      await createWebhook(app.app, id, 'cli:test', { ...input, events: [...input.events] }, how)
    },
    post: ({ key }, body) => app.request('POST', '/contacts', { key, body }),
    get: ({ key }, query) => app.request('GET', `/contacts?${query}`, { key }),
    async close() {
      await app.close()
      await dns.close()
    },
  }
}
