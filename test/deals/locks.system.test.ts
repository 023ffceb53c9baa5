import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createList, eraseContact, leaveList, writeContacts } from '../../src/contacts/contacts.ts'
import {
  addStage,
  changeDeal,
  createDeal,
  dealOf,
  deleteDeal,
  deleteStage,
  findPipeline,
  findStage,
  NewDeal,
  setStageKind,
  showDeal,
} from '../../src/deals/deals.ts'
import { isBusy } from '../../src/store/database.ts'
import type { Work } from '../../src/store/work.ts'
import { useAccount, useApp } from '../support/app.ts'
import { countsOf, untilLocked } from '../support/database.ts'
import { subscribe } from '../support/deliveries.ts'
import { journeyBench } from '../support/journeys.ts'
import { randomOfTest } from '../support/random.ts'

let listId: string

const people = 60
const emailOf = (n: number) => `p${String(n).padStart(2, '0')}@example.org`

const inWork = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)

const deadlocks = async () => (await countsOf(t.app.database)).deadlocks

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  await subscribe(t.app, account.id, 'https://example.com/hook')
  listId = await inWork(async (work) => {
    const { id } = await createList(work, { name: 'Customers' })
    const writes = Array.from({ length: people }, (_, n) => ({ email: emailOf(n), fields: {} }))
    await writeContacts(work, id, writes, new Map())
    await addStage(work, 'Sales', { name: 'Parking', kind: 'open' })
    for (let n = 0; n < people; n++) {
      await createDeal(work, NewDeal.parse({ title: `Deal ${n}`, email: emailOf(n) }), { source: 'api' })
    }
    return id
  })
})

test.each([
  ['stages', 'Qualified', 'deals'],
  ['pipelines', 'Sales', 'stages'],
])('rows that refer to one of %s are never deleted by cascade', async (table, name, inIt) => {
  const { id } = await inWork(async (work) => {
    const { deal } = await createDeal(work, NewDeal.parse({ title: 'Kept', email: emailOf(0) }), { source: 'api' })
    return (await changeDeal(work, deal.id, { stageId: (await findStage(work, 'Qualified')).id })).deal
  })
  const count = async () => (await t.app.sql(`select from ${inIt} where account_id = $1`, [account.id])).length
  const before = await count()
  const deletion = t.app.sql(`delete from ${table} where account_id = $1 and name = $2`, [account.id, name])
  // 23001: refused by RESTRICT; 23503 before PostgreSQL 18.
  await expect(deletion).rejects.toMatchObject({ code: expect.stringMatching(/^(23001|23503)$/) })
  expect(await count()).toBe(before)
  expect((await inWork((work) => showDeal(work, id))).stage).toBe('Qualified')
})

test('concurrent units that move several deals, single moves, erasures, kind changes and stage deletions do not deadlock', async () => {
  const before = await deadlocks()
  const faults: unknown[] = []
  const done: Record<string, number> = {}
  const isOver = () => jobs.every(([name]) => (done[name] ?? 0) >= 30)
  const loop = async (name: string, act: () => Promise<unknown>) => {
    while (!isOver()) {
      await act().then(
        () => {
          done[name] = (done[name] ?? 0) + 1
        },
        (error) => {
          // A busy machine makes waits for locks take too long (503 for a client). Deadlocks are counted.
          if (!['not_found', 'invalid', 'conflict'].includes(error.kind) && !isBusy(error)) faults.push(error)
        },
      )
    }
  }
  const { between } = randomOfTest()
  const random = (below: number) => between(0, below - 1)
  const stageNames = ['New', 'Qualified', 'Proposal', 'Won', 'Parking']
  const anyStage = () => stageNames[random(stageNames.length)]!
  const rowIds = new Map(
    (await t.app.sql<{ email: string; rowId: string }>('select email, row_id as "rowId" from addresses')).map((row) => [
      row.email,
      row.rowId,
    ]),
  )
  // As a batch of journey runs: one contact after the other, each to its own stage, in one unit of work.
  const moveMany = () =>
    inWork(async (work) => {
      const { stages } = await findPipeline(work)
      for (let n = random(10); n < people; n += 1 + random(8)) {
        const { id } = stages[random(stages.length)]!
        const deal = await dealOf(work, { listId, rowId: rowIds.get(emailOf(n))! }, { stageId: id, ids: [] })
        if (deal) await changeDeal(work, deal.id, { stageId: id })
      }
    })
  const moveOne = async () => {
    const { rows } = {
      rows: await t.app.sql<{ id: string }>('select id from deals where account_id = $1', [account.id]),
    }
    const stage = await inWork((work) => findStage(work, anyStage()))
    const { status } = await t.request('PATCH', `/deals/${rows[random(rows.length)]!.id}`, {
      key: account.key,
      body: { stageId: stage.id, title: `Title ${random(1000)}` },
    })
    if (status >= 500 && status !== 503) faults.push(status)
  }
  const park = async () => {
    await inWork((work) => addStage(work, 'Sales', { name: 'Parking', kind: 'open' })).catch(() => {})
    await sleep(30)
    await inWork(async (work) =>
      deleteStage(work, await findStage(work, 'Parking'), await findStage(work, stageNames[random(3)]!)),
    )
  }
  const turn = () =>
    inWork(async (work) => {
      await setStageKind(work, await findStage(work, 'Proposal'), random(2) ? 'won' : 'open')
    })
  const erase = async () => {
    const email = `e${random(1e9)}@example.org`
    await inWork(async (work) => {
      await writeContacts(work, listId, [{ email, fields: {} }], new Map())
      for (let i = 0; i < 3; i++) await createDeal(work, NewDeal.parse({ title: 'E', email }), { source: 'api' })
    })
    await inWork((work) => eraseContact(work, email, { dryRun: false }))
  }
  const jobs: [string, () => Promise<unknown>][] = [
    ['many', moveMany],
    ['many', moveMany],
    ['one', moveOne],
    ['one', moveOne],
    ['park', park],
    ['turn', turn],
    ['erase', erase],
  ]
  await Promise.all(jobs.map(([name, act]) => loop(name, act)))
  expect(faults).toEqual([])
  expect((await deadlocks()) - before).toBe(0)
  const wrong = await t.app.sql(
    'select from deals d join stages s on s.id = d.stage_id where d.account_id = $1 and d.status <> s.kind',
    [account.id],
  )
  expect(wrong).toEqual([])
})

/**
 * Runs two units of work: the second begins when the first has run its statements, and the first commits when the second waits
 * for a lock.
 */
const overlapping = async <A, B>(first: (work: Work) => Promise<A>, second: (work: Work) => Promise<B>) => {
  const begun = Promise.withResolvers<void>()
  const one = inWork(async (work) => {
    const result = await first(work)
    begun.resolve()
    await untilLocked(t.app, 1)
    return result
  })
  await begun.promise
  return Promise.allSettled([one, inWork(second)])
}

test.each(['email', 'row'])(
  'an erasure concurrent with a new deal by %s: no deal keeps the address, in either order',
  async (by) => {
    const other = await inWork(async (work) => (await createList(work, { name: `Erased by ${by}` })).id)
    const add = async (email: string) => {
      await inWork((work) => writeContacts(work, other, [{ email, fields: {} }], new Map()))
      const [row] = await t.app.sql<{ rowId: string }>('select row_id as "rowId" from addresses where email = $1', [
        email,
      ])
      const name = by === 'email' ? { email } : { listId: other, rowId: row!.rowId }
      return (work: Work) => createDeal(work, NewDeal.parse({ title: email.split('@')[0], ...name }), { source: 'api' })
    }
    const erase = (email: string) => (work: Work) => eraseContact(work, email, { dryRun: false })

    const early = `early-${by}@example.org`
    const [made, erased] = await overlapping(await add(early), erase(early))
    expect([made.status, erased.status]).toEqual(['fulfilled', 'fulfilled'])
    const late = `late-${by}@example.org`
    const makeLate = await add(late)
    const [gone, refused] = await overlapping(erase(late), makeLate)
    expect(gone.status).toBe('fulfilled')
    expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'not_found' } })
    const deals = await t.app.sql('select title, email from deals where title like $1 or email like $1', [`%-${by}%`])
    expect(deals).toEqual([{ title: `early-${by}`, email: '' }])
  },
)

test('two deletions and moves of one deal at once: one deletion succeeds, and no history stays', async () => {
  for (let round = 0; round < 20; round++) {
    const { deal } = await inWork((work) =>
      createDeal(work, NewDeal.parse({ title: 'Doomed', email: emailOf(1) }), { source: 'api' }),
    )
    const { id: stageId } = await inWork((work) => findStage(work, 'Proposal'))
    const move = () => inWork((work) => changeDeal(work, deal.id, { stageId }))
    const remove = () => inWork((work) => deleteDeal(work, deal.id))
    const [, first, second] = await Promise.allSettled([move(), remove(), remove()])
    expect([first!.status, second!.status].sort()).toEqual(['fulfilled', 'rejected'])
    await expect(move()).rejects.toMatchObject({ kind: 'not_found' })
    expect(await t.app.sql('select from deal_history where deal_id = $1', [deal.id])).toEqual([])
  }
})

test('the idempotency key of a deleted deal is free again', async () => {
  const create = () =>
    inWork((work) =>
      createDeal(work, NewDeal.parse({ title: 'Kept', email: emailOf(2) }), { source: 'api', idempotencyKey: 'again' }),
    )
  const { deal } = await create()
  expect((await create()).deal.id).toBe(deal.id)
  await inWork((work) => deleteDeal(work, deal.id))
  const next = await create()
  expect([next.created, next.deal.id === deal.id]).toEqual([true, false])
})

describe('a contact that leaves a list', () => {
  let lists: string[]
  let count = 0
  let email: string
  let rowId: string

  beforeEach(async () => {
    email = `leaver${++count}@example.org`
    lists = await inWork(async (work) => {
      const ids: string[] = []
      for (const name of ['Oldest', 'Older', 'Left'])
        ids.push((await createList(work, { name: `${name} ${count}` })).id)
      return ids
    })
    for (const id of lists) await inWork((work) => writeContacts(work, id, [{ email, fields: {} }], new Map()))
    const [row] = await t.app.sql<{ rowId: string }>('select row_id as "rowId" from addresses where email = $1', [
      email,
    ])
    rowId = row!.rowId
  })

  const left = () => lists[2]!
  const newDeal = (name: object) => (work: Work) =>
    createDeal(work, NewDeal.parse({ title: 'Plan', ...name }), { source: 'api' })
  const byRow = () => newDeal({ listId: left(), rowId })
  const leave = (listId: string) => (work: Work) => leaveList(work, listId, email)
  const listOf = async ({ deal: { id } }: { deal: { id: string } }) =>
    (await inWork((work) => showDeal(work, id))).listId

  test('its deals name the most recently updated list that still has the address, and stay in the last one', async () => {
    const [made, other] = [await inWork(byRow()), await inWork(newDeal({ listId: lists[0], rowId }))]
    const history = () =>
      t.app.sql('select * from deal_history where deal_id = any($1) order by 1, 2', [[made.deal.id, other.deal.id]])
    const before = [await history(), (await t.events(account.id)).length]
    expect(await inWork(leave(left()))).toEqual({ contacts: 1, addresses: 0 })
    expect(await inWork((work) => showDeal(work, made.deal.id))).toEqual({ ...made.deal, listId: lists[1] })
    expect(await listOf(other)).toBe(lists[0])
    expect(await inWork(leave(lists[1]!))).toEqual({ contacts: 1, addresses: 0 })
    expect(await listOf(made)).toBe(lists[0])
    expect(await inWork(leave(lists[0]!))).toEqual({ contacts: 1, addresses: 1 })
    expect(await inWork((work) => showDeal(work, made.deal.id))).toEqual({ ...made.deal, listId: lists[0] })
    expect(await t.app.sql('select from addresses where email = $1', [email])).toEqual([])
    expect([await history(), (await t.events(account.id)).length]).toEqual(before)
    expect(await inWork(leave(lists[0]!))).toBeNull()
  })

  test('a deal that is written at that moment names a list that has the contact, in either order', async () => {
    const [made] = await overlapping(byRow(), leave(left()))
    expect(made.status).toBe('fulfilled')
    expect(await listOf((made as PromiseFulfilledResult<Awaited<ReturnType<typeof createDeal>>>).value)).toBe(lists[1])
    await inWork((work) => writeContacts(work, left(), [{ email, fields: {} }], new Map()))
    const [, refused] = await overlapping(leave(left()), byRow())
    expect(refused).toMatchObject({ status: 'rejected', reason: { kind: 'not_found' } })
    await inWork((work) => writeContacts(work, left(), [{ email, fields: {} }], new Map()))
    const [, moved] = await overlapping(leave(left()), newDeal({ email }))
    expect(moved).toMatchObject({ status: 'fulfilled', value: { deal: { listId: lists[1] } } })
    const wrong = await t.app.sql('select from deals where account_id = $1 and list_id = $2', [account.id, left()])
    expect(wrong).toEqual([])
  })

  test('two removals at once: one of them removes it, and the counts stay exact', async () => {
    const done = await Promise.all([inWork(leave(left())), inWork(leave(left()))])
    expect(done.filter((removed) => removed !== null)).toHaveLength(1)
    const all = await Promise.all([inWork(leave(lists[0]!)), inWork(leave(lists[1]!))])
    expect(all.map((removed) => removed?.addresses).toSorted()).toEqual([0, 1])
    const rows = await t.app.sql('select from contact_lists where id = any($1) and row_count <> 0', [lists])
    expect(rows).toEqual([])
  })

  test('an account’s removal touches nothing of another account', async () => {
    const stranger = await t.account()
    expect(await t.app.work(stranger.id, 'cli:test', leave(left()))).toBeNull()
    expect(await inWork(leave(left()))).toEqual({ contacts: 1, addresses: 0 })
  })

  test('moves that start a journey for the contact, new deals and removals do not deadlock', async () => {
    const bench = await journeyBench(t)
    const [first, second] = [await bench.list('First'), await bench.list('Second')]
    const [from, to] = await bench.stages()
    const trigger = { kind: 'deal-stage-changed' }
    await bench.apply({ name: 'J', trigger, reentry: 'always', steps: [{ kind: 'delay', for: '1d' }] })
    const email = 'ada@example.com'
    await bench.add(second, [email])
    const ids: string[] = []
    const before = await deadlocks()
    const done = { left: 0, moved: 0, made: 0 }
    const loop = async (act: () => Promise<unknown>) => {
      while (Object.values(done).some((count) => count < 60)) await act()
    }
    await bench.add(first, [email])
    const make = async () => {
      const input = NewDeal.parse({ title: 'Plan', email })
      ids.push((await bench.work((work) => createDeal(work, input, { source: 'api' }))).deal.id)
      done.made++
    }
    // The list was updated last, so the new deals name it until the contact leaves it.
    const cycle = async () => {
      await bench.add(first, [email])
      for (let n = 0; n < 3; n++) await make()
      await bench.work((work) => leaveList(work, first, email))
      done.left++
    }
    const move = async () => {
      const id = ids.at(-1 - (done.moved % 3))!
      const { stageId } = await bench.work((work) => showDeal(work, id))
      await bench.work((work) => changeDeal(work, id, { stageId: (stageId === from!.id ? to : from)!.id }))
      done.moved++
    }
    for (let n = 0; n < 3; n++) await make()
    await Promise.all([loop(cycle), loop(move), loop(move), loop(move)])
    expect((await deadlocks()) - before).toBe(0)
    const wrong = await t.app.sql('select from deals where account_id = $1 and list_id <> $2', [
      bench.account.id,
      second,
    ])
    expect(wrong).toEqual([])
  })
})
