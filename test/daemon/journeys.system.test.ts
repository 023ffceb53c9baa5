// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterEach, beforeEach, expect, test } from 'vitest'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { advanceClock, markDevelopment } from '../../src/store/clock.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { startSvc, svc } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
import { type JourneyBench, journeyBench } from '../support/journeys.ts'
import { useReceiver } from '../support/receiver.ts'

const contactCount = 1000

let bench: JourneyBench
const daemons: Daemon[] = []

let target: TestApp
const receiver = useReceiver()
// Their daemons continue what they find.
beforeEach(async () => {
  receiver.always({})
  receiver.requests.length = 0
  target = await startApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_LOG_LEVEL: 'error' } })
  await markDevelopment(target.app.sql)
  bench = await journeyBench(target)
})
afterEach(async () => {
  await Promise.all(daemons.splice(0).map((daemon) => daemon.kill('SIGKILL')))
  await target.close()
})

const start = async () => {
  const daemon = await startDaemon(target)
  daemons.push(daemon)
  return daemon
}

const count = async (statement: string) => {
  const [row] = await target.app.sql<{ count: number }>(statement, [bench.account.id])
  return row!.count
}

/** Open transactions of other processes than this one. */
const ofOthers = `select from pg_stat_activity
  where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null and backend_type = 'client backend'`

const stepsDone = () => count('select count(*) from journey_step_log where account_id = $1')

const until = (isDone: () => Promise<boolean>) => eventually(isDone)

const addAll = async (listId: string, total: number) => {
  for (let from = 0; from < total; from += 500) {
    const emails = Array.from({ length: Math.min(500, total - from) }, (_, i) => `c${from + i}@example.com`)
    await bench.add(listId, emails)
  }
}

test('kill -9 twice in the middle of 1,000 runs: each step is done once, and each end emits one event', async () => {
  const listId = await bench.list('Leads')
  await bench.list('Customers')
  await bench.stages()
  await bench.subscribe('journey.completed')
  const journey = await bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      { kind: 'update-field', field: 'seen', value: 'yes' },
      { kind: 'create-deal', title: 'Of {{ email }}' },
      { kind: 'branch', if: { field: 'seen', equals: 'yes' }, then: [{ kind: 'move-deal', stage: 'Won' }] },
      { kind: 'add-to-list', list: 'Customers' },
      { kind: 'create-deal', title: 'Second of {{ email }}' },
    ],
  })
  // Five steps of the journey and the one of the branch.
  const steps = 6 * contactCount
  await addAll(listId, contactCount)
  const stepsAtKill: number[] = []
  for (const share of [0.2, 0.6]) {
    const daemon = await start()
    await until(async () => (await stepsDone()) > steps * share)
    await daemon.kill('SIGKILL')
    stepsAtKill.push(await stepsDone())
  }
  await start()
  await until(
    async () =>
      (await count(`select count(*) from journey_runs where account_id = $1 and status <> 'completed'`)) === 0,
  )
  expect(stepsAtKill.every((done) => done > 0 && done < steps)).toBe(true)
  const runs = await bench.runs(journey)
  const kinds = ['update-field', 'create-deal', 'branch', 'move-deal', 'add-to-list', 'create-deal']
  expect(runs).toHaveLength(contactCount)
  expect(runs.every(({ log }) => log.map(({ kind }) => kind).join() === kinds.join())).toBe(true)
  expect(await count('select count(*) from deals where account_id = $1')).toBe(2 * contactCount)
  expect(await count('select count(distinct title) from deals where account_id = $1')).toBe(2 * contactCount)
  expect(await count('select count(*) from deal_history where account_id = $1 and from_stage_id is not null')).toBe(
    contactCount,
  )
  const events = await target.events<'journey.completed'>(bench.account.id)
  expect(events).toHaveLength(contactCount)
  expect(new Set(events.map(({ data }) => data.runId)).size).toBe(contactCount)
})

test('kill -9 of a deletion and of the daemon while it walks the runs: no run does another step, and all end as cancelled', async () => {
  const listId = await bench.list('Leads')
  await bench.stages()
  const journey = await bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      { kind: 'update-field', field: 'seen', value: 'yes' },
      { kind: 'create-deal', title: 'Of {{ email }}' },
      { kind: 'delay', for: '1s' },
      { kind: 'create-deal', title: 'Second of {{ email }}' },
    ],
  })
  await addAll(listId, contactCount)
  const daemon = await start()
  await until(async () => (await stepsDone()) > contactCount * 0.3)
  const deletion = startSvc(target, ['journeys', 'delete', journey, '--yes', '--account', bench.account.id])
  await until(async () => (await count('select count(*) from journeys where account_id = $1')) === 0)
  deletion.kill('SIGKILL')
  await daemon.kill('SIGKILL')
  const openRuns = () =>
    count(`select count(*) from journey_runs where account_id = $1 and status in ('running', 'waiting')`)
  // The server ends the transactions of killed processes when it notices.
  await until(async () => (await target.app.sql(ofOthers)).length === 0)
  const [open, steps] = [await openRuns(), await stepsDone()]
  expect(open).toBeGreaterThan(0)
  await start()
  await until(async () => (await openRuns()) === 0)
  expect(await stepsDone()).toBe(steps)
  const runs = await bench.runs(journey)
  expect(runs.filter(({ status }) => status === 'cancelled').length).toBeGreaterThanOrEqual(open)
  expect(new Set(runs.map(({ status }) => status)).size).toBeLessThanOrEqual(2)
})

test('kill -9 during webhook and wait-for steps: each call is made, each wait ends once, and each run completes', async () => {
  const total = 300
  const listId = await bench.list('Leads')
  await bench.stages()
  const journey = await bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      { kind: 'webhook', url: `${receiver.url}/one`, body: { email: '{{ email }}' } },
      {
        kind: 'wait-for',
        event: 'deal.created',
        timeout: '1d',
        then: [{ kind: 'update-field', field: 'side', value: 'then' }],
        else: [{ kind: 'update-field', field: 'side', value: 'else' }],
      },
      { kind: 'webhook', url: `${receiver.url}/two`, body: { side: '{{ side }}', email: '{{ email }}' } },
    ],
  })
  await addAll(listId, total)
  const isAt = (place: string, share: number) => async () =>
    (await count(`select count(*) from journey_step_log where account_id = $1 and step = '${place}'`)) > total * share
  const first = await start()
  await until(isAt('steps[0]', 0.2))
  await first.kill('SIGKILL')
  const second = await start()
  await until(isAt('steps[0]', 0.999))
  await target.app.work(bench.account.id, 'cli:test', async (work) => {
    for (let i = 0; i < total; i += 2) {
      await createDeal(work, NewDeal.parse({ title: 'T', email: `c${i}@example.com` }), { source: 'api' })
    }
  })
  await until(isAt('steps[2]', 0.1))
  await second.kill('SIGKILL')
  await advanceClock(target.app.database, 86_400_000)
  await start()
  await until(isAt('steps[2]', 0.999))
  const runs = await bench.runs(journey)
  for (const { email, status, log } of runs) {
    const came = Number(email.slice(1, -'@example.com'.length)) % 2 === 0
    expect(status).toBe('completed')
    expect(log.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'steps[0] answered 200',
      came ? 'steps[1] deal.created came' : 'steps[1] no deal.created in 1d',
      `steps[1].${came ? 'then' : 'else'}[0] updated`,
      'steps[2] answered 200',
    ])
  }
  const posts = receiver.requests.splice(0)
  const bodies = new Map(posts.map(({ headers, body }) => [headers['x-service-idempotency-key'], String(body)]))
  expect(bodies.size).toBe(2 * total)
})

test('two accounts with 300 hanging webhook steps each do not delay the steps of a third', async () => {
  receiver.always({ mode: 'hang' })
  for (const name of ['Slow', 'Slower']) {
    bench = await journeyBench(target)
    const listId = await bench.list('Leads')
    const trigger = { kind: 'list-added', list: 'Leads' }
    await bench.apply({ name, trigger, steps: [{ kind: 'webhook', url: receiver.url, body: {} }] })
    await addAll(listId, 300)
  }
  await start()
  await receiver.arrived(8)
  bench = await journeyBench(target)
  const listId = await bench.list('Leads')
  const journey = await bench.apply({
    name: 'Quick',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }],
  })
  await bench.add(listId, ['a@example.com'])
  const from = performance.now()
  await until(async () => (await bench.runs(journey))[0]!.status === 'completed')
  expect(performance.now() - from).toBeLessThan(3000)
})

test('an unexpected error is logged with the id of the run, and shown with the run', async () => {
  const listId = await bench.list('Leads')
  const trigger = { kind: 'list-added', list: 'Leads' }
  await bench.apply({ name: 'Faulty', trigger, steps: [{ kind: 'update-field', field: 'seen', value: 'yes' }] })
  await target.app.sql(`create function fail() returns trigger language plpgsql as $$ begin raise 'no luck'; end $$`)
  await target.app.sql('create trigger fail before update on contacts for each row execute function fail()')
  const daemon = await start()
  await bench.add(listId, ['a@example.com'])
  const shown = async () =>
    (await svc(target, ['--account', bench.account.id, 'journeys', 'runs', 'Faulty', '--json'])).json.runs[0]
  await until(async () => (await shown()).tries > 0)
  const run = await shown()
  expect(run).toMatchObject({ status: 'running', tries: 1, lastFault: 'no luck' })
  const line = daemon
    .log()
    .split('\n')
    .find((text) => text.includes(run.id))
  expect(JSON.parse(line!)).toMatchObject({ level: 50, job: 'journeys', runId: run.id, err: { message: 'no luck' } })
  await target.app.sql('drop function fail() cascade')
  await advanceClock(target.app.database, 60_000)
  await until(async () => (await shown()).status === 'completed')
})
