import { createList } from '../../src/contacts/contacts.ts'
import { type ImportOptions, type ImportView, startImport } from '../../src/contacts/imports/checkpoint.ts'
import { openFile } from '../../src/contacts/imports/file.ts'
import { runImport } from '../../src/contacts/imports/imports.run.ts'
import { findOrCreateList, prepareImport } from '../../src/contacts/imports/prepare.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { type StartOptions, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
import { type Given, opened, resolved } from '../support/fixture.ts'

export interface ContactsApp extends TestApp {
  dns: DnsServer
  list(account: TestAccount, name?: string): Promise<{ id: string; name: string }>
  /** Subscribes to the account's contact events, so that they are recorded in its outbox. */
  subscribe(account: TestAccount): Promise<void>
  post(account: TestAccount, body: unknown): ReturnType<TestApp['request']>
  get(account: TestAccount, query: string): ReturnType<TestApp['request']>
}

/** Starts the app with its own DNS server, in which `acme.test` accepts mail. */
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

const importOptions: ImportOptions = {
  map: {},
  encoding: 'utf-8',
  onConflict: 'upsert',
  events: true,
  rejectsFile: null,
}

interface ImportHooks {
  signal?: AbortSignal
  onBatch?(rows: number): void
}

/** Prepares an import of a file into the list, which is created if it does not exist; `run` runs it. */
export const prepareRun = async (
  { app }: TestApp,
  accountId: string,
  { list, path }: { list: string; path: string },
): Promise<{ id: string; run(hooks?: ImportHooks): Promise<ImportView> }> => {
  const { signal: never } = new AbortController()
  const source = await openFile(path, never)
  const prepared = await prepareImport(source, importOptions)
  const opened = await app.work(accountId, 'cli:test', async (work) => {
    const { id: listId } = await findOrCreateList(work, list, true, prepared.columns)
    return startImport(work, { listId, file: path, sha256: source.sha256, options: importOptions })
  })
  const writer = { app, accountId, actor: 'cli:test' }
  return { id: opened.id, run: (hooks) => runImport({ ...writer, signal: never, ...hooks }, opened, prepared) }
}

/** `startContacts` for the tests of this file or `describe`. */
export const useContacts = (options: Given<StartOptions> = {}): ContactsApp =>
  opened(() => startContacts(resolved(options)))
