import { type Claim, claimsJson, ownedRows } from '../queue/claims.ts'
import type { QueueView } from '../queue/loop.ts'
import type { Sql } from '../store/database.ts'

/*
 * A delivery belongs to the worker that claimed it, for as long as that worker lives (queue/README.md). What does not fit
 * into the capacity of this process stays unclaimed, for the first worker that has room.
 *
 * The claim costs what is due, not what waits or has ended: a target is looked at because a notice named it, or because its
 * `next_due_at` has come, and its deliveries are read from that time on. The claim sets `next_due_at`, the record of a retry
 * lowers it; `touched` keeps the claim from overwriting a newer value.
 */

/** What is due, but for what is on its way to no active target: that is cancelled. */
export const deliveriesQueue: QueueView = {
  name: 'deliveries',
  due: `select p.due_at from clock, delivery_targets t
    join pending_deliveries p on p.target_id = t.id where t.status = 'active' and p.due_at <= clock.now`,
}

/** A claimed delivery with everything that posting it takes. */
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
  /** Time-outs of its target since the last answer. */
  timeouts: number
}

/** A target that this process knows, and how many more it may have now; `since` (microseconds): there may be some. */
export interface Ask {
  id: string
  room: number
  since: number | null
}

/** Whether a target has come due by time. */
export const isTargetDue = `exists (select from delivery_targets where status = 'active' and next_due_at <= (select svc_now()))`

/** How many targets, and how many of an account: who is not named may have `perAccount`. */
interface Share {
  targets: number
  perAccount: number
  accounts: Record<string, number>
}

/** How much may be claimed. */
export interface Rooms {
  /** Deliveries in all. */
  total: number
  /**
   * Bytes of those that are larger than `small`: in all, of those that timed out at last, and of each account; who is not
   * named has the default. The first goes whatever its size, as long as anything is left.
   */
  bytes: { small: number; total: number; hanging: number; accounts: Record<string, number>; accountDefault: number }
  asks: readonly Ask[]
  /** Who is not named has the default. */
  accounts: Record<string, number>
  accountDefault: number
  /** For targets that are not among the asks: how many each may have, and how many of them, of an account at most. */
  unknown: { room: number } & Share
  /** The same for those among them that timed out at last, one delivery each. */
  hanging: Share
}

/** From when on a target's deliveries are read: what was due while it was quiet lies before its due time. */
const readFrom = (dueAt: string) => `case when quiet_until >= ${dueAt} then '-infinity' else ${dueAt} end`

/** Targets that came due by time are looked at up to so many at once, if there is room for any. */
const dueTargets = 2000

// `locked` is what is taken: what somebody else holds is left out there. Rows are named by ctid, which holds while the
// statement looks at them or has them locked, and reached by laterals: whatever the planner knows of the tables, no plan but
// the direct one is left to choose, so it is kept prepared.
const claiming = `
  with clock as materialized (
    select svc_now() as now
  ), ask as materialized (
    select * from jsonb_to_recordset($2::jsonb) as a(id text, room int, since float8)
  ), known as (
    select t.*, case when t.timeouts > 0 then 1 else a.room end as room,
      ${readFrom('least(t.next_due_at, to_timestamp(a.since / 1e6 - 1e-6))')} as since
    from clock, ask a cross join lateral (
      select id, account_id, kind, url, sealed_secret, timeouts, next_due_at, touched, quiet_until from delivery_targets
      where id = a.id and status = 'active' and (quiet_until is null or quiet_until <= clock.now) limit 1
    ) t
    where a.room > 0 and (a.since is not null or t.next_due_at <= clock.now)
  ), turns as (
    select row from (
      select *, row_number() over (partition by timeouts > 0 order by place, next_due_at) as turn
      from (
        select *, row_number() over (partition by account_id, timeouts > 0 order by next_due_at) as place
        from (
          select ctid as row, account_id, timeouts, next_due_at from delivery_targets
          where status = 'active' and next_due_at <= (select now from clock)
            and (quiet_until is null or quiet_until <= (select now from clock)) and id not in (select id from ask)
          order by next_due_at
          limit case when ($7::jsonb ->> 'targets')::int + ($8::jsonb ->> 'targets')::int > 0 then ${dueTargets} else 0 end
        ) t
      ) t where place <= case
        when timeouts > 0 then coalesce(($8::jsonb -> 'accounts' ->> account_id)::int, ($8::jsonb ->> 'perAccount')::int)
        else coalesce(($7::jsonb -> 'accounts' ->> account_id)::int, ($7::jsonb ->> 'perAccount')::int) end
    ) t where turn <= case when timeouts > 0 then ($8::jsonb ->> 'targets')::int else ($7::jsonb ->> 'targets')::int end
  ), timed as (
    select id, account_id, kind, url, sealed_secret, timeouts, next_due_at, touched, quiet_until,
      case when timeouts > 0 then 1 else $6::int end as room, ${readFrom('next_due_at')} as since
    from delivery_targets where ctid = any(array(select row from turns))
  ), candidate as materialized (
    select * from known union all select * from timed
  ), due as (
    select c.id as target, d.*, c.account_id, c.timeouts > 0 as hangs, row_number() over (partition by c.id order by d.due_at) as nth
    from candidate c, clock cross join lateral (
      select ctid as row, due_at, bytes from pending_deliveries
      where target_id = c.id and due_at >= c.since and due_at <= clock.now and worker is null
      order by due_at limit c.room
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
    select c.id, c.touched, c.next_due_at, case
        when s.found > coalesce(o.taken, 0) then s.first
        when s.found >= c.room then s.last
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
        where id = a.id and touched = a.touched and status = 'active' for no key update skip locked
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

/** Claims for a worker what is due and has room, fairly over accounts and targets, the oldest first. */
export const claimDue = async (sql: Sql, worker: number, rooms: Rooms): Promise<ClaimedDelivery[]> => {
  const rows = await sql<ClaimedDelivery>(
    claiming,
    [
      worker,
      JSON.stringify(rooms.asks),
      rooms.total,
      JSON.stringify(rooms.accounts),
      rooms.accountDefault,
      rooms.unknown.room,
      JSON.stringify(rooms.unknown),
      JSON.stringify(rooms.hanging),
      JSON.stringify(rooms.bytes),
    ],
    'claim-deliveries',
  )
  for (const row of rows) row.worker = worker
  return rows
}

/**
 * Puts targets among those that come due by time, from the given times on at the latest. `rows` gives `id` and `due_at`. A
 * target that somebody has locked is left out, and one that is changed this very moment; the ids of the others come back.
 */
export const lowered = (rows: string, condition = 'true') => `
  update delivery_targets t set next_due_at = least(t.next_due_at, m.due_at), touched = t.touched + 1
  from (
    select l.row, greatest(m.due_at, l.quiet_until) as due_at from (${rows}) m cross join lateral (
      select ctid as row, quiet_until from delivery_targets
      where id = m.id and status = 'active' and ${condition} for no key update skip locked
    ) l
  ) m where t.ctid = m.row returning t.id`

/** Frees the rows of claims (`$1`), which can't be recorded any more, and wakes their targets. */
const freeing = `
  with freed as (
    update pending_deliveries p set worker = null, claim = p.claim + 1
    from (select l.row from ${ownedRows('pending_deliveries')}) l where p.ctid = l.row returning id, target_id, due_at
  ), target as (
    select target_id as id, min(due_at) as due_at from freed group by target_id
  ), woken as (
    ${lowered('select id, due_at from target')}
  )
  select id from freed`

/**
 * Returns claims to the queue that were not posted: no attempt is counted. Resolves with the ids that changed; rows that
 * another transaction has locked, and those of newer claims, do not.
 */
export const releaseClaims = async (sql: Sql, claims: readonly Claim[]): Promise<Set<string>> => {
  const rows = await sql<{ id: string }>(freeing, [claimsJson(claims)], 'free-deliveries')
  return new Set(rows.map(({ id }) => id))
}

/** Frees claims that nobody will record: what was on the wire is posted again. */
export const freeClaims = async (sql: Sql, claims: readonly Claim[]): Promise<void> => {
  await releaseClaims(sql, claims)
}

/**
 * Puts every target with something unclaimed among those that come due by time: what no notice told, or what was lost with
 * the process that knew it. One index entry is read for each active target, and what is claimed of it. Gives whether some
 * are left, because somebody has them locked.
 */
export const lookEverywhere = async (sql: Sql): Promise<boolean> => {
  const isLate = (target: string, dueAt: string) =>
    `(${target}.next_due_at is null or ${target}.next_due_at > greatest(${dueAt}, ${target}.quiet_until))`
  const [row] = await sql<{ isLeft: boolean }>(
    `with late as materialized (
       select t.id, p.due_at from delivery_targets t cross join lateral (
         select due_at from pending_deliveries where target_id = t.id and worker is null order by due_at limit 1
       ) p where t.status = 'active' and ${isLate('t', 'p.due_at')}
     ), put as (
       ${lowered('select id, due_at from late', isLate('delivery_targets', 'm.due_at'))}
     )
     select (select count(*) from late) > (select count(*) from put) as "isLeft"`,
  )
  return row!.isLeft
}
