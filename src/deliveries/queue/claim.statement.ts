import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import { deliveryTargets, pendingDeliveries } from '../deliveries.columns.ts'

/*
 * The statement of a claim, in parts: each is a common table expression. They are in four groups:
 *
 * 1. `target`: the targets to read, which are those that this process knows and others that are due by time
 * 2. `chosen`: the due deliveries of these targets that fit in the capacity; accounts and targets take turns
 * 3. `claimed`: the chosen deliveries, except those that another transaction has locked
 * 4. `moved`: from when on each target that was read has something due
 *
 * `ClaimCapacity` describes the parameters. Rows are identified by ctid, which is valid while the statement's snapshot or lock holds,
 * and reached by laterals. So the planner has only one plan whatever its statistics, and the statement can stay prepared.
 *
 * Each target has an indexed `next_due_at`, so that thousands of targets in back-off cost a claim nothing. A writer of deliveries names
 * their targets in its notice and changes no target's row, so writers never wait for each other there. Only jobs set the time: later
 * after a claim, earlier for a retry. If a process dies before it has claimed what its notices named, a look at every target each 30 s
 * finds it. Figure (2026-11-21): claiming beside 10,000 targets in back-off takes 0.91 times as long as from a new queue (test/bench).
 */

/** At most this many targets that became due by time are read by one claim, if there is capacity for any. */
const dueTargets = 2000

/** The SQL condition that an account is neither being deleted nor exported: nothing else is claimed. */
const isOpen = `account_id <> all(array${closedAccountIds})`

/**
 * The SQL condition that the last attempt of a target timed out. Such a target gets one delivery, and shares the capacity
 * `hanging`.
 */
const hangs = 'timeouts > 0'

/**
 * Returns the SQL expression of the due time from which a target's deliveries are read. Some became due while the target was
 * quiet, before its due time.
 */
const readFrom = (dueAt: string) => `case when quiet_until >= ${dueAt} then '-infinity' else ${dueAt} end`

/** Returns the SQL expression of the number of targets in a share. */
const targetsIn = (share: string) => `(${share}::jsonb ->> 'targets')::int`

/** Returns the SQL expression of the number of targets of the row's account in a share. */
const ofAccountIn = (share: string) =>
  `coalesce((${share}::jsonb -> 'accounts' ->> account_id)::int, (${share}::jsonb ->> 'perAccount')::int)`

/** Returns the SQL expression of a number of bytes in the capacity. */
const bytesIn = (path: string) => `(:bytes::jsonb ${path})::float8`

/** The SQL select list of what a claim reads of a target. */
const targetColumns = `id, account_id, kind, url, sealed_secret, former_sealed_secret, former_secret_until,
        timeouts, next_due_at, version, quiet_until`

/** The time, read once. */
const clock = `
  clock as materialized (
    select svc_now() as now
  )`

/** What this process knows of targets: how many deliveries each can take, and since when it may have some. */
const request = `
  request as materialized (
    select *
    from jsonb_to_recordset(:requests::jsonb) as r(id text, capacity int, since float8)
  )`

/** The targets with a request and capacity that a notice named, or that are due by time. */
const known = `
  known as (
    select
      t.*,
      case when t.${hangs} then 1 else r.capacity end as capacity,
      ${readFrom('least(t.next_due_at, to_timestamp(r.since / 1e6 - 1e-6))')} as since
    from clock, request r
    cross join lateral (
      select ${targetColumns}
      from delivery_targets
      where id = r.id
        and status = 'active'
        and (quiet_until is null or quiet_until <= clock.now)
        and ${isOpen}
      limit 1
    ) t
    where r.capacity > 0
      and (r.since is not null or t.next_due_at <= clock.now)
  )`

/**
 * The rows of targets without a request that are due by time. The accounts take turns, each within its share, separately for the targets
 * that hang and for all others.
 */
const unknownRow = `
  unknown_row as (
    select row from (
      select *, row_number() over (partition by ${hangs} order by place, next_due_at) as turn
      from (
        select *, row_number() over (partition by account_id, ${hangs} order by next_due_at) as place
        from (
          select ctid as row, account_id, timeouts, next_due_at
          from delivery_targets
          where status = 'active'
            and next_due_at <= (select now from clock)
            and (quiet_until is null or quiet_until <= (select now from clock))
            and ${isOpen}
            and id not in (select id from request)
          order by next_due_at
          limit case when ${targetsIn(':unknown')} + ${targetsIn(':hanging')} > 0 then ${dueTargets} else 0 end
        ) t
      ) t
      where place <= case when ${hangs} then ${ofAccountIn(':hanging')} else ${ofAccountIn(':unknown')} end
    ) t
    where turn <= case when ${hangs} then ${targetsIn(':hanging')} else ${targetsIn(':unknown')} end
  )`

/** The targets of `unknown_row`, with the columns of `known`. */
const unknown = `
  unknown as (
    select ${targetColumns},
      case when ${hangs} then 1 else :unknownCapacity::int end as capacity,
      ${readFrom('next_due_at')} as since
    from delivery_targets
    where ctid = any(array(select row from unknown_row))
  )`

/** All targets whose deliveries are read. */
const target = `
  target as materialized (
    select * from known
    union all
    select * from unknown
  )`

/** The oldest due deliveries of each target within its capacity; `nth` counts them. */
const due = `
  due as (
    select t.id as target, d.*, t.account_id, t.${hangs} as hangs,
      row_number() over (partition by t.id order by d.due_at) as nth
    from target t, clock
    cross join lateral (
      select ctid as row, due_at, bytes
      from pending_deliveries
      where target_id = t.id
        and due_at >= t.since
        and due_at <= clock.now
        and worker is null
      order by due_at
      limit t.capacity
    ) d
  )`

/** The due deliveries with their turns in their account: the first of each target, then the second of each. */
const inTurns = `
  in_turns as (
    select *, row_number() over (partition by account_id order by nth, due_at) as turn
    from due
  )`

/**
 * The deliveries within their account's permits, with the bytes of the large ones before them: of all, of their account, and of those of
 * targets that hang.
 */
const permitted = `
  permitted as (
    select *,
      sum(size) over (order by turn, due_at rows unbounded preceding) - size as before,
      sum(size) over (partition by account_id order by turn rows unbounded preceding) - size as before_own,
      sum(size) over (partition by hangs order by turn, due_at rows unbounded preceding) - size as before_hanging
    from (
      select *, case when bytes > (:bytes::jsonb ->> 'small')::int then bytes else 0 end as size
      from in_turns
    ) d
    where turn <= coalesce((:accounts::jsonb ->> account_id)::int, :accountDefault::int)
  )`

/** The rows of the deliveries of this claim, in the order of their turns: small ones, and large ones while bytes are left. */
const chosen = `
  chosen as (
    select row
    from permitted
    where size = 0
      or (before < ${bytesIn(`->> 'total'`)}
        and before_own < coalesce(${bytesIn(`-> 'accounts' ->> account_id`)}, ${bytesIn(`->> 'accountDefault'`)})
        and (not hangs or before_hanging < ${bytesIn(`->> 'hanging'`)}))
    order by turn, due_at
    limit :total
  )`

/** The chosen rows that no other transaction has locked, and no other worker has claimed meanwhile. */
const locked = `
  locked as materialized (
    select ctid as row, target_id as target
    from pending_deliveries
    where ctid = any(array(select row from chosen))
      and worker is null
    for update skip locked
  )`

/** The claim. A late result of a former claim has another number. */
const claimed = `
  claimed as (
    update pending_deliveries
    set worker = :worker, claim = claim + 1
    where ctid = any(array(select row from locked))
    returning account_id, id, target_id, key, claim, tries, body, bytes, due_at
  )`

/** The number of due deliveries that were read, by target, with their first and last due time. */
const foundOf = `
  found_of as (
    select target, count(*) as count, min(due_at) as first, max(due_at) as last
    from due
    group by target
  )`

/** The number of claimed deliveries, by target. */
const claimedOf = `
  claimed_of as (
    select target, count(*) as count
    from locked
    group by target
  )`

/**
 * The next due time of each target that was read: that of the first delivery that is left, of the last one that was read if there may
 * be more, or of the first one that is not due yet.
 */
const nextDue = `
  next_due as materialized (
    select t.id, t.version, t.next_due_at,
      case
        when f.count > coalesce(c.count, 0) then f.first
        when f.count >= t.capacity then f.last
        when t.next_due_at is not null then (
          select p.due_at
          from pending_deliveries p
          where p.target_id = t.id
            and p.due_at > clock.now
          order by p.due_at
          limit 1
        )
      end as next,
      clock.now
    from clock, target t
    left join found_of f on f.target = t.id
    left join claimed_of c on c.target = t.id
  )`

/** Writes next due times, unless another transaction has lowered or locked them, or both are past and within a second. */
const moved = `
  moved as (
    update delivery_targets t
    set next_due_at = m.next
    from (
      select a.next, l.row
      from next_due a
      cross join lateral (
        select ctid as row
        from delivery_targets
        where id = a.id
          and version = a.version
          and status = 'active'
        for no key update skip locked
      ) l
      where a.next is distinct from a.next_due_at
        and (
          a.next is null
          or a.next_due_at is null
          or a.next > a.now
          or a.next_due_at > a.now
          or a.next > a.next_due_at + interval '1 second'
          or a.next < a.next_due_at
        )
    ) m
    where t.ctid = m.row
  )`

const parts = [
  ...[clock, request, known, unknownRow, unknown, target],
  ...[due, inTurns, permitted, chosen],
  ...[locked, claimed],
  ...[foundOf, claimedOf, nextDue, moved],
]

const ofDelivery = columns(pendingDeliveries, ['accountId', 'id', 'targetId', 'key', 'claim', 'tries', 'bytes'], 'd')
const ofTarget = columns(deliveryTargets, ['kind', 'url', 'sealedSecret', 'timeouts'], 't')

const posted = {
  ...ofDelivery.types,
  ...ofTarget.types,
  /** The former secret, which signs too until the overlap of the last rotation ends. It is null if there is no overlap. */
  formerSealedSecret: 'text?',
  body: 'text',
  /** Microseconds since the epoch. */
  dueAt: 'int8',
} as const

/** A claimed delivery with everything that posting it needs. */
export type ClaimedDelivery = RowOf<typeof posted> & { worker: number }

export const claimDeliveries = preparedStatement(
  'claim-deliveries',
  {
    row: posted,
    parameters: {
      worker: 'int4',
      requests: 'jsonb',
      total: 'int8',
      accounts: 'jsonb',
      accountDefault: 'int4',
      unknownCapacity: 'int4',
      unknown: 'jsonb',
      hanging: 'jsonb',
      bytes: 'jsonb',
    },
  },
  `with ${parts.join(',')}
  select ${ofDelivery.list}, ${ofTarget.list},
    case when t.former_secret_until > (select now from clock) then t.former_sealed_secret end as "formerSealedSecret",
    coalesce(d.body, (select payload from events e where e.account_id = d.account_id and e.id = d.key)) as body,
    (extract(epoch from d.due_at) * 1e6)::int8 as "dueAt"
  from claimed d
  join target t on t.id = d.target_id
  order by d.due_at`,
)
