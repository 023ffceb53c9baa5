import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Outcome, runChaos } from './chaos/chaos.ts'
import { type Cluster, openCluster } from './chaos/cluster.ts'
import { sabotages } from './chaos/sabotage.ts'

// Fixed, so that every run causes the same faults; `npm run bench chaos` picks a random seed.
const seed = Number(process.env.SVC_CHAOS_SEED ?? 242_395)
const seconds = Number(process.env.SVC_CHAOS_SECONDS ?? 12)

let cluster: Cluster
let outcome: Outcome

beforeAll(async () => {
  cluster = await openCluster()
  process.stderr.write(`chaos of ${seconds} s, seed ${seed}\n`)
  outcome = await runChaos(cluster, {
    seed,
    seconds,
    async sabotage(world) {
      for (const { run } of sabotages) await run(world)
    },
  })
  process.stderr.write(`${outcome.summary.join('\n')}\n`)
})
afterAll(() => cluster?.close())

test('whatever fails, nothing acknowledged is lost, nothing is done twice and nothing stays stuck', () => {
  const { violations, report } = outcome
  expect(violations, `SVC_CHAOS_SEED=${seed} SVC_CHAOS_SECONDS=${seconds} repeats it; more in ${report}`).toEqual([])
})

test.each(sabotages)('the checks detect the damage: $name', ({ finding }) => {
  expect(outcome.damages).toContainEqual(expect.stringMatching(finding))
})
