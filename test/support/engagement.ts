import PostalMime from 'postal-mime'
import { eventTypes } from '../../src/events/events.ts'
import { applyProjects, loadTemplate, sampleProject } from '../../src/studio/studio.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { ok, type StartOptions, startApp, type TestAccount, type TestApp } from './app.ts'
import { openDnsServer } from './dns.ts'
import { eventually } from './eventually.ts'
import { type Given, opened, resolved, standIn } from './fixture.ts'
import { sendingAccount } from './messages.ts'
import { openSink, type Sink } from './smtp.ts'

export const publicUrl = 'https://svc.example'

export interface EngagedApp {
  t: TestApp
  sink: Sink
  close(): Promise<void>
}

/** Starts an app whose email arrives at a sink, and for which `people.example` accepts email. */
export const startEngaged = async (options: StartOptions = {}): Promise<EngagedApp> => {
  const [sink, dns] = await Promise.all([openSink(), openDnsServer()])
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  const env = { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: publicUrl, SVC_DNS_SERVERS: dns.address, ...options.env }
  const t = await startApp({ ...options, env })
  return {
    t,
    sink,
    async close() {
      await t.close()
      await Promise.all([sink.close(), dns.close()])
    },
  }
}

/** An account that can send, receives all events, and has the project with every block. */
export interface EngagedAccount extends TestAccount {
  projectId: string
}

export const engagedAccount = async (t: TestApp, file: object = sampleProject(`${publicUrl}/picture.png`)) => {
  const account = await sendingAccount(t)
  const [applied] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [file as never]))
  // As `svc projects apply` does: MJML compiles for a second here, so that no email waits for it.
  await loadTemplate(t.app, { accountId: account.id, id: applied!.id!, version: applied!.version })
  await createWebhook(
    t.app,
    account.id,
    'cli:test',
    { url: 'https://receiver.example/hook', events: [...eventTypes] },
    { createdVia: 'dashboard', trusted: true },
  )
  return { ...account, projectId: applied!.id! }
}

/** An email of the project as it arrived, with its links by purpose. */
export interface Arrived {
  id: string
  html: string
  text: string
  /** `/v/<token>` */
  view: string
  token: string
  clicks: string[]
  open: string
}

const decoded = (text: string): string => text.replaceAll('&amp;', '&')

/** Sends the account's project and returns the email with its links. */
export const sendProject = async (
  t: TestApp,
  sink: Sink,
  account: EngagedAccount,
  more: object = {},
): Promise<Arrived> => {
  const before = sink.mails.length
  const body = { to: 'ada@people.example', projectId: account.projectId, mergeData: { name: 'Ada' }, ...more }
  const { body: result } = await ok(t.request('POST', '/send', { key: account.key, body }))
  const statusNow = async () =>
    (await ok(t.request('GET', `/sends/${result.id}`, { key: account.key }))).body.send.status
  // On a slow machine the relay's reply can come after the response.
  if (result.status === 'pending') await eventually(async () => (await statusNow()) === 'sent')
  else if (result.status !== 'sent') throw new Error(JSON.stringify(result))
  await sink.arrived(before + 1)
  const { html = '', text = '' } = await PostalMime.parse(sink.mails.at(-1)!.raw)
  const base = t.app.config.publicUrl
  const urls = [...html.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, url]) => decoded(url!))
  const links = urls.filter((url) => url.startsWith(base)).map((url) => url.slice(base.length))
  const view = links.find((path) => /^\/v\/[^?#]*$/.test(path))!
  return {
    ...{ id: result.id, html, text, view, token: view.slice('/v/'.length) },
    clicks: links.filter((path) => path.startsWith('/t/c/')),
    open: links.find((path) => path.startsWith('/t/o/'))!,
  }
}

export const person = { 'user-agent': 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0' }

export const answer = (t: TestApp, { token }: Arrived, blockId: string, value: unknown) =>
  t.request('POST', `/liveview/${token}/interactions`, { body: { blockId, value } })

/** `startEngaged` for the tests of this file or `describe`. */
export const useEngaged = (options: Given<StartOptions> = {}): Pick<EngagedApp, 't' | 'sink'> => {
  const engaged = opened(() => startEngaged(resolved(options)))
  return { t: standIn(() => engaged.t), sink: standIn(() => engaged.sink) }
}
