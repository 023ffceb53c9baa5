import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { openEmbedded, stopEmbedded } from '../../src/store/embedded.ts'
import { claimDue, leaseMs, type Rooms } from '../../src/webhooks/delivery.claim.ts'
import { judge, recordResults } from '../../src/webhooks/delivery.record.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe, tally } from '../support/deliveries.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

let t: TestApp
let account: TestAccount
let receiver: Receiver
const allow = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }

beforeAll(async () => {
  t = await startApp({ env: allow })
})
beforeEach(async () => {
  account = await t.account()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await t.app.sql('delete from deliveries')
})
afterAll(() => t?.close())

const deliveries = () => deliveriesOf(t.app, account.id)
const counts = () => tally(t.app, account.id)
const keys = (of = receiver) => of.requests.map((request) => request.headers['x-service-idempotency-key'])

const wide: Rooms = { total: 1000, endpoints: {}, endpointDefault: 1000, accounts: {}, accountDefault: 1000 }
const ok = { ok: true, status: 200, error: null, retryAfterSeconds: null, durationMs: 5, snippet: '', stopped: false }
const failed = { ...ok, ok: false, status: 500, error: 'answered 500' }

describe('claiming', () => {
  test('takes a delivery for as long as the lease, and again after it', async () => {
    const now = new Date()
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 3)
    const later = new Date(now.getTime() + 1000)
    expect(await claimDue(t.app.sql, later, wide)).toHaveLength(3)
    expect(await claimDue(t.app.sql, later, wide)).toHaveLength(0)
    const again = await claimDue(t.app.sql, new Date(later.getTime() + leaseMs), wide)
    expect(again.map(({ claim }) => claim)).toEqual([2, 2, 2])
  })

  test('leaves what is not due, and what belongs to a webhook that is disabled or gone', async () => {
    const now = new Date(Date.now() + 1000)
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await subscribe(t.app, account.id, receiver.url)).id)
    await emitEvents(t.app, account.id)
    await t.app.sql(`update webhooks set status = 'disabled' where id = $1`, [ids[0]])
    await t.app.sql('delete from webhooks where id = $1', [ids[1]])
    await t.app.sql(`update deliveries set due_at = $2 where webhook_id = $1`, [ids[2], new Date(now.getTime() + 1)])
    expect(await claimDue(t.app.sql, now, wide)).toEqual([])
  })

  test('takes the oldest of an endpoint, as many as it has room for', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    const old = new Date(Date.now() - 60_000)
    await emitEvents(t.app, account.id, 20)
    const rows = await deliveries()
    const oldest = rows.slice(10, 15).map((row) => row.id)
    await t.app.sql('update deliveries set due_at = $2 where id = any($1)', [oldest, old])
    const claimed = await claimDue(t.app.sql, new Date(Date.now() + 1000), { ...wide, endpoints: { [id]: 5 } })
    expect(claimed.map((row) => row.id).sort()).toEqual(oldest)
    expect(await claimDue(t.app.sql, new Date(), { ...wide, endpoints: { [id]: 0 } })).toEqual([])
  })

  test('lets accounts take turns where room is short, and endpoints within an account', async () => {
    const other = await t.account()
    const [big, small] = [
      await subscribe(t.app, account.id, receiver.url),
      await subscribe(t.app, other.id, receiver.url),
    ]
    await emitEvents(t.app, account.id, 500)
    const late = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 500)
    await emitEvents(t.app, other.id, 8)
    const claimed = await claimDue(t.app.sql, new Date(Date.now() + 1000), { ...wide, total: 20 })
    const of = (id: string) => claimed.filter(({ webhookId }) => webhookId === id).length
    expect([of(big.id), of(late.id), of(small.id)]).toEqual([6, 6, 8])
  })

  test('keeps an account within its room', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 50)
    const rooms = { ...wide, accounts: { [account.id]: 7 } }
    expect(await claimDue(t.app.sql, new Date(Date.now() + 1000), rooms)).toHaveLength(7)
  })

  test('gives each delivery to one of those who claim at once', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 400)
    const now = new Date(Date.now() + 1000)
    const rooms = { ...wide, total: 100 }
    const claims = await Promise.all(Array.from({ length: 8 }, () => claimDue(t.app.sql, now, rooms)))
    const ids = claims.flat().map(({ id }) => id)
    expect(ids.length).toBeGreaterThanOrEqual(100)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

describe('recording', () => {
  test('is for the newest claim alone: the late result of one whose lease has ended is dropped', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id)
    const now = new Date(Date.now() + 1000)
    const [first] = await claimDue(t.app.sql, now, wide)
    const later = new Date(now.getTime() + leaseMs + 1)
    const [second] = await claimDue(t.app.sql, later, wide)
    await recordResults(t.app.database, [judge(first!, failed, later.getTime(), 0.5)], later)
    expect(await deliveries()).toMatchObject([{ status: 'pending', tries: 0, attempts: [], claim: 2 }])
    await recordResults(t.app.database, [judge(second!, ok, later.getTime(), 0.5)], later)
    await recordResults(t.app.database, [judge(first!, failed, later.getTime(), 0.5)], later)
    expect(await deliveries()).toMatchObject([{ status: 'delivered', tries: 1, attempts: [{ status: 200 }] }])
  })

  test('of a webhook deleted meanwhile changes nothing', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id)
    const now = new Date(Date.now() + 1000)
    const claims = await claimDue(t.app.sql, now, wide)
    await t.request('DELETE', `/webhooks/${id}`, { key: account.key })
    await recordResults(t.app.database, [judge(claims[0]!, ok, now.getTime(), 0.5)], now)
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', attempts: [] }])
  })
})

describe('the loop', () => {
  test('delivers 3,000 once each, and two loops on one database do no more', async () => {
    await subscribe(t.app, account.id, receiver.url)
    const second = await openApp(readConfig(t.env))
    const loops = [startDeliveries(t.app), startDeliveries(second)]
    for (let i = 0; i < 6; i++) await emitEvents(t.app, account.id, 500)
    await eventually(async () => (await counts()).delivered === 3000, 20_000)
    await Promise.all(loops.map((loop) => loop.stop()))
    await second.close()
    expect(receiver.requests).toHaveLength(3000)
    expect(new Set(keys()).size).toBe(3000)
  })

  test('stops by finishing what is posting and giving the rest back: no failure is counted', async () => {
    receiver.always({ delayMs: 30 })
    await subscribe(t.app, account.id, receiver.url)
    for (let i = 0; i < 4; i++) await emitEvents(t.app, account.id, 500)
    const loop = startDeliveries(t.app)
    await receiver.arrived(600)
    await loop.stop()
    const rows = await deliveries()
    const delivered = rows.filter((row) => row.status === 'delivered')
    expect(delivered.length).toBe(receiver.requests.length)
    expect(rows.length - delivered.length).toBeGreaterThan(0)
    for (const row of rows.filter((row) => row.status !== 'delivered')) {
      expect(row).toMatchObject({ status: 'pending', tries: 0, leasedUntil: null, attempts: [] })
    }
  })

  test('an endpoint that hangs with 5,000 waiting holds back no other account, and soon gets few sockets', async () => {
    const stuck = await openReceiver()
    stuck.always({ mode: 'hang' })
    const hanging = await t.account()
    await subscribe(t.app, hanging.id, stuck.url)
    for (let i = 0; i < 10; i++) await emitEvents(t.app, hanging.id, 500)
    await subscribe(t.app, account.id, receiver.url)
    const loop = startDeliveries(t.app)
    await stuck.arrived(16)
    for (let i = 1; i <= 20; i++) {
      await emitEvents(t.app, account.id)
      await receiver.arrived(i, 2000)
    }
    expect(stuck.requests).toHaveLength(16)
    await stuck.arrived(17, 8000)
    await sleep(500)
    expect(stuck.requests.length).toBeLessThanOrEqual(20)
    await stuck.close()
    await t.app.sql(`update webhooks set status = 'disabled' where account_id = $1`, [hanging.id])
    await loop.stop()
  })

  test('a webhook deleted with 1,000 pending gets no more than what was posting', async () => {
    receiver.always({ delayMs: 150 })
    const { id } = await subscribe(t.app, account.id, receiver.url)
    for (let i = 0; i < 2; i++) await emitEvents(t.app, account.id, 500)
    const loop = startDeliveries(t.app)
    await receiver.arrived(40)
    expect((await t.request('DELETE', `/webhooks/${id}`, { key: account.key })).status).toBe(200)
    const posted = receiver.requests.length
    await sleep(1000)
    expect(receiver.requests.length - posted).toBeLessThanOrEqual(64)
    const { pending = 0, cancelled = 0 } = await counts()
    expect([pending, cancelled > 800]).toEqual([0, true])
    await loop.stop()
  })

  test('a key revoked while its delivery is posting leaves it cancelled, whatever the receiver answers', async () => {
    receiver.always({ delayMs: 500 })
    const { id } = await subscribe(t.app, account.id, receiver.url, account.keyId)
    await emitEvents(t.app, account.id)
    const loop = startDeliveries(t.app)
    await receiver.arrived(1)
    const { revokeKey } = await import('../../src/accounts/accounts.ts')
    await t.app.work(account.id, 'cli:test', (work) => revokeKey(work, account.keyId))
    await loop.stop()
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', attempts: [] }])
    const [webhook] = await t.app.sql('select status, disabled_reason, last_delivery_at from webhooks where id = $1', [
      id,
    ])
    expect(webhook).toEqual({ status: 'disabled', disabled_reason: 'api-key-revoked', last_delivery_at: null })
  })

  test('every connection lost under load costs no delivery, and the loop goes on by itself', async () => {
    receiver.always({ delayMs: 20 })
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 1000)
    const own = await openApp(readConfig(t.env), { orm: false, name: 'victim' })
    const loop = startDeliveries(own)
    for (let i = 1; i <= 3; i++) {
      await receiver.arrived(i * 200)
      await t.app.sql(`select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'victim'`)
    }
    await eventually(async () => (await counts()).delivered === 1000, leaseMs + 10_000)
    expect(new Set(keys()).size).toBe(1000)
    await emitEvents(t.app, account.id)
    await eventually(async () => (await counts()).delivered === 1001)
    await loop.stop()
    await own.close()
  }, 60_000)

  test('a fault that is not the database being away ends it with that fault', async () => {
    const broken = { ...t.app, sql: () => Promise.reject(new Error('not a passing fault')) } as never
    await expect(startDeliveries(broken).stop()).rejects.toThrow('not a passing fault')
  })
})

test('the database server stopped and started under load loses nothing', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-test-'))
  const embedded = await openEmbedded(folder)
  const { DATABASE_URL: _, ...env } = t.env
  const app = await openApp(readConfig({ ...env, SVC_DATA_DIR: folder }), {
    databaseUrl: embedded.url,
    schema: 'migrate',
  })
  const { id } = await app.operate('cli:test', (operation) =>
    createAccount(operation, { name: 'Own', plan: 'unlimited' }),
  )
  receiver.always({ delayMs: 30 })
  await subscribe(app, id, receiver.url)
  await emitEvents(app, id, 500)
  const loop = startDeliveries(app)
  await receiver.arrived(100)
  await stopEmbedded(folder)
  await eventually(
    async () => (await tally(app, id).catch(() => ({ delivered: 0 }))).delivered === 500,
    leaseMs + 30_000,
  )
  expect(new Set(keys()).size).toBe(500)
  await loop.stop()
  await app.close()
  await embedded.close()
  await rm(folder, { recursive: true, force: true })
}, 90_000)
