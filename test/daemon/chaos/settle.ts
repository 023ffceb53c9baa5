import { setTimeout as sleep } from 'node:timers/promises'
import type { Sql } from '../../../src/store/database.ts'

/** Items that have not reached a final state, by kind; empty once everything is settled. */
export type OpenItems = Record<string, number>

/** `claimed by nobody`: the item is claimed by a worker that has no row. */
const counting = `
  with item(kind, worker) as (
    select 'delivery', worker from pending_deliveries
    union all select 'message', worker from message_queue
    union all select 'message without place in the queue', null from messages m
      where status = 'pending' and not exists (select from message_queue q where (q.account_id, q.id) = (m.account_id, m.id))
    union all select 'journey run', null from journey_runs where status in ('running', 'waiting')
    union all select 'reminder', null from webinar_registrations where remind_at <= svc_now()
  )
  select kind || case
      when worker is null then ''
      when exists (select from workers w where w.id = item.worker) then ', claimed'
      else ', claimed by nobody' end as kind,
    count(*)::int as count
  from item group by 1`

export const openItems = async (sql: Sql): Promise<OpenItems> =>
  Object.fromEntries((await sql<{ kind: string; count: number }>(counting)).map(({ kind, count }) => [kind, count]))

/** Waits until nothing is open, at most `limitMs`; returns what is still open, and the items that ended last. */
export const settle = async (sql: Sql, limitMs: number): Promise<{ open: OpenItems; last: OpenItems }> => {
  let last: OpenItems = {}
  for (const deadline = Date.now() + limitMs; ; await sleep(100)) {
    const open = await openItems(sql).catch((error): OpenItems => ({ [`no answer: ${error.message}`]: 1 }))
    if (Object.keys(open).length === 0 || Date.now() > deadline) return { open, last }
    last = open
  }
}

/** Returns the rows of open items and of workers, for the report. */
export const describeOpen = async (sql: Sql): Promise<string[]> => {
  const rows = await sql<{ row: object }>(
    `(select to_jsonb(w) || jsonb_build_object('table', 'workers') as row from workers w)
     union all (select jsonb_build_object('table', 'message_queue') || to_jsonb(q) from message_queue q limit 10)
     union all (select jsonb_build_object('table', 'pending_deliveries') || to_jsonb(d) - 'body' from pending_deliveries d limit 10)
     union all (select jsonb_build_object('table', 'journey_runs') || to_jsonb(r) from journey_runs r
       where status in ('running', 'waiting') limit 10)`,
  )
  return rows.map(({ row }) => JSON.stringify(row))
}
