// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeEach, expect, test } from 'vitest'
import { renameList } from '../../../src/contacts/lists/lists.ts'
import {
  changeDeal,
  createDeal,
  createPipeline,
  dealHistory,
  deleteDeal,
  listDeals,
  NewDeal,
} from '../../../src/deals/deals.ts'
import { listRuns, showRun } from '../../../src/journeys/journeys.ts'
import { useApp } from '../../support/app.ts'
import { untilLocked } from '../../support/database.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

const onAdded = (steps: unknown[], more: object = {}) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, ...more, steps })

/** A list with the maximum number of columns. */
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

test('a run does its steps in order, logs each, and completes', async () => {
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
  expect(events.find(({ type }) => type === 'journey.completed')!.data).toEqual({
    journey: { id: journey, name: 'J' },
    runId: run!.id,
    contact: contacts[1],
    enteredAt,
    completedAt: enteredAt + 2 * day,
  })
})

test('a branch compares by equals, contains, exists, greater and less; numbers numerically', async () => {
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

test('a branch asks a filter of segments about each contact, with its fields as they are now', async () => {
  const customers = await bench.list('Customers')
  await bench.add(customers, ['ada@example.com'])
  const then = (where: string, name: string) => ({
    kind: 'branch',
    where,
    then: [{ kind: 'update-field', field: name, value: 'yes' }],
    else: [{ kind: 'update-field', field: name, value: 'no' }],
  })
  const journey = await onAdded([
    { kind: 'update-field', field: 'plan', value: 'pro' },
    // Bare names are fields, also those that no list has.
    then('plan = pro and unknown is empty and age = 30', 'fields'),
    then('fields = yes and not list = Customers', 'elsewhere'),
    then('created >= today-1d and renewal > today', 'times'),
    then('sample < 50 or sample >= 50', 'all'),
    { kind: 'delay', for: '1d' },
    then('list in ("Customers") and sent is empty', 'later'),
  ])
  const tomorrow = new Date(clock.now().getTime() + day).toISOString()
  await bench.add(listId, ['ada@example.com', 'bob@example.com'], { age: '030', renewal: tomorrow })
  await bench.drain()
  // The names in the filter were resolved.
  await bench.work((w) => renameList(w, 'Customers', 'Clients'))
  clock.advance(day)
  await bench.drain()
  const fieldsOf = async (email: string) => (await bench.contacts(email)).find((one) => one.listId === listId)!.fields
  const same = { fields: 'yes', times: 'yes', all: 'yes' }
  expect(await fieldsOf('ada@example.com')).toMatchObject({ ...same, elsewhere: 'no', later: 'yes' })
  expect(await fieldsOf('bob@example.com')).toMatchObject({ ...same, elsewhere: 'yes', later: 'no' })
  expect((await outcomes(journey)).map(({ status }) => status)).toEqual(['completed', 'completed'])
  expect((await outcomes(journey))[0]!.log.slice(1, 3)).toEqual([
    'steps[1] branch: then',
    'steps[1].then[0] update-field: updated',
  ])
})

test('a delay after a branch with a filter counts from the end of the delay before it', async () => {
  const journey = await onAdded([
    { kind: 'delay', for: '1d' },
    { kind: 'branch', where: 'plan is empty', then: [{ kind: 'delay', for: '1d' }] },
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  clock.advance(1.5 * day)
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('waiting')
  clock.advance(0.5 * day)
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('completed')
})

test('a filter whose list was deleted fails the run at its branch', async () => {
  await bench.list('Gone')
  const journey = await onAdded([{ kind: 'branch', where: 'plan = pro and list = Gone', then: [{ kind: 'exit' }] }])
  await target.app.sql('delete from contact_lists where account_id = $1 and name = $2', [bench.account.id, 'Gone'])
  await bench.add(listId, ['ada@example.com', 'bob@example.com'])
  await bench.drain()
  const failed = {
    status: 'failed',
    reason: expect.stringMatching(/^branch: filter, column \d+: There is no list lst_/),
  }
  expect(await outcomes(journey)).toMatchObject([failed, failed])
})

test.each([
  [{ where: 'plan == pro' }, 'steps[0].where: filter, column 6: use "="'],
  [{ where: 'list = Nothing' }, 'steps[0].where: filter, column 8: There is no list Nothing'],
  [{ where: 'plan = a', if: { field: 'plan', exists: true } }, 'must have exactly one of if, where'],
  [{}, 'must have exactly one of if, where'],
])('a branch with %j is refused', async (condition, message) => {
  const applied = onAdded([{ kind: 'branch', ...condition, then: [{ kind: 'exit' }] }])
  await expect(applied).rejects.toMatchObject({ kind: 'invalid', message: expect.stringContaining(message) })
})

test('a split distributes runs by its percentage, and always sends a run to the same side', async () => {
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

test('a journey creates a deal with the source journey, and moves it in any status', async () => {
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

test('move-deal moves the deal that started the run, in any status, even if newer deals exist', async () => {
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

test('a deal that is deleted while a step moves it: the run continues without it', async () => {
  const journey = await bench.apply({
    name: 'J',
    trigger: { kind: 'deal-stage-changed', stage: 'New' },
    steps: [{ kind: 'move-deal', stage: 'Qualified' }],
  })
  await bench.add(listId, ['ada@example.com'])
  const { id } = await makeDeal('First')
  const running = await bench.work(async (work) => {
    await deleteDeal(work, id)
    const drained = bench.drain()
    await untilLocked(target.app, 1)
    return [drained]
  })
  await Promise.all(running)
  expect((await outcomes(journey))[0]).toMatchObject({ status: 'completed', log: ['steps[0] move-deal: no open deal'] })
})

test('a clock that jumps over a chain of waits completes the run', async () => {
  const wait = { kind: 'delay', for: '1d' }
  const from = clock.now().getTime()
  const journey = await onAdded([
    wait,
    { kind: 'branch', if: { field: 'email', exists: true }, then: [wait] },
    { kind: 'delay', until: new Date(from + 4 * day).toISOString() },
    wait,
    { kind: 'delay', for: '3d' },
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  clock.advance(7 * day)
  await bench.drain()
  const [run] = await bench.runs(journey)
  expect(run!.log.map(({ step, outcome }) => [step, outcome])).toEqual([
    ['steps[0]', 'waited'],
    ['steps[1]', 'then'],
    ['steps[1].then[0]', 'waited'],
    ['steps[2]', 'waited'],
    ['steps[3]', 'waited'],
  ])
  const [shown] = (await bench.work((work) => listRuns(work, { journeyId: journey, limit: 1 }))).rows
  expect(shown).toMatchObject({ status: 'waiting', enteredAt: from, dueAt: from + 8 * day })
  const { log } = await bench.work((work) => showRun(work, journey, run!.id))
  expect(new Set(log.map(({ at }) => at))).toEqual(new Set([from + 7 * day]))
})

test('after an outage of three days a delay counts from the actual time of the previous step', async () => {
  const set = (value: string) => ({ kind: 'update-field', field: 'at', value })
  const journey = await onAdded([{ kind: 'delay', for: '1h' }, set('one'), { kind: 'delay', for: '1d' }, set('two')])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  clock.advance(3 * day)
  await bench.drain()
  expect((await bench.contacts('ada@example.com'))[0]!.fields).toEqual({ at: 'one' })
  clock.advance(day - 1)
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('waiting')
  clock.advance(1)
  await bench.drain()
  expect((await bench.contacts('ada@example.com'))[0]!.fields).toEqual({ at: 'two' })
})

test('a wait-for that is reached late listens for its whole timeout', async () => {
  const journey = await onAdded([
    { kind: 'delay', for: '1h' },
    { kind: 'wait-for', event: 'deal.created', timeout: '1d', then: [{ kind: 'exit' }], else: [] },
  ])
  await bench.add(listId, ['ada@example.com', 'bob@example.com'])
  await bench.drain()
  clock.advance(3 * day)
  await bench.drain()
  clock.advance(day - 1)
  await makeDeal('In time')
  await bench.drain()
  clock.advance(1)
  await bench.drain()
  const ends = (await bench.runs(journey)).map(({ email, log }) => [email, log.at(-1)!.outcome])
  expect(Object.fromEntries(ends)).toEqual({
    'ada@example.com': 'exited',
    'bob@example.com': 'no deal.created in 1d',
  })
})

test('a late run counts its next wait from its due time', async () => {
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

test('a refused step fails its run with the reason, and no other run', async () => {
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

test('a refused run in a batch does not affect the other runs', async () => {
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

test('a title is cut to 200 characters, never within a character', async () => {
  await bench.stages()
  const journey = await onAdded([{ kind: 'create-deal', title: '{{ name }}' }])
  await bench.add(listId, ['ada@example.com'], { name: `${'x'.repeat(199)}\u{1F600}y` })
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('completed')
  const { rows } = await bench.work((work) => listDeals(work, {}, { limit: 10 }))
  expect(rows[0]!.title).toBe('x'.repeat(199))
})

test('runs stay on their version; a new version applies to later entries', async () => {
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

test('a run continues in another list of its address when its journey removes it from its list', async () => {
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

test('manually created deals start no journey of another account', async () => {
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
