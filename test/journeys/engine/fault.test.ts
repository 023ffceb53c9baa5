// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { afterEach, beforeEach, expect, test } from 'vitest'
import { listRuns } from '../../../src/journeys/journeys.ts'
import { useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { day, type FaultSeen, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})
afterEach(async () => {
  await target.app.sql('drop function if exists fail_for() cascade')
})

/** Makes statements on a contact's row fail, as a broken trigger, a missing column or a full disk would. */
const breakContact = async (email: string) => {
  await target.app.sql(
    `create function fail_for() returns trigger language plpgsql as
     $$ begin raise exception 'no luck with %', new.email using errcode = 'XX000'; end $$`,
  )
  await target.app.sql(
    `create trigger fail_for before update on contacts for each row when (new.email = '${email}') execute function fail_for()`,
  )
}

const runs = async (journeyId: string) => (await bench.work((work) => listRuns(work, { journeyId, limit: 100 }))).rows

const onAdded = (steps: object[]) => bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, steps })

test('an unexpected error ends no run: it is reported with the id, shown, and tried again with growing delays', async () => {
  const journey = await onAdded([
    { kind: 'update-field', field: 'seen', value: 'yes' },
    { kind: 'delay', for: '1d' },
  ])
  await breakContact('bad@example.com')
  await bench.add(listId, ['bad@example.com', 'good@example.com', 'fine@example.com'])
  const faults: FaultSeen[] = []
  const waits: number[] = []
  for (let tries = 1; tries <= 4; tries++) {
    await bench.drain(faults)
    const bad = (await runs(journey)).find(({ email }) => email === 'bad@example.com')!
    expect(bad).toMatchObject({ status: 'running', step: 'steps[0]', tries, lastFault: 'no luck with bad@example.com' })
    expect(faults.splice(0)).toEqual([
      { message: 'no luck with bad@example.com', accountId: bench.account.id, journeyId: journey, runId: bad.id },
    ])
    waits.push(bad.dueAt! - clock.now().getTime())
    clock.advance(waits.at(-1)!)
  }
  expect(waits).toEqual([10_000, 20_000, 40_000, 80_000])
  const others = (await runs(journey)).filter(({ email }) => email !== 'bad@example.com')
  expect(others).toMatchObject([
    { status: 'waiting', tries: 0, lastFault: null },
    { status: 'waiting', tries: 0, lastFault: null },
  ])
  await target.app.sql('drop function fail_for() cascade')
  await bench.drain()
  const mended = (await runs(journey)).find(({ email }) => email === 'bad@example.com')!
  expect(mended).toMatchObject({ status: 'waiting', stepsDone: 1, tries: 0, lastFault: null })
  expect(mended.dueAt).toBe(clock.now().getTime() + day)
})

test('a run whose timeout meets an error keeps its place: a later event is too late', async () => {
  await bench.stages()
  const journey = await onAdded([
    { kind: 'wait-for', event: 'deal.created', timeout: '1d', then: [], else: [] },
    { kind: 'update-field', field: 'seen', value: 'yes' },
  ])
  await bench.add(listId, ['bad@example.com'])
  await bench.drain()
  clock.advance(day)
  await breakContact('bad@example.com')
  await bench.drain([])
  const { createDeal, NewDeal } = await import('../../../src/deals/deals.ts')
  await bench.work((work) =>
    createDeal(work, NewDeal.parse({ title: 'T', email: 'bad@example.com' }), { source: 'api' }),
  )
  await target.app.sql('drop function fail_for() cascade')
  clock.advance(day)
  await bench.drain()
  expect((await bench.runs(journey))[0]!.log[0]!.outcome).toBe('no deal.created in 1d')
})

test('an account that is deleted while its runs advance deletes them too, and delays no other account', async () => {
  const gone = await journeyBench(target)
  const goneList = await gone.list('Leads')
  const emails = Array.from({ length: 500 }, (_, i) => `c${i}@example.com`)
  const trigger = { kind: 'list-added', list: 'Leads' }
  const steps = [
    { kind: 'update-field', field: 'a', value: '1' },
    { kind: 'update-field', field: 'b', value: '2' },
    { kind: 'update-field', field: 'c', value: '3' },
  ]
  await gone.apply({ name: 'J', trigger, steps })
  await gone.add(goneList, emails)
  const journey = await onAdded(steps)
  await bench.add(listId, emails.slice(0, 50))
  const drained = bench.drain()
  const { id } = gone.account
  while ((await target.app.sql('select from journey_step_log where account_id = $1 limit 1', [id])).length === 0) {
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  await target.app.database.transaction(async (sql) => {
    for (const table of ['contacts', 'addresses', 'journey_runs', 'journey_versions', 'journeys', 'contact_lists']) {
      await sql(`delete from ${table} where account_id = $1`, [id])
    }
  })
  await drained
  expect((await runs(journey)).every(({ status }) => status === 'completed')).toBe(true)
})

test('a locked row delays no other account, and its own run continues once it is unlocked', async () => {
  const other = await journeyBench(target)
  const otherList = await other.list('Leads')
  const trigger = { kind: 'list-added', list: 'Leads' }
  const steps = [{ kind: 'update-field', field: 'seen', value: 'yes' }]
  const held = await bench.apply({ name: 'J', trigger, steps })
  const free = await other.apply({ name: 'J', trigger, steps })
  const emails = Array.from({ length: 20 }, (_, i) => `c${i}@example.com`)
  await bench.add(listId, emails)
  await other.add(otherList, emails)
  let drained: Promise<void> | undefined
  await bench.work(async (work) => {
    await work.sql('select from contacts where account_id = $1 and email = $2 for update', [
      bench.account.id,
      emails[7],
    ])
    drained = bench.drain()
    await eventually(async () => {
      // The server ends a transaction that is idle for long.
      await work.sql('select 1')
      return (await other.runs(free)).every(({ status }) => status === 'completed')
    })
    expect((await bench.runs(held)).some(({ status }) => status === 'running')).toBe(true)
  })
  await drained
  expect((await bench.runs(held)).every(({ status, log }) => status === 'completed' && log.length === 1)).toBe(true)
})
