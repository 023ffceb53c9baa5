import { z } from 'zod'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { notFound, shown } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql } from '../store/work.ts'
import { runStatuses } from './definition/definition.schema.ts'
import { pathOf } from './definition/walk.ts'
import { journeyRuns, journeyStepLog } from './journeys.columns.ts'

const stored = columns(
  journeyRuns,
  ['id', 'journeyId', 'version', 'listId', 'rowId', 'email', 'status', 'reason', 'cursor', 'tries', 'lastFault'],
  'r',
)

const row = {
  ...stored.types,
  stepsDone: 'int4',
  isActive: 'bool',
  /** When its next step, or the next try of it, is due. It is null while it waits for the answer to a webhook, and once it has ended. */
  dueAt: 'int8?',
  enteredAt: 'int8',
  endedAt: 'int8?',
} as const
type Row = RowOf<typeof row>

const list = `${stored.list}, r.step_no as "stepsDone", r.status in ('running', 'waiting') as "isActive",
  case when r.delivery_id is null then ${epochMs('greatest(r.due_at, r.retry_at)')} end as "dueAt",
  ${epochMs('r.entered_at')} as "enteredAt", ${epochMs('r.ended_at')} as "endedAt"`

/**
 * A run as `svc journeys runs` shows it, with times in epoch ms. `step` is the place of its next step; it is null once the run
 * has ended.
 */
export type RunView = Omit<Row, 'cursor' | 'isActive'> & { step: string | null }

const entry = { ...types(journeyStepLog, 'step', 'kind', 'outcome'), at: 'int8' } as const

/** A run with its completed steps, oldest first. */
export type RunDetail = RunView & { log: RowOf<typeof entry>[] }

const view = ({ cursor, isActive, stepsDone, dueAt, tries, lastFault, enteredAt, endedAt, ...run }: Row): RunView => ({
  ...run,
  step: isActive && cursor ? pathOf(cursor) : null,
  stepsDone,
  dueAt: isActive ? dueAt : null,
  tries,
  lastFault,
  enteredAt,
  endedAt,
})

/** A request for one page of a journey's runs. */
export const RunRequest = z.object({
  journeyId: z.string(),
  status: z.enum(runStatuses).optional(),
  limit: z.coerce.number().int().min(1).max(1000),
  cursor: z.string().optional(),
})

const readPage = statement(
  'list-runs',
  {
    row,
    parameters: { accountId: 'text', journeyId: 'text', status: 'text?', before: 'text?', limit: 'int8' },
  },
  `select ${list} from journey_runs r
   where r.account_id = :accountId and r.journey_id = :journeyId and (:status::text is null or r.status = :status)
     and (:before::text is null or r.id < :before) order by r.id desc limit :limit`,
)

/** Returns a page of the runs of a journey, newest first. Throws Problem `invalid` for a bad cursor. */
export const listRuns = async (
  { sql, accountId }: AccountSql,
  { journeyId, status, limit, cursor }: z.output<typeof RunRequest>,
): Promise<Page<RunView>> => {
  const before = idOfCursor('run', cursor)
  const rows = await sql(readPage, { accountId, journeyId, status: status ?? null, before, limit: limit + 1 })
  return pageOf(rows.map(view), limit)
}

const readRunsOf = statement(
  'read-runs-of-email',
  {
    row: { ...row, context: 'jsonb' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select ${list}, r.context from journey_runs r where r.account_id = :accountId and r.email = :email order by r.id`,
)

/** Returns all runs of an address, oldest first, each with its context. */
export const runsOf = async (
  { sql, accountId }: AccountSql,
  email: string,
): Promise<(RunView & { context: unknown })[]> => {
  const rows = await sql(readRunsOf, { accountId, email })
  return rows.map(({ context, ...run }) => ({ ...view(run), context }))
}

const readRun = statement(
  'read-run',
  { row, parameters: { accountId: 'text', id: 'text', journeyId: 'text' } },
  `select ${list} from journey_runs r where r.account_id = :accountId and r.id = :id and r.journey_id = :journeyId`,
)

const readLog = statement(
  'read-step-log',
  {
    row: entry,
    parameters: { accountId: 'text', runId: 'text' },
  },
  `select step, kind, outcome, ${epochMs('at')} as at from journey_step_log
   where account_id = :accountId and run_id = :runId order by step_no`,
)

/** Returns a run of a journey with its completed steps. Throws Problem `not_found`. */
export const showRun = async ({ sql, accountId }: AccountSql, journeyId: string, id: string): Promise<RunDetail> => {
  const [run] = await sql(readRun, { accountId, id, journeyId })
  if (!run) throw notFound(`There is no run ${shown(id)} of this journey`, { hint: `svc journeys runs ${journeyId}` })
  return { ...view(run), log: await sql(readLog, { accountId, runId: id }) }
}

const readAwaiting = statement(
  'journeys-awaiting-event',
  { row: { name: 'text' }, parameters: { accountId: 'text', rowId: 'text', type: 'text' } },
  `select distinct j.name from journey_runs r join journeys j on j.account_id = r.account_id and j.id = r.journey_id
   where r.account_id = :accountId and r.row_id = :rowId and r.status in ('running', 'waiting') and r.awaited = :type order by j.name`,
)

/** Returns the names of the journeys in which an address (row id) waits for events of the type. */
export const journeysAwaiting = async (
  { sql, accountId }: AccountSql,
  rowId: string,
  type: string,
): Promise<string[]> => (await sql(readAwaiting, { accountId, rowId, type })).map(({ name }) => name)
