import { closedAccountIds } from '../../accounts/accounts.rows.ts'
import { isHeld } from '../../queue/holds.ts'
import { turnOfAccounts } from '../../queue/loop.ts'
import type { RowOf } from '../../store/column-types.ts'
import type { Database, Sql } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import { journeyRuns } from '../journeys.columns.ts'
import { due, isAlive, off, open, rowByRow } from './runs.rows.ts'

/* Finds the runs whose next step is due. runs.take.ts locks them for a unit of work. */

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

/** How many runs may be taken. */
export interface Capacity {
  total: number
  /** The maximum of each account; `accountDefault` applies to all others. */
  accounts: ReadonlyMap<string, number>
  accountDefault: number
  /** The ids of runs to skip. */
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

// Sets the planner for the transaction, and reads the state of the queue, in one round trip.
const beginSearch = preparedStatement(
  'walk-in-order',
  { row: { hasClosedAccounts: 'bool', isHeld: 'bool', set_config: 'text' } },
  `select exists ${closedAccountIds} as "hasClosedAccounts", ${isHeld('journeys')} as "isHeld",
     ${rowByRow}, ${off('enable_sort', 'enable_incremental_sort')}`,
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
 * accounts take turns. Only then does the cost depend on the number of accounts; `hasBacklog` says that this is known from the
 * call before. `isComplete` says that no other run is due.
 */
export const findDue = (
  { transaction }: Database,
  now: Date,
  capacity: Capacity,
  hasBacklog = false,
): Promise<{ runs: DueRun[]; isComplete: boolean }> =>
  transaction(async (sql) => {
    const [queue] = await sql(beginSearch)
    if (queue!.isHeld) return { runs: [], isComplete: true }
    const { total, accounts, accountDefault, except } = capacity
    // An account that is being deleted may have any number of due runs, which `findOldest` would read and skip.
    if (!hasBacklog && !queue!.hasClosedAccounts) {
      const runs = await sql(findOldest, { now, except, total })
      if (runs.length < total && isFair(runs, capacity)) return { runs, isComplete: true }
    }
    const limits = { accounts: JSON.stringify(Object.fromEntries(accounts)), accountDefault }
    // Each account's share is limited, so this result is never known to be complete.
    return { runs: await sql(findFair, { now, except, total, ...limits }), isComplete: false }
  })
