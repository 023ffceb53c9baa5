import type { Deal } from '../events/shapes.ts'
import { toNumber } from '../lib/money.ts'

export type { Deal }

/** A deal as a statement selects it: its amount is text. */
export type DealRow = Omit<Deal, 'value'> & { value: string }

/** From `deals d`. The stage's name is read by the same statement, so it is as fresh as the deal. */
export const dealColumns = `d.id, d.title, d.value, d.currency, d.pipeline_id as "pipelineId", d.stage_id as "stageId",
  (select name from stages where id = d.stage_id) as stage, d.status, d.source, d.list_id as "listId", d.row_id as "rowId", d.email`

/** The Deal of api.md section 2. */
export const viewDeal = (row: DealRow): Deal => ({ ...row, value: toNumber(row.value) })
