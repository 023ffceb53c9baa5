import { lockKey } from '../../lib/locks.ts'
import { isHeld } from '../../queue/holds.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { preparedStatement } from '../../store/statement.ts'
import { columns } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import type { Cursor } from '../definition/walk.ts'
import { journeyRuns } from '../journeys.columns.ts'
import { due, open, rowByRow } from './runs.rows.ts'

/*
 * Locks due runs for a unit of work. Runs have no owner between units of work: a unit takes an advisory lock on each of its runs,
 * which PostgreSQL releases at the end of the transaction. So there are no leases and no orphaned claims. The lock only avoids
 * duplicate work; steps are exact because a run is recorded only at the `revision` that was read
 * (journeys/engine/runs.record.ts).
 */

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

const runColumns = columns(
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
  ...runColumns.types,
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

// A later statement than the one that locks, so that it sees what the transactions that held the locks before have committed.
const readRuns = preparedStatement(
  'read-runs',
  {
    row: openRun,
    parameters: { accountId: 'text', ids: '_text', now: 'timestamptz', journeyId: 'text' },
  },
  `select ${runColumns.list}, r.status, r.cursor,
     not exists (select from journeys where account_id = :accountId and id = :journeyId) as "isOrphan"
   from unnest(:ids::text[]) as i(id) cross join lateral (
     select * from journey_runs where account_id = :accountId and id = i.id limit 1
   ) r where ${open} and ${due} <= :now`,
)

/**
 * Locks the given runs of a journey that no other unit of work has locked, and returns those that are still due. Takes none while the
 * queue is paused, except for a rehearsal, which sends nothing.
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
