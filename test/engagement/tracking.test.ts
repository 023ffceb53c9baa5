import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestApp } from '../support/app.ts'
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

const ask = (path: string, headers: Record<string, string> = person) => t.request('GET', path as '/', { headers })
const head = (path: string) => t.server.fastify.inject({ method: 'HEAD', url: path, headers: person })
const told = async () => (await t.events(account.id)).map(({ data }) => [data.interaction.kind, data.interaction.value])
const score = async () => {
  const [row] = await t.app.sql<{ points: number }>('select points from lead_scores where account_id = $1', [
    account.id,
  ])
  return Math.round(row?.points ?? 0)
}

test('a link of the mail leads on by 302 to where its author wanted, and is told once a link and message', async () => {
  const [harbour, start] = mail.clicks
  const reply = await ask(harbour!)
  expect([reply.status, reply.headers.location]).toEqual([302, 'https://example.com/harbour'])
  await ask(harbour!)
  expect((await ask(start!)).headers.location).toBe('https://example.com/start?email=')
  expect(await told()).toEqual([
    ['click', 'https://example.com/harbour'],
    ['click', 'https://example.com/start?email='],
  ])
  const [event] = await t.events(account.id)
  expect(event.data.interaction.blockId).toBe('picture')
})

test('the text part has the same links', () => {
  for (const path of mail.clicks) expect(mail.text).toContain(`${publicUrl}${path}`)
})

test('an open is a GIF of one pixel, told once a message', async () => {
  const reply = await ask(mail.open)
  expect([reply.status, reply.headers['content-type']]).toEqual([200, 'image/gif'])
  expect(reply.headers['cache-control']).toBe('private, no-store')
  await ask(mail.open)
  expect(await told()).toEqual([['open', null]])
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
  'what a machine does is kept as its own, neither told nor scored, and a person counts after it: %s',
  async (_, visit) => {
    await visit()
    expect(await told()).toEqual([])
    expect(await score()).toBe(0)
    const rows = await t.app.sql('select kind, is_bot as "isBot" from interactions where account_id = $1', [account.id])
    expect(rows).toEqual([{ kind: 'click', isBot: true }])
    await ask(mail.clicks[0]!)
    expect(await told()).toHaveLength(1)
    expect(await score()).toBe(3)
  },
)

test('a changed or foreign token is 404, and no link leads to what is not in the mail', async () => {
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
  expect(await told()).toEqual([])
})
