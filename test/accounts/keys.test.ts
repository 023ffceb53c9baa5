import { expect, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { createKey, listKeys, noteUse, type Scope, scopes, scopesOf } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadRoutes } from '../../src/app/features.ts'
import { type Method, ok, type TestAccount, useApp } from '../support/app.ts'
import { eventually, subscribe } from '../support/deliveries.ts'

const t = useApp({ development: true })

test('a key is svc_live_ and 32 random bytes in base 62; only its hash, a prefix and four characters are stored', async () => {
  const { id, key, keyId } = await t.account()
  expect(key).toMatch(/^svc_live_[0-9A-Za-z]{43}$/)
  const [row] = await t.app.sql<Record<string, string>>('select * from api_keys where id = $1', [keyId])
  expect(JSON.stringify(row)).not.toContain(key.slice(9, -4))
  expect(row).toMatchObject({ account_id: id, prefix: key.slice(0, 13), last_four: key.slice(-4) })
  const [view] = await t.app.work(id, 'cli:test', listKeys)
  expect(JSON.stringify(view)).not.toContain(key.slice(13, -4))
})

test('a key of another account can’t be revoked', async () => {
  const mine = await t.account()
  const other = await t.account()
  await expect(t.app.work(mine.id, 'cli:test', (work) => revokeKey(work, other.keyId))).rejects.toMatchObject({
    kind: 'not_found',
  })
  expect((await t.request('GET', '/lists', { key: other.key })).status).toBe(200)
})

test('a second revocation keeps the time of the first', async () => {
  const { id } = await t.account()
  const { id: keyId } = await t.app.work(id, 'cli:test', (work) => createKey(work, { name: 'x' }))
  const first = await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  const second = await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  expect(second.revokedAt).toBe(first.revokedAt)
})

const newKey = (account: TestAccount, more: { scopes?: Scope[]; expiresAt?: number } = {}) =>
  t.app.work(account.id, 'cli:test', (work) => createKey(work, { name: 'x', ...more }))
const keyOf = async (account: TestAccount, id: string) =>
  (await t.app.work(account.id, 'cli:test', listKeys)).find((key) => key.id === id)!
const outOfScope = { error: 'This key does not have the required scope' }

test('every route that takes a key has a scope, and contacts:read allows reading contacts and lists only', async () => {
  const routes = (await loadRoutes()).filter(({ isOpen }) => !isOpen)
  const covered = routes.map((route) => [`${route.method} ${route.path}`, scopesOf(route)] as const)
  for (const [route, allowed] of covered) expect([route, allowed.length > 0]).toEqual([route, true])
  expect(new Set(covered.flatMap(([, allowed]) => allowed))).toEqual(new Set(scopes))
  expect(covered.filter(([, allowed]) => allowed.includes('contacts:read')).map(([route]) => route)).toEqual([
    'GET /contacts',
    'GET /lists',
    'GET /lists/:id/contacts',
  ])
})

test('a key with a scope is refused with 403 by every route that the scope does not allow, and by no other', async () => {
  const account = await t.account()
  const routes = (await loadRoutes()).filter(({ isOpen }) => !isOpen)
  for (const scope of scopes) {
    const { key } = await newKey(account, { scopes: [scope] })
    for (const route of routes) {
      const { status, body } = await t.request(route.method as Method, route.path.replace(':id', 'none'), {
        key,
        body: '{',
      })
      const name = `${scope}: ${route.method} ${route.path}`
      if (scopesOf(route).includes(scope)) expect([name, body]).not.toEqual([name, outOfScope])
      else expect([name, status, body]).toEqual([name, 403, outOfScope])
    }
  }
  const { key } = await newKey(account, { scopes: ['send', 'deals'] })
  expect((await t.request('GET', '/pipelines', { key })).status).toBe(200)
  expect((await t.request('GET', '/lists', { key })).status).toBe(403)
  expect((await t.request('GET', '/lists', { key: account.key })).status).toBe(200)
})

test('an unknown scope, none, and an expiry that is past or too far away are refused', async () => {
  const account = await t.account()
  const now = t.app.now().getTime()
  for (const wrong of [
    { scopes: [] },
    { scopes: ['contact' as Scope] },
    { expiresAt: now - 1 },
    { expiresAt: now + 4000 * 86_400_000 },
    { expiresAt: Number.NaN },
  ])
    await expect(newKey(account, wrong)).rejects.toMatchObject({ kind: 'invalid' })
  expect(await t.app.work(account.id, 'cli:test', listKeys)).toHaveLength(1)
})

test('an expired key is refused as a revoked one is, and what it created stays', async () => {
  const account = await t.account()
  const { id, key } = await newKey(account, { expiresAt: t.app.now().getTime() + 90 * 86_400_000 })
  const hook = await subscribe(t.app, account.id, 'http://127.0.0.1:9/x', id)
  expect((await t.request('GET', '/lists', { key })).status).toBe(200)
  await t.advance(90 * 86_400_000)
  const { status, body, headers } = await t.request('GET', '/lists', { key })
  expect([status, body]).toEqual([401, { error: 'Missing or invalid Authorization: Bearer <apiKey>' }])
  expect(headers['www-authenticate']).toBe('Bearer')
  const { body: listed } = await ok(t.request('GET', '/webhooks', { key: account.key }))
  expect(listed.subscriptions).toMatchObject([{ id: hook.id, apiKeyId: id, status: 'active' }])
  expect(await keyOf(account, id)).toMatchObject({ revokedAt: null, scopes: null })
})

test('the minute of the last use is written once a minute and daemon, and refused calls do not count', async () => {
  const account = await t.account()
  const { id, key } = await newKey(account, { scopes: ['contacts'] })
  const { id: idle } = await newKey(account)
  const { key: other } = await newKey(account)
  const usedAt = async () => (await keyOf(account, id)).lastUsedAt
  const rowOf = async () => (await t.app.sql('select xmin::text, ctid::text from api_keys where id = $1', [id]))[0]
  /** Ends once every use that was noted before has been written: `other` is written after them, in a statement of its own. */
  const settled = async () => {
    await ok(t.request('GET', '/lists', { key: other }))
    await eventually(async () =>
      (await t.app.work(account.id, 'cli:test', listKeys)).some(({ lastUsedAt }) => lastUsedAt),
    )
  }
  expect((await t.request('GET', '/deals', { key })).status).toBe(405)
  expect((await t.request('GET', '/pipelines', { key })).status).toBe(403)
  await settled()
  expect(await usedAt()).toBeNull()

  await t.advance(60_000 - (t.app.now().getTime() % 60_000))
  const minute = Math.floor(t.app.now().getTime() / 60_000) * 60_000
  expect((await t.request('GET', '/lists', { key })).status).toBe(200)
  expect((await t.request('GET', '/contacts?email=a@b.example', { key })).status).toBe(200)
  await eventually(usedAt)
  expect(await usedAt()).toBe(minute)
  const written = await rowOf()
  for (let i = 0; i < 5; i++) await ok(t.request('GET', '/lists', { key }))
  const second = await openApp(readConfig(t.env))
  noteUse(second, id)
  await second.close()
  expect(await rowOf()).toEqual(written)

  await t.advance(60_000)
  await ok(t.request('GET', '/lists', { key }))
  await eventually(async () => (await usedAt()) === minute + 60_000)
  expect((await keyOf(account, idle)).lastUsedAt).toBeNull()
})

test('the use of a key whose row is locked is left out, and that of the others is written without waiting', async () => {
  const account = await t.account()
  const [locked, free] = [await newKey(account), await newKey(account)]
  const holder = await t.app.database.connect()
  await holder.query('begin')
  await holder.query('select from api_keys where id = $1 for no key update', [locked.id])
  for (const { id } of [locked, free]) noteUse(t.app, id)
  await eventually(async () => (await keyOf(account, free.id)).lastUsedAt)
  await holder.query('commit')
  await holder.end()
  expect((await keyOf(account, locked.id)).lastUsedAt).toBeNull()
})
