import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { toNumber } from '../lib/money.ts'
import type { Work } from '../store/work.ts'
import { showDeal } from './deals.change.ts'
import type { PipelineView, StageView } from './deals.shapes.ts'
import { targetOf } from './deals.target.ts'
import { type Deal, type DealRow, dealColumns, viewDeal } from './deals.view.ts'

export interface DealFilter {
  pipelineId?: string | undefined
  stageId?: string | undefined
  status?: Deal['status'] | undefined
  /** Normalised. */
  email?: string | undefined
}

/** A page of the account's deals that match, newest first. Throws Problem `invalid` for a bad cursor. */
export const listDeals = async (
  { sql, accountId }: Work,
  { pipelineId, stageId, status, email }: DealFilter,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
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
  where('d.id <', cursor === undefined ? undefined : idOfCursor('deal', cursor))
  const rows = await sql<DealRow>(
    `select ${dealColumns} from deals d where ${conditions.join(' and ')} order by d.id desc limit ${limit + 1}`,
    params,
  )
  return pageOf(rows.map(viewDeal), limit)
}

/** One step of a deal: `from` is null where it was created. Stage ids; `at` in epoch ms (decisions.md, Deals). */
export interface DealMoveView {
  actor: string
  from: string | null
  to: string
  at: number
}

/** Oldest first. Throws Problem `missing`. */
export const dealHistory = async (work: Work, id: string): Promise<DealMoveView[]> => {
  await showDeal(work, id)
  const rows = await work.sql<Omit<DealMoveView, 'at'> & { at: Date }>(
    `select actor, from_stage_id as "from", to_stage_id as "to", at from deal_history
     where account_id = $1 and deal_id = $2 order by number`,
    [work.accountId, id],
  )
  return rows.map((row) => ({ ...row, at: row.at.getTime() }))
}

/**
 * The deal that may go to a stage: in its pipeline the first of `ids`, whatever its status, else the contact's newest open
 * one, of the contact in that list before the same address in another. null: there is none. Throws Problem `missing` where
 * the stage is gone.
 */
export const dealOf = async (
  work: Work,
  { listId, rowId }: { listId: string; rowId: string },
  { stageId, ids }: { stageId: string; ids: readonly string[] },
): Promise<Deal | null> => {
  const { pipelineId } = await targetOf(work, { stageId })
  const [row] = await work.sql<DealRow>(
    `select ${dealColumns} from deals d
     where d.account_id = $1 and d.pipeline_id = $4 and (d.id = any($5) or (d.row_id = $2 and d.status = 'open'))
     order by array_position($5, d.id), d.list_id = $3 desc, d.id desc limit 1`,
    [work.accountId, rowId, listId, pipelineId, ids],
    'deal-of-contact',
  )
  return row ? viewDeal(row) : null
}

export interface BoardStage extends StageView {
  count: number
  /** The sum of its deals' values by currency. */
  totals: Record<string, number>
  /** The newest ones. */
  deals: Deal[]
}

export interface Board {
  pipeline: PipelineView
  stages: BoardStage[]
}

/** A pipeline's stages in board order, each with its count, its sums and its newest `limit` deals. */
export const boardOf = async ({ sql, accountId }: Work, pipeline: PipelineView, limit: number): Promise<Board> => {
  const ids = pipeline.stages.map(({ id }) => id)
  const sums = await sql<{ stageId: string; currency: string; count: number; total: string }>(
    `select stage_id as "stageId", currency, count(*), sum(value) as total from deals
     where account_id = $1 and stage_id = any($2) group by stage_id, currency order by currency`,
    [accountId, ids],
  )
  const rows = await sql<DealRow>(
    `select ${dealColumns} from unnest($2::text[]) as stage(id) cross join lateral (
       select * from deals where account_id = $1 and stage_id = stage.id order by id desc limit $3
     ) d order by d.id desc`,
    [accountId, ids, limit],
  )
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
