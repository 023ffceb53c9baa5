import type { Sql } from '../store/database.ts'

/*
 * The rule of the queue: a row belongs to who leased it, until `leased_until`; `claim` counts the owners, and only the
 * newest may record (delivery.record.ts). What does not fit in the rooms stays unclaimed, for whoever has room first.
 */

/** A delivery that is ours until the lease ends, with all that posting it takes. */
export interface ClaimedDelivery {
  accountId: string
  id: string
  webhookId: string
  eventId: string
  /** Which claim this is. */
  claim: number
  /** Attempts made before this one. */
  tries: number
  url: string
  sealedSecret: string
  payload: string
  /** epoch ms */
  leasedUntil: number
}

/** How much may be claimed. Who is not named in `endpoints` or `accounts` has the default. */
export interface Rooms {
  total: number
  endpoints: Record<string, number>
  endpointDefault: number
  accounts: Record<string, number>
  accountDefault: number
}

/** How long a claim holds. Longer than a delivery waits in its process (a second or two) and is posted (5 s). */
export const leaseMs = 20_000

// `waiting` reads one index entry for each webhook with pending rows, however many there are. `due` takes the oldest of
// each, as many as fit. In `shared` the accounts take turns, and the webhooks within each. Nothing is locked before all is
// chosen; what another daemon chose at the same moment is skipped. Rows are named by ctid, which holds while the statement
// looks at them or has them locked: no plan but the direct one is left to choose. Not kept prepared: a plan made while the
// queue was short reads all of it when it is long.
const free = `status = 'pending' and due_at <= $1 and (leased_until is null or leased_until <= $1)`
const claiming = `
  with recursive waiting as (
    (select webhook_id from deliveries where status = 'pending' order by webhook_id limit 1)
    union all
    select (
      select d.webhook_id from deliveries d
      where d.status = 'pending' and d.webhook_id > w.webhook_id order by d.webhook_id limit 1
    ) from waiting w where w.webhook_id is not null
  ), due as (
    select d.row, d.account_id, e.id as webhook_id, row_number() over (partition by e.id order by d.due_at) as nth
    from waiting join webhooks e on e.id = waiting.webhook_id and e.status = 'active'
    cross join lateral (
      select ctid as row, account_id, due_at from deliveries
      where webhook_id = e.id and ${free} order by due_at limit coalesce(($3::jsonb ->> e.id)::int, $4::int)
    ) d
  ), shared as (
    select row, account_id, row_number() over (partition by account_id order by nth, webhook_id) as turn from due
  ), chosen as (
    select row from shared where turn <= coalesce(($5::jsonb ->> account_id)::int, $6::int) order by turn limit $7
  ), locked as (
    select ctid as row from deliveries where ctid = any(array(select row from chosen)) and ${free} for update skip locked
  )
  update deliveries d set claim = d.claim + 1, leased_until = $2
  from events, webhooks
  where d.ctid = any(array(select row from locked))
    and events.account_id = d.account_id and events.id = d.event_id and webhooks.id = d.webhook_id
  returning d.account_id as "accountId", d.id, d.webhook_id as "webhookId", d.event_id as "eventId", d.claim, d.tries,
    webhooks.url, webhooks.sealed_secret as "sealedSecret", events.payload`

/** Claims what is due and has room, fairly over accounts and webhooks, and leases it from `now` on. */
export const claimDue = async (sql: Sql, now: Date, rooms: Rooms): Promise<ClaimedDelivery[]> => {
  const leasedUntil = now.getTime() + leaseMs
  const { total, endpoints, endpointDefault, accounts, accountDefault } = rooms
  const rows = await sql<ClaimedDelivery>(claiming, [
    now,
    new Date(leasedUntil),
    JSON.stringify(endpoints),
    endpointDefault,
    JSON.stringify(accounts),
    accountDefault,
    total,
  ])
  for (const row of rows) row.leasedUntil = leasedUntil
  return rows
}

/** Gives claims back that were not posted: no attempt is counted. */
export const releaseClaims = async (sql: Sql, claims: readonly ClaimedDelivery[]): Promise<void> => {
  await sql(
    `update deliveries d set leased_until = null, claim = d.claim + 1
     from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text, claim int)
     where d.account_id = c."accountId" and d.id = c.id and d.claim = c.claim and d.status = 'pending'`,
    [JSON.stringify(claims.map(({ accountId, id, claim }) => ({ accountId, id, claim })))],
  )
}
