// Generated from queue.entities.ts by `npm run columns`: do not edit.
import { table } from '../store/tables.ts'

export const queueHolds = table('queue_holds', {
  queue: 'text',
  heldAt: 'timestamptz',
})

export const workers = table('workers', {
  id: 'int4',
  job: 'text',
  seenAt: 'timestamptz',
})
