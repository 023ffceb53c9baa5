import { type ContactPlace, locating } from '../contacts/contacts.ts'
import { emit } from '../events/emit.ts'
import { newId } from '../lib/ids.ts'
import { missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { NewDeal } from './deals.shapes.ts'
import { targetOf } from './deals.target.ts'
import { type Deal, type DealRow, dealColumns, viewDeal } from './deals.view.ts'

export interface DealOrigin {
  source: Deal['source']
  /** 1 to 200 characters; one key of an account makes one deal, for ever (decisions.md, Deals). */
  idempotencyKey?: string | undefined
}

/** The deal that the account made with the key, as it is now; null where there is none. */
export const dealOfKey = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  key: string,
): Promise<Deal | null> => {
  const [row] = await sql<DealRow>(
    `select ${dealColumns} from deals d where d.account_id = $1 and d.idempotency_key = $2`,
    [accountId, key],
    'deal-of-key',
  )
  return row ? viewDeal(row) : null
}

// One statement finds the contact, writes the deal and its history: a round trip each would cost as much again. A second caller
// with the same idempotency key waits here for the first one: it finds the deal committed, or the key free again.
const insertDeal = (contact: string) => `
  with contact as materialized (${contact}), made as (
    insert into deals (account_id, id, title, value, currency, pipeline_id, stage_id, status, source, list_id, row_id, email,
      idempotency_key, moves, created_at, updated_at)
    select $1, $5, $6, $7, $8, $9, $10, $11, $12, "listId", "rowId", email, $13, 1, $14, $14 from contact
    on conflict (account_id, idempotency_key) where idempotency_key is not null do nothing returning id
  ), told as (
    insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
    select $1, id, 1, $15, null, $10, $14 from made
  )
  select contact.*, exists (select from made) as "isMade" from contact`

/**
 * Makes a deal with its first history entry and emits `deal.created` (api.md section 4, POST /deals). `created` is false
 * where the key had made one already: that one is given, and nothing written. Throws Problem `invalid` or `missing`.
 */
export const createDeal = async (
  work: Work,
  input: NewDeal,
  { source, idempotencyKey }: DealOrigin,
): Promise<{ deal: Deal; created: boolean }> => {
  const { sql, accountId, actor, now } = work
  // The stage first: of what can be refused here, a stage of another pipeline is a 400, and that comes before any 404.
  const stage = await targetOf(work, input)
  const { query, kind, params } = locating(accountId, input)
  const own = {
    id: newId('deal', now.getTime()),
    title: input.title,
    value: input.value ?? '0.00',
    currency: input.currency ?? 'USD',
    pipelineId: stage.pipelineId,
    stageId: stage.id,
  }
  const values = [...Object.values(own), stage.kind, source, idempotencyKey ?? null, now, actor]
  const [found] = await sql<ContactPlace & { isMade: boolean }>(
    insertDeal(query),
    [...params, ...values],
    `create-deal-${kind}`,
  )
  if (!found) throw missing('There is no such contact')
  const { isMade, ...contact } = found
  if (!isMade) return { deal: (await dealOfKey(work, idempotencyKey!))!, created: false }
  const deal = viewDeal({ ...own, stage: stage.name, status: stage.kind, source, ...contact })
  await emit(work, 'deal.created', () => [{ deal }])
  return { deal, created: true }
}
