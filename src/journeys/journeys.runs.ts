import { z } from 'zod'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { notFound, shown } from '../lib/problem.ts'
import { typedRow } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { type Cursor, pathOf, type RunStatus, runStatuses } from './definition/definition.ts'

/** A run as `svc journeys runs` shows it; times in epoch ms. */
export interface RunView {
  id: string
  journeyId: string
  version: number
  listId: string
  rowId: string
  email: string
  status: RunStatus
  /** Why it ended early. */
  reason: string | null
  /** The place of its next step; null once the run has ended. */
  step: string | null
  stepsDone: number
  /** When its next step, or the next try of it, is due; null while it waits for the answer to a webhook, and once it has ended. */
  dueAt: number | null
  /** The number of unexpected errors at its next step, and the last of them. The step is tried again. */
  tries: number
  lastFault: string | null
  enteredAt: number
  endedAt: number | null
}

/** A run with its completed steps, oldest first. */
export interface RunDetail extends RunView {
  log: { step: string; kind: string; outcome: string; at: number }[]
}

type Row = Omit<RunView, 'step'> & { cursor: Cursor | null; isActive: boolean }

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

const columns = `r.id, r.journey_id as "journeyId", r.version, r.list_id as "listId", r.row_id as "rowId", r.email, r.status,
  r.reason, r.cursor, r.step_no as "stepsDone", r.status in ('running', 'waiting') as "isActive",
  case when r.delivery_id is null then ${epochMs('greatest(r.due_at, r.retry_at)')} end as "dueAt", r.tries,
  r.last_fault as "lastFault", ${epochMs('r.entered_at')} as "enteredAt", ${epochMs('r.ended_at')} as "endedAt"`

const columnTypes = {
  id: 'text',
  journeyId: 'text',
  version: 'int4',
  listId: 'text',
  rowId: 'text',
  email: 'text',
  status: 'text',
  reason: 'text',
  cursor: 'jsonb',
  stepsDone: 'int4',
  isActive: 'bool',
  dueAt: 'int8',
  tries: 'int4',
  lastFault: 'text',
  enteredAt: 'int8',
  endedAt: 'int8',
} as const

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
    row: typedRow<Row>(columnTypes),
    parameters: { accountId: 'text', journeyId: 'text', status: 'text?', before: 'text?', limit: 'int8' },
  },
  `select ${columns} from journey_runs r
   where r.account_id = :accountId and r.journey_id = :journeyId and (:status::text is null or r.status = :status)
     and (:before::text is null or r.id < :before) order by r.id desc limit :limit`,
)

/** Returns a page of the runs of a journey, newest first. Throws Problem `invalid` for a bad cursor. */
export const listRuns = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  { journeyId, status, limit, cursor }: z.output<typeof RunRequest>,
): Promise<Page<RunView>> => {
  const before = cursor === undefined ? null : idOfCursor('run', cursor)
  const rows = await sql(readPage, { accountId, journeyId, status: status ?? null, before, limit: limit + 1 })
  return pageOf(rows.map(view), limit)
}

const readRunsOf = statement(
  'read-runs-of-email',
  {
    row: typedRow<Row & { context: unknown }>({ ...columnTypes, context: 'jsonb' }),
    parameters: { accountId: 'text', email: 'text' },
  },
  `select ${columns}, r.context from journey_runs r where r.account_id = :accountId and r.email = :email order by r.id`,
)

/** Returns all runs of an address, oldest first, each with its context. */
export const runsOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  email: string,
): Promise<(RunView & { context: unknown })[]> => {
  const rows = await sql(readRunsOf, { accountId, email })
  return rows.map(({ context, ...row }) => ({ ...view(row), context }))
}

const readRun = statement(
  'read-run',
  { row: typedRow<Row>(columnTypes), parameters: { accountId: 'text', id: 'text', journeyId: 'text' } },
  `select ${columns} from journey_runs r where r.account_id = :accountId and r.id = :id and r.journey_id = :journeyId`,
)

const readLog = statement(
  'read-step-log',
  {
    row: typedRow<RunDetail['log'][number]>({ step: 'text', kind: 'text', outcome: 'text', at: 'int8' }),
    parameters: { accountId: 'text', runId: 'text' },
  },
  `select step, kind, outcome, ${epochMs('at')} as at from journey_step_log
   where account_id = :accountId and run_id = :runId order by step_no`,
)

/** Returns a run of a journey with its completed steps. Throws Problem `not_found`. */
export const showRun = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  journeyId: string,
  id: string,
): Promise<RunDetail> => {
  const [row] = await sql(readRun, { accountId, id, journeyId })
  if (!row) throw notFound(`There is no run ${shown(id)} of this journey`, { hint: `svc journeys runs ${journeyId}` })
  return { ...view(row), log: await sql(readLog, { accountId, runId: id }) }
}

const readAwaiting = statement(
  'journeys-awaiting-event',
  { row: { name: 'text' }, parameters: { accountId: 'text', rowId: 'text', type: 'text' } },
  `select distinct j.name from journey_runs r join journeys j on j.account_id = r.account_id and j.id = r.journey_id
   where r.account_id = :accountId and r.row_id = :rowId and r.status in ('running', 'waiting') and r.awaited = :type order by j.name`,
)

/** Returns the names of the journeys in which an address (row id) waits for events of the type. */
export const journeysAwaiting = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  rowId: string,
  type: string,
): Promise<string[]> => (await sql(readAwaiting, { accountId, rowId, type })).map(({ name }) => name)
