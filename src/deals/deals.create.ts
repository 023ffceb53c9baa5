import { type ContactPlace, locating, locatingBy, requireList } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { notFound } from '../lib/problem.ts'
import { preparedStatement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { NewDeal } from './deals.shapes.ts'
import { type Deal, type DealRow, dealColumns, dealTypes, viewDeal } from './deals.shapes.ts'
import { tallyingDeals } from './deals.stats.ts'
import { lockTargetStage } from './deals.target.ts'

export interface DealOrigin {
  source: Deal['source']
  /** 1 to 200 characters. A key creates one deal per account, without a time limit (docs/reference/rules.md#deals). */
  idempotencyKey?: string | undefined
}

const readDealOfKey = preparedStatement<DealRow>(
  'deal-of-key',
  dealTypes,
  `select ${dealColumns} from deals d where d.account_id = $1 and d.idempotency_key = $2`,
)

/** Returns the current state of the deal that was created with the idempotency key; null if there is none. */
export const dealOfKey = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  key: string,
): Promise<Deal | null> => {
  const [row] = await sql(readDealOfKey, [accountId, key])
  return row ? viewDeal(row) : null
}

// One statement finds the contact and inserts the deal and its history, because each round trip would cost as much again. A second
// call with the same idempotency key waits here until the first one commits or rolls back.
const insertDeal = (kind: keyof typeof locating) =>
  preparedStatement<ContactPlace & { isCreated: boolean }>(
    `create-deal-${kind}`,
    { listId: 'text', rowId: 'text', email: 'text', isCreated: 'bool' },
    `with contact as materialized (${locating[kind]}), inserted as (
       insert into deals (account_id, id, title, value, currency, pipeline_id, stage_id, status, source, list_id, row_id, email,
         idempotency_key, moves, created_at, updated_at)
       select $1, $5, $6, $7, $8, $9, $10, $11, $12, "listId", "rowId", email, $13, 1, $14, $14 from contact
       on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing
       returning id, status, currency, value
     ), history as (
       insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
       select $1, id, 1, $15, null, $10, $14 from inserted
     ), tallied as (
       ${tallyingDeals('$1', '$14', 'select null, null, null, status, currency, value from inserted')}
     )
     select contact.*, exists (select from inserted) as "isCreated" from contact`,
  )
const insertDealOf = { row: insertDeal('row'), email: insertDeal('email') }

/**
 * Creates a deal with its first history entry and emits `deal.created` (docs/reference/api.md#post-deals). If a deal with the
 * idempotency key exists, returns it with `created: false` and writes nothing. Throws Problem `invalid` or `missing`.
 */
export const createDeal = async (
  work: Work,
  input: NewDeal,
  { source, idempotencyKey }: DealOrigin,
): Promise<{ deal: Deal; created: boolean }> => {
  const { sql, accountId, actor, now } = work
  // The stage first: a stage of another pipeline is refused with 400, which takes precedence over the 404 for the contact.
  const stage = await lockTargetStage(work, input)
  const { kind, params } = locatingBy(accountId, input)
  const own = {
    id: newId('deal', now.getTime()),
    title: input.title,
    value: input.value ?? '0.00',
    currency: input.currency ?? 'USD',
    pipelineId: stage.pipelineId,
    stageId: stage.id,
  }
  const values = [...Object.values(own), stage.kind, source, idempotencyKey ?? null, now, actor]
  const [found] = await sql(insertDealOf[kind], [...params, ...values])
  if (!found) {
    if (input.listId !== undefined) await requireList(work, input.listId)
    throw notFound('There is no such contact')
  }
  const { isCreated, ...contact } = found
  if (!isCreated) return { deal: (await dealOfKey(work, idempotencyKey!))!, created: false }
  const deal = viewDeal({ ...own, stage: stage.name, status: stage.kind, source, ...contact })
  await emit(work, 'deal.created', () => [{ deal }])
  return { deal, created: true }
}
