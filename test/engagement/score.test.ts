import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { setScore, showScore } from '../../src/engagement/engagement.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import {
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import type { Sink } from '../support/smtp.ts'

const email = 'ada@people.example'
const day = 24 * 60 * 60_000
let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount

beforeAll(async () => {
  engaged = await startEngaged({ development: true })
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  account = await engagedAccount(t)
  const { id } = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People', fields: [] }))
  await ok(t.request('POST', '/contacts', { key: account.key, body: { listId: id, email } }))
})
afterAll(() => engaged.close())

const work = <T>(run: Parameters<TestApp['app']['work']>[2]) => t.app.work(account.id, 'cli:test', run) as Promise<T>
const score = async () => (await t.app.work(account.id, 'cli:test', (w) => showScore(w, email))).score
const set = (value: number) => work((w) => setScore(w, email, value))
const hot = async () => (await t.events(account.id)).filter(({ type }) => type === 'lead.hot').map(({ data }) => data)

test('vote 5, rating 5, quiz 5, form 10; a changed answer counts once, and the score halves in 30 days', async () => {
  const mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'colour', 'Red'))
  await ok(answer(t, mail, 'colour', 'Blue'))
  await ok(answer(t, mail, 'stars', 3))
  await ok(answer(t, mail, 'knots', '1 km/h'))
  await ok(answer(t, mail, 'about', { company: 'Acme' }))
  expect(await score()).toBeCloseTo(25, 1)
  await t.advance(30 * day)
  expect(await score()).toBeCloseTo(12.5, 1)
})

test('reaching 50 fires lead.hot, and again only after the score was below 40', async () => {
  await set(48)
  const mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'colour', 'Red'))
  await ok(answer(t, mail, 'stars', 3))
  expect(await hot()).toEqual([
    {
      contact: expect.objectContaining({ email }),
      score: expect.closeTo(53, 1),
      previousScore: expect.closeTo(48, 1),
      threshold: 50,
    },
  ])
  await set(45)
  await set(60)
  expect(await hot()).toHaveLength(1)
  await set(39)
  await set(60)
  expect(await hot()).toHaveLength(2)
})

test('an address in no list is not a lead: its score grows and nothing fires', async () => {
  const mail = await sendProject(t, sink, account, { to: 'nobody@people.example' })
  await t.app.work(account.id, 'cli:test', (w) => setScore(w, 'nobody@people.example', 49))
  await ok(answer(t, mail, 'colour', 'Red'))
  const shown = await t.app.work(account.id, 'cli:test', (w) => showScore(w, 'nobody@people.example'))
  expect(shown).toMatchObject({ score: expect.closeTo(54, 1), hot: true })
  expect(await hot()).toEqual([])
})

test('20 concurrent answers add up', async () => {
  const mails = await Promise.all(Array.from({ length: 5 }, () => sendProjectAlone()))
  await Promise.all(
    mails.flatMap((token) => ['colour', 'stars'].map((id) => answer(t, token, id, id === 'stars' ? 2 : 'Red'))),
  )
  expect(await score()).toBeCloseTo(50, 1)
  expect(await hot()).toHaveLength(1)
})

/** Sends several emails at once, unlike `sendProject`, and signs the tokens of their live views. */
const sendProjectAlone = async () => {
  const { body } = await ok(
    t.request('POST', '/send', {
      key: account.key,
      body: { to: email, projectId: account.projectId },
    }),
  )
  return { token: t.app.tokens.sign('liveview', [account.id, body.id], null) } as Awaited<
    ReturnType<typeof sendProject>
  >
}
