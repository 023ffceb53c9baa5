// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterAll, beforeAll, expect, test } from 'vitest'
import { advanceClock, markDevelopment } from '../../src/store/clock.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { type JourneyBench, journeyBench } from '../support/journeys.ts'

const contacts = 1000

let target: TestApp
let bench: JourneyBench
let daemon: Daemon | undefined

beforeAll(async () => {
  target = await startApp()
  bench = await journeyBench(target)
  await markDevelopment(target.app.sql)
})
afterAll(async () => {
  await daemon?.kill('SIGKILL')
  await target.close()
})

const count = async (statement: string) => {
  const [row] = await target.app.sql<{ count: number }>(statement)
  return row!.count
}

const stepsDone = () => count('select count(*) from journey_step_log')

const until = async (isDone: () => Promise<boolean>) => {
  const deadline = Date.now() + 60_000
  while (!(await isDone())) {
    if (Date.now() > deadline) throw new Error('not in a minute')
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
}

test('kill -9 twice in the middle of 1,000 runs: each step is done once, each end told once', {
  timeout: 120_000,
}, async () => {
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
  const steps = 6 * contacts
  for (let from = 0; from < contacts; from += 500) {
    await bench.add(
      listId,
      Array.from({ length: 500 }, (_, i) => `c${from + i}@example.com`),
    )
  }
  const killed: number[] = []
  for (const share of [0.2, 0.6]) {
    daemon = await startDaemon(target)
    await until(async () => (await stepsDone()) > steps * share)
    await daemon.kill('SIGKILL')
    killed.push(await stepsDone())
    // What the dead one had leased is free as soon as its lease is over.
    await advanceClock(target.app.sql, 60_000)
  }
  daemon = await startDaemon(target)
  await until(async () => (await count(`select count(*) from journey_runs where status <> 'completed'`)) === 0)
  expect(killed.every((done) => done > 0 && done < steps)).toBe(true)
  const runs = await bench.runs(journey)
  const kinds = ['update-field', 'create-deal', 'branch', 'move-deal', 'add-to-list', 'create-deal']
  expect(runs).toHaveLength(contacts)
  expect(runs.every(({ log }) => log.map(({ kind }) => kind).join() === kinds.join())).toBe(true)
  expect(await count('select count(*) from deals')).toBe(2 * contacts)
  expect(await count('select count(distinct title) from deals')).toBe(2 * contacts)
  expect(await count('select count(*) from deal_history where from_stage_id is not null')).toBe(contacts)
  const events = await target.events(bench.account.id)
  expect(events).toHaveLength(contacts)
  expect(new Set(events.map(({ data }) => data.runId)).size).toBe(contacts)
})
