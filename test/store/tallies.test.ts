import { expect, test } from 'vitest'
import { addUpTallies, forgetCounts, readDayCounts, sumCounts, tallying } from '../../src/store/tallies.ts'
import { useApp } from '../support/app.ts'
import { randomOfTest } from '../support/random.ts'

const t = useApp()

const tally = (accountId: string, subject: string, day: string, counts: Record<string, number>) =>
  t.app.sql(tallying('values ($1, $2, $3, $4::jsonb)'), [accountId, subject, day, JSON.stringify(counts)])
const read = (accountId: string, subject: string, from: string | null = null) =>
  readDayCounts({ sql: t.app.sql, accountId }, subject, from)
const tallies = async () => (await t.app.sql('select from day_tallies')).length

test('counts are the same before, while and after they are added up, and belong to one account and subject', async () => {
  const [{ id: mine }, { id: other }] = [await t.account(), await t.account()]
  await tally(mine, 'things', '2026-11-01', { made: 2, lost: 1 })
  await tally(mine, 'things', '2026-11-01', { made: 3, lost: -1 })
  await tally(mine, 'things', '2026-11-03', { made: 1 })
  await tally(mine, 'others', '2026-11-01', { made: 50 })
  await tally(other, 'things', '2026-11-01', { made: 70 })
  const expected = [
    { day: '2026-11-01', counts: { made: 5 } },
    { day: '2026-11-03', counts: { made: 1 } },
  ]
  expect(await read(mine, 'things')).toEqual(expected)
  expect(await addUpTallies(t.app)).toBe(5)
  expect(await tallies()).toBe(0)
  expect(await read(mine, 'things')).toEqual(expected)
  await tally(mine, 'things', '2026-11-03', { made: 4, kept: 2 ** 40 })
  await addUpTallies(t.app)
  expect(await read(mine, 'things', '2026-11-02')).toEqual([{ day: '2026-11-03', counts: { made: 5, kept: 2 ** 40 } }])
  expect(await read(mine, 'things', '2026-11-04')).toEqual([])
  await tally(mine, 'things', '2026-11-05', { made: 1 })
  await tally(mine, 'others', '2026-11-05', { made: 1 })
  await forgetCounts({ sql: t.app.sql, accountId: mine }, 'things')
  expect(await read(mine, 'things')).toEqual([])
  expect(sumCounts(await read(mine, 'others'))).toEqual({ made: 51 })
  expect(sumCounts(await read(other, 'things'))).toEqual({ made: 70 })
})

test('writers and several processes that add up at once lose and repeat nothing', async () => {
  const { id } = await t.account()
  const random = randomOfTest()
  const expected: Record<string, number> = {}
  const write = async () => {
    for (let i = 0; i < 60; i++) {
      const [day, count] = [`2026-11-0${random.between(1, 3)}`, random.between(1, 9)]
      expected[day] = (expected[day] ?? 0) + count
      await tally(id, 'race', day, { n: count })
    }
  }
  let isOver = false
  const add = async () => {
    while (!isOver) await addUpTallies(t.app, { batchSize: 7 })
  }
  const adding = [add(), add()]
  await Promise.all([write(), write(), write()])
  isOver = true
  await Promise.all(adding)
  await addUpTallies(t.app, { batchSize: 7 })
  expect(await tallies()).toBe(0)
  expect(Object.fromEntries((await read(id, 'race')).map(({ day, counts }) => [day, counts.n]))).toEqual(expected)
})

test('tallies that another transaction has locked are added up later, without waiting', async () => {
  const { id } = await t.account()
  for (const subject of ['locked', 'free']) await tally(id, subject, '2026-11-01', { made: 1 })
  await t.app.database.transaction(async (sql) => {
    await sql(`select from day_tallies where account_id = $1 and subject = 'locked' for update`, [id])
    expect(await addUpTallies(t.app)).toBe(1)
  })
  expect(await addUpTallies(t.app)).toBe(1)
})

test('tallies of a deleted account are not added up, and its deletion takes everything', async () => {
  const { id } = await t.account()
  await tally(id, 'things', '2026-11-01', { made: 1 })
  await addUpTallies(t.app)
  await tally(id, 'things', '2026-11-01', { made: 1 })
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [id])
  expect(await addUpTallies(t.app)).toBe(0)
  const { deleteAccount } = await import('../../src/accounts/accounts.delete.ts')
  await deleteAccount(t.app, id, { actor: 'test' })
  expect(await t.app.sql('select from day_counts where account_id = $1', [id])).toEqual([])
  expect(await t.app.sql('select from day_tallies where account_id = $1', [id])).toEqual([])
})
