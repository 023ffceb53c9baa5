import { expect, test } from 'vitest'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { createKey } from '../../src/accounts/accounts.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { ok, useApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })

const setPro = (limits: Parameters<typeof setPlanLimits>[2]) =>
  t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'pro', limits))

const bodies: [string, string, Record<string, string>][] = [
  ['malformed JSON', '{', {}],
  ['a body of another type', 'x', { 'content-type': 'text/plain' }],
  ['a body without its fields', '{}', {}],
  ['a body that is too large', `"${'x'.repeat(9_000_000)}"`, {}],
]

test.each([
  ['POST', '/send', { sendApiCalls: 0 }, 429, 'Monthly Send API quota for your plan exceeded'],
  ['POST', '/send', { sendApiCalls: 10, sends: 0 }, 429, 'Monthly send quota for your plan exceeded'],
  ['GET', '/webinars', { embedApi: 0 }, 403, "The Embed API isn't included in your plan"],
  ['POST', '/webinars', { embedApi: 0 }, 403, "The Embed API isn't included in your plan"],
  ['POST', '/webinars', { embedApi: 10, broadcastMinutes: 0 }, 403, "Live sessions aren't included in your plan"],
  ['POST', '/webinars/web_none/register', { embedApi: 0 }, 403, "The Embed API isn't included in your plan"],
  ['POST', '/courses/crs_none/enroll', { embedApi: 0 }, 403, "The Embed API isn't included in your plan"],
  ['POST', '/courses/crs_none/embed-token', { embedApi: 0 }, 403, "The Embed API isn't included in your plan"],
] as const)('%s %s with the plan’s %j is %i whatever the body', async (method, path, limits, status, error) => {
  await setPro({ sendApiCalls: 100, sends: 100, embedApi: 100, broadcastMinutes: 100, ...limits })
  const { key } = await sendingAccount(t, { plan: 'pro' })
  for (const [name, body, headers] of bodies) {
    const reply = await t.request(method, path, { key, body, headers })
    expect([name, reply.status, reply.body]).toEqual([name, status, { error }])
  }
  for (const [name, body, headers] of bodies)
    expect([name, (await t.request(method, path, { key: `${key}x`, body, headers })).status]).toEqual([name, 401])
})

test('a missing scope is 403 before plan and quota, and before a replay', async () => {
  await setPro({ sendApiCalls: 0, embedApi: 0 })
  const account = await sendingAccount(t, { plan: 'pro' })
  const { key } = await t.app.work(account.id, 'cli:test', (work) =>
    createKey(work, { name: 'x', scopes: ['contacts:read'] }),
  )
  for (const path of ['/send', '/webinars']) {
    const reply = await t.request('POST', path, { key, body: '{', headers: { 'idempotency-key': 'one' } })
    expect([reply.status, reply.body]).toEqual([403, { error: 'This key does not have the required scope' }])
  }
})

test.each(['/deals', '/send'])('POST %s answers a used Idempotency-Key before it reads the body', async (path) => {
  await setPro({ sendApiCalls: 100, sends: 100 })
  const account = await sendingAccount(t, { plan: 'pro' })
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'All' })
    await writeContacts(work, id, [{ email: 'a@b.example', fields: {} }], new Map())
  })
  const call = (body: unknown, headers = {}) =>
    t.request('POST', path, { key: account.key, body, headers: { 'idempotency-key': 'one', ...headers } })
  const first = await call(
    path === '/deals'
      ? { title: 'x', email: 'a@b.example' }
      : { to: 'a@b.example', subject: 'x', html: 'x', text: 'x' },
  )
  expect(first.status).toBeLessThan(300)
  for (const [name, body, headers] of bodies) {
    const again = await call(body, headers)
    expect([name, again.status, again.headers['idempotent-replayed']]).toEqual([name, 200, 'true'])
  }
})

const list = '/lists/lst_none/contacts'
const audience = { listId: 'lst_none', projectId: 'prj_none' }

test.each([
  ['GET', `${list}?where=plan%20%3D`, undefined],
  ['GET', `${list}?cursor=x`, undefined],
  ['POST', '/segments', { name: 'x', listId: 'lst_none', where: 'plan =' }],
  ['POST', '/segments', { name: ' ', listId: 'lst_none', where: 'plan = pro' }],
  ['PATCH', '/segments/seg_none', { where: 'plan =' }],
  ['PATCH', '/segments/seg_none', { name: ' ' }],
  ['POST', '/broadcasts', { ...audience, where: 'plan =' }],
  ['POST', '/broadcasts', { ...audience, where: 'plan = pro', scheduledAt: 1 }],
  ['POST', '/broadcasts', { ...audience, subject: ['a', 'a'] }],
  ['POST', '/broadcasts', { ...audience, subject: ['a', 'b'], share: 20 }],
  ['PATCH', '/broadcasts/bct_none', { where: 'plan =' }],
  ['PATCH', '/broadcasts/bct_none', { scheduledAt: 1 }],
] as const)('%s %s with %j is 400 before what it does not find', async (method, path, body) => {
  const { key } = await t.account()
  const reply = await t.request(method, path, { key, ...(body && { body }) })
  expect([reply.status, reply.body]).toEqual([400, { error: expect.any(String) }])
})

test('a filter without a mistake of its own leaves a missing list 404', async () => {
  const { key } = await t.account()
  const replies = [
    await t.request('GET', `${list}?where=plan%20%3D%20pro`, { key }),
    await t.request('POST', '/segments', { key, body: { name: 'x', listId: 'lst_none', where: 'plan = pro' } }),
    await t.request('POST', '/broadcasts', { key, body: { ...audience, where: 'plan = pro' } }),
  ]
  expect(replies.map(({ status }) => status)).toEqual([404, 404, 404])
})

test('a cursor of other rows is 400', async () => {
  const { id, key } = await t.account()
  const people = await t.app.work(id, 'cli:test', async (work) => {
    const made = await createList(work, { name: 'People' })
    const contacts = ['a', 'b'].map((name) => ({ email: `${name}@people.example`, fields: {} }))
    await writeContacts(work, made.id, contacts, new Map())
    return made.id
  })
  const { next } = (await ok(t.request('GET', `/lists/${people}/contacts?limit=1`, { key }))).body
  for (const path of ['/segments', '/broadcasts', '/sends', '/suppressions', '/topics'] as const)
    expect([path, (await t.request('GET', `${path}?cursor=${next}`, { key })).status]).toEqual([path, 400])
})
