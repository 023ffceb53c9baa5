import { beforeEach, describe, expect, test } from 'vitest'
import { runHousekeeping } from '../../../src/app/daemon/housekeeping.ts'
import { readPerson } from '../../../src/contacts/contacts.personal-data.ts'
import { eraseContact, leaveList } from '../../../src/contacts/contacts.ts'
import { deleteList } from '../../../src/contacts/write/delete-list.ts'
import { createDeal, NewDeal } from '../../../src/deals/deals.ts'
import { purgeRuns } from '../../../src/journeys/journeys.purge.ts'
import { triggerJourney } from '../../../src/journeys/journeys.ts'
import { addSender } from '../../../src/senders/senders.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import { useApp } from '../../support/app.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'
import { plainProject } from '../../support/projects.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string

const target = useApp({ now: clock.now, env: { SVC_SMTP_URL: 'smtp://127.0.0.1:1' } })
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

/** Purges runs that ended 90 days ago, and again a day later. */
const purge = async () => {
  clock.advance(91 * day)
  await runHousekeeping(target.app, new AbortController().signal, (fault) => {
    throw fault
  })
}

const remembered = () =>
  target.app.sql('select list_id as list, journey_id as journey from past_entries where account_id = $1', [
    bench.account.id,
  ])

const deal = () =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com' }), { source: 'api' }))

const fifty = () => Promise.all(Array.from({ length: 50 }, deal))

test.each([
  ['never, the default', undefined, [1, 1]],
  ['after-exit', 'after-exit', [1, 2]],
  ['always', 'always', [50, 100]],
])('50 concurrent entries, and 50 more after the end, with reentry %s', async (_, reentry, [first, second]) => {
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

test('the same address in another list is another contact, and enters separately', async () => {
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

describe('once the runs are purged', () => {
  /** Creates a run of a@example.com that has ended and is purged. */
  const ranAndPurged = async (reentry?: string) => {
    const journey = await journeyWith(reentry)
    await deal()
    clock.advance(day)
    await bench.drain()
    expect(await bench.runs(journey)).toHaveLength(1)
    await purge()
    expect(await bench.runs(journey)).toEqual([])
    return journey
  }

  test.each([
    ['never', 0],
    ['after-exit', 1],
    ['always', 50],
  ])('50 concurrent entries with reentry %s', async (reentry, count) => {
    const journey = await ranAndPurged(reentry)
    await fifty()
    expect(await bench.runs(journey)).toHaveLength(count)
  })

  test('an email that was sent is not sent again', async () => {
    await bench.work(async (work) => {
      await addSender(work, { email: 'hello@shop.example', name: 'The Shop' })
      await applyProjects(work, [plainProject('Welcome')])
    })
    const steps = [{ kind: 'send-email', project: 'Welcome' }]
    const journey = await bench.apply({ name: 'Mail', trigger: { kind: 'api' }, steps })
    const trigger = () =>
      triggerJourney(target.app, { accountId: bench.account.id, actor: 'cli:test', by: 'api' }, journey, {
        email: 'a@example.com',
        listId,
      })
    const emails = async () => {
      const [row] = await target.app.sql<{ n: number }>('select count(*) as n from messages where account_id = $1', [
        bench.account.id,
      ])
      return row!.n
    }
    expect(await trigger()).toBe(true)
    await bench.drain()
    expect(await emails()).toBe(1)
    await purge()
    expect(await trigger()).toBe(false)
    await bench.drain()
    expect(await emails()).toBe(1)
  })

  test('entries of a journey with reentry are kept too, because its next version may forbid it', async () => {
    const journey = await ranAndPurged('always')
    expect(await journeyWith('never')).toBe(journey)
    await deal()
    expect(await bench.runs(journey)).toEqual([])
  })

  test('the same address in another list enters separately', async () => {
    const journey = await ranAndPurged()
    const other = await bench.list('Other')
    await bench.add(other, ['a@example.com'])
    clock.advance(1)
    await bench.work((work) =>
      createDeal(work, NewDeal.parse({ title: 'T', email: 'a@example.com', listId: other }), { source: 'api' }),
    )
    expect(await bench.runs(journey)).toHaveLength(1)
  })

  test('an entry concurrent with the purge sees the run or its past entry', async () => {
    const journey = await journeyWith()
    await deal()
    clock.advance(day)
    await bench.drain()
    clock.advance(91 * day)
    const before = new Date(clock.now().getTime() - 90 * day)
    const purging = purgeRuns(target.app, before, { batchSize: 1 })
    await Promise.all([purging, ...Array.from({ length: 20 }, deal)])
    expect([await bench.runs(journey), await remembered()]).toEqual([[], [{ list: listId, journey }]])
  })

  test('past entries are in the export of the person, and deleted with the person', async () => {
    const journey = await ranAndPurged()
    const { journeyRuns } = await bench.work((work) => readPerson(target.app, work, 'a@example.com'))
    expect(journeyRuns).toEqual([{ journeyId: journey, listId, status: 'past' }])
    await bench.work((work) => eraseContact(work, 'a@example.com', { dryRun: false }))
    expect(await remembered()).toEqual([])
  })

  test('the purge of an erased person’s runs keeps no past entry', async () => {
    const journey = await journeyWith()
    await deal()
    await bench.work((work) => eraseContact(work, 'a@example.com', { dryRun: false }))
    await purge()
    expect([await bench.runs(journey), await remembered()]).toEqual([[], []])
  })

  test('past entries stay while the address is in another list, and are deleted with its last one', async () => {
    const journey = await ranAndPurged()
    const other = await bench.list('Other')
    await bench.add(other, ['a@example.com'])
    await bench.work((work) => leaveList(work, listId, 'a@example.com'))
    expect(await remembered()).toEqual([{ list: listId, journey }])
    await bench.work((work) => leaveList(work, other, 'a@example.com'))
    expect(await remembered()).toEqual([])
  })

  test('past entries of a list are deleted with the list', async () => {
    await ranAndPurged()
    expect(await remembered()).toHaveLength(1)
    await deleteList(target.app, bench.account.id, listId, { actor: 'cli:test' })
    expect(await remembered()).toEqual([])
  })
})
