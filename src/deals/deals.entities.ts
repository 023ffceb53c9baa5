import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/tenant.ts'

const PipelineSchema = defineEntity({
  name: 'Pipeline',
  tableName: 'pipelines',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'name'] }],
  indexes: [
    {
      // At most one default pipeline, even if two first reads create it concurrently.
      name: 'pipelines_default_index',
      expression: `create unique index "pipelines_default_index" on "pipelines" ("account_id") where "is_default"`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    name: p.text(),
    isDefault: p.boolean(),
    createdAt: p.datetime(),
  },
})
export class Pipeline extends PipelineSchema.class {}
PipelineSchema.setClass(Pipeline)

const StageSchema = defineEntity({
  name: 'Stage',
  tableName: 'stages',
  filters: tenantFilter,
  uniques: [{ properties: ['pipeline', 'name'] }],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    pipeline: () => p.manyToOne(Pipeline).deleteRule('restrict'),
    name: p.text(),
    kind: p.enum(['open', 'won', 'lost'] as const),
    /** The place on the board. The pipeline's lock keeps it unique, not an index. */
    position: p.integer(),
  },
})
export class Stage extends StageSchema.class {}
StageSchema.setClass(Stage)

const DealSchema = defineEntity({
  name: 'Deal',
  tableName: 'deals',
  filters: tenantFilter,
  indexes: [
    { properties: ['stage', 'id'] },
    { properties: ['accountId', 'rowId'] },
    { properties: ['accountId', 'email'] },
    {
      name: 'deals_idempotency_key_index',
      expression: `create unique index "deals_idempotency_key_index" on "deals" ("account_id", "idempotency_key") where "idempotency_key" is not null`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    title: p.text(),
    value: p.decimal().precision(12).scale(2),
    currency: p.text(),
    /** Never changes: a deal moves within its pipeline. */
    pipelineId: p.text().collation('C'),
    /** The deletion of a stage must not delete deals. */
    stage: () => p.manyToOne(Stage).deleteRule('restrict'),
    /** Always the kind of the stage. Every transaction that changes one of them changes both. */
    status: p.enum(['open', 'won', 'lost'] as const),
    source: p.enum(['manual', 'journey', 'booking', 'checkout', 'proposal', 'api'] as const),
    listId: p.text().collation('C'),
    rowId: p.text().collation('C'),
    email: p.text().collation('C'),
    idempotencyKey: p.text().collation('C').nullable(),
    /** The number of entries in its history, which is also the number of the last entry. */
    moves: p.integer(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Deal extends DealSchema.class {}
DealSchema.setClass(Deal)

/** `number` is assigned under the deal's lock, so the order does not depend on clocks. */
const DealMoveSchema = defineEntity({
  name: 'DealMove',
  tableName: 'deal_history',
  properties: {
    accountId: p.text().collation('C').primary(),
    dealId: p.text().collation('C').primary(),
    number: p.integer().primary(),
    actor: p.text(),
    /** It is null if the deal was created in `toStageId`. */
    fromStageId: p.text().collation('C').nullable(),
    toStageId: p.text().collation('C'),
    at: p.datetime(),
  },
})
export class DealMove extends DealMoveSchema.class {}
DealMoveSchema.setClass(DealMove)
