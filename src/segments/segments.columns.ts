// Generated from segments.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './segments.entities.ts'

export const segments = table('segments', {
  id: 'text',
  accountId: 'text',
  name: 'text',
  listId: 'text',
  filter: 'text',
  filterNames: typed<entities.Segment['filterNames']>('jsonb'),
  createdAt: 'timestamptz',
})
