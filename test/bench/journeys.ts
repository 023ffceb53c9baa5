// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step

import { setTimeout as sleep } from 'node:timers/promises'
import type { OpenApp } from '../../src/app/app.ts'
import { startDaemon } from '../../src/app/daemon/daemon.ts'
import { journeyMails } from '../../src/app/journeys.mail.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { upsertContact } from '../../src/contacts/write/upsert.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { runJourneys } from '../../src/journeys/engine/runs.loop.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { type Bench, below, benchAccount, median, percentile, type Row, row, timed } from './support.ts'
import { until } from './webhooks.ts'

const accounts = 10
const stepsPerRun = 4
const rounds = 3

/** Creates runs of a journey of `delay`, `branch`, `split`, `exit`, all due, for ten accounts; each run has its own contact. */
const prepare = async (app: OpenApp, index: number, count: number): Promise<string> => {
  const now = app.now()
  const id = `acc_bench${index}_${now.getTime()}`
  await app.sql(`insert into accounts (id, name, plan, created_at) values ($1, $1, 'unlimited', $2)`, [id, now])
  await app.work(id, 'cli:bench', async (work) => {
    const list = await createList(work, { name: 'Leads' })
    const emails = Array.from({ length: count / accounts }, (_, i) => `c${i}@example.com`)
    await writeContacts(
      work,
      list.id,
      emails.map((email) => ({ email, fields: { plan: 'pro' } })),
      new Map(),
    )
    const split = { kind: 'split', percent: 100, a: [{ kind: 'exit' }], b: [] }
    const branch = { kind: 'branch', if: { field: 'plan', equals: 'pro' }, then: [split] }
    const steps = [{ kind: 'delay', for: '1s' }, branch]
    const trigger = { kind: 'manual' }
    const [journey] = await applyJourneys(work, [{ name: 'J', trigger, steps }])
    await work.sql(
      `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
       select account_id, 'run_' || row_id, $2, 1, list_id, row_id, email, 'waiting', '[0]', $3, '{}', $3
       from contacts where account_id = $1`,
      [id, journey!.id, now],
    )
  })
  return id
}

const prepareAll = async (app: OpenApp, count: number): Promise<void> => {
  for (let i = 0; i < accounts; i++) await prepare(app, i, count)
  await app.sql('vacuum analyze journey_runs')
}

const isLeft = async (app: OpenApp) =>
  (await app.sql(`select from journey_runs where status in ('running', 'waiting') limit 1`)).length > 0

const ours = async (app: OpenApp, count: number): Promise<number> => {
  await prepareAll(app, count)
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const elapsedMs = await timed(async () => {
    running = runJourneys(app, stop.signal, { sendMails: journeyMails(app) })
    await until(async () => !(await isLeft(app)), 5)
  })
  stop.abort()
  await running
  return (count * stepsPerRun) / (elapsedMs / 1000)
}

/** A minimal queue of runs: the due runs by account, a claim that rewrites no index, and an index on the contacts. */
const bareTable = [
  `create table bare_runs (account_id text collate "C", id text collate "C", row_id text collate "C", status text, step_no int,
     due_at timestamptz, claim int default 0, leased_until timestamptz, context jsonb, primary key (account_id, id))
     with (fillfactor = 60)`,
  `create index on bare_runs (account_id, due_at) where status in ('running', 'waiting')`,
  `create index on bare_runs (account_id, row_id) where status in ('running', 'waiting')`,
]

/** Claims 128 runs and records a step of each with its log, one statement each, as fast as possible. */
const bare = async (app: OpenApp, count: number): Promise<number> => {
  await prepareAll(app, count)
  await app.sql('drop table if exists bare_runs')
  for (const statement of bareTable) await app.sql(statement)
  await app.sql(
    `with gone as (delete from journey_runs where status = 'waiting' returning *)
     insert into bare_runs (account_id, id, row_id, status, step_no, due_at, context)
     select account_id, id, row_id, status, step_no, due_at, context from gone`,
  )
  await app.sql('vacuum analyze bare_runs')
  const claim = `
    update bare_runs set claim = claim + 1, leased_until = now() + interval '30 s'
    where ctid = any(array(
      select ctid from bare_runs where status in ('running', 'waiting') and (leased_until is null or leased_until < now())
      order by account_id, due_at limit 128 for update skip locked
    )) returning account_id, id, claim`
  const record = `
    with done as (
      insert into journey_step_log (account_id, run_id, step_no, at, step, kind, outcome)
      select account_id, id, $2, now(), 'steps[0]', 'delay', 'waited'
      from jsonb_to_recordset($1::jsonb) as d(account_id text, id text)
    )
    update bare_runs r set step_no = $2, status = case when $2 = $3 then 'completed' else r.status end
    from jsonb_to_recordset($1::jsonb) as d(account_id text, id text, claim int)
    where r.account_id = d.account_id and r.id = d.id and r.claim = d.claim`
  const lane = async () => {
    for (;;) {
      const rows = await app.sql(claim)
      if (rows.length === 0) return
      for (let step = 1; step <= stepsPerRun; step++) {
        await app.sql(record, [JSON.stringify(rows), step, stepsPerRun])
      }
    }
  }
  const elapsedMs = await timed(() => Promise.all([lane(), lane(), lane()]))
  return (count * stepsPerRun) / (elapsedMs / 1000)
}

/** Measures the time from the commit of a deal to the first step of the journey that it starts, run by a daemon's jobs. */
const latency = async (app: OpenApp): Promise<number[]> => {
  const { id } = await benchAccount(app)
  const list = await app.work(id, 'cli:bench', (work) => createList(work, { name: 'Leads' }))
  await upsertContact(app, id, 'cli:bench', { listId: list.id, email: 'a@example.com', fields: {} })
  await app.work(id, 'cli:bench', (work) =>
    applyJourneys(work, [
      {
        name: 'J',
        trigger: { kind: 'deal-stage-changed' },
        reentry: 'always',
        steps: [{ kind: 'update-field', field: 'seen', value: '{{ email }}' }],
      },
    ]),
  )
  const daemon = await startDaemon({ ...app.config, port: 0 }, { api: false, jobs: true })
  const waits: number[] = []
  for (let i = 0; i < 120; i++) {
    await app.work(id, 'cli:bench', (work) =>
      createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com' }), { source: 'api' }),
    )
    const start = performance.now()
    const done = async () => {
      const [logged] = await app.sql<{ count: number }>('select count(*) from journey_step_log where account_id = $1', [
        id,
      ])
      return logged!.count > i
    }
    await until(done, 1)
    if (i >= 20) waits.push(performance.now() - start)
    await sleep(10)
  }
  await daemon.stop()
  return waits
}

const people = 5000

/** Calls POST /contacts for a list sequentially at a low rate until `isOver`; returns the duration of each call in ms. */
const post = async (url: string, key: string, listId: string, isOver: () => Promise<boolean>): Promise<number[]> => {
  const took: number[] = []
  for (let i = 0; i % 20 !== 0 || i === 0 || !(await isOver()); i++) {
    const start = performance.now()
    const reply = await fetch(`${url}/api/v1/contacts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ listId, email: `c${(i * 37) % people}@bench.example`, fields: { at: String(i) } }),
    })
    if (!reply.ok) throw new Error(`answered ${reply.status}`)
    took.push(performance.now() - start)
    await sleep(5)
  }
  return took
}

/** The p99 of the API without load, and beside two journeys that change 5,000 contacts and add them to the same list. */
const beside = async (app: OpenApp): Promise<{ alone: number; beside: number }> => {
  await app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('bench.example', 'mx', now() + interval '1 day')`,
  )
  const { id, key } = await benchAccount(app)
  const [leads, customers] = await app.work(id, 'cli:bench', async (work) => [
    await createList(work, { name: 'Leads' }),
    await createList(work, { name: 'Customers' }),
  ])
  const emails = Array.from({ length: people }, (_, i) => ({ email: `c${i}@bench.example`, fields: { plan: 'pro' } }))
  await app.work(id, 'cli:bench', (work) => writeContacts(work, leads!.id, emails, new Map()))
  const daemon = await startDaemon({ ...app.config, port: 0 }, { api: true, jobs: true })
  const from = Date.now()
  await post(daemon.url!, key, customers!.id, async () => Date.now() - from > 1000)
  const alone = await post(daemon.url!, key, customers!.id, async () => Date.now() - from > 6000)
  for (const name of ['One', 'Two']) {
    await app.work(id, 'cli:bench', async (work) => {
      const steps = [
        { kind: 'update-field', field: name, value: '{{ email }}' },
        { kind: 'add-to-list', list: 'Customers' },
      ]
      const [journey] = await applyJourneys(work, [{ name, trigger: { kind: 'manual' }, steps }])
      await work.sql(
        `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
         select account_id, 'run_' || $2 || row_id, $2, 1, list_id, row_id, email, 'running', '[0]', $3, '{}', $3
         from contacts where account_id = $1 and list_id = $4`,
        [id, journey!.id, app.now(), leads!.id],
      )
    })
  }
  const busy = await post(daemon.url!, key, customers!.id, async () => !(await isLeft(app)))
  await daemon.stop()
  const [row] = await app.sql<{ deadlocks: number }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  if (row!.deadlocks > 0) throw new Error(`${row!.deadlocks} deadlocks`)
  return { alone: percentile(alone, 99), beside: percentile(busy, 99) }
}

const steps = async (app: OpenApp, count: number, atLeast: number): Promise<Row> => {
  const seen = { ours: [] as number[], bare: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    seen.bare.push(await bare(app, count))
    seen.ours.push(await ours(app, count))
  }
  const name = `journey steps, ${count.toLocaleString('en')} runs due, beside a bare claim and record`
  return row(name, '/s', { ours: median(seen.ours), limit: median(seen.bare) }, { atLeast })
}

/** Compares steps per second with a bare claim-and-record loop, and measures the time from an event to its first step. */
export const bench = async ({ app: open }: Bench): Promise<Row[]> => {
  const app = await open()
  const rows = [await steps(app, 10_000, 0.7), await steps(app, 100_000, 0.7)]
  const waits = await latency(app)
  const writers = await beside(await open())
  return [
    ...rows,
    row(
      'POST /contacts beside two journeys of 5,000 contacts, p99',
      'ms',
      { ours: writers.beside, limit: writers.alone },
      { atMost: 2 },
    ),
    below('event to first step, p50', 'ms', percentile(waits, 50), 50),
  ]
}
