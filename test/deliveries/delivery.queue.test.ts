import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { type OpenApp, openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { claimDeliveries } from '../../src/deliveries/queue/claim.statement.ts'
import {
  type ClaimCapacity,
  claimDue,
  releaseClaims,
  scheduleUnclaimed,
} from '../../src/deliveries/queue/deliveries.claim.ts'
import { recordResults, resultOf, summarize } from '../../src/deliveries/queue/deliveries.record.ts'
import { recordWithEffects } from '../../src/deliveries/queue/effects.ts'
import { createEndpoints } from '../../src/deliveries/queue/endpoints.ts'
import { postTimeoutMs } from '../../src/deliveries/queue/post.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import type { PostOutcome } from '../../src/net/http.ts'
import { findClaims } from '../../src/queue/claims.ts'
import { alarmStepMs } from '../../src/queue/loop.ts'
import { isUnavailable } from '../../src/store/database.ts'
import type { Statement } from '../../src/store/statement.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import {
  deliveriesOf,
  emitEvents,
  eventually,
  late,
  latePosts,
  startDeliveries,
  subscribe,
  tally,
} from '../support/deliveries.ts'
import { settlesWithin } from '../support/eventually.ts'
import { openProxy } from '../support/proxy.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { limit } from '../support/slowness.ts'

let account: TestAccount
let receiver: Receiver
const allow = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }

const t = useApp({ env: allow })
beforeEach(async () => {
  account = await t.account()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await t.app.sql('delete from pending_deliveries')
})

const deliveries = () => deliveriesOf(t.app, account.id)
const counts = () => tally(t.app, account.id)
const keys = (of = receiver) => of.requests.map((request) => request.headers['x-service-idempotency-key'])

const wide: ClaimCapacity = {
  total: 1000,
  bytes: { small: 0, total: 1e9, hanging: 1e9, accounts: {}, accountDefault: 1e9 },
  requests: [],
  accounts: {},
  accountDefault: 1000,
  unknown: { capacity: 1000, targets: 100, perAccount: 100, accounts: {} },
  hanging: { targets: 10, perAccount: 5, accounts: {} },
}
const answered = {
  ok: true,
  status: 200,
  error: null,
  retryAfterSeconds: null,
  durationMs: 5,
  snippet: '',
  stopped: false,
}
const failed = { ...answered, ok: false, status: 500, error: 'answered 500' }

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

/** Claims what is due, as a process that has just started does. */
const claim = async (capacity: Partial<ClaimCapacity> = {}, worker = 1) => {
  await scheduleUnclaimed(t.app.sql)
  return claimDue(t.app.sql, worker, { ...wide, ...capacity })
}
/** Frees the claims of a worker that has no row; returns how many. */
const freeClaimsOf = async (worker: number) => {
  const found = await findClaims(t.app.database, 'pending_deliveries', [], null)
  const own = found.filter((one) => one.worker === worker)
  await releaseClaims(t.app.sql, own)
  return own.length
}
const request = (id: string, capacity: number, since: number | null = null) => ({ requests: [{ id, capacity, since }] })

describe('claiming', () => {
  test('keeps a delivery until it is released or its worker has ended', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 3)
    const claims = await claim()
    expect(claims).toHaveLength(3)
    expect(await claim({}, 2)).toHaveLength(0)
    await releaseClaims(t.app.sql, claims.slice(0, 1))
    expect(await claim({}, 2)).toMatchObject([{ id: claims[0]!.id, claim: 3, worker: 2 }])
    expect(await freeClaimsOf(1)).toBe(2)
    const again = await claim({}, 2)
    expect(again.map((claimed) => claimed.claim)).toEqual([3, 3])
  })

  test('finds the deliveries of the target that a notice names, and of no other target', async () => {
    const since = Date.now() * 1000 - 1e6
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 3)
    expect(await claimDue(t.app.sql, 1, wide)).toEqual([])
    const claimed = await claimDue(t.app.sql, 1, { ...wide, ...request(id, 10, since) })
    expect(claimed.map(({ targetId }) => targetId)).toEqual([id, id, id])
  })

  test('continues where the last claim stopped, in any worker', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 30)
    const first = await claim(request(id, 10))
    const [target] = await t.app.sql<{ next: number }>(
      'select (extract(epoch from next_due_at) * 1e6)::int8 as next from delivery_targets where id = $1',
      [id],
    )
    // A claim does not write a time that is almost the same.
    expect(Math.abs(target!.next - first.at(-1)!.dueAt)).toBeLessThanOrEqual(1000)
    const rest = await claimDue(t.app.sql, 2, wide)
    expect(new Set([...first, ...rest].map((claimed) => claimed.id)).size).toBe(30)
  })

  test('skips deliveries that are not due or belong to a disabled or deleted webhook', async () => {
    const ids: string[] = []
    for (let i = 0; i < 3; i++) ids.push((await subscribe(t.app, account.id, receiver.url)).id)
    await emitEvents(t.app, account.id)
    await t.app.sql(`update delivery_targets set status = 'disabled' where id = $1`, [ids[0]])
    await t.app.sql(`update delivery_targets set status = 'deleted' where id = $1`, [ids[1]])
    await t.app.sql(`update pending_deliveries set due_at = now() + interval '1 minute' where target_id = $1`, [ids[2]])
    expect(await claim()).toEqual([])
    expect(await claim({ requests: ids.map((id) => ({ id, capacity: 5, since: 0 })) })).toEqual([])
  })

  test('skips an endpoint during its quiet time, and claims one delivery at a time while it times out', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 5)
    await t.app.sql(`update delivery_targets set quiet_until = now() + interval '1 minute' where id = $1`, [id])
    expect([await claim(), await claim(request(id, 5, 0))]).toEqual([[], []])
    await t.app.sql('update delivery_targets set quiet_until = now(), timeouts = 1, next_due_at = null where id = $1', [
      id,
    ])
    expect([await claim(), await claim(request(id, 5, 0))]).toMatchObject([[{ timeouts: 1 }], [{ timeouts: 1 }]])
  })

  test('takes the oldest deliveries of an endpoint, up to its capacity', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 20)
    const rows = await deliveries()
    const oldest = rows.slice(10, 15).map((row) => row.id)
    await t.app.sql(`update pending_deliveries set due_at = now() - interval '1 minute' where id = any($1)`, [oldest])
    const claimed = await claim(request(id, 5))
    expect(claimed.map((row) => row.id).sort()).toEqual(oldest)
    expect(await claim(request(id, 0, 0))).toEqual([])
  })

  test('shares limited capacity between accounts, and between the endpoints of an account', async () => {
    const other = await t.account()
    const [big, small] = [
      await subscribe(t.app, account.id, receiver.url),
      await subscribe(t.app, other.id, receiver.url),
    ]
    await emitEvents(t.app, account.id, 500)
    const late = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 500)
    await emitEvents(t.app, other.id, 8)
    await t.app.sql('update pending_deliveries p set due_at = $2 where account_id = $1', [account.id, new Date(0)])
    const claimed = await claim({ total: 20 })
    const of = (id: string) => claimed.filter(({ targetId }) => targetId === id).length
    expect([of(big.id), of(late.id), of(small.id)]).toEqual([6, 6, 8])
  })

  test('keeps an account within its capacity', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 50)
    expect(await claim({ accounts: { [account.id]: 7 } })).toHaveLength(7)
  })

  test('is limited in bytes as well as in rows, and the last delivery may exceed the limit', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 10)
    const [{ bytes } = { bytes: 0 }] = await t.app.sql<{ bytes: number }>(
      'select bytes from pending_deliveries limit 1',
    )
    const withBytes = (capacity: Partial<ClaimCapacity['bytes']>) => ({ bytes: { ...wide.bytes, ...capacity } })
    expect(await claim(withBytes({ total: bytes * 2.5 }))).toHaveLength(3)
    expect(await claim(withBytes({ total: 1 }))).toHaveLength(1)
    expect(await claim(withBytes({ accounts: { [account.id]: bytes + 1 } }))).toHaveLength(2)
    expect(await claim(withBytes({ total: 0 }))).toEqual([])
    await t.app.sql('update delivery_targets set timeouts = 1 where account_id = $1', [account.id])
    expect(await claim(withBytes({ hanging: 0 }))).toEqual([])
    expect(await claim(withBytes({ small: bytes, total: 0, hanging: 0 }))).toHaveLength(1)
  })

  test('assigns no delivery to two workers that claim at the same time', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 400)
    await scheduleUnclaimed(t.app.sql)
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, i) => claimDue(t.app.sql, i + 1, { ...wide, total: 100 })),
    )
    const ids = claims.flat().map(({ id }) => id)
    expect(ids.length).toBeGreaterThanOrEqual(100)
    expect(new Set(ids).size).toBe(ids.length)
  })
})

test('the time-outs that another process has counted for an endpoint count on here, until it answers', async () => {
  const { id } = await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 2)
  await t.app.sql('update delivery_targets set timeouts = 3 where id = $1', [id])
  const endpoints = createEndpoints()
  const post = async (outcome: PostOutcome, nowMs: number) => {
    const [claimed] = await claim()
    endpoints.add([claimed!], endpoints.capacity(nowMs), nowMs)
    expect(endpoints.next(id, nowMs)).toEqual([claimed])
    const { timeouts } = endpoints.answered(claimed!, outcome, nowMs, 0.5)
    endpoints.recorded(claimed!, nowMs)
    return timeouts
  }
  expect(await post({ ...failed, status: null, durationMs: 1000 }, 10_000)).toBe(4)
  expect(await post(answered, 10_000_000)).toBe(0)
})

test('an endpoint that asked for quiet gets nothing until this is recorded, however long that takes', async () => {
  const { id } = await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 2)
  const [first, second] = await claim()
  const endpoints = createEndpoints()
  endpoints.add([first!], endpoints.capacity(0), 0)
  expect(endpoints.next(id, 0)).toEqual([first])
  endpoints.answered(first!, { ...failed, status: 429, retryAfterSeconds: 30, durationMs: 10 }, 10, 0.5)
  const capacityAt = (nowMs: number) =>
    endpoints.capacity(nowMs).requests.find((one) => one.id === id)?.capacity ?? null
  // Then the row of the target does not have the quiet time yet, and the process itself must remember it.
  expect(capacityAt(60_000)).toBe(0)
  endpoints.add([second!], endpoints.capacity(60_000), 60_000)
  expect(endpoints.next(id, 60_000)).toEqual([])
  endpoints.recorded(first!, 60_000)
  expect(capacityAt(60_000)).toBeGreaterThan(0)
})

describe('recording', () => {
  test('accepts only the newest claim: a late result of a worker that was considered dead is dropped', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id)
    const [first] = await claim()
    await freeClaimsOf(1)
    const [second] = await claim({}, 2)
    await recordResults(t.app.sql, [resultOf(first!, failed, 0.5)])
    expect(await deliveries()).toMatchObject([{ status: 'pending', tries: 0, attempts: [], claim: 3 }])
    await recordResults(t.app.sql, [resultOf(second!, answered, 0.5)])
    await recordResults(t.app.sql, [resultOf(first!, failed, 0.5)])
    expect(await deliveries()).toMatchObject([{ status: 'delivered', tries: 1, attempts: [{ status: 200 }] }])
  })

  test('a result changes nothing if its webhook was deleted in the meantime', async () => {
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id)
    const claims = await claim()
    await ok(t.request('DELETE', `/webhooks/${id}`, { key: account.key }))
    expect(await recordResults(t.app.sql, [resultOf(claims[0]!, answered, 0.5)])).toEqual({
      written: [],
      locked: [],
    })
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', attempts: [] }])
  })

  test('returns deliveries that another transaction has locked for a later try, without waiting', async () => {
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 2)
    const results = (await claim()).map((claimed) => resultOf(claimed, answered, 0.5))
    await t.app.database.transaction(async (sql) => {
      await sql('select from pending_deliveries where id = $1 for update', [results[0]!.claimed.id])
      const { written, locked } = await recordResults(t.app.sql, results)
      expect([written.map(({ result }) => result), locked]).toEqual([[results[1]], [results[0]]])
    })
    expect((await recordResults(t.app.sql, results)).written).toMatchObject([{ result: results[0] }])
  })

  test('the summary of a target that another transaction has locked is left for a later try, without waiting', async () => {
    const [locked, free] = [
      await subscribe(t.app, account.id, receiver.url),
      await subscribe(t.app, account.id, receiver.url),
    ]
    const summaries = [locked, free].map(({ id }) => ({
      ...{ id, deliveredAt: performance.now(), failedAt: null, error: null, timeouts: 0, quietMs: 0, retryAt: null },
    }))
    await t.app.database.transaction(async (sql) => {
      await sql('select from delivery_targets where id = $1 for update', [locked.id])
      expect(await summarize(t.app.sql, summaries)).toEqual(new Set([free.id]))
    })
    expect(await summarize(t.app.sql, summaries)).toEqual(new Set([locked.id, free.id]))
  })

  test('an unexpected error in one target is thrown, and the results of the others are recorded', async () => {
    const [broken, other] = [
      await subscribe(t.app, account.id, receiver.url),
      await subscribe(t.app, account.id, receiver.url),
    ]
    await emitEvents(t.app, account.id)
    const gone = (await claim()).map((claimed) => resultOf(claimed, { ...failed, status: 410 }, 0.5))
    await t.app.sql(
      `alter table delivery_targets add constraint broken check (id <> '${broken.id}' or status = 'active')`,
    )
    onTestFinished(async () => void (await t.app.sql('alter table delivery_targets drop constraint broken')))
    await expect(recordWithEffects(t.app, gone)).rejects.toThrow('broken')
    const rows = await deliveries()
    const statusOf = ({ id }: { id: string }) => rows.find(({ webhookId }) => webhookId === id)!.status
    expect([statusOf(broken), statusOf(other)]).toEqual(['pending', 'cancelled'])
  })
})

describe('the loop', () => {
  test('two loops on one database deliver each of 1,200 events exactly once', async () => {
    await subscribe(t.app, account.id, receiver.url)
    const second = await openApp(readConfig(t.env))
    const freedBefore = Object.fromEntries(t.app.counters.counts('freedClaims')).deliveries!
    let failures = 0
    const counting = (app: OpenApp): OpenApp => ({
      ...app,
      http: {
        ...app.http,
        async post(...args) {
          const outcome = await app.http.post(...args)
          if (!outcome.ok) failures++
          return outcome
        },
      },
    })
    const loops = [startDeliveries(counting(t.app)), startDeliveries(counting(second))]
    for (let i = 0; i < 6; i++) await emitEvents(t.app, account.id, 200)
    await eventually(async () => (await counts()).delivered === 1200)
    await Promise.all(loops.map((loop) => loop.stop()))
    const freed = [t.app, second].map(({ counters }) => Object.fromEntries(counters.counts('freedClaims')).deliveries)
    await second.close()
    expect(new Set(keys()).size).toBe(1200)
    // On a busy machine a post may time out, and a worker whose connection is silent for seconds loses its claims.
    expect(receiver.requests.length - 1200).toBeLessThanOrEqual(failures + freed[0]! + freed[1]! - freedBefore)
  })

  test('retries leave when they are due, not with the next heartbeat', async () => {
    const paths = Array.from({ length: 12 }, (_, i) => `/${i}`)
    const ids = new Map<string, string>()
    for (const path of paths) ids.set((await subscribe(t.app, account.id, receiver.url + path)).id, path)
    const loop = startDeliveries(t.app)
    const usual: number[] = []
    for (let round = 1; round <= 5; round++) {
      const from = Date.now()
      await emitEvents(t.app, account.id)
      usual.push((await receiver.arrived(12 * round))[12 * round - 1]!.arrivedAtMs - from)
    }
    receiver.always({ status: 500 })
    await emitEvents(t.app, account.id)
    const failed = async () => (await deliveries()).filter(({ status, tries }) => status === 'pending' && tries === 1)
    await eventually(async () => (await failed()).length === 12)
    const due = new Map((await failed()).map(({ webhookId, dueAt }) => [ids.get(webhookId)!, dueAt!.getTime()]))
    receiver.always({})
    const retries = (await receiver.arrived(84)).slice(72)
    const late = retries.map(({ path, arrivedAtMs }) => arrivedAtMs - due.get(path)!)
    await loop.stop()
    expect(Math.min(...late)).toBeGreaterThanOrEqual(0)
    expect(median(late)).toBeLessThan(alarmStepMs + 4 * median(usual))
  })

  test('finishes the posts in progress when it stops, and releases the rest without counting a failure', async () => {
    receiver.always({ delayMs: 30 })
    await subscribe(t.app, account.id, receiver.url)
    for (let i = 0; i < 4; i++) await emitEvents(t.app, account.id, 500)
    const loop = startDeliveries(t.app)
    await receiver.arrived(600)
    await loop.stop()
    const rows = await deliveries()
    const delivered = rows.filter((row) => row.status === 'delivered')
    expect(receiver.requests).toHaveLength(delivered.length + (await latePosts(t.app, account.id)))
    expect(rows.length - delivered.length).toBeGreaterThan(0)
    for (const { attempts, ...row } of rows.filter((row) => row.status !== 'delivered')) {
      expect(row).toMatchObject({ status: 'pending', tries: attempts.length, worker: null })
      expect(attempts.filter(({ error }) => error !== late)).toEqual([])
    }
  })

  test('a hanging endpoint with 5,000 pending deliveries delays no other account, and soon gets few connections', async () => {
    const stuck = await openReceiver()
    stuck.always({ mode: 'hang' })
    const hanging = await t.account()
    await subscribe(t.app, hanging.id, stuck.url)
    for (let i = 0; i < 10; i++) await emitEvents(t.app, hanging.id, 500)
    await subscribe(t.app, account.id, receiver.url)
    const loop = startDeliveries(t.app)
    await stuck.arrived(4)
    const startedAt = performance.now()
    /** How many posts can have hung to their deadline, one after the other, since the start. */
    const timeouts = () => Math.floor((performance.now() - startedAt) / postTimeoutMs)
    const deliver = async (from: number, to: number) => {
      const before = performance.now()
      for (let i = from; i <= to; i++) {
        await emitEvents(t.app, account.id)
        await receiver.arrived(i)
      }
      // Far less than if each delivery waited for a post that hangs.
      expect(performance.now() - before).toBeLessThan(((to - from + 1) * limit(postTimeoutMs)) / 4)
    }
    await deliver(1, 20)
    expect(stuck.requests.length).toBeLessThanOrEqual(4 * (1 + timeouts()))
    await stuck.arrived(5)
    await deliver(21, 30)
    // From the first timeout on it has one connection.
    expect(stuck.requests.length).toBeLessThanOrEqual(5 + timeouts())
    await stuck.close()
    await t.app.sql(`update delivery_targets set status = 'disabled' where account_id = $1`, [hanging.id])
    await loop.stop()
  })

  test('a webhook that is deleted with 1,000 pending deliveries gets only the posts in progress', async () => {
    receiver.always({ delayMs: 150 })
    const { id } = await subscribe(t.app, account.id, receiver.url)
    for (let i = 0; i < 2; i++) await emitEvents(t.app, account.id, 500)
    const loop = startDeliveries(t.app)
    await receiver.arrived(40)
    expect((await t.request('DELETE', `/webhooks/${id}`, { key: account.key })).status).toBe(200)
    const posted = receiver.requests.length
    await eventually(async () => !(await counts()).pending)
    // The event of another account is due later.
    const other = await t.account()
    await subscribe(t.app, other.id, `${receiver.url}/other`)
    await emitEvents(t.app, other.id)
    await eventually(() => receiver.requests.some(({ path }) => path === '/other'))
    expect(receiver.requests.length - 1 - posted).toBeLessThanOrEqual(64)
    expect((await counts()).cancelled).toBeGreaterThan(800)
    await loop.stop()
  })

  test('a delivery whose key is revoked during the post is cancelled, whatever the receiver answers', async () => {
    const { promise: until, resolve: answer } = Promise.withResolvers<void>()
    receiver.always({ until })
    const { id } = await subscribe(t.app, account.id, receiver.url, account.keyId)
    await emitEvents(t.app, account.id)
    const loop = startDeliveries(t.app)
    await receiver.arrived(1)
    await t.app.work(account.id, 'cli:test', (work) => revokeKey(work, account.keyId))
    answer()
    await loop.stop()
    expect(await deliveries()).toMatchObject([{ status: 'cancelled', attempts: [] }])
    const [webhook] = await t.app.sql(
      'select status, disabled_reason, last_delivery_at from delivery_targets where id = $1',
      [id],
    )
    expect(webhook).toEqual({ status: 'disabled', disabled_reason: 'api-key-revoked', last_delivery_at: null })
  })

  test('the loop recovers and loses no delivery if every connection is lost under load', async () => {
    receiver.always({ delayMs: 20 })
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id, 1000)
    const own = await openApp(readConfig(t.env), { name: 'victim' })
    const loop = startDeliveries(own)
    for (let i = 1; i <= 3; i++) {
      await receiver.arrived(i * 200)
      await t.app.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and application_name like 'victim %'`,
      )
    }
    await eventually(async () => (await counts()).delivered === 1000)
    expect(new Set(keys()).size).toBe(1000)
    await emitEvents(t.app, account.id)
    await eventually(async () => (await counts()).delivered === 1001)
    await loop.stop()
    await own.close()
  })

  test('a delivery that is announced during a claim is claimed next', async () => {
    await subscribe(t.app, account.id, receiver.url)
    let claims = 0
    const sql = (async (query: Statement<object, object>, values?: object) => {
      const rows = await t.app.sql(query, values as never)
      if (query !== claimDeliveries || rows.length === 0 || ++claims > 1) return rows
      await emitEvents(t.app, account.id)
      await sleep(200)
      return rows
    }) as typeof t.app.sql
    const stop = new AbortController()
    const running = runDeliveries({ ...t.app, sql }, stop.signal)
    await sleep(300)
    await emitEvents(t.app, account.id)
    // The next search without a notice would be much later.
    expect(await settlesWithin(receiver.arrived(2), 3000)).toBe(true)
    stop.abort()
    await running
  })

  test('deliveries are claimed again if the answer of their claim was lost', async () => {
    await subscribe(t.app, account.id, receiver.url)
    receiver.always({ delayMs: 500 })
    let claims = 0
    const sql = (async (query: Statement<object, object>, values?: object) => {
      const rows = await t.app.sql(query, values as never)
      if (query === claimDeliveries && rows.length > 0 && ++claims === 2)
        throw Object.assign(new Error('cut'), { code: '08006' })
      return rows
    }) as typeof t.app.sql
    const stop = new AbortController()
    const running = runDeliveries({ ...t.app, sql }, stop.signal)
    await emitEvents(t.app, account.id)
    await receiver.arrived(1)
    await emitEvents(t.app, account.id, 2)
    // The search for orphaned claims would be much later.
    expect(await settlesWithin(receiver.arrived(3), 6000)).toBe(true)
    await eventually(async () => (await counts()).delivered === 3)
    stop.abort()
    await running
    expect(receiver.requests).toHaveLength(3)
  })

  test('an unexpected error is reported, and the loop continues', async () => {
    const reported: unknown[] = []
    const stop = new AbortController()
    let faults = 3
    const sql = ((...args: Parameters<typeof t.app.sql>) =>
      faults-- > 0 ? Promise.reject(new TypeError('no')) : t.app.sql(...args)) as typeof t.app.sql
    const running = runDeliveries({ ...t.app, sql }, stop.signal, (fault) => reported.push(fault))
    await subscribe(t.app, account.id, receiver.url)
    await emitEvents(t.app, account.id)
    await receiver.arrived(1)
    stop.abort()
    await running
    expect(reported).toHaveLength(3)
  })
})

test('no delivery is lost if the database can’t be reached for a while under load', async () => {
  const proxy = await openProxy(t.url)
  const app = await openApp(readConfig({ ...t.env, DATABASE_URL: proxy.through(t.url) }))
  receiver.always({ delayMs: 30 })
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 500)
  const loop = startDeliveries(app)
  await receiver.arrived(100)
  proxy.refuse()
  proxy.cut()
  await expect(app.sql('select')).rejects.toSatisfy(isUnavailable)
  proxy.pass()
  await eventually(async () => (await counts()).delivered === 500)
  expect(new Set(keys()).size).toBe(500)
  await loop.stop()
  await app.close()
  await proxy.close()
})
