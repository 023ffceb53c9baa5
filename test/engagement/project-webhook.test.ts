import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { setProjectWebhook, testProjectWebhook, unsetProjectWebhook } from '../../src/engagement/engagement.webhook.ts'
import { deleteProject } from '../../src/studio/studio.ts'
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

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount

beforeAll(async () => {
  engaged = await startEngaged({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '203.0.113.0/24' } })
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  account = await engagedAccount(t)
})
afterAll(() => engaged.close())

const url = 'http://203.0.113.9/project'
const set = (ref: string) => setProjectWebhook(t.app, account.id, 'cli:test', ref, url)
const queued = () =>
  t.app.sql<{ url: string; key: string; type: string }>(
    `select t.url, p.key, p.type from pending_deliveries p join delivery_targets t on t.id = p.target_id
     where p.account_id = $1 order by t.url desc, p.key`,
    [account.id],
  )

test("a project's webhook gets its interactions beside the account's, as the same event, and nothing else", async () => {
  const webhook = await set('Welcome')
  expect(webhook).toMatchObject({
    projectId: account.projectId,
    url,
    status: 'active',
    secret: expect.stringMatching(/^whsec_/),
  })
  const mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'about', { company: 'Acme' }))
  const events = await t.events(account.id)
  expect(events.map(({ type }) => type).sort()).toEqual(['form.submitted', 'interaction.received'])
  const interaction = events.find(({ type }) => type === 'interaction.received')
  expect(await queued()).toEqual([
    ...events.map(({ id: key, type }) => ({ url: 'https://receiver.example/hook', key, type })),
    { url, key: interaction!.id, type: 'interaction.received' },
  ])
})

test("a project's webhook does not receive interactions of other projects", async () => {
  const other = await engagedAccount(t)
  await set('Welcome')
  await ok(answer(t, await sendProject(t, sink, other), 'colour', 'Red'))
  expect(await queued()).toEqual([])
})

test('the webhook has its own secret; setting it again keeps the id and changes the secret; after unset it receives nothing', async () => {
  const first = await set(account.projectId)
  const second = await set('Welcome')
  expect([second.id === first.id, second.secret === first.secret]).toEqual([true, false])
  const { key } = (await t.app.work(account.id, 'cli:test', (work) =>
    testProjectWebhook(work, 'Welcome'),
  )) as never as { key: string }
  expect(await queued()).toHaveLength(1)
  expect(JSON.stringify(await t.events(account.id))).toContain('"test":true')
  expect(key).not.toBe('')
  await t.app.work(account.id, 'cli:test', (work) => unsetProjectWebhook(work, 'Welcome'))
  await ok(answer(t, await sendProject(t, sink, account), 'colour', 'Red'))
  expect((await queued()).map((row) => row.url)).toEqual(['https://receiver.example/hook'])
})

test('a deleted project has no webhook: answers to its sent emails are not posted, and what was pending is cancelled', async () => {
  await set('Welcome')
  const mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'colour', 'Red'))
  await t.app.work(account.id, 'cli:test', (work) => deleteProject(work, account.projectId))
  await ok(answer(t, mail, 'colour', 'Blue'))
  expect((await queued()).map((row) => row.url)).toEqual(Array(2).fill('https://receiver.example/hook'))
})

test('answers of an erased address stay counted, without the address and the texts', async () => {
  const { id: listId } = await t.app.work(account.id, 'cli:test', (work) =>
    createList(work, { name: 'People', fields: [] }),
  )
  await ok(t.request('POST', '/contacts', { key: account.key, body: { listId, email: 'ada@people.example' } }))
  const mail = await sendProject(t, sink, account)
  await ok(answer(t, mail, 'colour', 'Red'))
  await ok(answer(t, mail, 'about', { company: 'Acme' }))
  await t.app.work(account.id, 'cli:test', (work) => eraseContact(work, 'ada@people.example', { dryRun: false }))
  expect(
    await t.app.sql('select email, value from interactions where account_id = $1 order by kind', [account.id]),
  ).toEqual([
    { email: '', value: null },
    { email: '', value: 'Red' },
  ])
  expect(await t.app.sql('select 1 from lead_scores where account_id = $1', [account.id])).toEqual([])
})
