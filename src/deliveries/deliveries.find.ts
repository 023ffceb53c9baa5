import { z } from 'zod'
import { countingByStatus } from '../accounts/accounts.rows.ts'
import type { EmittedEvent } from '../events/events.ts'
import { EventName } from '../events/shapes.ts'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { noSuch } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import type { Sql } from '../store/database.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { pendingDeliveries } from './deliveries.columns.ts'
import type { DeliveryAttempt } from './deliveries.entities.ts'
import { probeType } from './deliveries.insert.ts'

export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'cancelled'] as const

/** Selects the deliveries that match all given conditions. `since` in epoch ms. */
export const DeliveryFilter = z.object({
  ids: z.array(text(100)).optional(),
  status: z.enum(deliveryStatuses).optional(),
  webhook: text(100).optional(),
  type: EventName.optional(),
  since: z.int().optional(),
})
export type DeliveryFilter = z.output<typeof DeliveryFilter>

const view = {
  id: 'text',
  eventId: 'text',
  webhookId: 'text',
  type: 'text',
  status: typed<(typeof deliveryStatuses)[number]>('text'),
  /** Number of attempts, including those before a replay. */
  attempts: 'int4',
  nextAttemptAt: 'int8?',
  createdAt: 'int8',
  finishedAt: 'int8?',
  lastStatus: 'int4?',
  lastError: 'text?',
} as const
/** A delivery, with times in epoch ms. */
export type DeliveryView = RowOf<typeof view>

/** A delivery with every attempt, oldest first, and the body that each of them posted. */
export interface DeliveryDetail extends DeliveryView {
  history: DeliveryAttempt[]
  event: EmittedEvent
}

const attempted = `jsonb_array_length(d.attempts) as attempts, (d.attempts -> -1 ->> 'status')::int as "lastStatus",
  d.attempts -> -1 ->> 'error' as "lastError"`

const columns = `d.id, d.key as "eventId", d.target_id as "webhookId", d.type, d.status, ${attempted},
  case when d.status = 'pending' then ${epochMs('d.due_at')} end as "nextAttemptAt",
  ${epochMs('d.created_at')} as "createdAt", ${epochMs('d.finished_at')} as "finishedAt"`

const isActive = `exists (select from delivery_targets t where t.id = d.target_id and t.status = 'active')`

const pending = `select d.*, 'pending' as status, null::timestamptz as finished_at from pending_deliveries d`
// Reads each ended target by itself: there are few of them, with few rows left, however many rows other targets have.
const left = (account: string) => `select d.*, 'cancelled' as status, null::timestamptz as finished_at from (
    select id from delivery_targets where account_id = ${account} and status <> 'active' offset 0
  ) e cross join lateral (select * from pending_deliveries where target_id = e.id offset 0) d`
const ended = `select d.*, null::timestamptz as due_at, null::int as worker from ended_deliveries d`

const findTarget = statement(
  'find-delivery-target',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from delivery_targets where account_id = :accountId and id = :id',
)

/** Throws Problem `not_found` unless the webhook exists, or has deliveries although it was deleted. */
export const requireTarget = async ({ sql, accountId }: Work, id: string): Promise<void> => {
  if ((await sql(findTarget, { accountId, id })).length === 0)
    throw noSuch('webhook', id, { hint: 'svc webhooks list' })
}

/** Returns the filter, without its status, as SQL conditions over a delivery `d`; `bind` adds a parameter and returns its name. */
export const matching = (accountId: string, { ids, webhook, type, since }: DeliveryFilter) => {
  const params: unknown[] = [accountId]
  const bind = (value: unknown) => `$${params.push(value)}`
  const conditions = ['d.account_id = $1']
  if (ids) conditions.push(`d.id = any(${bind(ids)})`)
  if (webhook) conditions.push(`d.target_id = ${bind(webhook)}`)
  if (type) conditions.push(`d.type = ${bind(type)}`)
  if (since !== undefined) conditions.push(`d.id >= ${bind(idAt('dlv', since))}`)
  return { conditions, params, bind }
}

/**
 * Returns the deliveries of a filter as queries, each of which uses an index: pending ones; pending ones of ended targets, which
 * count as cancelled; and ended ones, with a query for each state if the index has the state.
 */
export const branchesOf = (
  { status, webhook }: DeliveryFilter,
  conditions: readonly string[],
  account = '$1',
): string[] => {
  const where = (...more: string[]) => `where ${[...conditions, ...more].join(' and ')}`
  const isWanted = (one: string) => status === undefined || status === one
  const states = status || webhook ? deliveryStatuses.filter((one) => one !== 'pending' && isWanted(one)) : []
  return [
    ...(isWanted('pending') ? [`${pending} ${where(isActive)}`] : []),
    ...(isWanted('cancelled') ? [`${left(account)} ${where()}`] : []),
    ...states.map((state) => `${ended} ${where(`d.status = '${state}'`)}`),
    ...(status || webhook ? [] : [`${ended} ${where()}`]),
  ]
}

/**
 * Makes each branch of a page or count use its index for the rest of the transaction, whatever share of the table the planner
 * estimates.
 */
const readByIndex = statement(
  'read-deliveries-by-index',
  { row: { set_config: 'text' } },
  `select set_config('enable_seqscan', 'off', true)`,
)

/** Returns a page of deliveries, newest first. Throws Problem `invalid` for a bad cursor. */
export const listDeliveries = async (
  { sql, accountId }: Work,
  filter: DeliveryFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<DeliveryView>> => {
  const { conditions, params, bind } = matching(accountId, filter)
  conditions.push(`d.type <> '${probeType}'`)
  if (cursor) conditions.push(`d.id < ${bind(idOfCursor('dlv', cursor))}`)
  const branches = branchesOf(filter, conditions)
  const count = bind(limit + 1)
  await sql(readByIndex)
  const newest = branches.map((branch) => `(select ${columns} from (${branch}) d order by d.id desc limit ${count})`)
  const rows = await sql<DeliveryView>(
    `select * from (${newest.join(' union all ')}) d order by id desc limit ${count}`,
    params,
  )
  return pageOf(rows, limit)
}

const readPayload = `coalesce(d.body, (select e.payload from events e where e.account_id = d.account_id and e.id = d.key))`

const readDelivery = statement(
  'read-delivery',
  {
    row: { ...view, history: pendingDeliveries.columns.attempts, payload: 'text' },
    parameters: { accountId: 'text', id: 'text' },
  },
  branchesOf({}, ['d.account_id = :accountId', 'd.id = :id'], ':accountId')
    .map((branch) => `select ${columns}, d.attempts as history, ${readPayload} as payload from (${branch}) d`)
    .join(' union all '),
)

/** Returns a delivery with its attempts and body. Throws Problem `not_found`. */
export const showDelivery = async ({ sql, accountId }: Work, id: string): Promise<DeliveryDetail> => {
  const [row] = await sql(readDelivery, { accountId, id })
  if (!row) throw noSuch('delivery', id, { hint: 'svc deliveries list' })
  const { history, payload, ...delivery } = row
  return { ...delivery, history, event: JSON.parse(payload) }
}

const countByStatus = countingByStatus('deliveries', deliveryStatuses)

/** Counts the deliveries of all accounts since `sinceMs` by their current status. */
export const countDeliveriesSince = (sql: Sql, sinceMs: number): Promise<Counts> =>
  countByStatus(sql, idAt('dlv', sinceMs))

const readLastError = statement(
  'read-last-error',
  { row: { error: 'text?' }, parameters: { accountId: 'text', id: 'text' } },
  `select attempts -> -1 ->> 'error' as error from deliveries where account_id = :accountId and id = :id`,
)

/** Returns why the last attempt of a delivery failed, or null if it did not fail, or there is no such delivery or attempt. */
export const findLastError = async ({ sql, accountId }: AccountSql, id: string): Promise<string | null> => {
  const [row] = await sql(readLastError, { accountId, id })
  return row?.error ?? null
}

type Counts = Record<(typeof deliveryStatuses)[number], number>

/** Number of deliveries by state. `oldestDueAt` (epoch ms): the due time of the pending one that has waited longest. */
export interface DeliveryStats extends Counts {
  oldestDueAt: number | null
  webhooks: (Counts & { id: string; url: string | null; oldestDueAt: number | null })[]
}

const counts = deliveryStatuses
  .map((status) => `(sum(c.count) filter (where c.status = '${status}'))::int8 as ${status}`)
  .join(', ')

/**
 * Counts the matching deliveries, in all and for each webhook; `url` is null if the webhook was deleted. It reads target by
 * target, so that it reads an index only, whatever share of the table belongs to the account.
 */
export const deliveryStats = async (
  { sql, accountId }: Work,
  { webhook, type, since }: Pick<DeliveryFilter, 'webhook' | 'type' | 'since'>,
): Promise<DeliveryStats> => {
  const { conditions, params, bind } = matching(accountId, { type, since })
  const [, ...more] = conditions
  const where = ['d.target_id = t.id', ...more].join(' and ')
  await sql(readByIndex)
  const rows = await sql<Record<keyof Counts | 'oldestDueAt', number | null> & { id: string; url: string | null }>(
    `select t.id, case when t.status <> 'deleted' then t.url end as url, c.* from (
       select id, url, status from delivery_targets
       where account_id = $1 ${webhook ? `and id = ${bind(webhook)}` : ''} offset 0
     ) t cross join lateral (
       select ${counts}, ${epochMs(`min(c.due_at) filter (where c.status = 'pending')`)} as "oldestDueAt" from (
         select case when t.status = 'active' then 'pending' else 'cancelled' end as status, count(*) as count, min(due_at) as due_at
         from pending_deliveries d where ${where} having count(*) > 0
         union all
         select d.status, count(*), null from ended_deliveries d where d.account_id = $1 and ${where} group by d.status
       ) c having count(*) > 0
     ) c order by t.id desc`,
    params,
  )
  const webhooks = rows.map(({ id, url, oldestDueAt, pending, delivered, exhausted, cancelled }) => ({
    id,
    url,
    pending: pending ?? 0,
    delivered: delivered ?? 0,
    exhausted: exhausted ?? 0,
    cancelled: cancelled ?? 0,
    oldestDueAt,
  }))
  const total = (status: keyof Counts) => webhooks.reduce((sum, webhook) => sum + webhook[status], 0)
  const due = webhooks.flatMap(({ oldestDueAt }) => oldestDueAt ?? [])
  return {
    pending: total('pending'),
    delivered: total('delivered'),
    exhausted: total('exhausted'),
    cancelled: total('cancelled'),
    oldestDueAt: due.length > 0 ? Math.min(...due) : null,
    webhooks,
  }
}
