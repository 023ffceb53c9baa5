// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { changeDeal, createDeal, createPipeline, dealHistory, listDeals, NewDeal } from '../../src/deals/deals.ts'
import { listRuns, showRun } from '../../src/journeys/journeys.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

const clock = testClock()
let target: TestApp
let bench: JourneyBench
let receiver: Receiver
let listId: string

beforeAll(async () => {
  receiver = await openReceiver()
  target = await startApp({ now: clock.now, env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
})
afterAll(async () => {
  await target.close()
  await receiver.close()
})
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

const onAdded = (steps: unknown[], more: object = {}) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, ...more, steps })

/** A list with as many columns as it can have. */
const fullList = async () => {
  const fields = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`f${i}`, '1']))
  await bench.add(await bench.list('Full'), ['first@example.com'], fields)
}

const outcomes = async (journeyId: string) =>
  (await bench.runs(journeyId)).map(({ status, reason, log }) => ({
    status,
    reason,
    log: log.map(({ step, kind, outcome }) => `${step} ${kind}: ${outcome}`),
  }))

test('a run does its steps in order, logs each, and ends as completed', async () => {
  await bench.list('Customers')
  const journey = await onAdded([
    { kind: 'update-field', field: 'plan', value: 'for {{ name }}{{ nothing }}' },
    { kind: 'delay', for: '2d' },
    { kind: 'branch', if: { field: 'plan', contains: 'Ada' }, then: [{ kind: 'add-to-list', list: 'Customers' }] },
  ])
  await bench.subscribe('journey.completed', 'contact.updated', 'contact.created')
  await bench.add(listId, ['ada@example.com'], { name: 'Ada' })
  const enteredAt = clock.now().getTime()
  await bench.drain()
  expect(await outcomes(journey)).toEqual([
    { status: 'waiting', reason: null, log: ['steps[0] update-field: updated'] },
  ])
  clock.advance(2 * day - 1)
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('waiting')
  clock.advance(1)
  await bench.drain()
  expect(await outcomes(journey)).toEqual([
    {
      status: 'completed',
      reason: null,
      log: [
        'steps[0] update-field: updated',
        'steps[1] delay: waited',
        'steps[2] branch: then',
        'steps[2].then[0] add-to-list: added',
      ],
    },
  ])
  const contacts = await bench.contacts('ada@example.com')
  expect(contacts.map(({ listName, fields }) => [listName, fields])).toEqual([
    ['Customers', { name: 'Ada', plan: 'for Ada' }],
    ['Leads', { name: 'Ada', plan: 'for Ada' }],
  ])
  const events = await target.events(bench.account.id)
  expect(events.map(({ type }) => type).sort()).toEqual(['contact.created', 'contact.created', 'journey.completed'])
  const [run] = await bench.runs(journey)
  expect(events.find(({ type }) => type === 'journey.completed').data).toEqual({
    journey: { id: journey, name: 'J' },
    runId: run!.id,
    contact: contacts[1],
    enteredAt,
    completedAt: enteredAt + 2 * day,
  })
})

test('a branch compares by equals, contains, exists, greater and less, numbers as numbers', async () => {
  const branch = (condition: object, name: string) => ({
    kind: 'branch',
    if: condition,
    then: [{ kind: 'update-field', field: name, value: 'yes' }],
    else: [{ kind: 'update-field', field: name, value: 'no' }],
  })
  await onAdded([
    branch({ field: 'age', equals: 30 }, 'equals'),
    branch({ field: 'name', equals: 'ada' }, 'case'),
    branch({ field: 'age', greater: 9 }, 'greater'),
    branch({ field: 'name', less: 9 }, 'less'),
    branch({ field: 'empty', exists: false }, 'exists'),
    branch({ field: 'email', contains: '@example' }, 'contains'),
  ])
  await bench.add(listId, ['ada@example.com'], { age: '30.0', name: 'Ada', empty: '' })
  await bench.drain()
  const [contact] = await bench.contacts('ada@example.com')
  expect(contact!.fields).toMatchObject({
    equals: 'yes',
    case: 'no',
    greater: 'yes',
    less: 'no',
    exists: 'yes',
    contains: 'yes',
  })
})

test('a split shares runs out by its percent, and sends a run the same way however often it is asked', async () => {
  const journey = await onAdded([{ kind: 'split', percent: 30, a: [{ kind: 'exit' }], b: [] }])
  await bench.add(
    listId,
    Array.from({ length: 500 }, (_, i) => `c${i}@example.com`),
  )
  await bench.drain()
  const runs = await bench.runs(journey)
  const left = runs.filter(({ status, reason }) => status === 'exited' && reason === 'exit step').length
  expect(runs).toHaveLength(500)
  expect(runs.filter(({ status }) => status === 'completed')).toHaveLength(500 - left)
  expect(left).toBeGreaterThan(110)
  expect(left).toBeLessThan(190)
})

test('a deal is made with the source journey, and moved by it, whatever its status', async () => {
  const stages = await bench.stages()
  const journey = await onAdded([
    { kind: 'create-deal', title: 'Plan for {{ name }}', value: 9.5, currency: 'eur' },
    { kind: 'move-deal', stage: 'Won' },
    { kind: 'move-deal', stage: 'Lost' },
  ])
  await bench.add(listId, ['ada@example.com'], { name: 'Ada' })
  await bench.drain()
  const { rows } = await bench.work((work) => listDeals(work, {}, { limit: 10 }))
  expect(rows).toMatchObject([
    { title: 'Plan for Ada', value: 9.5, currency: 'EUR', source: 'journey', stage: 'Lost', status: 'lost' },
  ])
  const history = await bench.work((work) => dealHistory(work, rows[0]!.id))
  const [first, won, lost] = ['New', 'Won', 'Lost'].map((name) => stages.find((stage) => stage.name === name)!.id)
  expect(history.map(({ actor, from, to }) => [actor, from, to])).toEqual([
    [`journey:${journey}`, null, first],
    [`journey:${journey}`, first, won],
    [`journey:${journey}`, won, lost],
  ])
})

const makeDeal = async (title: string, more: object = {}) =>
  (
    await bench.work((work) =>
      createDeal(work, NewDeal.parse({ title, email: 'ada@example.com', ...more }), { source: 'api' }),
    )
  ).deal
const stagesByTitle = async () => {
  const { rows } = await bench.work((work) => listDeals(work, {}, { limit: 10 }))
  return Object.fromEntries(rows.map(({ title, stage }) => [title, stage]))
}

test('move-deal moves the deal that started the run, whatever its status and however many are newer', async () => {
  const journey = await bench.apply({
    name: 'J',
    trigger: { kind: 'deal-stage-changed', stage: 'Won' },
    steps: [{ kind: 'move-deal', stage: 'Qualified' }],
  })
  await bench.add(listId, ['ada@example.com'])
  const { id } = await makeDeal('First')
  await makeDeal('Newer')
  const won = (await bench.stages()).find(({ name }) => name === 'Won')!.id
  await bench.work((work) => changeDeal(work, id, { stageId: won }))
  await bench.drain()
  expect((await outcomes(journey))[0]!.log).toEqual([`steps[0] move-deal: ${id} moved`])
  expect(await stagesByTitle()).toEqual({ First: 'Qualified', Newer: 'New' })
})

test('without a deal of its own, move-deal moves the newest open one in the pipeline of its stage, or none', async () => {
  await bench.stages()
  const partners = await bench.work((work) => createPipeline(work, { name: 'Partners' }))
  const journey = await bench.apply({
    name: 'Hand',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      { kind: 'delay', for: '1h' },
      { kind: 'move-deal', stage: 'Proposal' },
    ],
  })
  await bench.add(listId, ['ada@example.com', 'bob@example.com'])
  await bench.drain()
  const sold = await makeDeal('Sold')
  await makeDeal('Partner', { pipelineId: partners.id })
  await makeDeal('Bobs', { pipelineId: partners.id, email: 'bob@example.com' })
  clock.advance(3_600_000)
  await bench.drain()
  const logs = Object.fromEntries((await bench.runs(journey)).map((run) => [run.email, run]))
  expect(logs['ada@example.com']).toMatchObject({ log: [{}, { outcome: `${sold.id} moved` }] })
  expect(logs['bob@example.com']).toMatchObject({ status: 'completed', log: [{}, { outcome: 'no open deal' }] })
  expect(await stagesByTitle()).toEqual({ Sold: 'Proposal', Partner: 'New', Bobs: 'New' })
})

test('a clock that jumps over a chain of waits finds the run at its end', async () => {
  const wait = { kind: 'delay', for: '1d' }
  const from = clock.now().getTime()
  const journey = await onAdded([
    wait,
    wait,
    { kind: 'update-field', field: 'half', value: 'way' },
    { kind: 'delay', until: new Date(from + 4 * day).toISOString() },
    { kind: 'wait-for', event: 'deal.created', timeout: '1d', then: [], else: [wait] },
    { kind: 'update-field', field: 'done', value: 'yes' },
    { kind: 'delay', for: '2d' },
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  clock.advance(7 * day)
  await bench.drain()
  const [run] = await bench.runs(journey)
  expect(run!.log.map(({ step, outcome }) => [step, outcome])).toEqual([
    ['steps[0]', 'waited'],
    ['steps[1]', 'waited'],
    ['steps[2]', 'updated'],
    ['steps[3]', 'waited'],
    ['steps[4]', 'no deal.created in 1d'],
    ['steps[4].else[0]', 'waited'],
    ['steps[5]', 'updated'],
  ])
  const [shown] = (await bench.work((work) => listRuns(work, { journeyId: journey, limit: 1 }))).rows
  expect(shown).toMatchObject({ status: 'waiting', enteredAt: from, dueAt: from + 8 * day })
  const { log } = await bench.work((work) => showRun(work, journey, run!.id))
  expect(new Set(log.map(({ at }) => at))).toEqual(new Set([from + 7 * day]))
})

test('a run that is taken late counts its next wait from when it was due', async () => {
  const journey = await onAdded([
    { kind: 'delay', for: '1h' },
    { kind: 'delay', for: '1d' },
  ])
  await bench.add(listId, ['ada@example.com'])
  const from = clock.now().getTime()
  await bench.drain()
  clock.advance(3 * 3_600_000)
  await bench.drain()
  const [run] = (await bench.work((work) => listRuns(work, { journeyId: journey, limit: 1 }))).rows
  expect(run).toMatchObject({ status: 'waiting', dueAt: from + day + 3_600_000 })
})

test('a step that is refused ends its run as failed, with the reason, and no other run', async () => {
  await fullList()
  const journey = await onAdded([{ kind: 'add-to-list', list: 'Full' }])
  await bench.add(listId, ['plain@example.com'])
  await bench.drain()
  await bench.add(listId, ['wide@example.com'], { extra: '1' })
  await bench.add(listId, ['also@example.com'])
  await bench.drain()
  const ended = (await bench.runs(journey)).map(({ email, status, reason }) => [email, status, reason])
  expect(ended.sort()).toEqual([
    ['also@example.com', 'completed', null],
    ['plain@example.com', 'completed', null],
    ['wide@example.com', 'failed', 'add-to-list: A list can have at most 40 columns'],
  ])
})

test('of runs taken together, one that is refused leaves the others as done', async () => {
  await fullList()
  const journey = await onAdded([
    { kind: 'delay', for: '1s' },
    { kind: 'add-to-list', list: 'Full' },
  ])
  for (let i = 0; i < 5; i++) await bench.add(listId, [`c${i}@example.com`], i === 2 ? { extra: '1' } : {})
  await bench.drain()
  clock.advance(1000)
  await bench.drain()
  const runs = await bench.runs(journey)
  expect(runs.map(({ status }) => status).sort()).toEqual([
    'completed',
    'completed',
    'completed',
    'completed',
    'failed',
  ])
  expect(runs.every(({ log }) => log.length === 2)).toBe(true)
})

test('a webhook step posts once, with the key of run and step, and goes on at 2xx', async () => {
  const journey = await onAdded([
    { kind: 'webhook', url: `${receiver.url}/one`, body: { hello: '{{ name }}', list: [1, '{{ email }}'] } },
    { kind: 'webhook', url: `${receiver.url}/two` },
  ])
  await bench.add(listId, ['ada@example.com'], { name: 'Ada' })
  await bench.drain()
  const [run] = await bench.runs(journey)
  expect(run).toMatchObject({ status: 'completed', log: [{ outcome: 'answered 200' }, { outcome: 'answered 200' }] })
  const [one, two] = receiver.requests.splice(0)
  expect(JSON.parse(String(one!.body))).toEqual({ hello: 'Ada', list: [1, 'ada@example.com'] })
  expect(one!.headers['x-service-idempotency-key']).toBe(`${run!.id}:0`)
  expect(JSON.parse(String(two!.body))).toMatchObject({
    journey: { id: journey, name: 'J' },
    runId: run!.id,
    contact: { email: 'ada@example.com' },
  })
})

test('a webhook step that fails is tried again by the schedule of deliveries, with the same key, then fails the run', async () => {
  const journey = await onAdded([{ kind: 'webhook', url: receiver.url, body: {} }])
  receiver.always({ status: 500 })
  await bench.add(listId, ['ada@example.com'])
  for (let attempt = 1; attempt <= 8; attempt++) {
    await bench.drain()
    expect(receiver.requests).toHaveLength(attempt)
    clock.advance(5 * 3_600_000)
  }
  receiver.always({})
  const keys = receiver.requests.splice(0).map(({ headers }) => headers['x-service-idempotency-key'])
  expect(new Set(keys).size).toBe(1)
  expect(await outcomes(journey)).toEqual([
    {
      status: 'failed',
      reason: 'webhook: answered 500 (8 attempts)',
      log: ['steps[0] webhook: answered 500 (8 attempts)'],
    },
  ])
})

test('a webhook step reaches no private address', async () => {
  const strict = await startApp({ now: clock.now })
  const own = await journeyBench(strict)
  await own.list('Leads')
  const [{ id }] = (await strict.request('GET', '/lists', { key: own.account.key })).body.lists
  const journey = await own
    .apply({
      name: 'J',
      trigger: { kind: 'list-added', list: 'Leads' },
      steps: [{ kind: 'webhook', url: receiver.url, body: {} }],
    })
    .catch(() => null)
  if (journey) {
    await own.add(id, ['ada@example.com'])
    await own.drain()
    expect((await own.runs(journey))[0]!.status).toBe('running')
  }
  expect(receiver.requests).toHaveLength(0)
  await strict.close()
})

test('send-email without a mail feature fails the run and says so', async () => {
  const journey = await onAdded([{ kind: 'send-email', project: 'Welcome' }])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  expect(await outcomes(journey)).toMatchObject([
    { status: 'failed', reason: 'send-email: this version of svc sends no mail' },
  ])
})

test('a version pins its runs: what is applied later holds for those that enter later', async () => {
  const steps = (value: string) => [
    { kind: 'delay', for: '1d' },
    { kind: 'update-field', field: 'came', value },
  ]
  const journey = await onAdded(steps('first'))
  await bench.add(listId, ['early@example.com'])
  await bench.drain()
  expect(await onAdded(steps('second'))).toBe(journey)
  await bench.add(listId, ['late@example.com'])
  await bench.drain()
  clock.advance(day)
  await bench.drain()
  expect((await bench.contacts('early@example.com'))[0]!.fields).toEqual({ came: 'first' })
  expect((await bench.contacts('late@example.com'))[0]!.fields).toEqual({ came: 'second' })
})

test('a run goes on in another list of its address when its journey takes it out of its own', async () => {
  await bench.list('Customers')
  const journey = await onAdded([
    { kind: 'add-to-list', list: 'Customers' },
    { kind: 'remove-from-list', list: 'Leads' },
    { kind: 'update-field', field: 'moved', value: 'yes' },
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('completed')
  const contacts = await bench.contacts('ada@example.com')
  expect(contacts.map(({ listName, fields }) => [listName, fields])).toEqual([['Customers', { moved: 'yes' }]])
})

test('deals made by hand start no journey of another account', async () => {
  const other = await journeyBench(target)
  const journey = await other.apply({
    name: 'Other',
    trigger: { kind: 'deal-stage-changed' },
    steps: [{ kind: 'exit' }],
  })
  await bench.add(listId, ['ada@example.com'])
  await bench.work((work) =>
    createDeal(work, NewDeal.parse({ title: 'T', email: 'ada@example.com' }), { source: 'api' }),
  )
  expect(await other.runs(journey)).toEqual([])
})
