// Generated from segments.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/columns.ts'
import { typed } from '../store/types.ts'
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
