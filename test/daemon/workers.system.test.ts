import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { useDaemons } from '../support/daemons.ts'
import { deliveriesOf, emitEvents, eventually, subscribe, tally } from '../support/deliveries.ts'
import { backlog, keyOf, repeatsOf, startWorking, subscribeMany } from '../support/neighbours.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { skewedBy } from '../support/skew.ts'

// Several processes on one database: their clocks differ, or they are killed, stopped or disconnected during their work.

let account: TestAccount
let receiver: Receiver

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeEach(async () => {
  account = await t.account()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await t.app.sql('delete from pending_deliveries')
})

const daemons = useDaemons(t)
const start = (env: Record<string, string> = {}) => startWorking(t.app, () => daemons.start(['serve'], env))
/** Waits until `count` deliveries of the account are delivered. The error lists the pending deliveries and the workers. */
const delivered = async (count: number, limitMs?: number) => {
  try {
    await eventually(async () => (await tally(t.app, account.id)).delivered === count, limitMs)
  } catch (cause) {
    const pending = await t.app.sql(
      'select worker, claim, tries, count(*), min(due_at - svc_now())::text as "dueIn" from pending_deliveries group by 1, 2, 3',
    )
    const workers = await t.app.sql('select *, clock_timestamp() as now from workers order by id')
    throw new Error(JSON.stringify({ pending, workers, posts: receiver.requests.length }), { cause })
  }
}
/** The number of claimed deliveries of each worker, in the order of their starts. */
const claimed = async () =>
  (
    await t.app.sql<{ count: number }>(
      'select count(*) from pending_deliveries where worker is not null group by worker order by worker',
    )
  ).map(({ count }) => count)

describe('clocks of processes', () => {
  test('may differ by 80 s: a slow receiver gets nothing twice', async () => {
    receiver.always({ delayMs: 1500 })
    const ids = await subscribeMany(t.app, account.id, receiver.url, 10)
    await Promise.all([start(skewedBy(40_000)), start(skewedBy(-40_000))])
    for (let i = 0; i < 20; i++) await emitEvents(t.app, account.id)
    await delivered(ids.length * 20, 25_000)
    expect(receiver.requests).toHaveLength(ids.length * 20)
  })

  test.each([
    ['behind', -40_000],
    ['ahead', 40_000],
  ])('may be 40 s %s: a single process delivers at once, and retries in time', async (_, skewMs) => {
    receiver.next({ status: 500 })
    await subscribe(t.app, account.id, receiver.url)
    await start(skewedBy(skewMs))
    await emitEvents(t.app, account.id)
    await receiver.arrived(1, 4500)
    const [first, second] = await receiver.arrived(2)
    const waitedMs = second!.arrivedAtMs - first!.arrivedAtMs
    expect(waitedMs).toBeGreaterThan(7500)
    expect(waitedMs).toBeLessThan(15_000)
    await delivered(1)
  })
})

describe('kill -9', () => {
  /**
   * Queues 3,000 deliveries for one receiver and waits until the first process has claimed some. Returns the time limit in
   * ms for the remaining 2,000: 5 s, or on a busy machine three times as long per delivery as the first thousand took.
   */
  const busy = async (): Promise<number> => {
    receiver.always({ delayMs: 50 })
    const { id } = await subscribe(t.app, account.id, receiver.url)
    const from = performance.now()
    await backlog(t.app, account.id, [id], 3000)
    await receiver.arrived(1000)
    const limitMs = Math.max(5000, 3 * 2 * (performance.now() - from))
    await eventually(async () => ((await claimed())[0] ?? 0) > 64)
    return limitMs
  }

  test('of one of two processes: the other delivers its claims within 5 s', async () => {
    const first = await start()
    await start()
    const limitMs = await busy()
    await first.kill('SIGKILL')
    await delivered(3000, limitMs)
  })

  test('of the only process: the next one delivers the rest within 5 s of its start', async () => {
    const first = await start()
    const limitMs = await busy()
    await first.kill('SIGKILL')
    await start()
    await delivered(3000, limitMs)
  })

  test('while one of its deliveries is locked: the others are delivered, and that one once it is unlocked', async () => {
    receiver.always({ delayMs: 1500 })
    await subscribeMany(t.app, account.id, receiver.url, 6)
    const first = await start()
    await emitEvents(t.app, account.id)
    await eventually(async () => (await claimed())[0] === 6)
    await t.app.database.transaction(async (sql) => {
      await sql('select from pending_deliveries where worker is not null order by id limit 1 for update')
      await first.kill('SIGKILL')
      await start()
      await delivered(5, 8000)
    })
    await delivered(6, 6000)
  })

  test('during a claim that the server completes after the worker is declared dead: another process delivers within 15 s', async () => {
    await subscribeMany(t.app, account.id, receiver.url, 6)
    const first = await start()
    const second = await start()
    const oldestWorker = async () =>
      (await t.app.sql<{ id: number }>("select min(id) as id from workers where job = 'deliveries'"))[0]!.id
    const dead = await oldestWorker()
    // After this long the second process looks for orphaned claims only every 30 s.
    await sleep(14_000)
    for (const { pid } of [first, second]) process.kill(pid, 'SIGSTOP')
    await emitEvents(t.app, account.id)
    await t.app.database.transaction(async (sql) => {
      await sql('lock table pending_deliveries in share mode')
      const waitingForLock = `select from pg_locks join pg_database d on d.oid = database
        where relation = 'pending_deliveries'::regclass and not granted and datname = current_database()`
      process.kill(first.pid, 'SIGCONT')
      await eventually(async () => (await sql(waitingForLock)).length > 0)
      await first.kill('SIGKILL')
      process.kill(second.pid, 'SIGCONT')
      await eventually(async () => (await oldestWorker()) !== dead)
      expect((await sql(waitingForLock)).length).toBeGreaterThan(0)
    })
    await delivered(6, 15_000)
  })
})

test('if a process freezes for 25 s, another one delivers its claims, its late results change nothing, and it continues', async () => {
  receiver.always({ delayMs: 100 })
  await subscribe(t.app, account.id, receiver.url)
  const first = await start()
  await emitEvents(t.app, account.id, 300)
  // By now the process claims deliveries ahead of its posts.
  await receiver.arrived(200)
  await emitEvents(t.app, account.id, 300)
  await receiver.arrived(350)
  const had = await eventually(async () => (await claimed())[0])
  process.kill(first.pid, 'SIGSTOP')
  const second = await start()
  await delivered(600, 28_000)
  const posts = receiver.requests.length
  process.kill(first.pid, 'SIGCONT')
  await sleep(2000)
  // Posts in flight may be repeated; waiting deliveries are not.
  expect(receiver.requests).toHaveLength(posts)
  expect(repeatsOf(receiver)).toBeLessThanOrEqual(had)
  const rows = await deliveriesOf(t.app, account.id)
  expect(rows.filter(({ attempts }) => attempts.length !== 1)).toEqual([])
  const [target] = await t.app.sql('select timeouts, last_error as error from delivery_targets where account_id = $1', [
    account.id,
  ])
  expect(target).toEqual({ timeouts: 0, error: null })
  await second.kill('SIGKILL')
  await emitEvents(t.app, account.id, 50)
  await delivered(650)
})

test('repeatedly terminated connections of two processes under load lose no delivery and repeat few', async () => {
  receiver.always({ delayMs: 20 })
  const ids = await subscribeMany(t.app, account.id, receiver.url, 4)
  await Promise.all([start(), start()])
  for (let round = 1; round <= 5; round++) {
    for (let i = 0; i < 4; i++) await emitEvents(t.app, account.id, 100)
    await receiver.arrived(round * 400)
    await t.app.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^svc (?!app )' and datname = current_database()`,
    )
  }
  await delivered(ids.length * 2000, 40_000)
  expect(new Set(receiver.requests.map(keyOf)).size).toBe(2000)
  // In each round, at most the posts in flight of two processes are repeated.
  expect(receiver.requests.length - ids.length * 2000).toBeLessThan(2048)
})
