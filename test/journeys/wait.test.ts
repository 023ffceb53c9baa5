// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeEach, expect, test } from 'vitest'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { matchesWhere } from '../../src/journeys/definition/awaited.ts'
import { useApp } from '../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})

const waiting = (where?: object | string, event = 'deal.created') =>
  bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      {
        kind: 'wait-for',
        event,
        ...(where && { where }),
        timeout: '2d',
        then: [{ kind: 'update-field', field: 'side', value: 'then' }],
        else: [{ kind: 'update-field', field: 'side', value: 'else' }],
      },
    ],
  })

const deal = (email: string, title = 'T', value = 0) =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title, email, value }), { source: 'api' }))

const sides = async (journey: string) =>
  Object.fromEntries(
    await Promise.all(
      (await bench.runs(journey)).map(async ({ email, status }) => [
        email,
        [status, (await bench.contacts(email))[0]!.fields.side],
      ]),
    ),
  )

test('the event wakes the runs of its contact into `then`; the others take `else` at their timeout', async () => {
  const journey = await waiting()
  await bench.add(listId, ['came@example.com', 'late@example.com'])
  await bench.drain()
  await deal('came@example.com')
  await bench.drain()
  expect(await sides(journey)).toEqual({
    'came@example.com': ['completed', 'then'],
    'late@example.com': ['waiting', undefined],
  })
  clock.advance(2 * day)
  await bench.drain()
  expect((await sides(journey))['late@example.com']).toEqual(['completed', 'else'])
})

test('an event wakes a run only if it has the values of `where`, by path in the data or in the event', async () => {
  const journey = await waiting({ 'deal.title': 'Big', 'data.deal.status': 'open' })
  await bench.add(listId, ['a@example.com', 'b@example.com'])
  await bench.drain()
  await deal('a@example.com', 'Small')
  await deal('b@example.com', 'Big')
  await bench.drain()
  expect(await sides(journey)).toEqual({
    'a@example.com': ['waiting', undefined],
    'b@example.com': ['completed', 'then'],
  })
})

test('the `where` of a wait may be a filter of the event’s data', async () => {
  const journey = await waiting('deal.value >= 1000 and data.deal.source in (api, manual) and not deal.title ~ test')
  const emails = ['low@example.com', 'test@example.com', 'big@example.com']
  await bench.add(listId, emails)
  await bench.drain()
  await deal('low@example.com', 'T', 999.99)
  await deal('test@example.com', 'A Test', 5000)
  await deal('big@example.com', 'T', 1000)
  await bench.drain()
  expect(await sides(journey)).toEqual({
    'low@example.com': ['waiting', undefined],
    'test@example.com': ['waiting', undefined],
    'big@example.com': ['completed', 'then'],
  })
})

const emitted = (type: string, data: object) => ({
  id: 'evt_1',
  type,
  createdAt: Date.parse('2026-11-24T10:00:00Z'),
  data,
})
const contact = { email: 'a@example.com', fields: { plan: 'pro', 'a.b': 'dots', 'Home town': 'Vienna' }, updatedAt: 1 }
const changed = emitted('contact.updated', { contact, changed: ['plan', 'city'], previous: {} })
const answered = (value: unknown) => emitted('interaction.received', { interaction: { kind: 'form', value } })
const startAt = Date.parse('2026-11-30T23:30:00Z')
const booked = emitted('booking.created', { booking: { startAt, title: 'Call' } })

test.each<[string, ReturnType<typeof emitted>, string[], string[]]>([
  [
    'a list: any of its values',
    changed,
    ['changed = plan', 'changed in (x, city)', 'data.changed ~ CIT', 'not changed = x', 'changed is not empty'],
    ['changed = x', 'not changed = plan', 'changed is empty'],
  ],
  [
    'fields of the contact, whatever their names are',
    changed,
    ['contact.fields.plan = pro', 'contact.fields.a.b = dots', 'field."contact.fields.Home town" = Vienna'],
    ['contact.fields.none = pro', 'contact.fields.plan.x is not empty', 'contact.fields.constructor is not empty'],
  ],
  ['an empty list: no value', emitted('contact.updated', { changed: [] }), ['changed is empty', 'changed != plan'], []],
  ['missing data: no value', emitted('contact.updated', {}), ['changed is empty', 'contact.email is empty'], []],
  ['a number', answered(7), ['interaction.value = 7.0', 'interaction.value > 6'], ['interaction.value = "7.0"']],
  ['a truth value', answered(true), ['interaction.value = true'], ['interaction.value = false']],
  ['null', answered(null), ['interaction.value is empty'], []],
  [
    'several choices',
    answered(['a', 'b']),
    ['interaction.value = b', 'interaction.value in (c, a)'],
    ['interaction.value = c'],
  ],
  [
    'a form: any of its fields, or one of them',
    answered({ city: 'Graz', seats: 3 }),
    ['interaction.value = Graz', 'interaction.value.seats >= 3', 'interaction.value.city ~ gr'],
    ['interaction.value.city = 3', 'interaction.value.none is not empty'],
  ],
  [
    'a time: a date, relative to the event',
    booked,
    ['booking.startAt < today+7d', 'booking.startAt >= 2026-11-30', 'booking.startAt = today+6d'],
    ['booking.startAt > 2026-11-30', 'booking.startAt < now+5d'],
  ],
])('%s', (_, event, met, unmet) => {
  for (const where of met) expect([where, matchesWhere(event, where)]).toEqual([where, true])
  for (const where of unmet) expect([where, matchesWhere(event, where)]).toEqual([where, false])
})

test('an event before the wait wakes no run', async () => {
  const journey = await waiting()
  await bench.add(listId, ['a@example.com'])
  await deal('a@example.com')
  await bench.drain()
  expect(await sides(journey)).toEqual({ 'a@example.com': ['waiting', undefined] })
})

test('an event that is rolled back wakes no run', async () => {
  const journey = await waiting()
  await bench.add(listId, ['a@example.com'])
  await bench.drain()
  const failing = bench.work(async (work) => {
    await createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com' }), { source: 'api' })
    throw new Error('no')
  })
  await expect(failing).rejects.toThrow('no')
  await bench.drain()
  expect(await sides(journey)).toEqual({ 'a@example.com': ['waiting', undefined] })
})

test('an event concurrent with the timeout: the run takes one side, in its log and in its effect', async () => {
  const journey = await waiting()
  const emails = Array.from({ length: 40 }, (_, i) => `c${i}@example.com`)
  await bench.add(listId, emails)
  await bench.drain()
  clock.advance(2 * day - 1)
  // Five transactions that began before the timeout and write during it.
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  const early = emails.slice(0, 5).map((email) =>
    bench.work(async (work) => {
      await begun
      return createDeal(work, NewDeal.parse({ title: 'T', email }), { source: 'api' })
    }),
  )
  await bench.drain()
  clock.advance(1)
  begin()
  await Promise.all([bench.drain(), ...early, ...emails.slice(5).map((email) => deal(email))])
  await bench.drain()
  const runs = await bench.runs(journey)
  const shown = await sides(journey)
  for (const { email, status, log } of runs) {
    const came = log[0]!.outcome === 'deal.created came'
    expect([status, log.length, shown[email]![1]]).toEqual(['completed', 2, came ? 'then' : 'else'])
    expect(log[1]!.step).toBe(came ? 'steps[0].then[0]' : 'steps[0].else[0]')
  }
})

test('an event at or after the timeout is too late, even if the run has not been advanced yet', async () => {
  const journey = await waiting()
  await bench.add(listId, ['at@example.com', 'after@example.com', 'before@example.com'])
  await bench.drain()
  clock.advance(2 * day - 1)
  await deal('before@example.com')
  clock.advance(1)
  await deal('at@example.com')
  clock.advance(1)
  await deal('after@example.com')
  await bench.drain()
  expect(await sides(journey)).toEqual({
    'before@example.com': ['completed', 'then'],
    'at@example.com': ['completed', 'else'],
    'after@example.com': ['completed', 'else'],
  })
})
