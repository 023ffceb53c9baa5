import { beforeAll, expect, test } from 'vitest'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { takeQuota } from '../../src/accounts/accounts.quotas.ts'
import { accountUsage, nearLimits, takeQuotaUpTo } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { type TestAccount, useApp } from '../support/app.ts'

const clock = { now: new Date('2026-11-30T23:59:00Z') }

const t = useApp({ now: () => clock.now })
beforeAll(async () => {
  await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'starter', { sendApiCalls: 50 }))
})

const take = (accountId: string, units = 1, app = t.app) =>
  app.work(accountId, 'cli:test', (work) => takeQuota(work, 'sendApiCalls', units))
const used = async (accountId: string) =>
  (await t.app.operate('cli:test', (operation) => accountUsage(operation, accountId))).find(
    (u) => u.quota === 'sendApiCalls',
  )?.used

test('of 50 concurrent callers over two daemons, one takes the last unit', async () => {
  const { id } = await t.account({ plan: 'starter' })
  expect(await take(id, 49)).toBe('taken')
  const other = await openApp(readConfig(t.env), { now: () => clock.now })
  const results = await Promise.all(Array.from({ length: 50 }, (_, i) => take(id, 1, i % 2 ? other : t.app)))
  await other.close()
  expect(results.filter((result) => result === 'taken')).toHaveLength(1)
  expect(results.filter((result) => result === 'used up')).toHaveLength(49)
  expect(await used(id)).toBe(50)
})

test('a request for more units than are left takes none', async () => {
  const { id } = await t.account({ plan: 'starter' })
  await take(id, 45)
  expect(await take(id, 6)).toBe('used up')
  expect(await used(id)).toBe(45)
  const fresh = await t.account({ plan: 'starter' })
  expect(await take(fresh.id, 51)).toBe('used up')
  expect(await used(fresh.id)).toBe(0)
})

test('as many units are taken as are left: none of a quota that is used up or not in the plan', async () => {
  const [starter, pro, free] = await Promise.all(['starter', 'pro', 'free'].map((plan) => t.account({ plan })))
  const upTo = (id: string, quota: 'sendApiCalls' | 'broadcastMinutes', units: number) =>
    t.app.work(id, 'cli:test', (work) => takeQuotaUpTo(work, quota, units))
  expect(await upTo(starter!.id, 'sendApiCalls', 49)).toBe(49)
  expect(await upTo(starter!.id, 'sendApiCalls', 0)).toBe(0)
  expect(await upTo(starter!.id, 'sendApiCalls', 3)).toBe(1)
  expect(await upTo(starter!.id, 'sendApiCalls', 3)).toBe(0)
  expect(await used(starter!.id)).toBe(50)
  expect(await upTo(free!.id, 'broadcastMinutes', 1)).toBe(0)
  // More was used than the plan now allows.
  expect(await upTo(pro!.id, 'sendApiCalls', 2)).toBe(2)
  await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'pro', { sendApiCalls: 1 }))
  expect(await upTo(pro!.id, 'sendApiCalls', 1)).toBe(0)
})

test('a quota of 0 means that it is not in the plan; null means unlimited', async () => {
  const free = await t.account({ plan: 'free' })
  const unlimited = await t.account({ plan: 'unlimited' })
  expect(await t.app.work(free.id, 'cli:test', (work) => takeQuota(work, 'embedApi'))).toBe('not in plan')
  expect(await take(unlimited.id, 1_000_000)).toBe('taken')
})

test('a failed unit of work releases the units that it took', async () => {
  const { id } = await t.account({ plan: 'starter' })
  const failing = t.app.work(id, 'cli:test', async (work) => {
    await takeQuota(work, 'sendApiCalls')
    throw new Error('after')
  })
  await expect(failing).rejects.toThrow('after')
  expect(await used(id)).toBe(0)
})

test('the month is the UTC calendar month', async () => {
  const { id } = await t.account({ plan: 'starter' })
  expect(await take(id, 50)).toBe('taken')
  expect(await take(id)).toBe('used up')
  clock.now = new Date('2026-12-01T00:00:00Z')
  expect(await take(id)).toBe('taken')
})

test('a limit is near from the given share on, also if the share is used exactly; the fullest come first', async () => {
  const accounts = await Promise.all(
    ['starter', 'starter', 'starter', 'starter', 'pro', 'free'].map((plan) => t.account({ plan })),
  )
  const [almost, exactly, full, gone, one, none] = accounts
  const limitEmbed = (plan: string, embedApi: number) =>
    t.app.operate('cli:test', (operation) => setPlanLimits(operation, plan, { embedApi }))
  await take(almost!.id, 39)
  await take(exactly!.id, 40)
  await take(full!.id, 50)
  await take(gone!.id, 50)
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [gone!.id])
  for (const [account, plan] of [
    [one!, 'pro'],
    [none!, 'free'],
  ] as const) {
    await limitEmbed(plan, 1)
    expect(await t.app.work(account.id, 'cli:test', (work) => takeQuota(work, 'embedApi'))).toBe('taken')
  }
  await limitEmbed('free', 0)
  const near = await t.app.operate('cli:test', (operation) => nearLimits(operation, 0.8, 100))
  const ours = near.filter(({ accountId }) => accounts.some(({ id }) => id === accountId))
  const row = ({ id, name }: TestAccount, quota: string, used: number, limit: number) => {
    return { accountId: id, account: name, quota, used, limit }
  }
  const [fullest, next, ...rest] = ours
  expect([fullest, next].map((each) => each!.used / each!.limit!)).toEqual([1, 1])
  expect([fullest, next]).toEqual(
    expect.arrayContaining([row(full!, 'sendApiCalls', 50, 50), row(one!, 'embedApi', 1, 1)]),
  )
  expect(rest).toEqual([row(exactly!, 'sendApiCalls', 40, 50)])
  expect(await t.app.operate('cli:test', (operation) => nearLimits(operation, 0.8, 1))).toHaveLength(1)
})
