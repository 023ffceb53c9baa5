import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'
import { copies, messageStatuses } from './messages.shapes.ts'

/**
 * One email to one recipient: inserted once, updated once when it ends. No index contains a column of that update, and pages keep
 * free space, so that the update is a HOT update: it rewrites no index and no TOASTed content.
 */
const MessageSchema = defineEntity({
  name: 'Message',
  tableName: 'messages',
  filters: tenantFilter,
  indexes: [
    {
      name: 'messages_key_index',
      expression: `create unique index "messages_key_index" on "messages" ("account_id", "key") where "key" is not null`,
    },
    { name: 'messages_email_index', properties: ['accountId', 'email', 'id'] },
    // Messages that still have content, for the retention job. The update at a message's end changes none of these columns.
    {
      name: 'messages_content_index',
      expression: `create index "messages_content_index" on "messages" ("created_at", "id") where "dropped_at" is null`,
    },
    {
      name: 'messages_copy_index',
      expression: `create index "messages_copy_index" on "messages" ("account_id", "copy_of", "id") where "copy_of" is not null`,
    },
    // A delivery report names a message but no account.
    { name: 'messages_id_index', expression: `create unique index "messages_id_index" on "messages" ("id")` },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    /** The idempotency key, unique in the account: `api:` and the Idempotency-Key header, or a key of another feature. */
    key: p.text().collation('C').nullable(),
    /** What caused it: a call of POST /send, a journey, a lifecycle event. */
    sourceKind: p.enum(['send', 'journey', 'lifecycle'] as const),
    /** It is null if the message itself is the source. */
    sourceId: p.text().nullable(),
    type: p.enum(['transactional', 'marketing'] as const),
    /** The topic of marketing email, which may be deleted. It is null if there is none. */
    topicId: p.text().collation('C').nullable(),
    email: p.text().collation('C'),
    fromEmail: p.text().nullable(),
    fromName: p.text().nullable(),
    replyTo: p.text().nullable(),
    subject: p.text(),
    /** The freeform content. It is null for an email of a project. */
    html: p.text().nullable(),
    text: p.text().nullable(),
    /** An iCalendar part of freeform content. */
    calendar: p.text().nullable(),
    projectId: p.text().nullable(),
    projectVersion: p.integer().nullable(),
    mergeData: p.json<Record<string, string>>().nullable(),
    /** Headers that the caller added: X-*, References, In-Reply-To. */
    headers: p.json<Record<string, string>>().nullable(),
    /** Which recipient of a call with several it is for. It is null if the call had one. */
    copy: p.enum(copies).nullable(),
    /** A copy for a cc or bcc names the message to the call's `to`. */
    copyOf: p.text().collation('C').nullable(),
    /** The number of attachments of its call (MessageAttachment). It is null if there is none. */
    attachments: p.integer().nullable(),
    status: p.enum(messageStatuses),
    /** Why it was suppressed. */
    reason: p.text().nullable(),
    /** Why it failed, in a sentence. */
    error: p.text().nullable(),
    createdAt: p.datetime(),
    /** When it will be sent. If it is null, that is as soon as possible. */
    scheduledAt: p.datetime().nullable(),
    finishedAt: p.datetime().nullable(),
    /** When its content was deleted (messages.retention.ts). It is null if the content is still stored. */
    droppedAt: p.datetime().nullable(),
  },
})
export class Message extends MessageSchema.class {}
MessageSchema.setClass(Message)

/** An attachment of a call, stored with its first message. */
const MessageAttachmentSchema = defineEntity({
  name: 'MessageAttachment',
  tableName: 'message_attachments',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    messageId: p.text().collation('C').primary(),
    position: p.integer().primary(),
    filename: p.text(),
    contentType: p.text(),
    contentId: p.text().nullable(),
    /** Bytes of `content`. */
    size: p.integer(),
    content: p.blob(),
  },
})
export class MessageAttachment extends MessageAttachmentSchema.class {}
MessageAttachmentSchema.setClass(MessageAttachment)

/** The queue of pending messages. No index contains a column that a claim changes. */
const QueuedMessageSchema = defineEntity({
  name: 'QueuedMessage',
  tableName: 'message_queue',
  indexes: [{ name: 'message_queue_due_index', properties: ['accountId', 'batch', 'dueAt'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    /**
     * The batch (broadcast) of the message. A batch waits in a stream of its own, behind the account's single messages. It is
     * empty for a single message, and `large` for one with large attachments.
     */
    batch: p.text().collation('C').default(''),
    dueAt: p.datetime(),
    /** The worker that has claimed it (workers.id). It is null if it is unclaimed. */
    worker: p.integer().nullable(),
    /** Number of claims so far. Only the newest claim may send the message and record its result. */
    claim: p.integer().default(0),
    /** A connection has taken it. The relay may have received it, so no other worker may send it, even if this one dies. */
    isHanding: p.boolean().default(false),
    /** Number of attempts that ended with a temporary failure. */
    tries: p.integer().default(0),
    /** Whether a temporary failure is retried. A message of POST /send fails at once, because its caller waits for the result. */
    isPatient: p.boolean(),
    /** It is not sent from this time on: a reminder expires when its session or booking begins. It is null if it never expires. */
    expiresAt: p.datetime().nullable(),
  },
})
export class QueuedMessage extends QueuedMessageSchema.class {}
QueuedMessageSchema.setClass(QueuedMessage)

/** Batches whose messages wait until they are resumed. */
const MessagePauseSchema = defineEntity({
  name: 'MessagePause',
  tableName: 'message_pauses',
  properties: {
    accountId: p.text().collation('C').primary(),
    batch: p.text().collation('C').primary(),
  },
})
export class MessagePause extends MessagePauseSchema.class {}
MessagePauseSchema.setClass(MessagePause)

/**
 * Counters of ended messages of a batch, one row for each statement that ended some. Inserting rows needs no lock, so recording
 * workers never wait for each other, and readers need not count the batch. The batch's owner deletes the rows as it adds them up.
 */
const MessageTallySchema = defineEntity({
  name: 'MessageTally',
  tableName: 'message_tallies',
  properties: {
    accountId: p.text().collation('C').primary(),
    batch: p.text().collation('C').primary(),
    id: p.uuid().defaultRaw('gen_random_uuid()').primary(),
    status: p.enum(['sent', 'failed', 'suppressed'] as const),
    count: p.integer(),
  },
})
export class MessageTally extends MessageTallySchema.class {}
MessageTallySchema.setClass(MessageTally)

/**
 * Messages that a relay rejected because the recipient does not exist, from the statement that records this until the address is
 * suppressed (messages/outbox/outbox.suppress.ts). The address is stored only with the message.
 */
const PendingSuppressionSchema = defineEntity({
  name: 'PendingSuppression',
  tableName: 'pending_suppressions',
  properties: {
    accountId: p.text().collation('C').primary(),
    messageId: p.text().collation('C').primary(),
  },
})
export class PendingSuppression extends PendingSuppressionSchema.class {}
PendingSuppressionSchema.setClass(PendingSuppression)

/** The recorded reports of a message, so that a repeated report changes nothing. The address is stored only with the message. */
const MessageReportSchema = defineEntity({
  name: 'MessageReport',
  tableName: 'message_reports',
  properties: {
    accountId: p.text().collation('C').primary(),
    messageId: p.text().collation('C').primary(),
    /** SHA-256 of the report's identifying content, in hex. */
    fingerprint: p.text().collation('C').primary(),
    kind: p.enum(['hard', 'soft', 'delayed', 'complaint', 'other'] as const),
    createdAt: p.datetime(),
  },
})
export class MessageReport extends MessageReportSchema.class {}
MessageReportSchema.setClass(MessageReport)
