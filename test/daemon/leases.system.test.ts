import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { useDaemons } from '../support/daemons.ts'
import { emitEvents, eventually, tally } from '../support/deliveries.ts'
import { databaseClock } from '../support/jump.ts'
import { repeatsOf, startWorking, subscribeMany } from '../support/neighbours.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

// The claims of a worker when it stops, when it loses the answer to a claim, and when the database's clock jumps.

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
const start = () => startWorking(t.app, () => daemons.start())
const delivered = (count: number, limitMs?: number) =>
  eventually(async () => (await tally(t.app, account.id)).delivered === count, limitMs)
const claims = async () =>
  (
    await t.app.sql<{ count: number }>(
      'select count(*) from pending_deliveries where account_id = $1 and worker is not null',
      [account.id],
    )
  )[0]!.count

/** The living workers: those of earlier tests may still have a row, but have no session. */
const sessions = () =>
  t.app.sql<{ id: number; pid: number }>(
    `select w.id, l.pid from workers w join pg_locks l on l.locktype = 'advisory' and l.objid = w.id and l.granted
       and l.database = (select oid from pg_database where datname = current_database())
     where w.job = 'deliveries' order by w.id`,
  )

test('a delivery whose row is locked while its worker stops is left to another worker', async () => {
  receiver.always({ delayMs: 1000 })
  await subscribeMany(t.app, account.id, receiver.url, 6)
  const first = await start()
  await emitEvents(t.app, account.id)
  await eventually(async () => (await claims()) === 6)
  await t.app.database.transaction(async (sql) => {
    await sql('select from pending_deliveries where account_id = $1 order by id limit 1 for update', [account.id])
    await first.stop()
  })
  await eventually(async () => (await tally(t.app, account.id)).delivered === 5)
  expect(await claims()).toBe(1)
  await start()
  await delivered(6)
})

test('claims of a worker that has no row are freed at the next start', async () => {
  await subscribeMany(t.app, account.id, receiver.url, 3)
  await emitEvents(t.app, account.id, 10)
  await t.app.sql('update pending_deliveries set worker = 999999, claim = 1 where account_id = $1', [account.id])
  await t.app.sql('update delivery_targets set next_due_at = null where account_id = $1', [account.id])
  await start()
  await delivered(30)
  expect(repeatsOf(receiver)).toBe(20)
})

test('claims of a living worker that it does not hold are freed within seconds', async () => {
  await subscribeMany(t.app, account.id, receiver.url, 2)
  await start()
  const { id: worker, pid } = await eventually(async () => (await sessions())[0])
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
  await delivered(50, 45_000)
})

test('a delivery without a target is cancelled', async () => {
  const [id] = await subscribeMany(t.app, account.id, receiver.url, 1)
  await emitEvents(t.app, account.id)
  await t.app.sql('delete from webhooks where account_id = $1', [account.id])
  await t.app.sql('delete from delivery_targets where id = $1', [id])
  await start()
  const pending = () => t.app.sql('select from pending_deliveries where account_id = $1', [account.id])
  await eventually(async () => (await pending()).length === 0)
  expect(await tally(t.app, account.id)).toEqual({ cancelled: 1 })
  expect(receiver.requests).toHaveLength(0)
})

test('a jump of the database’s clock ends no living worker, and nothing is posted twice', async () => {
  const clock = databaseClock(t)
  await clock.install()
  receiver.always({ delayMs: 3000 })
  await subscribeMany(t.app, account.id, receiver.url, 10)
  const [last] = await t.app.sql<{ id: number }>('select coalesce(max(id), 0) as id from workers')
  const workersNow = async () => (await sessions()).flatMap(({ id }) => (id > last!.id ? [id] : []))
  await Promise.all([start(), start()])
  const workers = await eventually(async () => {
    const rows = await workersNow()
    return rows.length === 2 && rows
  })
  await emitEvents(t.app, account.id)
  await eventually(async () => (await claims()) === 10)
  for (const seconds of [60, -90, 120]) {
    await clock.jump(seconds)
    await sleep(2500)
  }
  await delivered(10)
  expect(receiver.requests).toHaveLength(10)
  expect(await workersNow()).toEqual(workers)
})
