import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../support/journeys.ts'

const clock = testClock()
let target: TestApp
let bench: JourneyBench
let listId: string

beforeAll(async () => {
  target = await startApp({ now: clock.now })
})
afterAll(() => target.close())
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
  await bench.stages()
  await bench.add(listId, ['a@example.com'])
})

const journeyWith = (reentry?: string) =>
  bench.apply({
    name: 'J',
    trigger: { kind: 'deal-stage-changed' },
    ...(reentry && { reentry }),
    steps: [{ kind: 'delay', for: '1d' }],
  })

const deal = () =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com' }), { source: 'api' }))

const fifty = () => Promise.all(Array.from({ length: 50 }, deal))

test.each([
  ['never, the default', undefined, [1, 1]],
  ['after-exit', 'after-exit', [1, 2]],
  ['always', 'always', [50, 100]],
])('50 entries at once, and 50 more after the end, with reentry %s', async (_, reentry, [first, second]) => {
  const journey = await journeyWith(reentry)
  await fifty()
  expect(await bench.runs(journey)).toHaveLength(first!)
  clock.advance(day)
  await bench.drain()
  clock.advance(day)
  await bench.drain()
  expect((await bench.runs(journey)).every(({ status }) => status === 'completed')).toBe(true)
  await fifty()
  expect(await bench.runs(journey)).toHaveLength(second!)
})

test('the same address in another list is another contact, and enters for itself', async () => {
  const journey = await journeyWith()
  const other = await bench.list('Other')
  await deal()
  await bench.add(other, ['a@example.com'])
  await deal()
  clock.advance(1)
  await bench.work((work) =>
    createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com', listId: other }), { source: 'api' }),
  )
  expect(await bench.runs(journey)).toHaveLength(2)
})
