// Generated from suppressions.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './suppressions.entities.ts'

export const suppressions = table('suppressions', {
  accountId: 'text',
  email: 'text',
  reason: typed<entities.Suppression['reason']>('text'),
  topicId: 'text',
  createdAt: 'timestamptz',
})

export const topics = table('topics', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  description: 'text',
  createdAt: 'timestamptz',
  deletedAt: 'timestamptz?',
})
