import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { toNumber } from '../lib/money.ts'
import type { PageRequest } from '../lib/page-request.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { Work } from '../store/work.ts'
import { showDeal } from './deals.change.ts'
import { deals } from './deals.columns.ts'
import {
  type Deal,
  type DealRow,
  dealColumns,
  dealTypes,
  type PipelineView,
  type StageView,
  viewDeal,
} from './deals.shapes.ts'
import { lockTargetStage } from './deals.target.ts'

interface DealFilter {
  pipelineId?: string | undefined
  stageId?: string | undefined
  status?: Deal['status'] | undefined
  /** Normalised. */
  email?: string | undefined
}

/** Returns a page of the deals that match, newest first. Throws Problem `invalid` for a bad cursor. */
export const listDeals = async (
  { sql, accountId }: Work,
  { pipelineId, stageId, status, email }: DealFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<Deal>> => {
  const params: unknown[] = [accountId]
  const conditions = ['d.account_id = $1']
  const where = (condition: string, value: unknown) => {
    if (value !== undefined) conditions.push(`${condition} $${params.push(value)}`)
  }
  where('d.pipeline_id =', pipelineId)
  where('d.stage_id =', stageId)
  where('d.status =', status)
  where('d.email =', email)
  where('d.id <', idOfCursor('deal', cursor) ?? undefined)
  const rows = await sql<DealRow>(
    `select ${dealColumns} from deals d where ${conditions.join(' and ')} order by d.id desc limit ${limit + 1}`,
    params,
  )
  return pageOf(rows.map(viewDeal), limit)
}

const moveTypes = { actor: 'text', from: 'text?', to: 'text', at: 'timestamptz' } as const

/** One move of a deal, with the ids of its stages; `from` is null for its creation (docs/reference/rules.md#deals). */
export type DealMoveView = InEpochMs<RowOf<typeof moveTypes>>

const readMoves = statement(
  'deal-moves',
  { row: moveTypes, parameters: { accountId: 'text', id: 'text' } },
  `select actor, from_stage_id as "from", to_stage_id as "to", at from deal_history
   where account_id = :accountId and deal_id = :id order by number`,
)

/** Returns the moves of a deal, oldest first. Throws Problem `not_found`. */
export const dealHistory = async (work: Work, id: string): Promise<DealMoveView[]> => {
  await showDeal(work, id)
  const rows = await work.sql(readMoves, { accountId: work.accountId, id })
  return rows.map(inEpochMs)
}

const readDealOf = preparedStatement(
  'deal-of-contact',
  { row: dealTypes, parameters: { ...types(deals, 'accountId', 'rowId', 'listId', 'pipelineId'), ids: '_text' } },
  `select ${dealColumns} from deals d where d.account_id = :accountId and d.pipeline_id = :pipelineId
     and (d.id = any(:ids) or (d.row_id = :rowId and d.status = 'open'))
   order by array_position(:ids, d.id), d.list_id = :listId desc, d.id desc limit 1`,
)

/**
 * Returns the deal that a journey moves to a stage: of the deals in the stage's pipeline, the first of `ids` with any status, else
 * the contact's newest open deal, preferring deals of the contact's list; null if there is none. Throws Problem `not_found` if the
 * stage was deleted.
 */
export const dealOf = async (
  work: Work,
  { listId, rowId }: { listId: string; rowId: string },
  { stageId, ids }: { stageId: string; ids: readonly string[] },
): Promise<Deal | null> => {
  const { pipelineId } = await lockTargetStage(work, { stageId })
  const [row] = await work.sql(readDealOf, { accountId: work.accountId, rowId, listId, pipelineId, ids })
  return row ? viewDeal(row) : null
}

export interface BoardStage extends StageView {
  count: number
  /** The sums of its deals' values by currency. */
  totals: Record<string, number>
  /** Its newest deals. */
  deals: Deal[]
}

export interface Board {
  pipeline: PipelineView
  stages: BoardStage[]
}

const sumStages = statement(
  'sum-stages',
  {
    row: { ...types(deals, 'stageId', 'currency'), count: 'int8', total: 'numeric' },
    parameters: { accountId: 'text', ids: '_text' },
  },
  `select stage_id as "stageId", currency, count(*), sum(value) as total from deals
   where account_id = :accountId and stage_id = any(:ids) group by stage_id, currency order by currency`,
)

const newestOfStages = statement(
  'newest-of-stages',
  { row: dealTypes, parameters: { accountId: 'text', ids: '_text', limit: 'int8' } },
  `select ${dealColumns} from unnest(:ids::text[]) as stage(id) cross join lateral (
     select * from deals where account_id = :accountId and stage_id = stage.id order by id desc limit :limit
   ) d order by d.id desc`,
)

/** Returns a pipeline's stages in board order, each with its count, its sums and its newest `limit` deals. */
export const boardOf = async ({ sql, accountId }: Work, pipeline: PipelineView, limit: number): Promise<Board> => {
  const ids = pipeline.stages.map(({ id }) => id)
  const sums = await sql(sumStages, { accountId, ids })
  const rows = await sql(newestOfStages, { accountId, ids, limit })
  const stages = pipeline.stages.map((stage) => {
    const own = sums.filter(({ stageId }) => stageId === stage.id)
    return {
      ...stage,
      count: own.reduce((count, row) => count + row.count, 0),
      totals: Object.fromEntries(own.map(({ currency, total }) => [currency, toNumber(total)])),
      deals: rows.filter(({ stageId }) => stageId === stage.id).map(viewDeal),
    }
  })
  return { pipeline, stages }
}
