import { defineEntity, p } from '@mikro-orm/postgresql'
import type { FilterNames } from '../segments/segments.ts'
import { owned, tenantFilter } from '../store/tenant.ts'

/**
 * A list with an optional filter. `segmentId` is the segment from which both come, if any. Its filter is read again when the
 * broadcast begins.
 */
export interface Part {
  listId: string
  segmentId: string | null
  where: string | null
  names: FilterNames | null
}

/**
 * The recipients of a broadcast: the active contacts of `parts`, without the addresses in `without`. Each address gets
 * one email.
 */
export interface Audience {
  /** Every address with an active contact; there are no parts then. */
  isAll: boolean
  parts: Part[]
  without: Part[]
}

/** What a broadcast sends. It is fixed when an operator says `send`: later changes of its project or its sender don't change it. */
export interface Letter {
  projectVersion: number
  /** The subject with unfilled merge tags. */
  subject: string
  /** All subjects, if there are several. */
  subjects?: string[]
  from: { email: string; name: string }
  replyTo: string | null
}

/** What decides between the subjects of a broadcast. */
export type Winner = 'opened' | 'clicked' | 'answered'

/** The subjects of a broadcast that has several. */
export interface Variants {
  subjects: string[]
  /** It is null if all recipients get variants. Otherwise the rest gets the best one after a time. */
  contest: { share: number; by: Winner; afterMs: number } | null
}

/** A marketing email to every active contact of a list, or to those that meet a filter. Its messages are the batch with its id. */
const BroadcastSchema = defineEntity({
  name: 'Broadcast',
  tableName: 'broadcasts',
  filters: tenantFilter,
  indexes: [
    { properties: ['accountId', 'id'] },
    {
      name: 'broadcasts_due_index',
      expression: `create index "broadcasts_due_index" on "broadcasts" ("account_id", coalesce("scheduled_at", "created_at")) where "finished_at" is null and "status" <> 'draft'`,
    },
    {
      name: 'broadcasts_open_index',
      expression: `create index "broadcasts_open_index" on "broadcasts" (coalesce("scheduled_at", "created_at")) where "finished_at" is null and "status" <> 'draft'`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    status: p.enum(['draft', 'scheduled', 'sending', 'done', 'cancelled'] as const),
    name: p.text(),
    /** Empty if `audience` is set. */
    listId: p.text().collation('C'),
    /** The segment whose contacts are its recipients. */
    segmentId: p.text().collation('C').nullable(),
    /** The filter, which is evaluated when the broadcast begins. It is null for the whole list. A segment is read again then. */
    filter: p.text().nullable(),
    /** What the names in the filter stand for. It is null if it was stored before names were resolved, or there is no filter. */
    filterNames: p.json<FilterNames>().nullable(),
    /** The recipients. It is null for those of one list or one segment, in the columns above. */
    audience: p.json<Audience>().nullable(),
    projectId: p.text().collation('C'),
    topicId: p.text().collation('C').nullable(),
    /** It is null for the project's name. */
    subject: p.text().nullable(),
    /** The id or the address of the chosen sender. It is null for the account's default. */
    sender: p.text().nullable(),
    /** It is null for that of the sender. */
    replyTo: p.text().nullable(),
    /** The version of the project that was tested last. */
    testedVersion: p.integer().nullable(),
    /** The variants, if there are several subjects; `subject` is the first of them. */
    variants: p.json<Variants>().nullable(),
    /** When the last recipient of the share that gets variants was queued. */
    shareQueuedAt: p.datetime().nullable(),
    /** The number of the variant that the rest gets. It is null until it is decided. */
    winner: p.integer().nullable(),
    /** How many emails of each variant were sent. It is null before the broadcast has ended. */
    variantSent: p.json<number[]>().nullable(),
    /** It is fixed when the broadcast is sent, and null before. */
    letter: p.json<Letter>().nullable(),
    /** The maximum messages per minute. It is null if there is none. */
    rate: p.integer().nullable(),
    /** It is null if it begins when it is sent. */
    scheduledAt: p.datetime().nullable(),
    /** When it began. Later changes of the list do not change its recipients. */
    startedAt: p.datetime().nullable(),
    /** The row id up to which messages are queued, or the key up to which they are cancelled. It is null once all are. */
    checkpoint: p.text().collation('C').nullable(),
    /** When it was paused. It is null if it is not paused. `status` stays what it was, for when it is resumed. */
    pausedAt: p.datetime().nullable(),
    /** The time up to which messages were released at its rate. */
    pacedAt: p.datetime().nullable(),
    /** An estimate, counted when it is created, sent and begun; the exact number once all messages are queued. */
    recipients: p.integer(),
    /**
     * Counts of its messages, without the counters that have not been added yet. `queued` counts those that have not ended yet.
     */
    queued: p.integer().default(0),
    sent: p.integer().default(0),
    failed: p.integer().default(0),
    suppressed: p.integer().default(0),
    createdAt: p.datetime(),
    /** Why it was cancelled, if no operator cancelled it. */
    reason: p.text().nullable(),
    /** When nothing was left to do, also after a cancellation. */
    finishedAt: p.datetime().nullable(),
  },
})
export class Broadcast extends BroadcastSchema.class {}
BroadcastSchema.setClass(Broadcast)

/** Contacts that met the filter of a broadcast when it began, in the order of their row ids. Each step that queues messages takes a row. */
const BroadcastRecipientsSchema = defineEntity({
  name: 'BroadcastRecipients',
  tableName: 'broadcast_recipients',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    broadcastId: p.text().collation('C').primary(),
    number: p.integer().primary(),
    rowIds: p.array(),
    /** Whether these recipients get the best variant, and wait until it is decided. */
    isRest: p.boolean().nullable(),
    /** The lists that make them recipients. It is null for the list of the broadcast. */
    listIds: p.array().nullable(),
  },
})
export class BroadcastRecipients extends BroadcastRecipientsSchema.class {}
BroadcastRecipientsSchema.setClass(BroadcastRecipients)
