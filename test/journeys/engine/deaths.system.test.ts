// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { createDeal, NewDeal } from '../../../src/deals/deals.ts'
import { deleteJourney } from '../../../src/journeys/journeys.ts'
import { addSender } from '../../../src/senders/senders.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import { useApp } from '../../support/app.ts'
import { eventually, settlesWithin } from '../../support/eventually.ts'
import { holdUp } from '../../support/hold.ts'
import { startJob } from '../../support/jobs.ts'
import { day, type JourneyBench, journeyBench } from '../../support/journeys.ts'
import { startMail, tallyMessages } from '../../support/messages.ts'
import { keyOf } from '../../support/neighbours.ts'
import { plainProject } from '../../support/projects.ts'
import { useReceiver } from '../../support/receiver.ts'
import { atEnd, endStarted } from '../../support/scope.ts'
import { useSink } from '../../support/smtp.ts'

// The thread of the engine is killed in the middle of its work, and works beside the queues of deliveries and messages.

let bench: JourneyBench
let listId: string

const receiver = useReceiver()
const sink = useSink()
const target = useApp(() => ({
  env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8', SVC_SMTP_URL: sink.url },
  development: true,
}))
beforeEach(async () => {
  receiver.requests.length = 0
  receiver.always({})
  sink.mails.length = 0
  sink.always({})
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})
afterEach(endStarted)

const count = async (statement: string) =>
  (await target.app.sql<{ count: number }>(statement, [bench.account.id]))[0]!.count
const stepsDone = () => count('select count(*) from journey_step_log where account_id = $1')
const openRuns = () =>
  count(`select count(*) from journey_runs where account_id = $1 and status in ('running', 'waiting')`)
const emails = (total: number) => Array.from({ length: total }, (_, i) => `c${i}@example.com`)
const trigger = { kind: 'list-added', list: 'Leads' }
/** Stops the engine after it has written `steps` more steps. */
const holdAfter = (steps: number) => holdUp(target, 'insert on journey_step_log', { after: steps })

test('killed twice in the middle of 200 runs: each step is done once, and each end emits one event', async () => {
  const total = 200
  await bench.list('Customers')
  await bench.stages()
  await bench.subscribe('journey.completed')
  const journey = await bench.apply({
    name: 'J',
    trigger,
    steps: [
      { kind: 'update-field', field: 'seen', value: 'yes' },
      { kind: 'create-deal', title: 'Of {{ email }}' },
      { kind: 'branch', if: { field: 'seen', equals: 'yes' }, then: [{ kind: 'move-deal', stage: 'Won' }] },
      { kind: 'add-to-list', list: 'Customers' },
      { kind: 'create-deal', title: 'Second of {{ email }}' },
    ],
  })
  await bench.add(listId, emails(total))
  const stepsAtDeath: number[] = []
  for (const steps of [300, 500]) {
    const held = await holdAfter(steps)
    const engine = await startJob(target, 'journeys')
    await held.reached()
    await engine.kill()
    await held.end()
    stepsAtDeath.push(await stepsDone())
  }
  await startJob(target, 'journeys')
  await eventually(async () => (await openRuns()) === 0)
  // Five steps of the journey and the one of the branch.
  expect(stepsAtDeath.every((done) => done > 0 && done < 6 * total)).toBe(true)
  const runs = await bench.runs(journey)
  const kinds = ['update-field', 'create-deal', 'branch', 'move-deal', 'add-to-list', 'create-deal']
  expect(runs).toHaveLength(total)
  expect(runs.every(({ log }) => log.map(({ kind }) => kind).join() === kinds.join())).toBe(true)
  expect(await count('select count(*) from deals where account_id = $1')).toBe(2 * total)
  expect(await count('select count(distinct title) from deals where account_id = $1')).toBe(2 * total)
  expect(await count('select count(*) from deal_history where account_id = $1 and from_stage_id is not null')).toBe(
    total,
  )
  const events = await target.events<'journey.completed'>(bench.account.id)
  expect(events).toHaveLength(total)
  expect(new Set(events.map(({ data }) => data.runId)).size).toBe(total)
})

test('killed together with a deletion of its journey: no run does another step, and all end as cancelled', async () => {
  const total = 200
  await bench.stages()
  const journey = await bench.apply({
    name: 'J',
    trigger,
    steps: [
      { kind: 'update-field', field: 'seen', value: 'yes' },
      { kind: 'create-deal', title: 'Of {{ email }}' },
      { kind: 'delay', for: '1s' },
      { kind: 'create-deal', title: 'Second of {{ email }}' },
    ],
  })
  await bench.add(listId, emails(total))
  const walking = await holdAfter(total)
  const cancelling = await holdUp(target, 'update on journey_runs', { when: `new.status = 'cancelled'` })
  const engine = await startJob(target, 'journeys')
  await walking.reached()
  const own = await openApp(readConfig(target.env))
  let closing: Promise<void> | undefined
  atEnd(() => closing ?? own.close())
  const deletion = deleteJourney(own, bench.account.id, journey, { actor: 'cli:test' }).then(
    () => 'done',
    () => 'cut',
  )
  await cancelling.reached()
  await engine.kill()
  await walking.end()
  // Without it the transaction that is cut would run again.
  closing = own.close()
  await cancelling.end()
  await closing
  expect(await deletion).toBe('cut')
  expect(await count('select count(*) from journeys where account_id = $1')).toBe(0)
  const [open, steps] = [await openRuns(), await stepsDone()]
  expect([open > 0, steps > 0]).toEqual([true, true])
  await startJob(target, 'journeys')
  await eventually(async () => (await openRuns()) === 0)
  expect(await stepsDone()).toBe(steps)
  const runs = await bench.runs(journey)
  expect(runs.filter(({ status }) => status === 'cancelled').length).toBeGreaterThanOrEqual(open)
  expect(new Set(runs.map(({ status }) => status)).size).toBeLessThanOrEqual(2)
})

test('killed during webhook and wait-for steps: each call is made, each wait ends once, and each run completes', async () => {
  const total = 60
  await bench.stages()
  const journey = await bench.apply({
    name: 'J',
    trigger,
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
  await bench.add(listId, emails(total))
  const isAt = (place: string, least: number) =>
    eventually(
      async () =>
        (await count(`select count(*) from journey_step_log where account_id = $1 and step = '${place}'`)) >= least,
    )
  const start = () => Promise.all([startJob(target, 'journeys'), startJob(target, 'deliveries')])
  const hold = (place: string) =>
    holdUp(target, 'insert on journey_step_log', { when: `new.step = '${place}'`, after: total / 5 })
  const answers = await hold('steps[0]')
  const first = await start()
  await answers.reached()
  await Promise.all(first.map(({ kill }) => kill()))
  await answers.end()
  const second = await start()
  await isAt('steps[0]', total)
  const again = await hold('steps[2]')
  await target.app.work(bench.account.id, 'cli:test', async (work) => {
    for (let i = 0; i < total; i += 2) {
      await createDeal(work, NewDeal.parse({ title: 'T', email: `c${i}@example.com` }), { source: 'api' })
    }
  })
  await again.reached()
  await Promise.all(second.map(({ kill }) => kill()))
  await again.end()
  await target.advance(day)
  await start()
  await isAt('steps[2]', total)
  for (const { email, status, log } of await bench.runs(journey)) {
    const came = Number(email.slice(1, -'@example.com'.length)) % 2 === 0
    expect(status).toBe('completed')
    expect(log.map(({ step, outcome }) => `${step} ${outcome}`)).toEqual([
      'steps[0] answered 200',
      came ? 'steps[1] deal.created came' : 'steps[1] no deal.created in 1d',
      `steps[1].${came ? 'then' : 'else'}[0] updated`,
      'steps[2] answered 200',
    ])
  }
  expect(new Set(receiver.requests.map(keyOf)).size).toBe(2 * total)
})

test('two accounts with 300 hanging webhook steps each do not delay the steps of a third', async () => {
  receiver.always({ mode: 'hang' })
  for (const name of ['Slow', 'Slower']) {
    bench = await journeyBench(target)
    const leads = await bench.list('Leads')
    await bench.apply({ name, trigger, steps: [{ kind: 'webhook', url: receiver.url, body: {} }] })
    await bench.add(leads, emails(300))
  }
  await Promise.all([startJob(target, 'journeys'), startJob(target, 'deliveries')])
  await receiver.arrived(8)
  bench = await journeyBench(target)
  const leads = await bench.list('Leads')
  const steps = [{ kind: 'update-field', field: 'seen', value: 'yes' }]
  const journey = await bench.apply({ name: 'Quick', trigger, steps })
  await bench.add(leads, ['a@example.com'])
  const done = eventually(async () => (await bench.runs(journey))[0]!.status === 'completed')
  expect(await settlesWithin(done, 3000)).toBe(true)
})

describe('emails of a journey', () => {
  const apply = async () => {
    await bench.work(async (work) => {
      await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
      await applyProjects(work, [plainProject('Welcome, {{ name }}')])
    })
    return bench.apply({
      name: 'J',
      trigger,
      steps: [
        { kind: 'send-email', project: 'Welcome, {{ name }}' },
        {
          kind: 'wait-for',
          event: 'interaction.received',
          timeout: '2d',
          then: [{ kind: 'update-field', field: 'side', value: 'then' }],
          else: [{ kind: 'update-field', field: 'side', value: 'else' }],
        },
      ],
    })
  }

  test('reach the relay, and a contact takes `else` without a reaction', async () => {
    const id = await apply()
    await startJob(target, 'journeys')
    startMail(target.app)
    await bench.add(listId, ['ada@example.com'], { name: 'Ada' })
    const [mail] = await sink.arrived(1)
    expect(mail!.header('subject')).toBe('Welcome, Ada')
    expect(mail!.to).toEqual(['ada@example.com'])
    await eventually(async () => (await bench.runs(id))[0]!.status === 'waiting')
    await target.advance(2 * day)
    await eventually(async () => (await bench.runs(id))[0]!.status === 'completed')
    expect((await bench.runs(id))[0]!.log.map(({ outcome }) => outcome)).toEqual([
      'queued',
      'no interaction.received in 2d',
      'updated',
    ])
    expect(sink.mails).toHaveLength(1)
  })

  test('whose engine and mail thread are killed: each of 60 runs has its email, and none is sent twice', async () => {
    sink.always({ delayMs: 20 })
    const id = await apply()
    await bench.add(listId, emails(60), { name: 'N' })
    for (const arrived of [1, 20]) {
      const threads = await Promise.all([startJob(target, 'journeys'), startJob(target, 'mail')])
      await sink.arrived(arrived)
      await Promise.all(threads.map(({ kill }) => kill()))
    }
    await startJob(target, 'journeys')
    startMail(target.app)
    await eventually(async () => (await bench.runs(id)).every(({ status }) => status === 'waiting'))
    await eventually(async () => !(await tallyMessages(target.app, bench.account.id)).pending)
    const { sent = 0, failed = 0 } = await tallyMessages(target.app, bench.account.id)
    // Emails on a relay connection at a kill are in doubt: they fail and are not sent again.
    expect([sent + failed, failed <= 2 * 30]).toEqual([60, true])
    expect(sink.mails.length).toBeGreaterThanOrEqual(sent)
    expect(new Set(sink.mails.map(({ to }) => to[0])).size).toBe(sink.mails.length)
    expect((await bench.runs(id)).every(({ log }) => log.length === 1 && log[0]!.outcome === 'queued')).toBe(true)
  })
})
