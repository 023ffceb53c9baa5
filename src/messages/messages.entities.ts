import { defineEntity, p } from '@mikro-orm/postgresql'
import { owned, tenantFilter } from '../store/owned.ts'
import { messageStatuses } from './messages.shapes.ts'

/** The account's own relay; without one its mail goes by the platform's. */
const RelaySchema = defineEntity({
  name: 'Relay',
  tableName: 'relays',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    host: p.text(),
    port: p.integer(),
    /** TLS from the first byte (smtps). */
    isSecure: p.boolean(),
    username: p.text().nullable(),
    /** Sealed with the account's id as context. */
    sealedPassword: p.text().nullable(),
    /** Reports come to it, plus the id of the message (VERP); null: to the From address. */
    bounceAddress: p.text().nullable(),
    updatedAt: p.datetime(),
  },
})
export class Relay extends RelaySchema.class {}
RelaySchema.setClass(Relay)

/** Who an account's mail may be from, beside every address of its verified domains. */
const SenderSchema = defineEntity({
  name: 'Sender',
  tableName: 'senders',
  filters: tenantFilter,
  uniques: [{ properties: ['accountId', 'email'] }],
  indexes: [
    {
      name: 'senders_default_index',
      expression: `create unique index "senders_default_index" on "senders" ("account_id") where "is_default"`,
    },
  ],
  properties: {
    id: p.text().collation('C').primary(),
    ...owned,
    email: p.text().collation('C'),
    name: p.text(),
    replyTo: p.text().nullable(),
    isDefault: p.boolean(),
    createdAt: p.datetime(),
  },
})
export class Sender extends SenderSchema.class {}
SenderSchema.setClass(Sender)

/** A domain that an account sends from: its mail is signed once DNS says that it is the account's. */
const DomainSchema = defineEntity({
  name: 'Domain',
  tableName: 'domains',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    /** In its ASCII form. */
    domain: p.text().collation('C').primary(),
    status: p.enum(['pending', 'verified'] as const),
    /** What the ownership record must say. */
    token: p.text(),
    /** The public half, base64 DER, as the DKIM record has it. */
    publicKey: p.text(),
    /** The private half, PEM, sealed with account and domain as context. */
    sealedKey: p.text(),
    /** The purposes of the records that the last look at DNS found. */
    found: p.array(),
    createdAt: p.datetime(),
    checkedAt: p.datetime().nullable(),
  },
})
export class Domain extends DomainSchema.class {}
DomainSchema.setClass(Domain)

/** Why an address gets no mail, or no marketing: a row a reason. `invalid` and `pending` are the contact's own and not here. */
const SuppressionSchema = defineEntity({
  name: 'Suppression',
  tableName: 'suppressions',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    email: p.text().collation('C').primary(),
    reason: p.enum(['complained', 'bounced', 'manual', 'unsubscribed'] as const).primary(),
    createdAt: p.datetime(),
  },
})
export class Suppression extends SuppressionSchema.class {}
SuppressionSchema.setClass(Suppression)

/**
 * Every mail, written once and completed at its end. No column that this changes stands in an index, and pages keep room: the
 * end of a mail rewrites neither its content nor an index.
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
    // What still has content, for the retention. Nothing of it is changed by the end of a mail.
    {
      name: 'messages_content_index',
      expression: `create index "messages_content_index" on "messages" ("created_at", "id") where "dropped_at" is null`,
    },
    // A report names a message and no account.
    { name: 'messages_id_index', expression: `create unique index "messages_id_index" on "messages" ("id")` },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    /** What makes it the only one: `api:` and an Idempotency-Key, or what another feature names. */
    key: p.text().collation('C').nullable(),
    /** What it belongs to: a call of POST /send, a journey, a lifecycle event. */
    sourceKind: p.enum(['send', 'journey', 'lifecycle'] as const),
    /** null: the message itself. */
    sourceId: p.text().nullable(),
    type: p.enum(['transactional', 'marketing'] as const),
    email: p.text().collation('C'),
    fromEmail: p.text().nullable(),
    fromName: p.text().nullable(),
    replyTo: p.text().nullable(),
    subject: p.text(),
    /** Freeform content; null where a project is rendered. */
    html: p.text().nullable(),
    text: p.text().nullable(),
    /** An iCalendar text that goes with freeform content. */
    calendar: p.text().nullable(),
    projectId: p.text().nullable(),
    projectVersion: p.integer().nullable(),
    mergeData: p.json<Record<string, string>>().nullable(),
    status: p.enum(messageStatuses),
    /** Why it was suppressed. */
    reason: p.text().nullable(),
    /** Why it failed, in a sentence. */
    error: p.text().nullable(),
    createdAt: p.datetime(),
    finishedAt: p.datetime().nullable(),
    /** When its content was dropped (messages.retention.ts); null: it is there. */
    droppedAt: p.datetime().nullable(),
  },
})
export class Message extends MessageSchema.class {}
MessageSchema.setClass(Message)

/** The queue: what is on its way. What a claim changes stands in no index. */
const QueuedMessageSchema = defineEntity({
  name: 'QueuedMessage',
  tableName: 'message_queue',
  indexes: [{ name: 'message_queue_due_index', properties: ['accountId', 'batch', 'dueAt'] }],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    /** The batch that it belongs to, which waits in a queue of its own behind the account's single mails; '': none. */
    batch: p.text().collation('C').default(''),
    dueAt: p.datetime(),
    /** Whose it is (workers.id); null: anybody's once it is due. */
    worker: p.integer().nullable(),
    /** Counts claims: only the newest may hand over and record. */
    claim: p.integer().default(0),
    /** A connection has taken it: the relay may have it, so nobody else hands it over, whatever becomes of the worker. */
    isHanding: p.boolean().default(false),
    /** Attempts that the relay put off. */
    tries: p.integer().default(0),
    /** Whether it is tried again when the relay is away or puts it off; a caller of POST /send is told at once. */
    isPatient: p.boolean(),
  },
})
export class QueuedMessage extends QueuedMessageSchema.class {}
QueuedMessageSchema.setClass(QueuedMessage)

/**
 * How many mails of a batch have ended, a row for each statement that ended some: nobody who records waits for another, and
 * nobody who looks counts the batch. Whoever made the batch takes them away as it adds them up.
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
 * Messages whose relay said that there is no such recipient, from the statement that records it until the address is suppressed
 * (mail.suppress.ts). It holds no address: that is the message's.
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

/** Which reports of a message were recorded: the same one again changes nothing. It holds no address: that is the message's. */
const MessageReportSchema = defineEntity({
  name: 'MessageReport',
  tableName: 'message_reports',
  properties: {
    accountId: p.text().collation('C').primary(),
    messageId: p.text().collation('C').primary(),
    /** SHA-256 of what makes the report this one, in hex. */
    fingerprint: p.text().collation('C').primary(),
    kind: p.enum(['hard', 'soft', 'delayed', 'complaint', 'other'] as const),
    createdAt: p.datetime(),
  },
})
export class MessageReport extends MessageReportSchema.class {}
MessageReportSchema.setClass(MessageReport)

/** Where an account's reports arrive, read each minute. */
const BounceMailboxSchema = defineEntity({
  name: 'BounceMailbox',
  tableName: 'bounce_mailboxes',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    host: p.text(),
    port: p.integer(),
    /** TLS from the first byte (imaps). */
    isSecure: p.boolean(),
    username: p.text(),
    folder: p.text(),
    /** Sealed with `bounces` and the account's id as context. */
    sealedPassword: p.text().nullable(),
    updatedAt: p.datetime(),
    /** The last time it was tried, and why that failed; null: it went well. */
    readAt: p.datetime().nullable(),
    error: p.text().nullable(),
  },
})
export class BounceMailbox extends BounceMailboxSchema.class {}
BounceMailboxSchema.setClass(BounceMailbox)
