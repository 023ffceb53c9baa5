import { newId } from '../../lib/ids.ts'
import type { Work } from '../../store/work.ts'
import { heldUntil } from '../messages.queue.ts'
import type { MessageType } from '../messages.shapes.ts'
import { suppressedReason } from '../suppression/suppression.ts'
import { mailChannel, noticeOf } from './claim.ts'

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
  /** Idempotency key, unique in the account without a time limit; null: none. */
  key: string | null
  source: Source
  type: MessageType
  /** Normalised. */
  to: string
  fromEmail: string | null
  fromName: string | null
  replyTo: string | null
  subject: string
  content: Freeform | { projectId: string; version: number; mergeData: Record<string, string> } | null
  /** Why it can't be sent; null: it can. */
  error: string | null
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
  /** The sealed DKIM key of its verified domain; null: none, or the message was inserted unclaimed. */
  sealedKey: string | null
}

/** Messages that belong together, and wait in a stream of their own. */
export interface Batch {
  id: string
  /** Its messages are due only after `releaseMails`. */
  isHeld: boolean
}

// The messages of one statement are due one microsecond apart, so that the due time shows where a claim stopped. Messages whose key
// is taken are skipped, also if the key is used twice in this statement or by a transaction that this one waits for.
const inserting = `
  with clock as materialized (
    select svc_now() as now
  ), draft as materialized (
    select d.*, case when d.error is null then ${suppressedReason('$1', 'd.email', 'd.type')} end as reason
    from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[],
      $11::text[], $12::text[], $13::text[], $14::text[], $15::text[], $16::int[], $17::text[], $18::text[], $19::boolean[], $23::text[])
      with ordinality as d(id, key, source_kind, source_id, type, email, from_email, from_name, reply_to, subject, html,
        text, project_id, project_version, merge_data, error, is_patient, calendar, n)
  ), inserted as (
    insert into messages (account_id, id, key, source_kind, source_id, type, email, from_email, from_name, reply_to,
      subject, html, text, calendar, project_id, project_version, merge_data, status, reason, error, created_at, finished_at)
    select $1, id, key, source_kind, source_id, type, email, from_email, from_name, reply_to, subject, html, text,
      calendar, project_id, project_version, merge_data::jsonb,
      case when error is not null then 'failed' when reason is not null then 'suppressed' else 'pending' end,
      reason, error, $2, case when coalesce(error, reason) is not null then $2::timestamptz end
    from draft order by n
    on conflict (account_id, key) where key is not null do nothing
    returning id, status, reason, error, from_email
  ), queued as (
    insert into message_queue (account_id, id, batch, due_at, worker, claim, is_patient)
    select $1, d.id, $21, case when $22 then ${heldUntil} else clock.now + (d.n - 1) * interval '1 microsecond' end, $20::int, case when $20::int is null then 0 else 1 end,
      d.is_patient
    from draft d join inserted i on i.id = d.id, clock where i.status = 'pending'
  )
  select i.id, i.status, i.reason, i.error, case when $20::int is not null then (
      select sealed_key from domains
      where account_id = $1 and domain = split_part(i.from_email, '@', -1) and status = 'verified' limit 1
    ) end as "sealedKey", (extract(epoch from clock.now) * 1e6)::int8 as "dueAt" from inserted i, clock`

/**
 * Inserts messages and queues them, in the transaction of their cause. Decides whether a recipient is suppressed. With `worker` they
 * are inserted as claimed by it; otherwise the mail jobs are notified. Returns the rows in the order of `messages`, undefined for a
 * key that was taken. Counts no quota.
 */
export const insertMessages = async (
  { sql, accountId, now, count }: Work,
  messages: readonly NewMessage[],
  worker: number | null,
  batch: Batch = { id: '', isHeld: false },
): Promise<(Inserted | undefined)[]> => {
  const ids = messages.map(() => newId('msg', now.getTime()))
  const contents = messages.map(({ content }) => ({
    html: null,
    text: null,
    calendar: null,
    projectId: null,
    version: null,
    mergeData: null,
    ...content,
  }))
  const rows = await sql<Inserted & { dueAt: number }>(
    inserting,
    [
      accountId,
      now,
      ids,
      messages.map(({ key }) => key),
      messages.map(({ source }) => source.kind),
      messages.map(({ source }) => source.id),
      messages.map(({ type }) => type),
      messages.map(({ to }) => to),
      messages.map(({ fromEmail }) => fromEmail),
      messages.map(({ fromName }) => fromName),
      messages.map(({ replyTo }) => replyTo),
      messages.map(({ subject }) => subject),
      contents.map(({ html }) => html),
      contents.map(({ text }) => text),
      contents.map(({ projectId }) => projectId),
      contents.map(({ version }) => version),
      contents.map(({ mergeData }) => mergeData && JSON.stringify(mergeData)),
      messages.map(({ error }) => error),
      messages.map(({ isPatient }) => isPatient),
      worker,
      batch.id,
      batch.isHeld,
      contents.map(({ calendar }) => calendar),
    ],
    'insert-messages',
  )
  for (const { status } of rows) if (status !== 'pending') count('sends', status)
  const queued = rows.find(({ status }) => status === 'pending')
  if (queued && worker === null && !batch.isHeld) {
    await sql(`select pg_notify('${mailChannel}', $1)`, [noticeOf(accountId, batch.id, queued.dueAt)])
  }
  const byId = new Map(rows.map(({ dueAt: _, ...row }) => [row.id, row]))
  return ids.map((id) => byId.get(id))
}

/** Marks messages that this transaction inserted as failed, because the quota is used up. */
export const failInserted = async (
  { sql, accountId, now, count }: Work,
  ids: readonly string[],
  error: string,
): Promise<void> => {
  await sql(
    `with gone as (delete from message_queue where account_id = $1 and id = any($2))
     update messages set status = 'failed', error = $3, finished_at = $4 where account_id = $1 and id = any($2)`,
    [accountId, ids, error, now],
  )
  count('sends', 'failed', ids.length)
}
