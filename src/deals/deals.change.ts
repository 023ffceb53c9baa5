import { emit } from '../events/emit.ts'
import { invalid, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import type { DealChange, StageKind } from './deals.shapes.ts'
import type { Target } from './deals.target.ts'
import { type Deal, type DealRow, dealColumns, viewDeal } from './deals.view.ts'

type Values = Pick<DealRow, 'title' | 'value' | 'currency' | 'stageId'>

interface Locked extends Values {
  /** The kind of the stage that it moves to, locked as `targetOf` does; null where it does not move, or not within its pipeline. */
  toKind: StageKind | null
}

// The deal's row is locked by itself: a join would be checked again against the other row as it was before the wait, and lose the
// deal. The stage is looked for when the deal is locked, in its pipeline as it is then.
const lockDeal = async ({ sql, accountId }: Work, id: string, stageId: string | null): Promise<Locked> => {
  const [row] = await sql<Locked>(
    `with deal as materialized (
       select title, value, currency, pipeline_id, stage_id from deals
       where account_id = $1 and id = $2 and ${onSharedBoard} for no key update
     ), target as materialized (
       select s.kind from deal join stages s on s.account_id = $1 and s.id = $3 and s.pipeline_id = deal.pipeline_id
       where s.id <> deal.stage_id for key share of s
     )
     select title, value, currency, stage_id as "stageId", (select kind from target) as "toKind" from deal`,
    [accountId, id, stageId],
    'lock-deal',
  )
  if (!row) throw missing('There is no such deal', { hint: 'svc deals list' })
  return row
}

const readDeal = `select ${dealColumns} from deals d where d.account_id = $1 and d.id = $2`

/** One deal. Throws Problem `missing`. */
export const showDeal = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>, id: string): Promise<Deal> => {
  const [row] = await sql<DealRow>(readDeal, [accountId, id], 'show-deal')
  if (!row) throw missing(`There is no deal ${id}`, { hint: 'svc deals list' })
  return viewDeal(row)
}

const updateDeal = `
  with told as (
    insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
    select account_id, id, moves + 1, $8, stage_id, $6, $9 from deals
    where account_id = $1 and id = $2 and stage_id <> $6
  )
  update deals d set title = $3, value = $4, currency = $5, stage_id = $6, status = coalesce($7, status),
    moves = moves + (stage_id <> $6)::int, updated_at = $9
  where account_id = $1 and id = $2 returning ${dealColumns}`

const write = async (work: Work, id: string, next: Values, kind: StageKind | null): Promise<Deal> => {
  const { sql, accountId, actor, now } = work
  const values = [next.title, next.value, next.currency, next.stageId, kind]
  const [row] = await sql<DealRow>(updateDeal, [accountId, id, ...values, actor, now], 'update-deal')
  return viewDeal(row!)
}

/**
 * Changes a deal, all of it or nothing (api.md section 4, PATCH /deals). Another stage of its pipeline is a move: status
 * follows, history has it, `deal.stage_changed` is emitted; its own stage is none. Throws Problem `missing`, or `invalid`
 * for a stage that is not its pipeline's.
 */
export const changeDeal = async (
  work: Work,
  id: string,
  change: DealChange,
): Promise<{ deal: Deal; moved: boolean }> => {
  const before = await lockDeal(work, id, change.stageId ?? null)
  const stageId = change.stageId ?? before.stageId
  const moved = stageId !== before.stageId
  if (moved && before.toKind === null) throw invalid("stageId must be a stage of the deal's own pipeline")
  const { title = before.title, value = before.value, currency = before.currency } = change
  const isSame = !moved && title === before.title && value === before.value && currency === before.currency
  if (isSame) return { deal: await showDeal(work, id), moved }
  const deal = await write(work, id, { title, value, currency, stageId }, before.toKind)
  if (moved) await emit(work, 'deal.stage_changed', () => [{ deal, fromStageId: before.stageId }])
  return { deal, moved }
}

const batchSize = 1000

const moveBatch = `
  with batch as (
    select id, moves from deals where account_id = $1 and stage_id = $2 order by id limit ${batchSize} for no key update
  ), told as (
    insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
    select $1, id, moves + 1, $5, $2, $3, $6 from batch
  )
  update deals d set stage_id = $3, status = $4, moves = d.moves + 1, updated_at = $6
  from batch where d.account_id = $1 and d.id = batch.id returning ${dealColumns}`

/** Moves every deal of a stage, for a caller who has the board alone, to another of its pipeline; gives how many. */
export const moveAll = async (work: Work, fromStageId: string, to: Target): Promise<number> => {
  const { sql, accountId, actor, now } = work
  for (let moved = 0; ; ) {
    const rows = await sql<DealRow>(moveBatch, [accountId, fromStageId, to.id, to.kind, actor, now])
    if (rows.length === 0) return moved
    await emit(work, 'deal.stage_changed', () => rows.map((row) => ({ deal: viewDeal(row), fromStageId })))
    moved += rows.length
  }
}
