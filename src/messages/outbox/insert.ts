import { newId } from '../../lib/ids.ts'
import { countEnded } from '../../results/results.rows.ts'
import { keyOfDomain } from '../../senders/senders.rows.ts'
import { type RowOf, typed } from '../../store/column-types.ts'
import { rowset } from '../../store/rowset.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { Work } from '../../store/work.ts'
import { suppressedReason } from '../../suppressions/suppressions.rows.ts'
import { messageQueue, messages } from '../messages.columns.ts'
import { endedColumns } from '../messages.ended.ts'
import { heldUntil } from '../messages.queue.ts'
import type { MessageType } from '../messages.shapes.ts'
import { mailChannel, noticeOf } from './outbox.claim.ts'

/** What caused a message; `id` null: the message itself. */
export interface Source {
  kind: 'send' | 'journey' | 'lifecycle'
  id: string | null
}

/** Content that belongs to no project. `calendar` is an iCalendar text with a METHOD, such as an invitation. */
export interface Freeform {
  html: string
  text: string
  calendar?: string
}

/** A message to insert. Its content is freeform, or the version of a project. */
export interface NewMessage {
  /** The idempotency key, unique in the account without a time limit. It is null if there is none. */
  key: string | null
  source: Source
  type: MessageType
  /** The topic of marketing email. */
  topicId?: string | undefined
  /** Normalised. */
  to: string
  fromEmail: string | null
  fromName: string | null
  replyTo: string | null
  subject: string
  content:
    | Freeform
    | { projectId: string; version: number; mergeData: Record<string, string>; calendar?: string }
    | null
  /** Headers that the caller added. */
  headers?: Record<string, string> | undefined
  /** Which of several recipients it is for, and the id of the message to the first one. */
  copy?: { kind: 'to'; of: null } | { kind: 'cc' | 'bcc'; of: string } | undefined
  /** Why it can't be sent. It is null if it can. */
  error: string | null
  attachments?: number | undefined
  /** When it will be sent. Then no worker claims it at once. Without a time it is sent as soon as possible. */
  scheduledAt?: Date | undefined
  /** Whether it is retried after a temporary failure. */
  isPatient: boolean
  /** It is not sent from this time on. */
  expiresAt?: Date | undefined
}

const insertedTypes = {
  ...types(messages, 'id', 'reason', 'error'),
  status: typed<'pending' | 'suppressed' | 'failed'>('text'),
  /** The sealed DKIM key of its verified domain. It is null if there is none, or the message was inserted unclaimed. */
  sealedKey: 'text?',
} as const

/** What a message became. `reason` says why it was suppressed, `error` why it failed. */
export type Inserted = RowOf<typeof insertedTypes>

/** Messages that belong together, and wait in a stream of their own. */
export interface Batch {
  id: string
  /** Its messages are due only after `releaseMails`. */
  isHeld: boolean
}

const draftColumns = columns(messages, [
  'id',
  'key',
  'sourceKind',
  'sourceId',
  'type',
  'topicId',
  'email',
  'fromEmail',
  'fromName',
  'replyTo',
  'subject',
  'html',
  'text',
  'calendar',
  'projectId',
  'projectVersion',
  'mergeData',
  'headers',
  'copy',
  'copyOf',
  'scheduledAt',
  'attachments',
  'error',
])

const drafts = rowset({ ...draftColumns.types, ...types(messageQueue, 'isPatient', 'expiresAt') })

const noContent = { html: null, text: null, calendar: null, projectId: null, version: null, mergeData: null }

const draftOf = (id: string, message: NewMessage) => {
  const { key, source, type, to, fromEmail, fromName, replyTo, subject, error, isPatient } = message
  const { topicId = null, headers = null, copy = null, scheduledAt = null, attachments, expiresAt = null } = message
  const { html, text, calendar = null, projectId, version, mergeData } = { ...noContent, ...message.content }
  return {
    id,
    key,
    sourceKind: source.kind,
    sourceId: source.id,
    type,
    topicId,
    email: to,
    fromEmail,
    fromName,
    replyTo,
    subject,
    html,
    text,
    calendar,
    projectId,
    projectVersion: version,
    mergeData,
    headers,
    copy: copy?.kind ?? null,
    copyOf: copy?.of ?? null,
    scheduledAt,
    attachments: attachments || null,
    error,
    isPatient,
    expiresAt,
  }
}

// Messages whose key is taken are skipped, also if the key is used twice in this statement or by a transaction that this one
// waits for.
const insertingRows = `
  insert into messages as m (account_id, ${draftColumns.names}, status, reason, created_at, finished_at)
  select :accountId, ${draftColumns.names},
    case when error is not null then 'failed' when reason is not null then 'suppressed' else 'pending' end,
    reason, :now, case when coalesce(error, reason) is not null then :now::timestamptz end
  from draft order by n
  on conflict (account_id, key) where key is not null do nothing
  returning id, status, reason, error, from_email, ${endedColumns('m')}`

// The messages of one statement are due one microsecond apart, so that the due time shows where a claim stopped.
const queueing = `
  insert into message_queue (account_id, id, batch, due_at, worker, claim, is_patient, expires_at)
  select :accountId, d.id, :batch, coalesce(d.scheduled_at,
      case when :isHeld then ${heldUntil} else clock.now + (d.n - 1) * interval '1 microsecond' end),
    case when d.scheduled_at is null then given.worker end,
    case when given.worker is null or d.scheduled_at is not null then 0 else 1 end, d.is_patient, d.expires_at
  from draft d join inserted i on i.id = d.id, given, clock where i.status = 'pending'`

// The planner does not see whether there is a worker: it would plan each execution without one again.
const insertDrafts = preparedStatement(
  'insert-messages',
  {
    row: { ...insertedTypes, dueAt: 'int8' },
    parameters: {
      accountId: 'text',
      now: 'timestamptz',
      worker: 'int4?',
      batch: 'text',
      isHeld: 'bool',
      ...drafts.parameters,
    },
  },
  `with clock as materialized (
     select svc_now() as now
   ), given as materialized (
     select :worker::int as worker
   ), draft as materialized (
     select d.*, case when d.error is null then ${suppressedReason(':accountId', 'd.email', 'd.type', 'd.topic_id')} end as reason
     from ${drafts.as('d')}
   ), inserted as (${insertingRows}
   ), queued as (${queueing}
   ), counted as (${countEnded(
     `select account_id, project_id, cause, day, metric, count from inserted where status <> 'pending'`,
   )}
   )
   select i.id, i.status, i.reason, i.error, case when given.worker is not null then (
       ${keyOfDomain(':accountId', `split_part(i.from_email, '@', -1)`)}
     ) end as "sealedKey", (extract(epoch from clock.now) * 1e6)::int8 as "dueAt" from inserted i, given, clock`,
)

/**
 * Inserts messages and queues them, in the transaction of their cause. Decides whether a recipient is suppressed. With `worker` they
 * are inserted as claimed by it; otherwise the mail jobs are notified. Returns the rows in the order of `given`, undefined for a
 * key that was taken. Counts no quota.
 */
export const insertMessages = async (
  { sql, accountId, now, count, announce }: Work,
  given: readonly NewMessage[],
  worker: number | null,
  batch: Batch = { id: '', isHeld: false },
): Promise<(Inserted | undefined)[]> => {
  // Copies of one email are listed in the order of their ids.
  const ids = given.map(() => newId('msg', now.getTime())).sort()
  const values = drafts.values(given.map((message, i) => draftOf(ids[i]!, message)))
  const rows = await sql(insertDrafts, { accountId, now, worker, batch: batch.id, isHeld: batch.isHeld, ...values })
  for (const { status } of rows) if (status !== 'pending') count('sends', status)
  const queued = rows.find(({ status }) => status === 'pending')
  if (queued && worker === null && !batch.isHeld) {
    announce(mailChannel, noticeOf({ accountId, batch: batch.id }, queued.dueAt), { ownFirst: true })
  }
  const byId = new Map(rows.map(({ dueAt: _, ...row }) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

const failRows = statement(
  'fail-inserted-messages',
  { parameters: { accountId: 'text', ids: '_text', error: 'text', now: 'timestamptz' } },
  `with gone as (
     delete from message_queue where account_id = :accountId and id = any(:ids)
   ), ended as (
     update messages m set status = 'failed', error = :error, finished_at = :now
     where account_id = :accountId and id = any(:ids)
     returning ${endedColumns('m')}
   ) ${countEnded('select * from ended')}`,
)

/** Marks messages that this transaction inserted as failed, because the quota is used up. */
export const failInserted = async (
  { sql, accountId, now, count }: Work,
  ids: readonly string[],
  error: string,
): Promise<void> => {
  await sql(failRows, { accountId, ids, error, now })
  count('sends', 'failed', ids.length)
}
