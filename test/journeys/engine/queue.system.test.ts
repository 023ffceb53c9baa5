// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { journeyMails } from '../../../src/app/journeys.mail.ts'
import { upsertContact } from '../../../src/contacts/write/upsert.ts'
import { findDue } from '../../../src/journeys/engine/runs.due.ts'
import { runJourneys } from '../../../src/journeys/engine/runs.loop.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { countsOf, reportStatistics } from '../../support/database.ts'
import { eventually } from '../../support/eventually.ts'
import { type FaultSeen, type JourneyBench, journeyBench } from '../../support/journeys.ts'

let target: TestApp
let bench: JourneyBench
let listId: string
const stops: (() => Promise<void>)[] = []

beforeAll(async () => {
  target = await startApp()
})
afterAll(() => target.close())
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop()
})

/** Starts an engine with its own connections, as in another process. */
const startEngine = async (name: string) => {
  const app = await openApp(readConfig(target.env), { connections: 4, name })
  const stop = new AbortController()
  const faults: FaultSeen[] = []
  const report = (fault: unknown, at: object) => void faults.push({ message: String(fault), ...at })
  const running = runJourneys(app, stop.signal, { report, sendMails: journeyMails(app) })
  stops.push(async () => {
    stop.abort()
    await running
    await app.close()
  })
  return { faults }
}

const areAllRunsEnded = (journey: string) => async () => {
  const rows = await target.app.sql(
    `select from journey_runs where account_id = $1 and journey_id = $2 and status in ('running', 'waiting') limit 1`,
    [bench.account.id, journey],
  )
  return rows.length === 0
}

const emails = (count: number) => Array.from({ length: count }, (_, i) => `c${i}@example.com`)

const deadlocks = async () => (await countsOf(target.app.database)).deadlocks

/** Steps of every kind that takes locks. */
const mixed = [
  { kind: 'update-field', field: 'seen', value: 'yes' },
  { kind: 'create-deal', title: 'Of {{ email }}' },
  { kind: 'split', percent: 50, a: [{ kind: 'move-deal', stage: 'Won' }], b: [] },
  { kind: 'add-to-list', list: 'Customers' },
  { kind: 'remove-from-list', list: 'Leads' },
]

const expectOnce = async (journey: string, count: number) => {
  const runs = await bench.runs(journey)
  expect(runs).toHaveLength(count)
  expect(new Set(runs.map(({ status }) => status))).toEqual(new Set(['completed']))
  const [made] = await target.app.sql(
    'select count(*), count(distinct title) as titles from deals where account_id = $1',
    [bench.account.id],
  )
  expect(made).toEqual({ count, titles: count })
  const [counts] = await target.app.sql<{ counted: number; rows: number }>(
    `select row_count as counted, (select count(*) from contacts c where c.account_id = l.account_id and c.list_id = l.id) as rows
     from contact_lists l where account_id = $1 and name = 'Customers'`,
    [bench.account.id],
  )
  expect(counts).toEqual({ counted: count, rows: count })
}

const startMixed = async (count: number) => {
  await bench.list('Customers')
  await bench.stages()
  const journey = await bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, steps: mixed })
  await bench.add(listId, emails(count))
  return journey
}

test('three engines on one database do each step once', async () => {
  const journey = await startMixed(200)
  const engines = await Promise.all(['one', 'two', 'three'].map(startEngine))
  await eventually(areAllRunsEnded(journey))
  await expectOnce(journey, 200)
  expect(engines.flatMap(({ faults }) => faults)).toEqual([])
})

test('repeatedly cut connections neither lose nor repeat a step', async () => {
  const journey = await startMixed(300)
  const engines = await Promise.all(['svc cut 1', 'svc cut 2'].map(startEngine))
  for (let cut = 0; cut < 8; cut++) {
    await new Promise((resolve) => setTimeout(resolve, 150))
    await target.app.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and application_name like 'svc cut%'`,
    )
  }
  await eventually(areAllRunsEnded(journey))
  await expectOnce(journey, 300)
  expect(engines.flatMap(({ faults }) => faults)).toEqual([])
})

/** A database of its own: backends of earlier tests report their statistics late. */
const onOwnDatabase = async () => {
  const shared = target
  target = await startApp()
  onTestFinished(async () => {
    await target.close()
    target = shared
  })
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
}

test('journeys that update the same contacts while other transactions write to both lists do not deadlock, and the row count stays correct', async () => {
  await onOwnDatabase()
  const customers = await bench.list('Customers')
  const trigger = { kind: 'list-added', list: 'Leads' }
  const steps = (field: string) => [
    { kind: 'update-field', field, value: '{{ email }}' },
    { kind: 'add-to-list', list: 'Customers' },
  ]
  const journeys = [
    await bench.apply({ name: 'One', trigger, steps: steps('one'), exitOn: ['deal-won'] }),
    // The reverse order makes the two journeys lock contact and list in opposite orders.
    await bench.apply({ name: 'Two', trigger, steps: steps('two').reverse() }),
    await bench.apply({
      name: 'Three',
      trigger: { ...trigger, list: 'Customers' },
      steps: [{ kind: 'delay', for: '1d' }],
    }),
  ]
  const before = await deadlocks()
  const count = 600
  const all = emails(count)
  for (let from = 0; from < count; from += 300) await bench.add(listId, all.slice(from, from + 300))
  const engines = await Promise.all(['one', 'two'].map(startEngine))
  let isOver = false
  const write = async (list: string, seed: number) => {
    for (let i = seed; !isOver; i++) {
      const at = (i * 37) % (count - 50)
      if (i % 2 === 0) await bench.add(list, all.slice(at, at + 50).reverse(), { [`n${seed}`]: String(i) })
      else {
        const contact = { listId: list, email: all[at]!, fields: { [`n${seed}`]: String(i) } }
        await upsertContact(target.app, bench.account.id, 'cli:test', contact)
      }
    }
  }
  const writers = [write(customers, 0), write(customers, 101), write(listId, 202), write(listId, 303)]
  await eventually(async () => (await areAllRunsEnded(journeys[0]!)()) && (await areAllRunsEnded(journeys[1]!)()))
  isOver = true
  await Promise.all(writers)
  // The sessions of the engines report at their end.
  for (const stop of stops.splice(0)) await stop()
  expect(await deadlocks()).toBe(before)
  for (const journey of journeys.slice(0, 2)) {
    const runs = await bench.runs(journey)
    expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(count)
  }
  const [counts] = await target.app.sql(
    `select row_count as counted, (select count(*) from contacts c where c.account_id = $1 and c.list_id = l.id) as rows
     from contact_lists l where account_id = $1 and name = 'Customers'`,
    [bench.account.id],
  )
  expect(counts).toEqual({ counted: count, rows: count })
  expect(engines.flatMap(({ faults }) => faults)).toEqual([])
})

/** Returns the rows of runs and their log that sequential scans have read, and the entries that their indexes have returned. */
const reads = async () => {
  await reportStatistics(target.app.database)
  const [row] = await target.app.sql<{ scanned: number; entries: number }>(
    `select (select sum(seq_tup_read)::int8 from pg_stat_user_tables where relname in ('journey_runs', 'journey_step_log')) as scanned,
       (select sum(idx_tup_read)::int8 from pg_stat_user_indexes where relname in ('journey_runs', 'journey_step_log')) as entries`,
  )
  return row!
}

test.each(['empty', 'full'])(
  'statements of the queue use indexes, row by row, even if the tables were analyzed while the queue was %s',
  async (state) => {
    await onOwnDatabase()
    const count = 1000
    const journey = await bench.apply({
      name: 'J',
      trigger: { kind: 'manual' },
      steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }],
    })
    for (let from = 0; from < count; from += 500) await bench.add(listId, emails(count).slice(from, from + 500))
    const fill = () =>
      target.app.sql(
        `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
         select account_id, 'run_' || row_id, $2, 1, list_id, row_id, email, 'running', '[0]', $3, '{}', $3
         from contacts where account_id = $1`,
        [bench.account.id, journey, target.app.now()],
      )
    if (state === 'empty') await target.app.sql('delete from journey_runs')
    else await fill()
    await target.app.sql('vacuum analyze journey_runs, journey_step_log')
    if (state === 'empty') await fill()
    const before = await reads()
    const { faults } = await startEngine('svc plans')
    // Queries contacts, so that only the engine reads the runs.
    await eventually(async () => {
      const [seen] = await target.app.sql<{ count: number }>(
        `select count(*) from contacts where account_id = $1 and fields ? 'seen'`,
        [bench.account.id],
      )
      return seen!.count === count
    })
    await stops.splice(0)[0]!()
    const after = await reads()
    expect(after.scanned - before.scanned).toBe(0)
    expect((after.entries - before.entries) / count).toBeLessThan(40)
    expect(faults).toEqual([])
  },
)

test('the cost of finding due runs does not grow with waiting runs or accounts', async () => {
  await onOwnDatabase()
  const insert = `
    insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
    select 'acc_' || n % $1, 'run_' || $4 || n, 'jrn_x', 1, 'lst_x', 'row_' || n, 'x', 'waiting', '[0]', $2::timestamptz, '{}', now()
    from generate_series(1, $3) n`
  const now = target.app.now().getTime()
  await target.app.sql(insert, [2, new Date(now - 1000), 20, 'due'])
  const capacity = { total: 512, accounts: new Map(), accountDefault: 256, except: [] }
  const cost = async () => {
    const before = await reads()
    const { runs } = await findDue(target.app.database, target.app.now(), capacity)
    expect(runs).toHaveLength(20)
    const after = await reads()
    return after.entries - before.entries + after.scanned - before.scanned
  }
  const baseline = await cost()
  await target.app.sql(insert, [5000, new Date(now + 3_600_000), 50_000, 'later'])
  expect(await cost()).toBeLessThan(1.5 * baseline)
})
