import type { Work } from '../store/work.ts'
import type { Cursor } from './journeys.walk.ts'
import { endedIn } from './run.cause.ts'

/** A step that is done, as the step log keeps it. */
export interface StepDone {
  runId: string
  stepNo: number
  step: string
  kind: string
  outcome: string
}

/** Where a claimed run stands after a unit of work. Times in epoch ms. */
export interface Move {
  id: string
  claim: number
  status: 'running' | 'waiting' | 'completed' | 'exited' | 'failed'
  reason: string | null
  cursor: Cursor | null
  stepNo: number
  dueAt: number
  awaited: string | null
  awaitedWhere: Readonly<Record<string, unknown>> | null
  context: Record<string, unknown>
  /** It goes on under the same lease. */
  isHeld: boolean
}

/** A claim that is no longer the newest, or a run that has ended: nothing of the unit of work may be kept. */
export class StaleClaim extends Error {}

const recording = `
  with done as (
    insert into journey_step_log (account_id, run_id, step_no, at, step, kind, outcome)
    select $1, d."runId", d."stepNo", $2, d.step, d.kind, d.outcome
    from jsonb_to_recordset($3::jsonb) as d("runId" text, "stepNo" int, step text, kind text, outcome text)
  ), moved as (
    update journey_runs r
    set status = m.status, reason = m.reason, cursor = m.cursor, step_no = m."stepNo",
      due_at = to_timestamp(m."dueAt" / 1000.0), awaited = m.awaited, awaited_where = m."awaitedWhere",
      context = m.context, leased_until = case when m."isHeld" then r.leased_until end,
      ended_at = case when m.cursor is null then $2::timestamptz end
    from jsonb_to_recordset($4::jsonb) as m(id text, claim int, status text, reason text, cursor jsonb, "stepNo" int,
      "dueAt" float8, awaited text, "awaitedWhere" jsonb, context jsonb, "isHeld" boolean)
    where r.account_id = $1 and r.id = m.id and r.claim = m.claim and r.status in ('running', 'waiting')
    returning r.id
  )
  select count(*) as moved from moved`

/** The step log's key: whoever has a newer claim has done the step. */
const isDoneAlready = (error: unknown): boolean => (error as { code?: string }).code === '23505'

/**
 * Records steps and where their runs stand now, all or nothing. A run that the unit of work has itself ended (by an exit rule
 * that its own step met) keeps its end. Throws `StaleClaim` where another claim is newer.
 */
export const recordMoves = async (work: Work, done: readonly StepDone[], moves: readonly Move[]): Promise<void> => {
  const ended = endedIn(work)
  const open = moves.filter(({ id }) => !ended.has(id))
  const params = [work.accountId, work.now, JSON.stringify(done), JSON.stringify(open)]
  const [row] = await work.sql<{ moved: number }>(recording, params, 'record-moves').catch((error) => {
    throw isDoneAlready(error) ? new StaleClaim() : error
  })
  if (row!.moved !== open.length) throw new StaleClaim()
}
