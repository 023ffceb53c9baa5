import { idAt } from '../lib/ids.ts'
import type { EmittedEvent, Work } from '../store/work.ts'

/*
 * The rule of the outbox: no pending delivery outlives its webhook's activity. Who writes deliveries, or makes them
 * pending again, reads the active webhooks `for key share`; who disables or deletes a webhook first locks it `for update`,
 * and cancels in a later statement. So either the delivery is committed before and seen by the cancelling, or the webhook
 * is seen as it is afterwards. Recording a result is no key update and waits for neither.
 */

/** The jobs that deliver listen on this channel. */
export const notifyDeliveries = `pg_notify('svc_deliveries', '')`

// The ids of deliveries are made here, as newId makes them: only the statement knows how many there will be.
const outbox = `
  with target as (
    select id, events from webhooks
    where account_id = $1 and status = 'active' and case when $6::text is null then events && $3 else id = $6 end
    order by id for key share
  ), event as (
    select * from unnest($2::text[], $3::text[], $4::text[]) as event(id, type, payload)
  ), delivery as (
    insert into deliveries (account_id, id, event_id, webhook_id, type, status, due_at, created_at)
    select $1, $7 || right(replace(gen_random_uuid()::text, '-', ''), 16), event.id, target.id, event.type, 'pending', $5, $5
    from event join target on event.type = any(target.events) or $6 is not null
    returning id, event_id
  ), stored as (
    insert into events (account_id, id, type, payload, created_at)
    select $1, id, type, payload, $5 from event where id in (select event_id from delivery)
  )
  select id, ${notifyDeliveries} from delivery limit 1`

/**
 * Writes events, each with the final text of its body, and a delivery for each active webhook that wants it; an event
 * that none wants is not kept. With `webhookId` there is one delivery, to that webhook, whatever it subscribed to. Gives
 * the id of a delivery, or null where there is none.
 */
export const writeEvents = async (
  work: Work,
  events: readonly EmittedEvent[],
  webhookId: string | null = null,
): Promise<string | null> => {
  const rows = await work.sql<{ id: string }>(
    outbox,
    [
      work.accountId,
      events.map((event) => event.id),
      events.map((event) => event.type),
      events.map((event) => JSON.stringify(event)),
      work.now,
      webhookId,
      idAt('dlv', work.now.getTime()),
    ],
    'outbox',
  )
  return rows[0]?.id ?? null
}

/** Ends a pending delivery, so that an attempt under way can no longer record its result. */
export const cancelled = `status = 'cancelled', claim = claim + 1, leased_until = null`

/** Cancels what is pending for the webhooks, which the caller holds `for update`, and gives how many there were. */
export const cancelPendingOf = async (
  { sql, accountId, now }: Work,
  webhookIds: readonly string[],
): Promise<number> => {
  const [row] = await sql<{ count: number }>(
    `with gone as (
       update deliveries set ${cancelled}, finished_at = $3
       where account_id = $1 and webhook_id = any($2) and status = 'pending' returning 1
     )
     select count(*) from gone`,
    [accountId, webhookIds, now],
  )
  return row!.count
}
