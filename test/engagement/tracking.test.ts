import { once } from 'node:events'
import { createServer, get, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { isMachine } from '../../src/engagement/engagement.visits.ts'
import { resultsOf } from '../../src/results/results.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import {
  type Arrived,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  person,
  publicUrl,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import type { Sink } from '../support/smtp.ts'

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount
let mail: Arrived

beforeAll(async () => {
  engaged = await startEngaged()
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  account = await engagedAccount(t)
  mail = await sendProject(t, sink, account)
})
afterAll(() => engaged.close())

const ask = (path: string, headers: Record<string, string> = person) => t.request('GET', path, { headers })
const head = (path: string) => t.server.fastify.inject({ method: 'HEAD', url: path, headers: person })
const emittedInteractions = async () =>
  (await t.events<'interaction.received'>(account.id)).map(({ data }) => [
    data.interaction.kind,
    data.interaction.value,
  ])
const score = async () => {
  const [row] = await t.app.sql<{ points: number }>('select points from lead_scores where account_id = $1', [
    account.id,
  ])
  return Math.round(row?.points ?? 0)
}

const linked = (urls: string[]) => ({
  name: 'Links',
  blocks: urls.map((url, i) => ({ id: `b${i}`, type: 'button', props: { label: 'Go', url } })),
})

test('a link in the email redirects with 302 to its URL and emits one event per link and message', async () => {
  const [harbour, start] = mail.clicks
  const reply = await ask(harbour!)
  expect([reply.status, reply.headers.location]).toEqual([302, 'https://example.com/harbour'])
  await ok(ask(harbour!), 302)
  expect((await ask(start!)).headers.location).toBe('https://example.com/start?email=')
  expect(await emittedInteractions()).toEqual([
    ['click', 'https://example.com/harbour'],
    ['click', 'https://example.com/start?email='],
  ])
  const [event] = await t.events<'interaction.received'>(account.id)
  expect(event!.data.interaction.blockId).toBe('picture')
})

test('who follows an answer’s link and answers nothing has opened and clicked, once for each block; a machine has not', async () => {
  const page = (block?: string) =>
    `/v/${mail.token}${block === undefined ? '' : `?${new URLSearchParams({ block, value: 'x' })}`}`
  await ok(t.request('GET', page('vote'), { headers: { 'user-agent': '' } }))
  expect(await emittedInteractions()).toEqual([])
  const blocks = await t.app.sql<{ block: string }>(
    `select block_id as block from interactions where account_id = $1 and is_bot`,
    [account.id],
  )
  expect(blocks).toHaveLength(1)
  await ok(ask(page('no-such-block')))
  await ok(ask(page()))
  expect(await emittedInteractions()).toEqual([['click', `${publicUrl}/v`]])
  expect(await score()).toBe(3)
  const stats = await t.app.work(account.id, 'cli:test', (work) => resultsOf(work, account.projectId))
  expect(stats).toMatchObject({ opened: 1, clicked: 1, answered: 0, links: [] })
})

test('a scanner with a browser’s user agent that follows every link, also the one that nobody can see, is a machine', async () => {
  const honeypot = /href="https:\/\/svc\.example(\/t\/h\/[^"]+)"/.exec(mail.html)![1]!
  expect(mail.html.indexOf(honeypot)).toBeLessThan(mail.html.indexOf(mail.clicks[0]!))
  expect(mail.text).not.toContain('/t/h/')
  await ok(ask(honeypot), 302)
  for (const path of mail.clicks) await ok(ask(path), 302)
  await ok(ask(mail.open))
  await ok(ask(`/v/${mail.token}`))
  expect(await emittedInteractions()).toEqual([])
  expect(await score()).toBe(0)
  expect(await ask('/t/h/no-token')).toMatchObject({ status: 404 })
  // A person who reads the email later counts.
  await t.app.sql(`update interactions set at = at - interval '61 seconds' where account_id = $1`, [account.id])
  await ok(ask(mail.clicks[0]!), 302)
  expect(await emittedInteractions()).toHaveLength(1)
})

test('more than three links within a second are a machine’s from the fourth one on', async () => {
  account = await engagedAccount(t, linked([0, 1, 2, 3, 4].map((n) => `https://example.com/${n}`)))
  mail = await sendProject(t, sink, account)
  for (const path of mail.clicks.slice(0, 3)) await ok(ask(path), 302)
  // However long the next requests take, these are no older than a second.
  await t.app.sql(`update interactions set at = at + interval '1 hour' where account_id = $1`, [account.id])
  for (const path of mail.clicks.slice(3)) await ok(ask(path), 302)
  expect(await emittedInteractions()).toHaveLength(3)
})

test('the text part has the same links', () => {
  for (const path of mail.clicks) expect(mail.text).toContain(`${publicUrl}${path}`)
})

test('non-ASCII characters are encoded in the redirect URL, over a real connection', async () => {
  const urls = [
    'https://example.com/straße/Ω?q=ü#é',
    'https://bücher.example/é',
    'https://example.com/hello/{{ name }}?n={{ name }}',
  ]
  account = await engagedAccount(t, linked(urls))
  mail = await sendProject(t, sink, account, { mergeData: { name: 'Zoë 🎁' } })
  const server = createServer((request, response) => t.server.fastify.routing(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const replies: unknown[] = []
  for (const path of mail.clicks) {
    const request = get({ port, path, headers: person })
    const [reply] = (await once(request, 'response')) as [IncomingMessage]
    reply.resume()
    replies.push([reply.statusCode, reply.headers.location])
  }
  server.close()
  server.closeAllConnections()
  expect(replies).toEqual([
    [302, 'https://example.com/stra%C3%9Fe/%CE%A9?q=%C3%BC#%C3%A9'],
    [302, 'https://xn--bcher-kva.example/%C3%A9'],
    [302, 'https://example.com/hello/Zo%C3%AB%20%F0%9F%8E%81?n=Zo%C3%AB%20%F0%9F%8E%81'],
  ])
  expect(await emittedInteractions()).toHaveLength(3)
})

test.each([
  'Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)',
  'YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html',
])('an open through a mail provider’s proxy counts as a person’s, a click does not: %s', async (agent) => {
  await ok(ask(mail.open, { 'user-agent': agent }))
  expect(await emittedInteractions()).toEqual([['open', null]])
  expect(await score()).toBe(1)
  await ok(ask(mail.clicks[0]!, { 'user-agent': agent }), 302)
  expect(await emittedInteractions()).toHaveLength(1)
  // A prefetch by the proxy still counts as a machine.
  await ok(ask((await sendProject(t, sink, account)).open, { 'user-agent': agent, purpose: 'prefetch' }))
  expect(await emittedInteractions()).toHaveLength(1)
})

test('opens and clicks without a User-Agent count as a machine’s', async () => {
  // light-my-request sends its own name if no agent is given.
  const bare = { 'user-agent': '' }
  await ok(ask(mail.open, bare))
  await ok(ask(mail.clicks[0]!, bare), 302)
  expect(await emittedInteractions()).toEqual([])
  expect(await score()).toBe(0)
  expect(isMachine({ method: 'GET', headers: {} }, 'open')).toBe(true)
})

test('an open returns a GIF of one pixel and fires once per message', async () => {
  const reply = await ask(mail.open)
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'image/gif'])
  expect(reply.headers['cache-control']).toBe('private, no-store')
  await ok(ask(mail.open))
  expect(await emittedInteractions()).toEqual([['open', null]])
})

test.each([
  ['HEAD', () => head(mail.clicks[0]!)],
  ['a prefetch', () => ask(mail.clicks[0]!, { ...person, 'sec-purpose': 'prefetch;prerender' })],
  ['an old prefetch', () => ask(mail.clicks[0]!, { ...person, purpose: 'prefetch' })],
  [
    'a bot',
    () =>
      ask(mail.clicks[0]!, {
        'user-agent': 'Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)',
      }),
  ],
])(
  'a click by a machine is stored with isBot, emits no event and adds no score; a later click by a person counts: %s',
  async (_, visit) => {
    await visit()
    expect(await emittedInteractions()).toEqual([])
    expect(await score()).toBe(0)
    const rows = await t.app.sql('select kind, is_bot as "isBot" from interactions where account_id = $1', [account.id])
    expect(rows).toEqual([{ kind: 'click', isBot: true }])
    await ok(ask(mail.clicks[0]!), 302)
    expect(await emittedInteractions()).toHaveLength(1)
    expect(await score()).toBe(3)
  },
)

test('a changed or foreign token is 404, and no link redirects to a URL that is not in the email', async () => {
  const { tokens } = t.app
  const paths = [
    `${mail.clicks[0]}x`,
    `/t/c/${tokens.sign('click', [account.id, mail.id, '99'], null)}`,
    `/t/c/${tokens.sign('click', [account.id, mail.id, 'https://evil.example'], null)}`,
    `/t/c/${tokens.sign('liveview', [account.id, mail.id, '0'], null)}`,
    `/t/c/${tokens.sign('click', ['acc_other', mail.id, '0'], null)}`,
    mail.open.replace('.gif', 'x.gif'),
    mail.open.replace('.gif', ''),
  ]
  for (const path of paths) expect([path, (await ask(path)).status]).toEqual([path, 404])
  expect(await emittedInteractions()).toEqual([])
})
