import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'

/** One marketing mail to every active contact of a list. Its mails are a batch of that id. */
const BroadcastSchema = defineEntity({
  name: 'Broadcast',
  tableName: 'broadcasts',
  filters: tenantFilter,
  indexes: [
    { properties: ['accountId', 'id'] },
    {
      name: 'broadcasts_open_index',
      expression: `create index "broadcasts_open_index" on "broadcasts" (coalesce("scheduled_at", "created_at")) where "finished_at" is null`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    status: p.enum(['scheduled', 'sending', 'done', 'cancelled'] as const),
    listId: p.text().collation('C'),
    projectId: p.text().collation('C'),
    /** null: the project's name. */
    subject: p.text().nullable(),
    /** Mails a minute; null: as fast as they go. */
    rate: p.integer().nullable(),
    /** null: at once. */
    scheduledAt: p.datetime().nullable(),
    /** From here on it is not the list that changes whom it is for. */
    startedAt: p.datetime().nullable(),
    /** The row id up to which mails are queued, or the key up to which they are cancelled; null: all are. */
    checkpoint: p.text().collation('C').nullable(),
    /** The time up to which its pace is used. */
    pacedAt: p.datetime().nullable(),
    /** Counted when it was made, anew when it began, and exactly when all were queued. */
    recipients: p.integer(),
    /** What became of its mails as of the tallies that were taken; `queued` those that are still on their way. */
    queued: p.integer().default(0),
    sent: p.integer().default(0),
    failed: p.integer().default(0),
    suppressed: p.integer().default(0),
    createdAt: p.datetime(),
    /** All that there was to do is done. */
    finishedAt: p.datetime().nullable(),
  },
})
export class Broadcast extends BroadcastSchema.class {}
BroadcastSchema.setClass(Broadcast)
