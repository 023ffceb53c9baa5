import { type Claim, claimsJson, ownedRows } from '../../queue/claims.ts'
import type { QueueView } from '../../queue/loop.ts'
import type { Sql } from '../../store/database.ts'

/*
 * A delivery belongs to the worker that claimed it, as long as that worker is alive (docs/queues.md#rules). Deliveries that exceed
 * the capacity of this process stay unclaimed, for the first worker that has capacity.
 *
 * The cost of a claim depends on the due deliveries, not on those that wait or have ended. A target is read because a notice named
 * it or because its `next_due_at` has come, and its deliveries are read from that time on. The claim sets `next_due_at`, the record
 * of a retry lowers it; `version` keeps the claim from overwriting a newer value.
 */

/** Due deliveries, without those of inactive targets: those count as cancelled. */
export const deliveriesQueue: QueueView = {
  name: 'deliveries',
  due: `select p.due_at from clock, delivery_targets t
    join pending_deliveries p on p.target_id = t.id where t.status = 'active' and p.due_at <= clock.now`,
}

/** A claimed delivery with everything that posting it needs. */
export interface ClaimedDelivery extends Claim {
  targetId: string
  kind: 'subscription' | 'project' | 'journey'
  /** The idempotency key. */
  key: string
  /** Attempts made before this one. */
  tries: number
  url: string
  sealedSecret: string | null
  body: string
  bytes: number
  /** Microseconds since the epoch. */
  dueAt: number
  /** Time-outs of its target since the target's last answer. */
  timeouts: number
}

/** A target that this process knows, and how many more claims it may have now. `since` (microseconds): there may be some to claim. */
export interface TargetRequest {
  id: string
  capacity: number
  since: number | null
}

/** SQL condition: whether a target has become due by time. */
export const isTargetDue = `exists (select from delivery_targets where status = 'active' and next_due_at <= (select svc_now()))`

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
  /** For targets without a request: the deliveries of each, and the number of such targets. */
  unknown: { capacity: number } & Share
  /** For targets without a request that timed out at their last attempt: one delivery each. */
  hanging: Share
}

/** SQL: the due time from which a target's deliveries are read. Some became due while the target was quiet, before its due time. */
const readFrom = (dueAt: string) => `case when quiet_until >= ${dueAt} then '-infinity' else ${dueAt} end`

/** At most this many targets that became due by time are read by one claim, if there is capacity for any. */
const dueTargets = 2000

// `locked` are the rows that are taken; it skips rows that another transaction has locked. Rows are identified by ctid, which is
// valid while the statement's snapshot or lock holds, and reached by laterals. So the planner has only one plan whatever its
// statistics, and the statement can stay prepared.
const claiming = `
  with clock as materialized (
    select svc_now() as now
  ), request as materialized (
    select * from jsonb_to_recordset($2::jsonb) as r(id text, capacity int, since float8)
  ), known as (
    select t.*, case when t.timeouts > 0 then 1 else r.capacity end as capacity,
      ${readFrom('least(t.next_due_at, to_timestamp(r.since / 1e6 - 1e-6))')} as since
    from clock, request r cross join lateral (
      select id, account_id, kind, url, sealed_secret, timeouts, next_due_at, version, quiet_until from delivery_targets
      where id = r.id and status = 'active' and (quiet_until is null or quiet_until <= clock.now) limit 1
    ) t
    where r.capacity > 0 and (r.since is not null or t.next_due_at <= clock.now)
  ), turns as (
    select row from (
      select *, row_number() over (partition by timeouts > 0 order by place, next_due_at) as turn
      from (
        select *, row_number() over (partition by account_id, timeouts > 0 order by next_due_at) as place
        from (
          select ctid as row, account_id, timeouts, next_due_at from delivery_targets
          where status = 'active' and next_due_at <= (select now from clock)
            and (quiet_until is null or quiet_until <= (select now from clock)) and id not in (select id from request)
          order by next_due_at
          limit case when ($7::jsonb ->> 'targets')::int + ($8::jsonb ->> 'targets')::int > 0 then ${dueTargets} else 0 end
        ) t
      ) t where place <= case
        when timeouts > 0 then coalesce(($8::jsonb -> 'accounts' ->> account_id)::int, ($8::jsonb ->> 'perAccount')::int)
        else coalesce(($7::jsonb -> 'accounts' ->> account_id)::int, ($7::jsonb ->> 'perAccount')::int) end
    ) t where turn <= case when timeouts > 0 then ($8::jsonb ->> 'targets')::int else ($7::jsonb ->> 'targets')::int end
  ), timed as (
    select id, account_id, kind, url, sealed_secret, timeouts, next_due_at, version, quiet_until,
      case when timeouts > 0 then 1 else $6::int end as capacity, ${readFrom('next_due_at')} as since
    from delivery_targets where ctid = any(array(select row from turns))
  ), candidate as materialized (
    select * from known union all select * from timed
  ), due as (
    select c.id as target, d.*, c.account_id, c.timeouts > 0 as hangs, row_number() over (partition by c.id order by d.due_at) as nth
    from candidate c, clock cross join lateral (
      select ctid as row, due_at, bytes from pending_deliveries
      where target_id = c.id and due_at >= c.since and due_at <= clock.now and worker is null
      order by due_at limit c.capacity
    ) d
  ), shared as (
    select *, row_number() over (partition by account_id order by nth, due_at) as turn from due
  ), fitting as (
    select *, sum(size) over (order by turn, due_at rows unbounded preceding) - size as before,
      sum(size) over (partition by account_id order by turn rows unbounded preceding) - size as before_own,
      sum(size) over (partition by hangs order by turn, due_at rows unbounded preceding) - size as before_hanging
    from (select *, case when bytes > ($9::jsonb ->> 'small')::int then bytes else 0 end as size from shared) d
    where turn <= coalesce(($4::jsonb ->> account_id)::int, $5::int)
  ), chosen as (
    select row from fitting
    where size = 0 or (before < ($9::jsonb ->> 'total')::float8
      and before_own < coalesce(($9::jsonb -> 'accounts' ->> account_id)::float8, ($9::jsonb ->> 'accountDefault')::float8)
      and (not hangs or before_hanging < ($9::jsonb ->> 'hanging')::float8))
    order by turn, due_at limit $3
  ), locked as materialized (
    select ctid as row, target_id as target from pending_deliveries
    where ctid = any(array(select row from chosen)) and worker is null for update skip locked
  ), taken as (
    update pending_deliveries set worker = $1, claim = claim + 1 where ctid = any(array(select row from locked))
    returning account_id, id, target_id, key, claim, tries, body, bytes, due_at
  ), seen as (
    select target, count(*) as found, min(due_at) as first, max(due_at) as last from due group by target
  ), ours as (
    select target, count(*) as taken from locked group by target
  ), ahead as materialized (
    select c.id, c.version, c.next_due_at, case
        when s.found > coalesce(o.taken, 0) then s.first
        when s.found >= c.capacity then s.last
        when c.next_due_at is not null then (
          select p.due_at from pending_deliveries p where p.target_id = c.id and p.due_at > clock.now order by p.due_at limit 1
        )
      end as next, clock.now
    from clock, candidate c left join seen s on s.target = c.id left join ours o on o.target = c.id
  ), moved as (
    update delivery_targets t set next_due_at = m.next
    from (
      select a.next, l.row from ahead a cross join lateral (
        select ctid as row from delivery_targets
        where id = a.id and version = a.version and status = 'active' for no key update skip locked
      ) l
      where a.next is distinct from a.next_due_at and (
        a.next is null or a.next_due_at is null or a.next > a.now or a.next_due_at > a.now
        or a.next > a.next_due_at + interval '1 second' or a.next < a.next_due_at
      )
    ) m where t.ctid = m.row
  )
  select t.account_id as "accountId", t.id, t.target_id as "targetId", c.kind, t.key, t.claim, t.tries, c.url,
    c.sealed_secret as "sealedSecret", t.bytes, (extract(epoch from t.due_at) * 1e6)::int8 as "dueAt", c.timeouts,
    coalesce(t.body, (select payload from events e where e.account_id = t.account_id and e.id = t.key)) as body
  from taken t join candidate c on c.id = t.target_id order by t.due_at`

/** Claims due deliveries for a worker within the capacity, shared fairly by accounts and targets, the oldest first. */
export const claimDue = async (sql: Sql, worker: number, capacity: ClaimCapacity): Promise<ClaimedDelivery[]> => {
  const rows = await sql<ClaimedDelivery>(
    claiming,
    [
      worker,
      JSON.stringify(capacity.requests),
      capacity.total,
      JSON.stringify(capacity.accounts),
      capacity.accountDefault,
      capacity.unknown.capacity,
      JSON.stringify(capacity.unknown),
      JSON.stringify(capacity.hanging),
      JSON.stringify(capacity.bytes),
    ],
    'claim-deliveries',
  )
  for (const row of rows) row.worker = worker
  return rows
}

/**
 * Returns SQL that lowers `next_due_at` of targets to the given times. `rows` selects `id` and `due_at`. It skips targets that
 * another transaction has locked, and returns the ids of the others.
 */
export const lowerDueTimes = (rows: string, condition = 'true') => `
  update delivery_targets t set next_due_at = least(t.next_due_at, m.due_at), version = t.version + 1
  from (
    select l.row, greatest(m.due_at, l.quiet_until) as due_at from (${rows}) m cross join lateral (
      select ctid as row, quiet_until from delivery_targets
      where id = m.id and status = 'active' and ${condition} for no key update skip locked
    ) l
  ) m where t.ctid = m.row returning t.id`

/** Frees the rows of claims (`$1`), which can't be recorded after that, and makes their targets due. */
const freeing = `
  with freed as (
    update pending_deliveries p set worker = null, claim = p.claim + 1
    from (select l.row from ${ownedRows('pending_deliveries')}) l where p.ctid = l.row returning id, target_id, due_at
  ), target as (
    select target_id as id, min(due_at) as due_at from freed group by target_id
  ), woken as (
    ${lowerDueTimes('select id, due_at from target')}
  )
  select id from freed`

/**
 * Returns claims to the queue: those that were not posted, and those that no worker will record. No attempt is counted. Resolves
 * with the ids of the changed rows; rows that another transaction has locked, and those of newer claims, stay unchanged.
 */
export const releaseClaims = async (sql: Sql, claims: readonly Claim[]): Promise<Set<string>> => {
  const rows = await sql<{ id: string }>(freeing, [claimsJson(claims)], 'free-deliveries')
  return new Set(rows.map(({ id }) => id))
}

/**
 * Makes every target with unclaimed deliveries due by time: no notice announced them, or the process that knew of them has ended.
 * Reads one index entry for each active target, and its claimed deliveries. Returns whether some targets are left because another
 * transaction has them locked.
 */
export const scheduleUnclaimed = async (sql: Sql): Promise<boolean> => {
  const isLate = (target: string, dueAt: string) =>
    `(${target}.next_due_at is null or ${target}.next_due_at > greatest(${dueAt}, ${target}.quiet_until))`
  const [row] = await sql<{ isLeft: boolean }>(
    `with late as materialized (
       select t.id, p.due_at from delivery_targets t cross join lateral (
         select due_at from pending_deliveries where target_id = t.id and worker is null order by due_at limit 1
       ) p where t.status = 'active' and ${isLate('t', 'p.due_at')}
     ), put as (
       ${lowerDueTimes('select id, due_at from late', isLate('delivery_targets', 'm.due_at'))}
     )
     select (select count(*) from late) > (select count(*) from put) as "isLeft"`,
  )
  return row!.isLeft
}
