// Generated from lifecycle.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './lifecycle.entities.ts'

export const lifecycleBindings = table('lifecycle_bindings', {
  accountId: 'text',
  subjectKind: typed<entities.LifecycleBinding['subjectKind']>('text'),
  subjectId: 'text',
  event: typed<entities.LifecycleBinding['event']>('text'),
  projectId: 'text',
  subjectLine: 'text?',
  sender: 'text?',
  updatedAt: 'timestamptz',
})
