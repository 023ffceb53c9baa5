import { emit } from '../events/emit.ts'
import { invalid, noSuch, notFound } from '../lib/problem.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { onSharedBoard } from './deals.board.ts'
import type { DealChange, StageKind } from './deals.shapes.ts'
import { type Deal, type DealRow, dealColumns, dealTypes, viewDeal } from './deals.shapes.ts'
import { tallyingDeals } from './deals.stats.ts'
import type { TargetStage } from './deals.target.ts'

type Values = Pick<DealRow, 'title' | 'value' | 'currency' | 'stageId'>

interface Locked extends Values {
  /** The kind of the stage to move to, locked as by `lockTargetStage`; null if the deal stays, or the stage is of another pipeline. */
  toKind: StageKind | null
}

// The deal's row is locked in a subquery of its own. With a join, PostgreSQL would recheck the condition after the wait against the
// old version of the other row, and could lose the deal.
const lockingDeal = preparedStatement<Locked>(
  'lock-deal',
  { title: 'text', value: 'numeric', currency: 'text', stageId: 'text', toKind: 'text' },
  `with deal as materialized (
     select title, value, currency, pipeline_id, stage_id from deals
     where account_id = $1 and id = $2 and ${onSharedBoard} for no key update
   ), target as materialized (
     select s.kind from deal join stages s on s.account_id = $1 and s.id = $3 and s.pipeline_id = deal.pipeline_id
     where s.id <> deal.stage_id for key share of s
   )
   select title, value, currency, stage_id as "stageId", (select kind from target) as "toKind" from deal`,
)

const lockDeal = async ({ sql, accountId }: Work, id: string, stageId: string | null): Promise<Locked> => {
  const [row] = await sql(lockingDeal, [accountId, id, stageId])
  if (!row) throw notFound('There is no such deal', { hint: 'svc deals list' })
  return row
}

const readDeal = preparedStatement<DealRow>(
  'show-deal',
  dealTypes,
  `select ${dealColumns} from deals d where d.account_id = $1 and d.id = $2`,
)

/** Returns a deal. Throws Problem `not_found`. */
export const showDeal = async ({ sql, accountId }: Pick<Work, 'sql' | 'accountId'>, id: string): Promise<Deal> => {
  const [row] = await sql(readDeal, [accountId, id])
  if (!row) throw noSuch('deal', id, { hint: 'svc deals list' })
  return viewDeal(row)
}

const updateDeal = preparedStatement<DealRow>(
  'update-deal',
  dealTypes,
  `
  with history as (
    insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
    select account_id, id, moves + 1, $8, stage_id, $6, $9 from deals
    where account_id = $1 and id = $2 and stage_id <> $6
  ), tallied as (
    ${tallyingDeals(
      '$1',
      '$9',
      `select status, currency, value, coalesce($7, status), $5, $4::numeric from deals where account_id = $1 and id = $2`,
    )}
  )
  update deals d set title = $3, value = $4, currency = $5, stage_id = $6, status = coalesce($7, status),
    moves = moves + (stage_id <> $6)::int, updated_at = $9
  where account_id = $1 and id = $2 returning ${dealColumns}`,
)

const write = async (work: Work, id: string, next: Values, kind: StageKind | null): Promise<Deal> => {
  const { sql, accountId, actor, now } = work
  const values = [next.title, next.value, next.currency, next.stageId, kind]
  const [row] = await sql(updateDeal, [accountId, id, ...values, actor, now])
  return viewDeal(row!)
}

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

const removeDeal = statement(
  'remove-deal',
  {},
  `
  with history as (
    delete from deal_history where account_id = $1 and deal_id = $2
  ), tallied as (
    ${tallyingDeals('$1', '$3', 'select status, currency, value, null, null, null from deals where account_id = $1 and id = $2')}
  )
  delete from deals where account_id = $1 and id = $2`,
)

/**
 * Deletes a deal with its history, and returns it. Its events and their deliveries stay, no event fires, and its idempotency key is
 * free again. Throws Problem `not_found`.
 */
export const deleteDeal = async (work: Work, id: string): Promise<Deal> => {
  // A move that this waits for inserts history, which only a later statement sees.
  await lockDeal(work, id, null)
  const deal = await showDeal(work, id)
  await work.sql(removeDeal, [work.accountId, id, work.now])
  return deal
}

const batchSize = 1000

const moveBatch = statement<DealRow>(
  'move-deals',
  dealTypes,
  `with batch as (
     select id, moves, status, currency, value from deals where account_id = $1 and stage_id = $2 order by id limit ${batchSize} for no key update
   ), history as (
     insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
     select $1, id, moves + 1, $5, $2, $3, $6 from batch
   ), tallied as (
     ${tallyingDeals('$1', '$6', 'select status, currency, value, $4, currency, value from batch')}
   )
   update deals d set stage_id = $3, status = $4, moves = d.moves + 1, updated_at = $6
   from batch where d.account_id = $1 and d.id = batch.id returning ${dealColumns}`,
)

/** Moves all deals of a stage to another stage of its pipeline and returns their number. Requires `lockBoard`. */
export const moveDeals = async (work: Work, fromStageId: string, to: TargetStage): Promise<number> => {
  const { sql, accountId, actor, now } = work
  for (let moved = 0; ; ) {
    const rows = await sql(moveBatch, [accountId, fromStageId, to.id, to.kind, actor, now])
    if (rows.length === 0) return moved
    await emit(work, 'deal.stage_changed', () => rows.map((row) => ({ deal: viewDeal(row), fromStageId })))
    moved += rows.length
  }
}
