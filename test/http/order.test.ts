import { expect, test } from 'vitest'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { createKey } from '../../src/accounts/accounts.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { useApp } from '../support/app.ts'
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
