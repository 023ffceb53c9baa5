import { newId } from '../../lib/ids.ts'
import { rowset } from '../../store/rowset.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import type { Work } from '../../store/work.ts'
import { heldUntil } from '../messages.queue.ts'
import type { MessageType } from '../messages.shapes.ts'
import { countEnded, endedColumns } from '../results/results.ts'
import { suppressedReason } from '../suppression/suppression.ts'
import { mailChannel, noticeOf } from './outbox.claim.ts'

/** What caused a message; `id` null: the message itself. */
export interface Source {
  kind: 'send' | 'journey' | 'lifecycle'
  id: string | null
}

/** `calendar`: an iCalendar text with a METHOD, such as an invitation. */
export interface Freeform {
  html: string
  text: string
  calendar?: string
}

/** A message to insert. Its content is freeform, or the version of a project. */
export interface NewMessage {
  /** Idempotency key, unique in the account without a time limit; null if there is none. */
  key: string | null
  source: Source
  type: MessageType
  /** Of marketing email. */
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
  /** Why it can't be sent; null if it can. */
  error: string | null
  /** Number of attachments of its call. */
  attachments?: number | undefined
  /** When it will be sent. Then no worker claims it at once. Default: as soon as possible. */
  scheduledAt?: Date | undefined
  /** Whether it is retried after a temporary failure. */
  isPatient: boolean
}

export interface Inserted {
  id: string
  status: 'pending' | 'suppressed' | 'failed'
  /** Why it was suppressed. */
  reason: string | null
  /** Why it failed. */
  error: string | null
  /** The sealed DKIM key of its verified domain; null if there is none, or the message was inserted unclaimed. */
  sealedKey: string | null
}

/** Messages that belong together, and wait in a stream of their own. */
export interface Batch {
  id: string
  /** Its messages are due only after `releaseMails`. */
  isHeld: boolean
}

/** The messages of one statement, with the types of their columns. */
const drafts = rowset(6, {
  id: 'text',
  key: 'text',
  source_kind: 'text',
  source_id: 'text',
  type: 'text',
  email: 'text',
  from_email: 'text',
  from_name: 'text',
  reply_to: 'text',
  subject: 'text',
  html: 'text',
  text: 'text',
  calendar: 'text',
  project_id: 'text',
  project_version: 'int',
  merge_data: 'text',
  error: 'text',
  is_patient: 'boolean',
  headers: 'text',
  copy: 'text',
  copy_of: 'text',
  scheduled_at: 'text',
  attachments: 'int',
  topic_id: 'text',
})

const noContent = { html: null, text: null, calendar: null, projectId: null, version: null, mergeData: null }

const draftOf = (id: string, message: NewMessage) => {
  const { key, source, type, topicId, to, fromEmail, fromName, replyTo, subject, error, isPatient } = message
  const { html, text, calendar, projectId, version, mergeData } = { ...noContent, ...message.content }
  return {
    id,
    key,
    type,
    subject,
    html,
    text,
    error,
    calendar: calendar ?? null,
    source_kind: source.kind,
    source_id: source.id,
    email: to,
    from_email: fromEmail,
    from_name: fromName,
    reply_to: replyTo,
    project_id: projectId,
    project_version: version,
    merge_data: mergeData && JSON.stringify(mergeData),
    is_patient: isPatient,
    headers: message.headers ? JSON.stringify(message.headers) : null,
    copy: message.copy?.kind ?? null,
    copy_of: message.copy?.of ?? null,
    attachments: message.attachments || null,
    topic_id: topicId ?? null,
    scheduled_at: message.scheduledAt?.toISOString() ?? null,
  }
}

// Messages whose key is taken are skipped, also if the key is used twice in this statement or by a transaction that this one
// waits for.
const insertingRows = `
  insert into messages as m (account_id, id, key, source_kind, source_id, type, topic_id, email, from_email, from_name, reply_to,
    subject, html, text, calendar, project_id, project_version, merge_data, headers, copy, copy_of, scheduled_at, attachments, status, reason, error, created_at, finished_at)
  select $1, id, key, source_kind, source_id, type, topic_id, email, from_email, from_name, reply_to, subject, html, text,
    calendar, project_id, project_version, merge_data::jsonb, headers::jsonb, copy, copy_of, scheduled_at::timestamptz, attachments,
    case when error is not null then 'failed' when reason is not null then 'suppressed' else 'pending' end,
    reason, error, $2, case when coalesce(error, reason) is not null then $2::timestamptz end
  from draft order by n
  on conflict (account_id, key) where key is not null do nothing
  returning id, status, reason, error, from_email, ${endedColumns('m')}`

// The messages of one statement are due one microsecond apart, so that the due time shows where a claim stopped.
const queueing = `
  insert into message_queue (account_id, id, batch, due_at, worker, claim, is_patient)
  select $1, d.id, $4, coalesce(d.scheduled_at::timestamptz,
      case when $5 then ${heldUntil} else clock.now + (d.n - 1) * interval '1 microsecond' end),
    case when d.scheduled_at is null then $3::int end,
    case when $3::int is null or d.scheduled_at is not null then 0 else 1 end, d.is_patient
  from draft d join inserted i on i.id = d.id, clock where i.status = 'pending'`

/** $1 account, $2 now, $3 worker, $4 batch, $5 whether the batch is held, then `drafts`. */
const inserting = preparedStatement<Inserted & { dueAt: number }>(
  'insert-messages',
  { id: 'text', status: 'text', reason: 'text', error: 'text', sealedKey: 'text', dueAt: 'int8' },
  `with clock as materialized (
     select svc_now() as now
   ), draft as materialized (
     select d.*, case when d.error is null then ${suppressedReason('$1', 'd.email', 'd.type', 'd.topic_id')} end as reason
     from ${drafts.as('d')}
   ), inserted as (${insertingRows}
   ), queued as (${queueing}
   ), counted as (${countEnded(
     `select account_id, project_id, cause, day, metric, count from inserted where status <> 'pending'`,
   )}
   )
   select i.id, i.status, i.reason, i.error, case when $3::int is not null then (
       select sealed_key from domains
       where account_id = $1 and domain = split_part(i.from_email, '@', -1) and status = 'verified' limit 1
     ) end as "sealedKey", (extract(epoch from clock.now) * 1e6)::int8 as "dueAt" from inserted i, clock`,
)

/**
 * Inserts messages and queues them, in the transaction of their cause. Decides whether a recipient is suppressed. With `worker` they
 * are inserted as claimed by it; otherwise the mail jobs are notified. Returns the rows in the order of `messages`, undefined for a
 * key that was taken. Counts no quota.
 */
export const insertMessages = async (
  { sql, accountId, now, count, announce }: Work,
  messages: readonly NewMessage[],
  worker: number | null,
  batch: Batch = { id: '', isHeld: false },
): Promise<(Inserted | undefined)[]> => {
  // Copies of one email are listed in the order of their ids.
  const ids = messages.map(() => newId('msg', now.getTime())).sort()
  const params = drafts.params(messages.map((message, i) => draftOf(ids[i]!, message)))
  const rows = await sql(inserting, [accountId, now, worker, batch.id, batch.isHeld, ...params])
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
  {},
  `with gone as (
     delete from message_queue where account_id = $1 and id = any($2)
   ), ended as (
     update messages m set status = 'failed', error = $3, finished_at = $4 where account_id = $1 and id = any($2)
     returning ${endedColumns('m')}
   ) ${countEnded('select * from ended')}`,
)

/** Marks messages that this transaction inserted as failed, because the quota is used up. */
export const failInserted = async (
  { sql, accountId, now, count }: Work,
  ids: readonly string[],
  error: string,
): Promise<void> => {
  await sql(failRows, [accountId, ids, error, now])
  count('sends', 'failed', ids.length)
}
