import { emit } from '../events/emit.ts'
import { invalid, noSuch, notFound } from '../lib/problem.ts'
import { typed } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import { deals } from './deals.columns.ts'
import {
  changeableColumns,
  type Deal,
  type DealChange,
  dealColumns,
  dealTypes,
  type StageKind,
  viewDeal,
} from './deals.shapes.ts'
import { tallyingDeals } from './deals.stats.ts'
import type { TargetStage } from './deals.target.ts'

const dealId = types(deals, 'accountId', 'id')

// The deal's row is locked in a subquery of its own. With a join, PostgreSQL would recheck the condition after the wait against the
// old version of the other row, and could lose the deal.
// `toKind` is the kind of the stage to move to, locked as by `lockTargetStage`; null if the deal stays, or the stage is of another
// pipeline.
const lockDealRow = preparedStatement(
  'lock-deal',
  {
    row: { ...changeableColumns.types, toKind: typed<StageKind | null>('text') },
    parameters: { ...dealId, stageId: 'text?' },
  },
  `with deal as materialized (
     select pipeline_id, ${changeableColumns.names} from deals
     where account_id = :accountId and id = :id and ${onSharedBoard} for no key update
   ), target as materialized (
     select s.kind from deal join stages s on s.account_id = :accountId and s.id = :stageId and s.pipeline_id = deal.pipeline_id
     where s.id <> deal.stage_id for key share of s
   )
   select ${changeableColumns.list}, (select kind from target) as "toKind" from deal`,
)

const lockDeal = async ({ sql, accountId }: Work, id: string, stageId: string | null) => {
  const [row] = await sql(lockDealRow, { accountId, id, stageId })
  if (!row) throw notFound('There is no such deal', { hint: 'svc deals list' })
  return row
}

const readDeal = preparedStatement(
  'show-deal',
  { row: dealTypes, parameters: dealId },
  `select ${dealColumns} from deals d where d.account_id = :accountId and d.id = :id`,
)

/** Returns a deal. Throws Problem `not_found`. */
export const showDeal = async ({ sql, accountId }: AccountSql, id: string): Promise<Deal> => {
  const [row] = await sql(readDeal, { accountId, id })
  if (!row) throw noSuch('deal', id, { hint: 'svc deals list' })
  return viewDeal(row)
}

const updateDeal = preparedStatement(
  'update-deal',
  {
    row: dealTypes,
    parameters: {
      ...dealId,
      ...changeableColumns.types,
      kind: typed<StageKind | null>('text'),
      actor: 'text',
      now: 'timestamptz',
    },
  },
  `
  with history as (
    insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
    select account_id, id, moves + 1, :actor, stage_id, :stageId, :now from deals
    where account_id = :accountId and id = :id and stage_id <> :stageId
  ), tallied as (
    ${tallyingDeals(
      `select status, currency, value, coalesce(:kind, status), :currency, :value::numeric from deals
       where account_id = :accountId and id = :id`,
    )}
  )
  update deals d set ${changeableColumns.set}, status = coalesce(:kind, status),
    moves = moves + (stage_id <> :stageId)::int, updated_at = :now
  where account_id = :accountId and id = :id returning ${dealColumns}`,
)

/**
 * Applies all properties of a change to a deal (docs/reference/api.md#patch-dealsid). A different stage of its pipeline moves the
 * deal: its status changes, history records the move, and `deal.stage_changed` is emitted. Throws Problem `not_found`, or `invalid`
 * for a stage of another pipeline.
 */
export const changeDeal = async (
  work: Work,
  id: string,
  change: DealChange,
): Promise<{ deal: Deal; moved: boolean }> => {
  const before = await lockDeal(work, id, change.stageId ?? null)
  const after = changeableColumns.after(before, change)
  const moved = after.stageId !== before.stageId
  if (moved && before.toKind === null) throw invalid("stageId must be a stage of the deal's own pipeline")
  if (changeableColumns.isSame(before, after)) return { deal: await showDeal(work, id), moved }
  const { sql, accountId, actor, now } = work
  const [row] = await sql(updateDeal, { ...after, accountId, id, kind: before.toKind, actor, now })
  const deal = viewDeal(row!)
  if (moved) await emit(work, 'deal.stage_changed', () => [{ deal, fromStageId: before.stageId }])
  return { deal, moved }
}

const removeDeal = statement(
  'remove-deal',
  { parameters: { ...dealId, now: 'timestamptz' } },
  `
  with history as (
    delete from deal_history where account_id = :accountId and deal_id = :id
  ), tallied as (
    ${tallyingDeals('select status, currency, value, null, null, null from deals where account_id = :accountId and id = :id')}
  )
  delete from deals where account_id = :accountId and id = :id`,
)

/**
 * Deletes a deal with its history, and returns it. Its events and their deliveries stay, no event fires, and its idempotency key is
 * free again. Throws Problem `not_found`.
 */
export const deleteDeal = async (work: Work, id: string): Promise<Deal> => {
  // A move that this waits for inserts history, which only a later statement sees.
  await lockDeal(work, id, null)
  const deal = await showDeal(work, id)
  await work.sql(removeDeal, { accountId: work.accountId, id, now: work.now })
  return deal
}

const batchSize = 1000

const moveBatch = statement(
  'move-deals',
  {
    row: dealTypes,
    parameters: {
      accountId: 'text',
      fromStageId: 'text',
      stageId: 'text',
      ...types(deals, 'status'),
      actor: 'text',
      now: 'timestamptz',
    },
  },
  `with batch as (
     select id, moves, status, currency, value from deals where account_id = :accountId and stage_id = :fromStageId
     order by id limit ${batchSize} for no key update
   ), history as (
     insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
     select :accountId, id, moves + 1, :actor, :fromStageId, :stageId, :now from batch
   ), tallied as (
     ${tallyingDeals('select status, currency, value, :status, currency, value from batch')}
   )
   update deals d set stage_id = :stageId, status = :status, moves = d.moves + 1, updated_at = :now
   from batch where d.account_id = :accountId and d.id = batch.id returning ${dealColumns}`,
)

/** Moves all deals of a stage to another stage of its pipeline and returns their number. Requires `lockBoard`. */
export const moveDeals = async (work: Work, fromStageId: string, to: TargetStage): Promise<number> => {
  const { sql, accountId, actor, now } = work
  for (let moved = 0; ; ) {
    const rows = await sql(moveBatch, { accountId, fromStageId, stageId: to.id, status: to.kind, actor, now })
    if (rows.length === 0) return moved
    await emit(work, 'deal.stage_changed', () => rows.map((row) => ({ deal: viewDeal(row), fromStageId })))
    moved += rows.length
  }
}
