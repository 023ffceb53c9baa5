import { expect, test } from 'vitest'
import { purgeRateWindows } from '../../src/accounts/accounts.admission.ts'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { admit, createKey } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import type { Sql } from '../../src/store/database.ts'
import { ok, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'

const t = useApp({ env: { SVC_RATE_LIMIT: '60', SVC_RATE_LIMIT_WEBHOOKS: '30' } })

const times = <T>(n: number, run: (i: number) => Promise<T>) => Promise.all(Array.from({ length: n }, (_, i) => run(i)))

/** Returns how many of the calls are answered with each status. */
const statuses = async (n: number, call: () => Promise<{ status: number }>): Promise<Record<number, number>> => {
  const counts: Record<number, number> = {}
  for (const { status } of await times(n, call)) counts[status] = (counts[status] ?? 0) + 1
  return counts
}

test('60 calls a minute pass, the 61st is 429 with Retry-After', async () => {
  const { key } = await t.account()
  const first = await t.request('GET', '/lists', { key })
  expect(first.headers).toMatchObject({ 'ratelimit-limit': '60', 'ratelimit-remaining': '59', 'ratelimit-reset': '60' })
  await times(58, () => ok(t.request('GET', '/lists', { key })))
  expect((await ok(t.request('GET', '/lists', { key }))).headers['ratelimit-remaining']).toBe('0')
  const over = await t.request('GET', '/lists', { key })
  expect(over.status).toBe(429)
  expect(over.body).toEqual({ error: 'Rate limit exceeded' })
  expect(Number(over.headers['retry-after'])).toBeGreaterThan(0)
  expect(Number(over.headers['retry-after'])).toBeLessThanOrEqual(60)
  expect(over.headers['ratelimit-remaining']).toBe('0')
})

test('429 comes before 400, and each family and each key has its own window', async () => {
  const one = await t.account()
  const two = await t.account()
  expect(await statuses(60, () => t.request('GET', '/contacts', { key: one.key }))).toEqual({ 400: 60 })
  expect((await t.request('POST', '/contacts', { key: one.key, body: '{' })).status).toBe(429)
  expect((await t.request('GET', '/lists', { key: one.key })).status).toBe(200)
  expect((await t.request('GET', '/contacts', { key: two.key })).status).toBe(400)
})

test('webhook routes are limited to 30 a minute together', async () => {
  const { key } = await t.account()
  const replies = await times(15, () => t.request('GET', '/webhooks', { key }))
  expect(await statuses(15, () => t.request('DELETE', '/webhooks/whk_none', { key }))).toEqual({ 404: 15 })
  expect(replies[0]!.headers['ratelimit-limit']).toBe('30')
  expect((await t.request('GET', '/webhooks', { key })).status).toBe(429)
})

test('a 401 uses no limit', async () => {
  const { key, keyId, id } = await t.account()
  expect(await statuses(5, () => t.request('GET', '/lists', { key: `${key}x` }))).toEqual({ 401: 5 })
  expect((await t.request('GET', '/lists', { key })).headers['ratelimit-remaining']).toBe('59')
  await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  expect((await t.request('GET', '/lists', { key })).status).toBe(401)
  const [row] = await t.app.sql<{ used: number }>('select used from rate_windows where key_id = $1', [keyId])
  expect(row?.used).toBe(1)
})

test('a window ends after a minute, and 429 responses do not extend it', async () => {
  const { key, keyId } = await t.account()
  expect(await statuses(70, () => t.request('GET', '/lists', { key }))).toEqual({ 200: 60, 429: 10 })
  await t.app.sql(`update rate_windows set started_at = started_at - interval '60 seconds' where key_id = $1`, [keyId])
  expect((await t.request('GET', '/lists', { key })).headers['ratelimit-remaining']).toBe('59')
})

test('a key without the required scope is counted, and 429 comes before 403', async () => {
  const account = await t.account()
  const { key } = await t.app.work(account.id, 'cli:test', (work) => createKey(work, { name: 'x', scopes: ['send'] }))
  expect(await statuses(61, () => t.request('GET', '/lists', { key }))).toEqual({ 403: 60, 429: 1 })
})

test('the limit is exact across daemons that share the database', async () => {
  const { key } = await t.account()
  const other = await openApp(readConfig(t.env))
  const admitted = await times(100, (i) => admit(i % 2 ? other : t.app, key, 'lists', 60))
  await other.close()
  expect(admitted.filter((a) => a!.remaining >= 0)).toHaveLength(60)
})

test('concurrent calls of one key are counted by at most three statements, each with its own number', async () => {
  const { key } = await t.account()
  const asked: unknown[] = []
  const sql: Sql = (query, ...values) => {
    asked.push(query)
    return t.app.sql(query, ...values)
  }
  const { database } = t.app
  const left = await times(100, async () => (await admit({ sql, database }, key, 'deals', 60))!.remaining)
  expect(left.toSorted((a, b) => b - a)).toEqual([
    ...Array.from({ length: 60 }, (_, i) => 59 - i),
    ...Array(40).fill(-1),
  ])
  expect(asked.length).toBeLessThanOrEqual(3)
  expect((await t.request('GET', '/pipelines', { key })).headers['ratelimit-remaining']).toBe('59')
})

test('concurrent calls of different keys and families are counted by at most three statements, each in its own window', async () => {
  const accounts = [await t.account(), await t.account(), await t.account()]
  const asked: unknown[] = []
  const sql: Sql = (query, ...values) => {
    asked.push(query)
    return t.app.sql(query, ...values)
  }
  const { database } = t.app
  const families = ['deals', 'lists']
  const left = await times(120, async (i) => {
    const { key, keyId, id } = accounts[i % 3]!
    const family = families[i % 2]!
    const admitted = await admit({ sql, database }, i % 40 === 39 ? `${key}x` : key, family, 60)
    if (admitted) expect(admitted).toMatchObject({ keyId, accountId: id })
    return { window: `${i % 3} ${family}`, remaining: admitted?.remaining ?? null }
  })
  expect(left.filter(({ remaining }) => remaining === null)).toHaveLength(3)
  for (const window of new Set(left.map((one) => one.window))) {
    const counted = left.filter((one) => one.window === window && one.remaining !== null)
    expect(counted.map(({ remaining }) => remaining)).toEqual(counted.map((_, n) => 59 - n))
  }
  expect(asked.length).toBeLessThanOrEqual(3)
})

test('the purge of old windows does not deadlock with calls that share a statement', async () => {
  const keys = [await t.account(), await t.account(), await t.account()]
  const [first, second, third] = keys.toSorted((a, b) => (a.keyId < b.keyId ? -1 : 1))
  // Without an order, the purge would lock rows as they were inserted: it would hold the second and wait for the third, while the
  // calls hold the first and wait for the second. Both would deadlock once the purge came to the first.
  for (const { keyId } of [second!, third!, first!])
    await t.app.sql(
      `insert into rate_windows (key_id, family, started_at, used) values ($1, 'deals', now() - interval '2 hours', 9)`,
      [keyId],
    )
  const holder = await t.app.database.connect()
  await holder.query('begin')
  await holder.query('select from rate_windows where key_id = $1 for update', [third!.keyId])
  const purge = purgeRateWindows(t.app)
  await Promise.race([purge, untilLocked(t.app.database, 1)])
  // The first call has its own statement; the others share the next.
  const called = Promise.all(
    [first!, first!, second!].map(({ key }, i) => admit(t.app, key, i ? 'deals' : 'lists', 60)),
  )
  await Promise.race([called, untilLocked(t.app.database, 2)])
  await holder.query('commit')
  await holder.end()
  await purge
  expect((await called).map((admitted) => admitted!.remaining)).toEqual([59, 59, 59])
})

test('a revoked key stops at the next request on every daemon', async () => {
  const { key, keyId, id } = await t.account()
  const other = await openApp(readConfig(t.env))
  expect(await admit(other, key, 'lists', 60)).not.toBeNull()
  await t.app.work(id, 'cli:test', (work) => revokeKey(work, keyId))
  expect(await admit(other, key, 'lists', 60)).toBeNull()
  await other.close()
})

test('a call that a test only needs for its effect fails the test if it is refused', async () => {
  const { key } = await t.account()
  await expect(ok(t.request('GET', '/lists'))).rejects.toThrow(/^The call was answered with 401: \{"error":/)
  await ok(t.request('GET', '/lists'), 401)
  await expect(ok(t.request('GET', '/lists', { key }), 401)).rejects.toThrow(/ 200: /)
})
