import { z } from 'zod'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page.ts'
import { missing } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { EmittedEvent, Work } from '../store/work.ts'
import type { DeliveryAttempt } from './webhooks.entities.ts'
import { EventName } from './webhooks.shapes.ts'

export const deliveryStatuses = ['pending', 'delivered', 'exhausted', 'cancelled'] as const

/** Which deliveries: those that match all that is given. `since` in epoch ms. */
export const DeliveryFilter = z.object({
  ids: z.array(text(100)).optional(),
  status: z.enum(deliveryStatuses).optional(),
  webhook: text(100).optional(),
  type: EventName.optional(),
  since: z.int().optional(),
})
export type DeliveryFilter = z.output<typeof DeliveryFilter>

/** Times in epoch ms. */
export interface DeliveryView {
  id: string
  eventId: string
  webhookId: string
  type: string
  status: (typeof deliveryStatuses)[number]
  /** How many attempts were made, those before a replay included. */
  attempts: number
  nextAttemptAt: number | null
  createdAt: number
  finishedAt: number | null
  lastStatus: number | null
  lastError: string | null
}

/** With every attempt, oldest first, and the body that each of them posted. */
export interface DeliveryDetail extends DeliveryView {
  history: DeliveryAttempt[]
  event: EmittedEvent
}

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

const columns = `d.id, d.event_id as "eventId", d.webhook_id as "webhookId", d.type, d.status,
  jsonb_array_length(d.attempts) as attempts,
  case when d.status = 'pending' then ${epochMs('d.due_at')} end as "nextAttemptAt",
  ${epochMs('d.created_at')} as "createdAt", ${epochMs('d.finished_at')} as "finishedAt",
  (d.attempts -> -1 ->> 'status')::int as "lastStatus", d.attempts -> -1 ->> 'error' as "lastError"`

/** The filter as SQL over `deliveries d`; `bind` adds a further parameter and gives its name. */
export const matching = (accountId: string, { ids, status, webhook, type, since }: DeliveryFilter) => {
  const params: unknown[] = [accountId]
  const bind = (value: unknown) => `$${params.push(value)}`
  const conditions = ['d.account_id = $1']
  if (ids) conditions.push(`d.id = any(${bind(ids)})`)
  // Written out, so that the planner may use the partial indexes; it is one of four words.
  if (status) conditions.push(`d.status = '${status}'`)
  if (webhook) conditions.push(`d.webhook_id = ${bind(webhook)}`)
  if (type) conditions.push(`d.type = ${bind(type)}`)
  if (since !== undefined) conditions.push(`d.id >= ${bind(idAt('dlv', since))}`)
  return { conditions, params, bind }
}

/** A page of deliveries, newest first. Throws `invalid` for a bad cursor. */
export const listDeliveries = async (
  { sql, accountId }: Work,
  filter: DeliveryFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<DeliveryView>> => {
  const { conditions, params, bind } = matching(accountId, filter)
  if (cursor) conditions.push(`d.id < ${bind(idOfCursor('dlv', cursor))}`)
  const rows = await sql<DeliveryView>(
    `select ${columns} from deliveries d where ${conditions.join(' and ')} order by d.id desc limit ${bind(limit + 1)}`,
    params,
  )
  return pageOf(rows, limit)
}

/** Throws `missing`. */
export const showDelivery = async ({ sql, accountId }: Work, id: string): Promise<DeliveryDetail> => {
  const [row] = await sql<DeliveryView & { history: DeliveryAttempt[]; payload: string }>(
    `select ${columns}, d.attempts as history, e.payload
     from deliveries d join events e on e.account_id = d.account_id and e.id = d.event_id
     where d.account_id = $1 and d.id = $2`,
    [accountId, id],
  )
  if (!row) throw missing(`There is no delivery ${id}`, { hint: 'svc deliveries list' })
  const { history, payload, ...view } = row
  return { ...view, history, event: JSON.parse(payload) }
}

type Counts = Record<(typeof deliveryStatuses)[number], number>

/** Deliveries by state. `oldestDueAt` (epoch ms): when the pending one that waits longest was due. */
export interface DeliveryStats extends Counts {
  oldestDueAt: number | null
  webhooks: (Counts & { id: string; url: string | null; oldestDueAt: number | null })[]
}

const counts = deliveryStatuses
  .map((status) => `count(*) filter (where d.status = '${status}') as ${status}`)
  .join(', ')

/** Counts the deliveries that match, in all and for each webhook; `url` is null where the webhook is gone. */
export const deliveryStats = async ({ sql, accountId }: Work, filter: DeliveryFilter): Promise<DeliveryStats> => {
  const { conditions, params } = matching(accountId, filter)
  const webhooks = await sql<DeliveryStats['webhooks'][number]>(
    `select c.webhook_id as id, w.url, ${deliveryStatuses.join(', ')}, "oldestDueAt" from (
       select d.webhook_id, ${counts}, ${epochMs(`min(d.due_at) filter (where d.status = 'pending')`)} as "oldestDueAt"
       from deliveries d where ${conditions.join(' and ')} group by d.webhook_id
     ) c left join webhooks w on w.account_id = $1 and w.id = c.webhook_id
     order by c.webhook_id desc`,
    params,
  )
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
