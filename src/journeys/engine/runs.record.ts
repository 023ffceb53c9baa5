import { cut } from '../../lib/strings.ts'
import { isDuplicate } from '../../store/database.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { App, Work } from '../../store/work.ts'
import { journeyStateOf, maxRunsPerRoot } from '../journeys.cause.ts'
import type { RunState } from './states.ts'

/** A completed step, as the step log stores it. */
export interface StepDone {
  runId: string
  stepNo: number
  step: string
  kind: string
  outcome: string
}

/** The run has changed since it was read: the unit of work must be rolled back. */
export class StaleRun extends Error {}

// Rows are updated by ctid, so that the only plan looks the runs up one by one, in the given order.
const recordRuns = preparedStatement(
  'record-moves',
  {
    row: { moved: 'int8' },
    parameters: { accountId: 'text', now: 'timestamptz', done: 'jsonb', moves: 'jsonb' },
  },
  `with done as (
     insert into journey_step_log (account_id, run_id, step_no, at, step, kind, outcome)
     select :accountId, d."runId", d."stepNo", :now, d.step, d.kind, d.outcome
     from jsonb_to_recordset(:done::jsonb) as d("runId" text, "stepNo" int, step text, kind text, outcome text)
   ), moved as (
     update journey_runs r
     set status = m.status, reason = m.reason, cursor = m.cursor, step_no = m."stepNo", revision = r.revision + 1,
       due_at = to_timestamp(m."dueAt" / 1000.0), retry_at = null, tries = 0, last_fault = null, awaited = m.awaited,
       awaited_where = m."awaitedWhere", delivery_id = m."deliveryId", context = m.context,
       ended_at = case when m.cursor is null then :now::timestamptz end
     from jsonb_to_recordset(:moves::jsonb) as m(id text, revision int, status text, reason text, cursor jsonb, "stepNo" int,
       "dueAt" float8, awaited text, "awaitedWhere" jsonb, "deliveryId" text, context jsonb)
     cross join lateral (select ctid as place from journey_runs where account_id = :accountId and id = m.id limit 1) found
     where r.ctid = found.place and r.revision = m.revision
     returning 1
   )
   select count(*) as moved from moved`,
)

const byId = (a: { id: string }, b: { id: string }) => (a.id < b.id ? -1 : 1)

/** Adds the number of runs that were not started to the last step of each run that exceeded `maxRunsPerRoot`. */
const withUnstarted = (work: Work, done: readonly StepDone[]): readonly StepDone[] => {
  const { unstarted } = journeyStateOf(work)
  if (unstarted.size === 0) return done
  return done.map((step, i) => {
    const count = unstarted.get(step.runId)
    const isLast = !done.some(({ runId }, j) => j > i && runId === step.runId)
    if (!count || !isLast) return step
    const limit = maxRunsPerRoot.toLocaleString('en')
    return { ...step, outcome: `${step.outcome} (${count} not started: one cause starts at most ${limit} runs)` }
  })
}

/**
 * Records steps and the new states of their runs, all or nothing. Locks the runs in the order of their ids. A run that the same
 * unit of work has ended (its own step met an exit rule) stays ended. Throws `StaleRun` if a run has changed.
 */
export const recordMoves = async (work: Work, done: readonly StepDone[], moves: readonly RunState[]): Promise<void> => {
  const { ended } = journeyStateOf(work)
  const open = moves.filter(({ id }) => !ended.has(id)).sort(byId)
  if (done.length === 0 && open.length === 0) return
  const recorded = { done: JSON.stringify(withUnstarted(work, done)), moves: JSON.stringify(open) }
  const { sql, accountId, now } = work
  const [row] = await sql(recordRuns, { accountId, now, ...recorded }).catch((error) => {
    // The key of the step log: another unit of work has done the step.
    throw isDuplicate(error) ? new StaleRun() : error
  })
  if (row!.moved !== open.length) throw new StaleRun()
}

const recordRunError = statement(
  'record-run-error',
  { parameters: { accountId: 'text', id: 'text', retryAt: 'timestamptz', lastFault: 'text' } },
  `update journey_runs set tries = tries + 1, last_fault = :lastFault,
     retry_at = :retryAt::timestamptz + least(10 * 2 ^ least(tries, 12), 3600) * interval '1 second'
   where account_id = :accountId and id = :id and ended_at is null`,
)

/**
 * Records an unexpected error at the run's next step. The step is tried again after 10 s, 20 s, 40 s and so on, at most an hour
 * apart, without limit.
 */
export const recordError = async (
  { sql, now }: Pick<App, 'sql' | 'now'>,
  { accountId, id }: { accountId: string; id: string },
  message: string,
): Promise<void> => {
  await sql(recordRunError, { accountId, id, retryAt: now(), lastFault: cut(message, 1000) })
}
