// Generated from clock.entities.ts by `npm run columns`: do not edit.
import { table } from './tables.ts'

export const developmentClock = table('development_clock', {
  id: 'int4',
  offsetMs: 'int8',
})
