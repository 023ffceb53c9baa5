// Generated from engagement.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './engagement.entities.ts'

export const interactions = table('interactions', {
  accountId: 'text',
  messageId: 'text',
  kind: typed<entities.Interaction['kind']>('text'),
  blockId: 'text',
  link: 'text',
  isBot: 'bool',
  id: 'text',
  projectId: 'text',
  email: 'text',
  value: typed<entities.Interaction['value']>('jsonb'),
  at: 'timestamptz',
  changes: 'int4',
})

export const leadScores = table('lead_scores', {
  accountId: 'text',
  email: 'text',
  points: 'float8',
  at: 'timestamptz',
  isHot: 'bool',
})
