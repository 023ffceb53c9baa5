import { expect, test } from 'vitest'
import { createDeal, listDeals, NewDeal } from '../../../src/deals/deals.ts'
import { useApp } from '../../support/app.ts'
import { journeyBench } from '../../support/journeys.ts'

const target = useApp()

test('a journey that starts itself by creating a deal stops at depth 10, with the reason on the run', async () => {
  const bench = await journeyBench(target)
  const listId = await bench.list('Leads')
  await bench.stages()
  await bench.add(listId, ['a@example.com'])
  const journey = await bench.apply({
    name: 'Loop',
    trigger: { kind: 'deal-stage-changed' },
    reentry: 'always',
    steps: [{ kind: 'create-deal', title: 'Again' }],
  })
  await bench.work((work) =>
    createDeal(work, NewDeal.parse({ title: 'First', email: 'a@example.com' }), { source: 'api' }),
  )
  await bench.drain()
  const runs = await bench.runs(journey)
  expect(runs.map(({ depth }) => depth).sort((a, b) => a - b)).toEqual(Array.from({ length: 12 }, (_, i) => i))
  const stopped = runs.filter(({ status }) => status !== 'completed')
  expect(stopped).toMatchObject([
    { depth: 11, status: 'failed', reason: 'a journey may start itself at most 10 deep', log: [] },
  ])
  expect((await bench.work((work) => listDeals(work, {}, { limit: 100 }))).rows).toHaveLength(12)
})
