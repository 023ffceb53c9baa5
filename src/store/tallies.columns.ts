// Generated from tallies.entities.ts by `npm run columns`: do not edit.
import { typed } from './column-types.ts'
import { table } from './tables.ts'
import type * as entities from './tallies.entities.ts'

export const dayCounts = table('day_counts', {
  accountId: 'text',
  subject: 'text',
  day: 'date',
  counts: typed<entities.DayCount['counts']>('jsonb'),
})

export const dayTallies = table('day_tallies', {
  accountId: 'text',
  subject: 'text',
  id: 'uuid',
  day: 'date',
  counts: typed<entities.DayTally['counts']>('jsonb'),
})
