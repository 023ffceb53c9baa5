// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { beforeEach, expect, test } from 'vitest'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
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

const waiting = (where?: object) =>
  bench.apply({
    name: 'J',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [
      {
        kind: 'wait-for',
        event: 'deal.created',
        ...(where && { where }),
        timeout: '2d',
        then: [{ kind: 'update-field', field: 'side', value: 'then' }],
        else: [{ kind: 'update-field', field: 'side', value: 'else' }],
      },
    ],
  })

const deal = (email: string, title = 'T') =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title, email }), { source: 'api' }))

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
