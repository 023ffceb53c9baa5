import { describe, expect, test } from 'vitest'
import { useApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe, tally } from '../support/deliveries.ts'
import { settlesWithin } from '../support/eventually.ts'
import { startJob } from '../support/jobs.ts'
import { databaseClock } from '../support/jump.ts'
import { repeatsOf, subscribeMany } from '../support/neighbours.ts'
import { useWorkers, workersOf } from '../support/workers.ts'

// The claims of workers whose clocks differ, that stop, or that lose the answer to a claim; and of those that are gone.

const { t, account, receiver, start, counts, delivered, claimed } = useWorkers()

describe('clocks of workers', () => {
  test('may differ by 80 s: a slow receiver gets nothing twice', async () => {
    receiver.always({ delayMs: 1500 })
    const ids = await subscribeMany(t.app, account.id, receiver.url, 10)
    await Promise.all([start(40_000), start(-40_000)])
    for (let i = 0; i < 5; i++) await emitEvents(t.app, account.id)
    expect(await settlesWithin(delivered(ids.length * 5), 25_000)).toBe(true)
    expect(receiver.requests).toHaveLength(ids.length * 5)
  })

  test.each([
    ['behind', -300_000],
    ['ahead', 300_000],
  ])('may be five minutes %s: a single worker delivers at once, and retries in time', async (_, skewMs) => {
    receiver.next({ status: 500 })
    await subscribe(t.app, account.id, receiver.url)
    await start(skewMs)
    await emitEvents(t.app, account.id)
    expect(await settlesWithin(receiver.arrived(1), 4500)).toBe(true)
    const [row] = await eventually(async () => {
      const rows = await deliveriesOf(t.app, account.id)
      return rows[0]!.tries === 1 && rows
    })
    const [first, second] = await receiver.arrived(2)
    // The wait is 10 s ± 20 %. Both differences are much smaller than that of the clocks.
    const waitMs = row!.dueAt.getTime() - first!.arrivedAtMs
    expect(waitMs).toBeGreaterThan(7500)
    expect(waitMs).toBeLessThan(150_000)
    const lateMs = second!.arrivedAtMs - row!.dueAt.getTime()
    expect(lateMs).toBeGreaterThanOrEqual(-1)
    expect(lateMs).toBeLessThan(150_000)
    await delivered(1)
  })
})

describe('claims', () => {
  test('of a worker that stops while a row is locked are left to another worker', async () => {
    receiver.always({ delayMs: 1000 })
    await subscribeMany(t.app, account.id, receiver.url, 6)
    const first = await start()
    await emitEvents(t.app, account.id)
    await eventually(async () => (await claimed())[0] === 6)
    await t.app.database.transaction(async (sql) => {
      await sql('select from pending_deliveries where account_id = $1 order by id limit 1 for update', [account.id])
      await first.stop()
    })
    expect([await counts(), await claimed()]).toEqual([{ delivered: 5, pending: 1 }, [1]])
    startDeliveries(t.app)
    await delivered(6)
  })

  test('of a worker that has no row are freed at the next start', async () => {
    await subscribeMany(t.app, account.id, receiver.url, 3)
    await emitEvents(t.app, account.id, 10)
    await t.app.sql('update pending_deliveries set worker = 999999, claim = 1 where account_id = $1', [account.id])
    await t.app.sql('update delivery_targets set next_due_at = null where account_id = $1', [account.id])
    startDeliveries(t.app)
    await delivered(30)
    expect(repeatsOf(receiver)).toBe(20)
  })

  test('of a living worker that it does not hold are freed within 45 s', async () => {
    await subscribeMany(t.app, account.id, receiver.url, 2)
    await start()
    const { id: worker, pid } = (await workersOf(t)).at(-1)!
    await emitEvents(t.app, account.id, 20)
    await delivered(40)
    // The state after a claim whose answer is lost: claimed in the database, unknown to the worker.
    await t.app.sql(`update delivery_targets set quiet_until = svc_now() + interval '1 hour' where account_id = $1`, [
      account.id,
    ])
    await emitEvents(t.app, account.id, 5)
    await t.app.sql('update pending_deliveries set worker = $2, claim = claim + 1 where account_id = $1', [
      account.id,
      worker,
    ])
    await t.app.sql('update delivery_targets set quiet_until = null, next_due_at = null where account_id = $1', [
      account.id,
    ])
    await t.app.sql('select pg_terminate_backend($1)', [pid])
    expect(await settlesWithin(delivered(50), 45_000)).toBe(true)
  })

  test('a delivery without a target is cancelled, and that is reported', async () => {
    const [id] = await subscribeMany(t.app, account.id, receiver.url, 1)
    await emitEvents(t.app, account.id)
    await t.app.sql('delete from webhooks where account_id = $1', [account.id])
    await t.app.sql('delete from delivery_targets where id = $1', [id])
    const reported: unknown[] = []
    startDeliveries(t.app, (error) => void reported.push((error as Error).message))
    const pending = () => t.app.sql('select from pending_deliveries where account_id = $1', [account.id])
    await eventually(async () => (await pending()).length === 0)
    expect(await counts()).toEqual({ cancelled: 1 })
    expect(reported).toEqual(['Deliveries without a target were cancelled'])
    expect(receiver.requests).toHaveLength(0)
  })
})

describe('a jump of the database’s clock', () => {
  const own = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })

  test('ends no living worker, and nothing is posted twice', async () => {
    const clock = databaseClock(own)
    await clock.install()
    receiver.always({ delayMs: 3000 })
    const { id } = await own.account()
    await subscribeMany(own.app, id, receiver.url, 10)
    await Promise.all([startJob(own, 'deliveries'), startJob(own, 'deliveries')])
    const before = await workersOf(own)
    expect(before).toHaveLength(2)
    await emitEvents(own.app, id)
    const claims = 'select from pending_deliveries where worker is not null'
    await eventually(async () => (await own.app.sql(claims)).length === 10)
    for (const seconds of [60, -90, 120]) {
      await clock.jump(seconds)
      // Each worker looks at the other one twice by the new clock.
      for (let look = 0; look < 2; look++) {
        const seen = await workersOf(own)
        const isNewer = ({ id: worker, seenAt }: (typeof seen)[number]) =>
          seen.some((earlier) => earlier.id === worker && +earlier.seenAt !== +seenAt)
        await eventually(async () => (await workersOf(own)).filter(isNewer).length === 2)
      }
    }
    await eventually(async () => (await tally(own.app, id)).delivered === 10)
    expect(receiver.requests).toHaveLength(10)
    expect((await workersOf(own)).map((worker) => worker.id)).toEqual(before.map((worker) => worker.id))
  })
})
