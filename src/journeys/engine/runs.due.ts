import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { lockKey } from '../../lib/locks.ts'
import { turnOfAccounts } from '../../queue/due.ts'
import { isHeld } from '../../queue/holds.ts'
import type { QueueView } from '../../queue/loop.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import type { Database, Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import type { Cursor } from '../definition/definition.ts'
import { due, open } from './runs.rows.ts'

/*
 * Finds due runs and locks them for a unit of work. Runs have no owner between units of work: a unit takes an advisory lock on
 * each of its runs, which PostgreSQL releases at the end of the transaction. So there are no leases and no orphaned claims. The
 * lock only avoids duplicate work; steps are exact because a run is recorded only at the `revision` that was read
 * (journeys/engine/runs.record.ts).
 *
 * The tables empty and fill within seconds, so their statistics are always wrong. The only good plans read indexes row by row:
 * planner settings disable the others in these transactions.
 */

/** A run whose next step is due. */
export interface DueRun {
  accountId: string
  id: string
  journeyId: string
  /** Its version and cursor: runs with the same place do the same step. */
  place: string
}

/** How many runs may be taken, in total and by account; `accountDefault` is for accounts not in `accounts`. `except`: runs to skip. */
export interface Capacity {
  total: number
  accounts: ReadonlyMap<string, number>
  accountDefault: number
  except: readonly string[]
}

const off = (...names: string[]) => names.map((name) => `set_config('${name}', 'off', true)`).join(', ')
const rowByRow = off('enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin')
const inOrder = off('enable_sort', 'enable_incremental_sort')

/** The same value, in the form of the index by account. */
const dueByAccount = 'greatest(retry_at, due_at)'
const columns = `account_id as "accountId", id, journey_id as "journeyId", version || ' ' || cursor as place`

/** Excludes the runs of accounts that are being deleted, or are exported. */
const isAlive = `account_id <> all(array${closedAccountIds})`

/** The queue of journey runs, for depths and metrics. */
export const journeysQueue: QueueView = {
  name: 'journeys',
  due: `select ${due} as due_at from clock, journey_runs where ${open} and ${due} <= clock.now and ${isAlive}`,
}

const dueTypes = { accountId: 'text', id: 'text', journeyId: 'text', place: 'text' } as const

// An account that is being deleted may have any number of due runs, which `oldest-due` would read and skip.
const walkInOrder = preparedStatement(
  'walk-in-order',
  { row: { isClosing: 'bool', isHeld: 'bool', set_config: 'text' } },
  `select exists ${closedAccountIds} as "isClosing", ${isHeld('journeys')} as "isHeld", ${rowByRow}, ${inOrder}`,
)

const oldest = preparedStatement<DueRun>(
  'oldest-due',
  dueTypes,
  `select ${columns} from journey_runs
   where ${open} and ${due} <= $1 and ${isAlive} and id not in (select unnest($2::text[])) order by ${due} limit $3`,
)

// Each account with due runs contributes its oldest ones, at most
// twice its even share: that limits unneeded rows, and fills the capacity that accounts with few runs leave.
const fair = preparedStatement<DueRun>(
  'fair-due',
  dueTypes,
  `with recursive ${turnOfAccounts('journey_runs', dueByAccount, open)}, waiting as materialized (
     select account_id, ceil(2.0 * $3::int / count(*) over ()) as share from turn where due <= $1 and ${isAlive}
   )
   select d."accountId", d.id, d."journeyId", d.place from waiting w cross join lateral (
     select ${columns}, row_number() over (order by ${dueByAccount}) as nth from journey_runs
     where account_id = w.account_id and ${open} and ${dueByAccount} <= $1 and id not in (select unnest($2::text[]))
     order by ${dueByAccount} limit least(w.share, coalesce(($4::jsonb ->> w.account_id)::int, $5::int))
   ) d order by d.nth limit $3`,
)

const firstDue = statement(
  'first-due',
  { row: { isDue: 'bool' }, parameters: { now: 'timestamptz' } },
  `select ${due} <= :now and not ${isHeld('journeys')} as "isDue" from journey_runs where ${open} order by ${due} limit 1`,
)

/**
 * Returns whether any run is due and the queue is not paused, for a process without runs in flight. One statement,
 * which reads one index entry: the `order by` excludes plans that read all waiting runs.
 */
export const isAnythingDue = async (sql: Sql, now: Date): Promise<boolean> => {
  const [first] = await sql(firstDue, { now })
  return first?.isDue ?? false
}

/**
 * Returns due runs within the capacity, oldest first, or none while the queue is paused. If more are due than fit, the
 * accounts take turns; only then does the cost depend on the number of accounts. Result `isAll`: no other run is due.
 * `isLong`: the last call found far more than fitted.
 */
export const findDue = (
  { transaction }: Database,
  now: Date,
  { total, accounts, accountDefault, except }: Capacity,
  isLong = false,
): Promise<{ runs: DueRun[]; isAll: boolean }> =>
  transaction(async (sql) => {
    const [state] = await sql(walkInOrder)
    if (state!.isHeld) return { runs: [], isAll: true }
    const first = isLong || state!.isClosing ? null : await sql(oldest, [now, except, total])
    const counts = Map.groupBy(first ?? [], ({ accountId }) => accountId)
    const isWithin = [...counts].every(([id, { length }]) => length <= (accounts.get(id) ?? accountDefault))
    if (first && first.length < total && isWithin) return { runs: first, isAll: true }
    const params = [now, except, total, JSON.stringify(Object.fromEntries(accounts)), accountDefault]
    const runs = await sql(fair, params)
    // Each account's share is limited, so this result is never known to be complete.
    return { runs, isAll: false }
  })

const openRun = {
  id: 'text',
  journeyId: 'text',
  version: 'int4',
  listId: 'text',
  rowId: 'text',
  email: 'text',
  status: typed<'running' | 'waiting'>('text'),
  cursor: typed<Cursor>('jsonb'),
  stepNo: 'int4',
  revision: 'int4',
  /** The awaited event type; null at a waiting `wait-for`: the event has happened. */
  awaited: 'text?',
  context: typed<Record<string, unknown>>('jsonb'),
  depth: 'int4',
  rootId: 'text?',
  dueAt: 'timestamptz',
  enteredAt: 'timestamptz',
  /** Whether the journey was deleted. */
  isOrphan: 'bool',
} as const
/** A run as a unit of work reads it, with the data for its next step. */
export type OpenRun = RowOf<typeof openRun>

/** A unit of work that waits longer for a lock fails, so that the worker continues with other runs. */
const lockTimeout = '1s'

const takingIf = (name: string, condition: string) =>
  preparedStatement<{ id: string }>(
    name,
    { id: 'text' },
    `with settings as materialized (select ${rowByRow}, set_config('lock_timeout', '${lockTimeout}', true))
     select i.id from settings, unnest($2::text[]) as i(id)
     where ${condition} and pg_try_advisory_xact_lock(${lockKey('run', '$1 || i.id')})`,
  )
const taking = takingIf('take-runs', `not ${isHeld('journeys')}`)
const takingHeld = takingIf('take-runs-of-rehearsal', 'true')

// A later statement than the one that locks: it sees all that was committed before the locks were released.
const readRuns = preparedStatement(
  'read-runs',
  {
    row: openRun,
    parameters: { accountId: 'text', ids: '_text', now: 'timestamptz', journeyId: 'text' },
  },
  `select r.id, r.journey_id as "journeyId", r.version, r.list_id as "listId", r.row_id as "rowId", r.email, r.status,
     r.cursor, r.step_no as "stepNo", r.revision, r.awaited, r.context, r.depth, r.root_id as "rootId", r.due_at as "dueAt",
     r.entered_at as "enteredAt", not exists (select from journeys where account_id = :accountId and id = :journeyId) as "isOrphan"
   from unnest(:ids::text[]) as i(id) cross join lateral (
     select * from journey_runs where account_id = :accountId and id = i.id limit 1
   ) r where ${open} and ${due} <= :now`,
)

/**
 * Locks the given runs of a journey that no other unit of work has locked, and returns those that are still due. Takes none while the
 * queue is paused, unless for a rehearsal, from which nothing leaves.
 */
export const takeRuns = async (
  { sql, accountId, now }: Work,
  journeyId: string,
  ids: readonly string[],
  { isRehearsal = false } = {},
): Promise<OpenRun[]> => {
  const taken = await sql(isRehearsal ? takingHeld : taking, [accountId, ids])
  return sql(readRuns, { accountId, ids: taken.map(({ id }) => id), now, journeyId })
}
