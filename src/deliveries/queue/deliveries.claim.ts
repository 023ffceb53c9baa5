import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { type Claim, claimsJson, ownedRows } from '../../queue/claims.ts'
import type { Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { type ClaimedDelivery, claimDeliveries } from './claim.statement.ts'

/*
 * A delivery belongs to the worker that claimed it, as long as that worker is alive (docs/queues.md#rules). Deliveries that exceed
 * the capacity of this process stay unclaimed, for the first worker that has capacity.
 *
 * The cost of a claim depends on the due deliveries, not on those that wait or have ended. A target is read because a notice named
 * it or because its `next_due_at` has come, and its deliveries are read from that time on. The claim sets `next_due_at`, the record
 * of a retry lowers it; `version` keeps the claim from overwriting a newer value.
 */

/** A target that this process knows, and how many more claims it may have now. `since` (microseconds): there may be some to claim. */
export interface TargetRequest {
  id: string
  capacity: number
  since: number | null
}

/** The SQL condition that a target has become due by time. */
export const isTargetDue = `exists (select from delivery_targets where status = 'active' and next_due_at <= (select svc_now())
  and account_id <> all(array${closedAccountIds}))`

/** The number of targets, in all and for each account; an account without an entry may have `perAccount`. */
interface Share {
  targets: number
  perAccount: number
  accounts: Record<string, number>
}

/** How much a claim may take. */
export interface ClaimCapacity {
  /** Deliveries in all. */
  total: number
  /**
   * Bytes of deliveries that are larger than `small`: in all, for targets that timed out at their last attempt, and for each
   * account; an account without an entry has the default. As long as any bytes are left, one delivery of any size is taken.
   */
  bytes: { small: number; total: number; hanging: number; accounts: Record<string, number>; accountDefault: number }
  requests: readonly TargetRequest[]
  /** Deliveries by account; an account without an entry has the default. */
  accounts: Record<string, number>
  accountDefault: number
  /** How many deliveries each target without a request can take, and the number of such targets. */
  unknown: { capacity: number } & Share
  /** The number of targets without a request that timed out at their last attempt. Each can take one delivery. */
  hanging: Share
}

/** Claims due deliveries for a worker within the capacity, shared fairly by accounts and targets, the oldest first. */
export const claimDue = async (sql: Sql, worker: number, capacity: ClaimCapacity): Promise<ClaimedDelivery[]> => {
  const rows = await sql(claimDeliveries, {
    worker,
    requests: JSON.stringify(capacity.requests),
    total: capacity.total,
    accounts: JSON.stringify(capacity.accounts),
    accountDefault: capacity.accountDefault,
    unknownCapacity: capacity.unknown.capacity,
    unknown: JSON.stringify(capacity.unknown),
    hanging: JSON.stringify(capacity.hanging),
    bytes: JSON.stringify(capacity.bytes),
  })
  return rows.map((row) => Object.assign(row, { worker }))
}

/**
 * Returns SQL that lowers `next_due_at` of targets to the given times. `rows` selects `id` and `due_at`. It skips targets that
 * another transaction has locked, and returns the ids of the others.
 */
const lowerDueTimes = (rows: string, condition = 'true') => `
  update delivery_targets t set next_due_at = least(t.next_due_at, m.due_at), version = t.version + 1
  from (
    select l.row, greatest(m.due_at, l.quiet_until) as due_at from (${rows}) m cross join lateral (
      select ctid as row, quiet_until from delivery_targets
      where id = m.id and status = 'active' and ${condition} for no key update skip locked
    ) l
  ) m where t.ctid = m.row returning t.id`

/** Frees the rows of claims, which can't be recorded after that, and makes their targets due. */
const freeDeliveries = preparedStatement(
  'free-deliveries',
  { row: { id: 'text' }, parameters: { claims: 'jsonb' } },
  `with freed as (
     update pending_deliveries p
     set worker = null, claim = p.claim + 1
     from (select l.row from ${ownedRows('pending_deliveries', '', ':claims')}) l
     where p.ctid = l.row
     returning id, target_id, due_at
   ), target as (
     select target_id as id, min(due_at) as due_at
     from freed
     group by target_id
   ), woken as (
     ${lowerDueTimes('select id, due_at from target')}
   )
   select id from freed`,
)

/**
 * Returns claims to the queue: those that were not posted, and those that no worker will record. No attempt is counted. Resolves
 * with the ids of the changed rows; rows that another transaction has locked, and those of newer claims, stay unchanged.
 */
export const releaseClaims = async (sql: Sql, claims: readonly Claim[]): Promise<Set<string>> => {
  const rows = await sql(freeDeliveries, { claims: claimsJson(claims) })
  return new Set(rows.map(({ id }) => id))
}

const isLate = (target: string, dueAt: string) =>
  `(${target}.next_due_at is null or ${target}.next_due_at > greatest(${dueAt}, ${target}.quiet_until))`

const scheduleLate = statement(
  'schedule-late-targets',
  { row: { isLeft: 'bool' } },
  `with late as materialized (
     select t.id, p.due_at from delivery_targets t cross join lateral (
       select due_at from pending_deliveries where target_id = t.id and worker is null order by due_at limit 1
     ) p where t.status = 'active' and t.account_id <> all(array${closedAccountIds}) and ${isLate('t', 'p.due_at')}
   ), put as (
     ${lowerDueTimes('select id, due_at from late', isLate('delivery_targets', 'm.due_at'))}
   )
   select (select count(*) from late) > (select count(*) from put) as "isLeft"`,
)

/**
 * Makes every target with unclaimed deliveries due by time: no notice announced them, or the process that knew of them has ended.
 * Reads one index entry for each active target, and its claimed deliveries. Returns whether some targets are left because another
 * transaction has them locked.
 */
export const scheduleUnclaimed = async (sql: Sql): Promise<boolean> => {
  const [row] = await sql(scheduleLate)
  return row!.isLeft
}
