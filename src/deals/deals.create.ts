import { located, locating, locatingBy, locatingParameters } from '../contacts/contacts.rows.ts'
import { requireList } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { notFound } from '../lib/problem.ts'
import { preparedStatement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { deals } from './deals.columns.ts'
import { changeableColumns, type Deal, dealColumns, dealTypes, type NewDeal, viewDeal } from './deals.shapes.ts'
import { tallyingDeals } from './deals.stats.ts'
import { lockTargetStage } from './deals.target.ts'

interface DealOrigin {
  source: Deal['source']
  /** 1 to 200 characters. A key creates one deal per account, without a time limit (docs/reference/rules.md#deals). */
  idempotencyKey?: string | undefined
}

const readDealOfKey = preparedStatement(
  'deal-of-key',
  { row: dealTypes, parameters: { accountId: 'text', key: 'text' } },
  `select ${dealColumns} from deals d where d.account_id = :accountId and d.idempotency_key = :key`,
)

/** Returns the current state of the deal that was created with the idempotency key, or null if there is none. */
export const dealOfKey = async ({ sql, accountId }: AccountSql, key: string): Promise<Deal | null> => {
  const [row] = await sql(readDealOfKey, { accountId, key })
  return row ? viewDeal(row) : null
}

const givenColumns = columns(deals, ['id', 'pipelineId', 'status', 'source', 'idempotencyKey'])

// One statement finds the contact and inserts the deal and its history, because each round trip would cost as much again. A second
// call with the same idempotency key waits here until the first one commits or rolls back.
const insertDeal = (kind: keyof typeof locating) =>
  preparedStatement(
    `create-deal-${kind}`,
    {
      row: { ...located, isCreated: 'bool' },
      parameters: {
        ...locatingParameters,
        ...givenColumns.types,
        ...changeableColumns.types,
        now: 'timestamptz',
        actor: 'text',
      },
    },
    `with contact as materialized (${locating[kind]}), inserted as (
       insert into deals (account_id, ${givenColumns.names}, ${changeableColumns.names}, list_id, row_id, email, moves, created_at, updated_at)
       select :accountId, ${givenColumns.values}, ${changeableColumns.values}, "listId", "rowId", email, 1, :now, :now from contact
       on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing
       returning id, status, currency, value
     ), history as (
       insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
       select :accountId, id, 1, :actor, null, :stageId, :now from inserted
     ), tallied as (
       ${tallyingDeals('select null, null, null, status, currency, value from inserted')}
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
  const { kind, values } = locatingBy(accountId, input)
  const own = {
    id: newId('deal', now.getTime()),
    pipelineId: stage.pipelineId,
    status: stage.kind,
    source,
    ...changeableColumns.after({ value: '0.00', currency: 'USD' }, { ...input, stageId: stage.id }),
  }
  const key = idempotencyKey ?? null
  const [found] = await sql(insertDealOf[kind], { ...values, ...own, idempotencyKey: key, now, actor })
  if (!found) {
    if (input.listId !== undefined) await requireList(work, input.listId)
    throw notFound('There is no such contact', { hint: 'svc contacts upsert' })
  }
  const { isCreated, ...contact } = found
  if (!isCreated) return { deal: (await dealOfKey(work, idempotencyKey!))!, created: false }
  const deal = viewDeal({ ...own, stage: stage.name, ...contact })
  await emit(work, 'deal.created', () => [{ deal }])
  return { deal, created: true }
}
