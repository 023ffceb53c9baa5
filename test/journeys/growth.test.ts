import { beforeEach, expect, test } from 'vitest'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { useApp } from '../support/app.ts'
import { reportStatistics } from '../support/database.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
  await bench.stages()
})

const apply = (days: number, more: object = {}) =>
  bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    exitOn: ['deal-lost'],
    ...more,
    steps: [{ kind: 'delay', for: `${days}d` }],
  })

const deal = (email: string) =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email }), { source: 'api' }))

const versions = async () => {
  const rows = await target.app.sql<{ version: number }>(
    'select version from journey_versions where account_id = $1 order by version',
    [bench.account.id],
  )
  return rows.map(({ version }) => version)
}

const keep = () => runHousekeeping(target.app, new AbortController().signal)

test('replaced versions without runs are deleted with their exit rules', async () => {
  await apply(1)
  await bench.add(listId, ['a@example.com'])
  await apply(2)
  await apply(3)
  await keep()
  expect(await versions()).toEqual([1, 2, 3])
  clock.advance(3_600_000)
  await keep()
  expect(await versions()).toEqual([1, 3])
  clock.advance(day)
  await bench.drain()
  await keep()
  expect(await versions()).toEqual([3])
  const exits = await target.app.sql('select version from journey_exits where account_id = $1', [bench.account.id])
  expect(exits).toEqual([{ version: 3 }])
})

/** Returns the number of rows that statements read from the journeys' tables, by index or not. */
const rowsRead = async () => {
  await reportStatistics(target.app.database)
  const [row] = await target.app.sql<{ rows: number }>(
    `select sum(seq_tup_read + coalesce(idx_tup_fetch, 0))::int8 as rows from pg_stat_user_tables
     where relname in ('journeys', 'journey_versions', 'journey_exits', 'journey_runs')`,
  )
  return row!.rows
}

test('the cost of an event does not grow with the number of versions, nor with journeys bound to other ids', async () => {
  await bench.add(listId, ['a@example.com'])
  await apply(1)
  const cost = async () => {
    for (let i = 0; i < 10; i++) await deal('a@example.com')
    const before = await rowsRead()
    for (let i = 0; i < 10; i++) await deal('a@example.com')
    return (await rowsRead()) - before
  }
  const first = await cost()
  const { id } = bench.account
  await target.app.sql(
    `insert into journey_versions (account_id, journey_id, version, definition)
     select v.account_id, v.journey_id, n, v.definition from journey_versions v, generate_series(2, 2000) n where v.account_id = $1`,
    [id],
  )
  await target.app.sql(
    `insert into journey_exits (account_id, rule, journey_id, version)
     select x.account_id, x.rule, x.journey_id, n from journey_exits x, generate_series(2, 2000) n where x.account_id = $1`,
    [id],
  )
  await target.app.sql(
    `insert into journeys (id, account_id, name, enabled, trigger_kind, trigger_key, version, created_at, updated_at)
     select id || n, account_id, name || n, true, 'deal-stage-changed', 'stage_' || n, 1, created_at, updated_at
     from journeys, generate_series(1, 2000) n where account_id = $1`,
    [id],
  )
  await target.app.sql('analyze journeys, journey_versions, journey_exits')
  expect(await cost()).toBeLessThan(first + 200)
})

test('runs that ended 90 days ago are deleted with their step logs, and no others', async () => {
  const journey = await apply(100)
  await bench.add(listId, ['waits@example.com'])
  await apply(1)
  await bench.add(listId, ['early@example.com'])
  clock.advance(day)
  await bench.drain()
  clock.advance(10 * day)
  await bench.add(listId, ['late@example.com'])
  clock.advance(day)
  await bench.drain()
  clock.advance(80 * day)
  await keep()
  expect((await bench.runs(journey)).map(({ email }) => email)).toEqual(['waits@example.com', 'late@example.com'])
  const logs = await target.app.sql('select run_id from journey_step_log where account_id = $1', [bench.account.id])
  expect(logs).toHaveLength(1)
})

test('one cause starts at most 1,000 runs, and the log of the run that would cause more reports it', async () => {
  await bench.add(listId, ['a@example.com'])
  const makers = ['One', 'Two']
  const journeys: string[] = []
  for (const name of makers) {
    journeys.push(
      await bench.apply({
        name,
        trigger: { kind: 'deal-stage-changed' },
        reentry: 'always',
        steps: [{ kind: 'create-deal', title: 'Again' }],
      }),
    )
  }
  await deal('a@example.com')
  // Each of the two runs that the deal started has 960 runs already: creating them by steps would test nothing more.
  await target.app.sql(
    `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, due_at, context, depth, root_id, entered_at, ended_at)
     select account_id, id || n, journey_id, version, list_id, row_id, email, 'completed', due_at, context, 1, id, entered_at, entered_at
     from journey_runs, generate_series(1, 960) n where account_id = $1`,
    [bench.account.id],
  )
  await bench.drain(undefined)
  // Each of the two is a separate root.
  const [roots] = await target.app.sql<{ runs: number; most: number }>(
    `select count(*) as runs, max(count) as most from (
       select count(*) from journey_runs where account_id = $1 group by coalesce(root_id, id)
     ) of_root`,
    [bench.account.id],
  )
  expect(roots).toEqual({ runs: 2, most: 1000 })
  const runs = (await Promise.all(journeys.map((journey) => bench.runs(journey)))).flat()
  expect(runs).toHaveLength(2000)
  const logs = runs.flatMap(({ log }) => log)
  const unstarted = logs.map(({ outcome }) => Number(/\((\d+) not started: one cause/.exec(outcome)?.[1] ?? 0))
  // Each advanced run has tried to start two runs.
  expect(logs.length).toBeGreaterThan(40)
  expect(unstarted.reduce((sum, count) => sum + count)).toBe(2 * logs.length - (80 - 2))
})
