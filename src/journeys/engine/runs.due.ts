import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { lockKey } from '../../lib/locks.ts'
import { isHeld } from '../../queue/holds.ts'
import { turnOfAccounts } from '../../queue/loop.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import type { Database, Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import type { Cursor } from '../definition/walk.ts'
import { journeyRuns } from '../journeys.columns.ts'
import { due, isAlive, open } from './runs.rows.ts'

/*
 * Finds due runs and locks them for a unit of work. Runs have no owner between units of work: a unit takes an advisory lock on
 * each of its runs, which PostgreSQL releases at the end of the transaction. So there are no leases and no orphaned claims. The
 * lock only avoids duplicate work; steps are exact because a run is recorded only at the `revision` that was read
 * (journeys/engine/runs.record.ts).
 *
 * The tables empty and fill within seconds, so their statistics are always wrong. The only good plans read indexes row by row:
 * planner settings disable the others in these transactions.
 */

const off = (...names: string[]) => names.map((name) => `set_config('${name}', 'off', true)`).join(', ')
const rowByRow = off('enable_seqscan', 'enable_bitmapscan', 'enable_hashjoin', 'enable_mergejoin')
const inOrder = off('enable_sort', 'enable_incremental_sort')

const readFirstDue = statement(
  'first-due',
  { row: { isDue: 'bool' }, parameters: { now: 'timestamptz' } },
  `select ${due} <= :now and not ${isHeld('journeys')} as "isDue" from journey_runs where ${open} order by ${due} limit 1`,
)

/**
 * Returns whether any run is due and the queue is not paused, for a process without runs in flight. One statement,
 * which reads one index entry: the `order by` excludes plans that read all waiting runs.
 */
export const isAnythingDue = async (sql: Sql, now: Date): Promise<boolean> => {
  const [first] = await sql(readFirstDue, { now })
  return first?.isDue ?? false
}

/**
 * How many runs may be taken, in total and by account; `accountDefault` is for accounts not in `accounts`. `except` are runs to
 * skip.
 */
export interface Capacity {
  total: number
  accounts: ReadonlyMap<string, number>
  accountDefault: number
  except: readonly string[]
}

const dueRun = {
  ...types(journeyRuns, 'accountId', 'id', 'journeyId'),
  /** Its version and cursor: runs with the same place do the same step. */
  place: 'text',
} as const
/** A run whose next step is due. */
export type DueRun = RowOf<typeof dueRun>
const dueColumns = `account_id as "accountId", id, journey_id as "journeyId", version || ' ' || cursor as place`

// An account that is being deleted may have any number of due runs, which `oldest-due` would read and skip.
const walkInOrder = preparedStatement(
  'walk-in-order',
  { row: { isClosing: 'bool', isHeld: 'bool', set_config: 'text' } },
  `select exists ${closedAccountIds} as "isClosing", ${isHeld('journeys')} as "isHeld", ${rowByRow}, ${inOrder}`,
)

const findOldest = preparedStatement(
  'oldest-due',
  { row: dueRun, parameters: { now: 'timestamptz', except: '_text', total: 'int8' } },
  `select ${dueColumns} from journey_runs
   where ${open} and ${due} <= :now and ${isAlive} and id not in (select unnest(:except::text[])) order by ${due} limit :total`,
)

/** The SQL expression of the same time as `due`, in the form of the index by account. */
const dueByAccount = 'greatest(retry_at, due_at)'

// Each account with due runs contributes its oldest ones, at most twice its even share: that limits unneeded rows, and fills the
// capacity that accounts with few runs leave.
const findFair = preparedStatement(
  'fair-due',
  {
    row: dueRun,
    parameters: { now: 'timestamptz', except: '_text', total: 'int4', accounts: 'jsonb', accountDefault: 'int4' },
  },
  `with recursive ${turnOfAccounts('journey_runs', dueByAccount, open)}, waiting as materialized (
     select account_id, ceil(2.0 * :total::int / count(*) over ()) as share from turn where due <= :now and ${isAlive}
   )
   select d."accountId", d.id, d."journeyId", d.place from waiting w cross join lateral (
     select ${dueColumns}, row_number() over (order by ${dueByAccount}) as nth from journey_runs
     where account_id = w.account_id and ${open} and ${dueByAccount} <= :now and id not in (select unnest(:except::text[]))
     order by ${dueByAccount} limit least(w.share, coalesce((:accounts::jsonb ->> w.account_id)::int, :accountDefault::int))
   ) d order by d.nth limit :total`,
)

/** Returns whether no account has more of the runs than it may take. */
const isFair = (runs: readonly DueRun[], { accounts, accountDefault }: Capacity): boolean => {
  const counts = Map.groupBy(runs, ({ accountId }) => accountId)
  return [...counts].every(([id, { length }]) => length <= (accounts.get(id) ?? accountDefault))
}

/**
 * Returns due runs within the capacity, oldest first, or none while the queue is paused. If more are due than fit, the
 * accounts take turns; only then does the cost depend on the number of accounts. The result `isAll` says that no other run
 * is due, and `isLong` that the last call found far more than fitted.
 */
export const findDue = (
  { transaction }: Database,
  now: Date,
  capacity: Capacity,
  isLong = false,
): Promise<{ runs: DueRun[]; isAll: boolean }> =>
  transaction(async (sql) => {
    const [queue] = await sql(walkInOrder)
    if (queue!.isHeld) return { runs: [], isAll: true }
    const { total, accounts, accountDefault, except } = capacity
    if (!isLong && !queue!.isClosing) {
      const runs = await sql(findOldest, { now, except, total })
      if (runs.length < total && isFair(runs, capacity)) return { runs, isAll: true }
    }
    const limits = { accounts: JSON.stringify(Object.fromEntries(accounts)), accountDefault }
    // Each account's share is limited, so this result is never known to be complete.
    return { runs: await sql(findFair, { now, except, total, ...limits }), isAll: false }
  })

/** A unit of work that waits longer for a lock fails, so that the worker continues with other runs. */
const lockTimeout = '1s'

const lockRunsIf = (name: string, condition: string) =>
  preparedStatement(
    name,
    { row: { id: 'text' }, parameters: { accountId: 'text', ids: '_text' } },
    `with settings as materialized (select ${rowByRow}, set_config('lock_timeout', '${lockTimeout}', true))
     select i.id from settings, unnest(:ids::text[]) as i(id)
     where ${condition} and pg_try_advisory_xact_lock(${lockKey('run', ':accountId || i.id')})`,
  )
const lockDueRuns = lockRunsIf('lock-due-runs', `not ${isHeld('journeys')}`)
const lockRehearsedRuns = lockRunsIf('lock-rehearsed-runs', 'true')

const ofRun = columns(
  journeyRuns,
  [
    'id',
    'journeyId',
    'version',
    'listId',
    'rowId',
    'email',
    'stepNo',
    'revision',
    'awaited',
    'context',
    'depth',
    'rootId',
    'dueAt',
    'enteredAt',
  ],
  'r',
)

const openRun = {
  ...ofRun.types,
  status: typed<'running' | 'waiting'>('text'),
  cursor: typed<Cursor>('jsonb'),
  /** Whether the journey was deleted. */
  isOrphan: 'bool',
} as const
/**
 * A run as a unit of work reads it, with the data for its next step. `awaited` is the awaited event type; it is null at a waiting
 * `wait-for` if the event has happened.
 */
export type OpenRun = RowOf<typeof openRun>

// A later statement than the one that locks: it sees all that was committed before the locks were released.
const readRuns = preparedStatement(
  'read-runs',
  {
    row: openRun,
    parameters: { accountId: 'text', ids: '_text', now: 'timestamptz', journeyId: 'text' },
  },
  `select ${ofRun.list}, r.status, r.cursor,
     not exists (select from journeys where account_id = :accountId and id = :journeyId) as "isOrphan"
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
  const locked = await sql(isRehearsal ? lockRehearsedRuns : lockDueRuns, { accountId, ids })
  return sql(readRuns, { accountId, ids: locked.map(({ id }) => id), now, journeyId })
}
