// Generated from deals.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './deals.entities.ts'

export const deals = table('deals', {
  accountId: 'text',
  id: 'text',
  title: 'text',
  value: 'numeric',
  currency: 'text',
  pipelineId: 'text',
  stageId: 'text',
  status: typed<entities.Deal['status']>('text'),
  source: typed<entities.Deal['source']>('text'),
  listId: 'text',
  rowId: 'text',
  email: 'text',
  idempotencyKey: 'text?',
  moves: 'int4',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const dealHistory = table('deal_history', {
  accountId: 'text',
  dealId: 'text',
  number: 'int4',
  actor: 'text',
  fromStageId: 'text?',
  toStageId: 'text',
  at: 'timestamptz',
})

export const pipelines = table('pipelines', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  isDefault: 'bool',
  createdAt: 'timestamptz',
})

export const stages = table('stages', {
  id: 'text',
  accountId: 'text',
  pipelineId: 'text',
  name: 'text',
  kind: typed<entities.Stage['kind']>('text'),
  position: 'int4',
})
