import type { Sql } from '../store/database.ts'
import type { Cursor } from './journeys.walk.ts'

/** A run that is ours until the lease ends (the rule of store/queue.ts), with all that its next step takes. */
export interface ClaimedRun {
  accountId: string
  id: string
  journeyId: string
  version: number
  listId: string
  rowId: string
  email: string
  status: 'running' | 'waiting'
  cursor: Cursor
  stepNo: number
  /** Which claim this is. */
  claim: number
  /** null at a `wait-for` that waits: what it waits for has happened. */
  awaited: string | null
  context: Record<string, unknown>
  depth: number
  /** Since when its next step is due: waits count from it, however late the step is taken. */
  dueAt: Date
  enteredAt: Date
  /** epoch ms */
  leasedUntil: number
}

/** How much may be claimed. Who is not named in `accounts` has the default. */
export interface Rooms {
  total: number
  accounts: Record<string, number>
  accountDefault: number
}

/** How long a claim holds. Longer than a run waits in its process, does its steps and posts (5 s). */
export const leaseMs = 30_000

// As deliveries are claimed (delivery.claim.ts): `waiting` reads one index entry for each account with active runs, `due`
// takes the oldest of each, as many as fit, and the accounts take turns.
const free = `status in ('running', 'waiting') and due_at <= $1 and (leased_until is null or leased_until <= $1)`
const claiming = `
  with recursive waiting as (
    (select account_id from journey_runs where status in ('running', 'waiting') order by account_id limit 1)
    union all
    select (
      select r.account_id from journey_runs r
      where r.status in ('running', 'waiting') and r.account_id > w.account_id order by r.account_id limit 1
    ) from waiting w where w.account_id is not null
  ), shared as (
    select d.row, row_number() over (partition by waiting.account_id order by d.due_at) as turn
    from waiting cross join lateral (
      select ctid as row, due_at from journey_runs
      where account_id = waiting.account_id and ${free} order by due_at
      limit coalesce(($3::jsonb ->> waiting.account_id)::int, $4::int)
    ) d
  ), chosen as (
    select row from shared order by turn limit $5
  ), locked as (
    select ctid as row from journey_runs where ctid = any(array(select row from chosen)) and ${free} for update skip locked
  )
  update journey_runs r set claim = r.claim + 1, leased_until = $2
  where r.ctid = any(array(select row from locked))
  returning r.account_id as "accountId", r.id, r.journey_id as "journeyId", r.version, r.list_id as "listId",
    r.row_id as "rowId", r.email, r.status, r.cursor, r.step_no as "stepNo", r.claim, r.awaited, r.context, r.depth,
    r.due_at as "dueAt", r.entered_at as "enteredAt"`

/** Claims runs whose next step is due and that have room, fairly over accounts, and leases them from `now` on. */
export const claimDue = async (
  sql: Sql,
  now: Date,
  { total, accounts, accountDefault }: Rooms,
): Promise<ClaimedRun[]> => {
  const leasedUntil = now.getTime() + leaseMs
  const params = [now, new Date(leasedUntil), JSON.stringify(accounts), accountDefault, total]
  const rows = await sql<ClaimedRun>(claiming, params)
  for (const row of rows) row.leasedUntil = leasedUntil
  return rows
}

/** Gives claims back as they are. */
export const releaseClaims = async (sql: Sql, runs: readonly ClaimedRun[]): Promise<void> => {
  await sql(
    `update journey_runs r set leased_until = null, claim = r.claim + 1
     from jsonb_to_recordset($1::jsonb) as c("accountId" text, id text, claim int)
     where r.account_id = c."accountId" and r.id = c.id and r.claim = c.claim and r.status in ('running', 'waiting')`,
    [JSON.stringify(runs.map(({ accountId, id, claim }) => ({ accountId, id, claim })))],
  )
}
