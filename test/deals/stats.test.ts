import { expect, test } from 'vitest'
import { Migration20261123232300_deal_counts as Counting } from '../../migrations/Migration20261123232300_deal_counts.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import {
  changeDeal,
  createDeal,
  type Deal,
  DealChange,
  dealsByDay,
  deleteDeal,
  deleteStage,
  findPipeline,
  findStage,
  NewDeal,
  setStageKind,
} from '../../src/deals/deals.ts'
import { addUpTallies } from '../../src/store/tallies.ts'
import type { Work } from '../../src/store/work.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Random, randomOfTest } from '../support/random.ts'

const t = useApp({ development: true })
const email = 'ada@example.org'
const dayMs = 86_400_000

const inWork = <T>(account: TestAccount, run: (work: Work) => Promise<T>): Promise<T> =>
  t.app.work(account.id, 'cli:test', run)
const stats = (account: TestAccount, from = '2000-01-01') => inWork(account, (work) => dealsByDay(work, from))
const today = () => t.app.now().toISOString().slice(0, 10)

const openAccount = async (): Promise<TestAccount> => {
  const account = await t.account()
  await inWork(account, async (work) => {
    const { id } = await createList(work, { name: 'Customers' })
    await writeContacts(work, id, [{ email, fields: {} }], new Map())
  })
  return account
}

/** Counts the deals again, from their own rows. */
const recount = async ({ id }: TestAccount) => {
  const rows = await t.app.sql<{ currency: string; count: number; value: string }>(
    `select currency, count(*)::int as count, sum(value) as value from deals where account_id = $1 and status = 'open'
     group by currency order by currency collate "C"`,
    [id],
  )
  return {
    open: rows.reduce((sum, { count }) => sum + count, 0),
    value: Object.fromEntries(rows.map(({ currency, value }) => [currency, Number(value)])),
  }
}

/** Creates, changes, moves and deletes random deals, and returns how often one became won or lost. */
const writeDeals = async (account: TestAccount, random: Random): Promise<{ won: number; lost: number }> => {
  const { stages } = await inWork(account, (work) => findPipeline(work))
  const [own, became] = [new Map<string, Deal>(), { won: 0, lost: 0 }]
  const note = (before: Deal['status'] | null, { status }: Deal) => {
    if (status !== 'open' && status !== before) became[status]++
  }
  const value = () => random.pick([0, 0.01, 12.5, 99_999.99, random.between(1, 10_000)])
  for (let i = 0; i < 40; i++) {
    const known = random.next() < 0.6 && own.size > 0 ? random.pick([...own.values()]) : null
    const stageId = random.pick(stages).id
    if (!known) {
      const input = NewDeal.parse({
        title: 'Deal',
        email,
        value: value(),
        currency: random.pick(['EUR', 'USD', 'JPY']),
        stageId,
      })
      const { deal } = await inWork(account, (work) => createDeal(work, input, { source: 'api' }))
      own.set(deal.id, deal)
      note(null, deal)
    } else if (random.next() < 0.15) {
      await inWork(account, (work) => deleteDeal(work, known.id))
      own.delete(known.id)
    } else {
      const change = random.pick([
        { stageId },
        { stageId, currency: 'GBP' },
        { value: value() },
        { title: 'Another' },
        { currency: random.pick(['EUR', 'USD']), value: value() },
      ])
      const { deal } = await inWork(account, (work) => changeDeal(work, known.id, DealChange.parse(change)))
      own.set(deal.id, deal)
      note(known.status, deal)
    }
  }
  return became
}

test('counts of deals equal a recount, whatever writers did at once, and belong to one account', async () => {
  const [account, other] = [await openAccount(), await openAccount()]
  const random = randomOfTest()
  const became = await Promise.all(['a', 'b', 'c'].map((name) => writeDeals(account, random.fork(name))))
  await writeDeals(other, random.fork('other'))
  const sum = (status: 'won' | 'lost') => became.reduce((total, one) => total + one[status], 0)
  const [won, lost] = [sum('won'), sum('lost')]
  const expected = { ...(await recount(account)), won, lost, days: [{ date: today(), won, lost }] }
  expect(won * lost).toBeGreaterThan(0)
  expect(await stats(account)).toEqual(expected)
  await addUpTallies(t.app)
  expect(await stats(account)).toEqual(expected)
  expect(await stats(other)).toMatchObject(await recount(other))
})

test('a stage that becomes won or is deleted counts its deals; a move between two won stages does not', async () => {
  const account = await openAccount()
  const stageOf = (name: string) => inWork(account, (work) => findStage(work, name))
  const create = async (name: string, value: number) => {
    const input = NewDeal.parse({ title: 'Deal', email, value, currency: 'EUR', stageId: (await stageOf(name)).id })
    return (await inWork(account, (work) => createDeal(work, input, { source: 'api' }))).deal
  }
  const { stages } = await inWork(account, (work) => findPipeline(work))
  const [first, second] = stages.filter(({ kind }) => kind === 'open')
  const wonStage = stages.find(({ kind }) => kind === 'won')!
  const deal = await create(first!.name, 10)
  await create(second!.name, 2.25)
  await create(second!.name, 0)
  expect(await stats(account)).toMatchObject({ open: 3, won: 0, lost: 0, value: { EUR: 12.25 } })
  const found = await stageOf(second!.name)
  await inWork(account, (work) => setStageKind(work, found, 'won'))
  expect(await stats(account)).toMatchObject({ open: 1, won: 2, lost: 0, value: { EUR: 10 } })
  await t.advance(dayMs)
  const [from, to] = [await stageOf(second!.name), await stageOf(wonStage.name)]
  await inWork(account, (work) => deleteStage(work, from, to))
  expect(await stats(account)).toMatchObject({ open: 1, won: 2, value: { EUR: 10 } })
  await inWork(account, (work) => changeDeal(work, deal.id, { stageId: wonStage.id }))
  expect(await stats(account)).toMatchObject({ open: 0, won: 3, value: {}, days: [{ won: 2 }, { won: 1 }] })
  // Only the second day.
  expect(await stats(account, today())).toMatchObject({ open: 0, won: 1, lost: 0 })
  await inWork(account, (work) => deleteDeal(work, deal.id))
  expect(await stats(account)).toMatchObject({ open: 0, won: 3, value: {} })
})

test('a change that is rolled back counts nothing, and a repeated idempotency key counts once', async () => {
  const account = await openAccount()
  const input = NewDeal.parse({ title: 'Deal', email, value: 5, currency: 'EUR' })
  const create = (idempotencyKey: string) =>
    inWork(account, (work) => createDeal(work, input, { source: 'api', idempotencyKey }))
  await Promise.all([create('one'), create('one'), create('one')])
  await inWork(account, async (work) => {
    await createDeal(work, input, { source: 'api' })
    throw new Error('Undo')
  }).catch(() => {})
  expect(await stats(account)).toEqual({ open: 1, won: 0, lost: 0, value: { EUR: 5 }, days: [] })
})

test('the migration counts existing deals in the same way', async () => {
  await addUpTallies(t.app)
  const read = () =>
    t.app.sql(`select d.account_id, e.key, sum(e.value::int) as count from day_counts d cross join lateral jsonb_each_text(d.counts) e
      where d.subject = 'deals' and e.key not in ('won', 'lost') group by 1, 2 having sum(e.value::int) <> 0 order by 1, 2`)
  const counted = await read()
  expect(counted.length).toBeGreaterThan(3)
  await t.app.sql('delete from day_counts')
  const migration = new Counting(undefined as never, undefined as never)
  migration.up()
  for (const query of migration.getQueries()) await t.app.sql(String(query))
  expect(await read()).toEqual(counted)
  const [moves] = await t.app.sql(
    `select count(*) from deal_history h join stages s on s.id = h.to_stage_id left join stages f on f.id = h.from_stage_id
     where s.kind = 'won' and s.kind is distinct from f.kind`,
  )
  expect(
    await t.app.sql(`select sum((counts->>'won')::int)::int8 as count from day_counts where subject = 'deals'`),
  ).toEqual([moves])
})
