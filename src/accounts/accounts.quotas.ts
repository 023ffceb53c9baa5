import { notFound, Problem } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columnOf, columns, types } from '../store/tables.ts'
import type { AccountSql, App, Operation, Work } from '../store/work.ts'
import { accounts, plans } from './accounts.columns.ts'
import { showPlan } from './accounts.plans.ts'

/** The monthly quotas. The limit of each is a column of `plans`. */
const quotas = ['sends', 'sendApiCalls', 'embedApi', 'broadcastMinutes'] as const

export type Quota = (typeof quotas)[number]

const month = (now: Date): string => `${now.toISOString().slice(0, 7)}-01`

/** Returns the seconds from `now` to the start of the next UTC month: the `Retry-After` of a used-up quota. */
export const secondsToNextMonth = (now: Date): number =>
  Math.ceil((Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1) - now.getTime()) / 1000)

const limitsOfPlan = `(values ${quotas.map((quota) => `('${quota}', p.${columnOf(quota)})`).join(', ')}) l(quota, most)`

// The limit of each quota in the account's plan, as `l(quota, most)`.
const limits = `accounts a join plans p on p.name = a.plan cross join lateral ${limitsOfPlan}`

// Rows are locked in the order of the quota names, so transactions that take several quotas can't deadlock.
const addUses = preparedStatement(
  'take-quotas',
  {
    row: { quota: typed<Quota>('text'), most: 'int4?', isTaken: 'bool' },
    parameters: { accountId: 'text', quotas: '_text', units: '_int4', month: 'date' },
  },
  `
  with asked as materialized (
    select w.quota, w.units, l.most
    from ${limits} join unnest(:quotas::text[], :units::int[]) as w(quota, units) on w.quota = l.quota
    where a.id = :accountId
  ), taken as (
    insert into quota_uses as q (account_id, quota, month, used)
    select :accountId, quota, :month, units from asked where most is null or units <= most order by quota
    on conflict (account_id, quota, month) do update set used = q.used + excluded.used
      where q.used + excluded.used <= coalesce((select most from asked where asked.quota = excluded.quota), 2147483647)
    returning quota
  )
  select asked.quota, asked.most, taken.quota is not null as "isTaken" from asked left join taken on taken.quota = asked.quota`,
)

/**
 * Takes units of monthly quotas, all or nothing for each quota, and returns the refused ones. One statement does it, so
 * concurrent callers can't exceed a quota, across all daemons. Call it last in a unit of work: the rows stay locked until the
 * transaction ends. Throws Problem `not_found` if the account is gone.
 */
export const takeQuotas = async (
  { sql, accountId, now }: Work,
  units: Partial<Record<Quota, number>>,
): Promise<Map<Quota, 'used up' | 'not in plan'>> => {
  const asked = Object.keys(units)
  const rows = await sql(addUses, { accountId, quotas: asked, units: Object.values(units), month: month(now) })
  if (rows.length < asked.length) throw notFound('There is no such account')
  const refused = rows.filter(({ isTaken }) => !isTaken)
  return new Map(refused.map(({ quota, most }) => [quota, most === 0 ? 'not in plan' : 'used up']))
}

/** `takeQuotas` for one quota. */
export const takeQuota = async (work: Work, quota: Quota, units = 1): Promise<'taken' | 'used up' | 'not in plan'> =>
  (await takeQuotas(work, { [quota]: units })).get(quota) ?? 'taken'

const readQuota = statement(
  'read-quota',
  { row: { limit: 'int4?', used: 'int4' }, parameters: { accountId: 'text', quota: 'text', month: 'date' } },
  `select l.most as limit, coalesce(q.used, 0) as used from ${limits}
     left join quota_uses q on q.account_id = a.id and q.quota = l.quota and q.month = :month
   where a.id = :accountId and l.quota = :quota`,
)

/** Returns whether any of a monthly quota is left, and takes nothing. Throws Problem `not_found` if the account is gone. */
export const quotaState = async (
  { sql, accountId, now }: Pick<Work, 'sql' | 'accountId' | 'now'>,
  quota: Quota,
): Promise<'left' | 'used up' | 'not in plan'> => {
  const [plan] = await sql(readQuota, { accountId, quota, month: month(now) })
  if (!plan) throw notFound('There is no such account')
  if (plan.limit === 0) return 'not in plan'
  return plan.limit === null || plan.used < plan.limit ? 'left' : 'used up'
}

const addUse = statement(
  'count-use-of-quota',
  { parameters: { accountId: 'text', quota: 'text', month: 'date', units: 'int4' } },
  `insert into quota_uses as q (account_id, quota, month, used) values (:accountId, :quota, :month, :units)
   on conflict (account_id, quota, month) do update set used = q.used + excluded.used`,
)

/** Adds units even if they exceed the limit. Call it last in a unit of work. */
export const countUse = async ({ sql, accountId, now }: Work, quota: Quota, units: number): Promise<void> => {
  await sql(addUse, { accountId, quota, month: month(now), units })
}

const readWebinarCourses = statement(
  'plan-has-webinar-courses',
  { row: { webinarCourses: 'bool' }, parameters: { accountId: 'text' } },
  'select p.webinar_courses as "webinarCourses" from accounts a join plans p on p.name = a.plan where a.id = :accountId',
)

/** Returns whether the account's plan allows a course in a webinar. */
export const allowsWebinarCourses = async ({ sql, accountId }: AccountSql): Promise<boolean> => {
  const [plan] = await sql(readWebinarCourses, { accountId })
  return plan?.webinarCourses ?? false
}

export interface Usage {
  quota: Quota | 'contacts'
  used: number
  limit: number | null
}

const limitColumns = columns(plans, ['contacts', ...quotas], 'p')

const readLimits = statement(
  'read-limits-of-account',
  { row: { ...limitColumns.types, ...types(accounts, 'contactCount') }, parameters: { accountId: 'text' } },
  `select ${limitColumns.list}, a.contact_count as "contactCount"
   from accounts a join plans p on p.name = a.plan where a.id = :accountId`,
)

const readUses = statement(
  'read-uses-of-quotas',
  { row: { quota: typed<Quota>('text'), used: 'int4' }, parameters: { accountId: 'text', month: 'date' } },
  'select quota, used from quota_uses where account_id = :accountId and month = :month',
)

/** Returns the account's use of each limit of its plan, in this month for quotas. Throws Problem `not_found` if the account is gone. */
export const accountUsage = async ({ sql, now }: Operation, accountId: string): Promise<Usage[]> => {
  const [plan] = await sql(readLimits, { accountId })
  if (!plan) throw notFound('There is no such account')
  const uses = await sql(readUses, { accountId, month: month(now) })
  const used = (quota: Quota) => uses.find((use) => use.quota === quota)?.used ?? 0
  return [
    { quota: 'contacts', used: plan.contactCount, limit: plan.contacts },
    ...quotas.map((quota) => ({ quota, used: used(quota), limit: plan[quota] })),
  ]
}

/** Returns the limits of another plan that the account already exceeds. Throws Problem `not_found` if the plan or account is gone. */
export const planExcess = async (
  operation: Operation,
  accountId: string,
  plan: string,
): Promise<(Usage & { limit: number })[]> => {
  const limits = await showPlan(operation, plan)
  return (await accountUsage(operation, accountId)).flatMap(({ quota, used }) => {
    const limit = limits[quota]
    return limit !== null && used > limit ? [{ quota, used, limit }] : []
  })
}

const readNearLimits = statement(
  'limits-nearly-reached',
  {
    row: {
      accountId: 'text',
      account: 'text',
      quota: typed<Quota | 'contacts'>('text'),
      used: 'int4',
      limit: 'int4',
    },
    parameters: { month: 'date', share: 'float8', most: 'int8' },
  },
  `select a.id as "accountId", a.name as account, l.quota, l.used, l.units as "limit"
   from accounts a join plans p on p.name = a.plan cross join lateral (
     select 'contacts' as quota, p.contacts as units, a.contact_count as used
     union all
     select q.quota, l.most, q.used from quota_uses q join ${limitsOfPlan} on l.quota = q.quota
     where q.account_id = a.id and q.month = :month
   ) l
   where a.deleted_at is null and l.units > 0 and l.used >= l.units * :share::float8
   order by l.used::float8 / l.units desc, a.id, l.quota limit :most`,
)

/**
 * Returns the limits of which at least `share` (0 to 1) is used, fullest first, at most `most` rows. Leaves out limits of 0 and accounts
 * that are being deleted.
 */
export const nearLimits = ({ sql, now }: Pick<Operation, 'sql' | 'now'>, share: number, most: number) =>
  sql(readNearLimits, { month: month(now), share, most })

/** Returns the units left of a monthly quota in the month of `at`, or null if the plan has no limit. */
export const quotaLeft = async ({ sql, accountId }: AccountSql, quota: Quota, at: Date): Promise<number | null> => {
  const [plan] = await sql(readQuota, { accountId, quota, month: month(at) })
  return plan && plan.limit !== null ? Math.max(plan.limit - plan.used, 0) : null
}

/** Takes up to `units` of a monthly quota, as many as are left, and returns the number taken. Call it last in a unit of work. */
export const takeQuotaUpTo = async (work: Work, quota: Quota, units: number): Promise<number> => {
  if (units === 0 || (await takeQuota(work, quota, units)) === 'taken') return units
  for (;;) {
    const left = (await quotaLeft(work, quota, work.now)) ?? 0
    const granted = Math.min(units, left)
    if (granted === 0 || (await takeQuota(work, quota, granted)) === 'taken') return granted
    // Another transaction took units in the meantime. The refused attempt has locked the row, so the next count stays valid.
  }
}

/** Returns SQL for the array of the quotas, of a text array, of which an account has nothing left in the current month. */
export const usedUpQuotas = (accountId: string, quotas: string): string => `array(
  select l.quota from ${limits}
    left join quota_uses q on q.account_id = a.id and q.quota = l.quota
      and q.month = date_trunc('month', svc_now() at time zone 'UTC')::date
  where a.id = ${accountId} and l.quota = any(${quotas}) and l.most <= coalesce(q.used, 0)
)`

const subtractUse = statement(
  'return-quota',
  { parameters: { accountId: 'text', quota: 'text', ofMonth: 'date', units: 'int4' } },
  'update quota_uses set used = greatest(used - :units, 0) where account_id = :accountId and quota = :quota and month = :ofMonth',
)

/** Returns unused units to the quota of a month (`2026-11-01`). Call it last in a unit of work. */
export const returnQuota = async (
  { sql, accountId }: AccountSql,
  quota: Quota,
  ofMonth: string,
  units: number,
): Promise<void> => {
  await sql(subtractUse, { accountId, quota, ofMonth, units })
}

const embedRefusal = (state: 'used up' | 'not in plan', now: Date): Problem =>
  state === 'not in plan'
    ? new Problem('forbidden', "The Embed API isn't included in your plan")
    : new Problem('limited', 'Monthly Embed API quota for your plan exceeded', {
        retryAfterSeconds: secondsToNextMonth(now),
      })

/**
 * Checks that the Embed API quota has a unit left (docs/reference/limits.md#plans-and-quotas), and takes nothing. Throws Problem
 * `forbidden` if the plan has no Embed API, `limited` if the month's quota is used up.
 */
export const requireEmbedUnit = async ({ sql, now }: Pick<App, 'sql' | 'now'>, accountId: string): Promise<void> => {
  const at = now()
  const state = await quotaState({ sql, accountId, now: at }, 'embedApi')
  if (state !== 'left') throw embedRefusal(state, at)
}

/**
 * Takes units of the Embed API quota for successful calls, all or nothing. Call it last in a unit of work. Throws Problem `forbidden`
 * if the plan has no Embed API, `limited` if too little of the month's quota is left.
 */
export const takeEmbedUnits = async (work: Work, calls: number): Promise<void> => {
  const taken = await takeQuota(work, 'embedApi', calls)
  if (taken !== 'taken') throw embedRefusal(taken, work.now)
}
