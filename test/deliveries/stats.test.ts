import { expect, test } from 'vitest'
import { Migration20261123231300_delivery_counts as Counting } from '../../migrations/Migration20261123231300_delivery_counts.ts'
import { deliveriesByDay } from '../../src/deliveries/deliveries.ts'
import { addUpTallies } from '../../src/store/tallies.ts'
import { useApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { randomOfTest } from '../support/random.ts'
import { openReceiver } from '../support/receiver.ts'

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32' }, development: true })
const day = (at: Date) => at.toISOString().slice(0, 10)
const stats = (accountId: string, from = '2000-01-01') => deliveriesByDay({ sql: t.app.sql, accountId }, from)

/** Counts the deliveries again, from their own rows. */
const recount = async (accountId: string) => {
  const ended = await t.app.sql<{ status: string; finishedAt: Date; ms: number }>(
    `select status, finished_at as "finishedAt", (extract(epoch from finished_at - created_at) * 1000)::float8 as ms
     from ended_deliveries where account_id = $1 order by ms`,
    [accountId],
  )
  const of = (status: string) => ended.filter((row) => row.status === status)
  const times = of('delivered').map(({ ms }) => ms)
  const days = [...new Set(ended.filter(({ status }) => status !== 'cancelled').map((row) => day(row.finishedAt)))]
  const on = (date: string, status: string) => of(status).filter((row) => day(row.finishedAt) === date).length
  return {
    delivered: times.length,
    exhausted: of('exhausted').length,
    days: days.sort().map((date) => ({ date, delivered: on(date, 'delivered'), exhausted: on(date, 'exhausted') })),
    percentile: (share: number) => times[Math.ceil(times.length * share) - 1]!,
  }
}

const about = (ms: number | null, exact: number) => {
  expect(ms!).toBeGreaterThan(exact / 1.05 - 1)
  expect(ms!).toBeLessThan(exact * 1.05 + 1)
}

test('deliveries are counted as they are recorded, by two workers at once, and as a recount finds them', async () => {
  const receiver = await openReceiver()
  const random = randomOfTest()
  const accounts = [await t.account(), await t.account()]
  for (const [i, { id }] of accounts.entries()) {
    await subscribe(t.app, id, receiver.url)
    await emitEvents(t.app, id, 150 + i * 10)
    for (const { id: delivery } of await deliveriesOf(t.app, id))
      await t.app.sql(
        `update pending_deliveries set created_at = created_at - $3 * interval '1 ms', tries = $4 where account_id = $1 and id = $2`,
        // 0 to 400,000 s: most are short.
        [id, delivery, Math.floor(10 ** (random.next() * 8.6)), random.pick([0, 0, 0, 7])],
      )
  }
  receiver.next(...Array.from({ length: 310 }, () => ({ status: random.pick([200, 200, 500]) })))
  const loops = [startDeliveries(t.app), startDeliveries(t.app)]
  const isOver = async () => {
    const rows = await t.app.sql('select from pending_deliveries where tries = 0 or tries = 7 or worker is not null')
    return rows.length === 0
  }
  await eventually(isOver)
  receiver.always({ status: 410 })
  await t.advance(15_000)
  await eventually(async () => (await t.app.sql('select from pending_deliveries')).length === 0)
  await Promise.all(loops.map((loop) => loop.stop()))
  await receiver.close()
  for (const { id } of accounts) {
    const { percentile, ...expected } = await recount(id)
    expect(expected.delivered).toBeGreaterThan(50)
    expect(expected.exhausted).toBeGreaterThan(0)
    const { p50Ms, p99Ms, ...found } = await stats(id)
    expect(found).toEqual(expected)
    about(p50Ms, percentile(0.5))
    about(p99Ms, percentile(0.99))
    expect(await stats(id, day(new Date(t.app.now().getTime() + 86_400_000)))).toEqual({
      ...{ delivered: 0, exhausted: 0, p50Ms: null, p99Ms: null, days: [] },
    })
  }
  // The migration counts existing deliveries in the same way.
  await addUpTallies(t.app)
  const counted = await t.app.sql('select * from day_counts order by account_id, day')
  await t.app.sql('delete from day_counts')
  const migration = new Counting(undefined as never, undefined as never)
  migration.up()
  for (const query of migration.getQueries()) await t.app.sql(String(query))
  expect(await t.app.sql('select * from day_counts order by account_id, day')).toEqual(counted)
})
