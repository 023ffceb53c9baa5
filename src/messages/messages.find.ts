import { countingByStatus } from '../accounts/accounts.ts'
import { rowIdOf } from '../contacts/contacts.ts'
import { decodeCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import { opaqueArray } from '../store/arrays.ts'
import { typed, typedRow } from '../store/column-types.ts'
import type { Sql } from '../store/database.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import { heldUntil } from './messages.queue.ts'
import { messageStatuses } from './messages.shapes.ts'
import { causeOf } from './results/results.ts'

/** A message as `svc sends` shows it. Times in epoch ms. */
export interface MessageView {
  id: string
  status: 'pending' | 'sent' | 'failed' | 'suppressed'
  reason: string | null
  error: string | null
  type: 'transactional' | 'marketing'
  to: string
  subject: string
  projectId: string | null
  source: { kind: string; id: string }
  createdAt: number
  finishedAt: number | null
}

/** A message with its content, its sender and its state in the queue. */
export interface MessageDetail extends MessageView {
  from: { email: string; name: string } | null
  replyTo: string | null
  html: string | null
  text: string | null
  calendar: string | null
  projectVersion: number | null
  /** The topic that it belongs to, which may be deleted. */
  topicId: string | null
  mergeData: Record<string, string> | null
  /** Headers that the caller added. */
  headers: Record<string, string> | null
  /** Which recipient of a call with several it is for; null if the call had one. */
  copy: 'to' | 'cc' | 'bcc' | null
  /** Of a cc or bcc: the message to the call's `to`. */
  copyOf: string | null
  /** Its attachments without their content. */
  attachments: { filename: string; contentType: string; contentId: string | null; size: number }[]
  /** When it will be sent; null: as soon as possible. */
  scheduledAt: number | null
  /** When its content was deleted: html, text and calendar are null since then, and merge data has only the fields of links. */
  contentDroppedAt: number | null
  /** It is null if the message is not queued any more. `dueAt` null: its broadcast has not released it yet. */
  queue: { state: 'queued' | 'claimed' | 'handing'; tries: number; dueAt: number | null } | null
}

interface MessageFilter {
  status: MessageView['status'] | null
  /** Normalised. */
  email: string | null
  sinceId: string | null
}

export const epochMs = (column: string): string => `(extract(epoch from ${column}) * 1000)::int8`

/** SQL join: the message `m` that the column `message_id` of `owner` names. */
export const joinMessage = (owner: string) =>
  `join messages m on m.account_id = ${owner}.account_id and m.id = ${owner}.message_id`

/** SQL expression: what caused the message `m`, as `source` of a view. */
export const sourceOfMessage = `json_build_object('kind', m.source_kind, 'id', coalesce(m.source_id, m.id))`

const columns = `m.id, m.status, m.reason, m.error, m.type, m.email as "to", m.subject, m.project_id as "projectId",
  ${sourceOfMessage} as source,
  ${epochMs('m.created_at')} as "createdAt", ${epochMs('m.finished_at')} as "finishedAt"`

const fromColumns = `case when m.from_email is not null
    then json_build_object('email', m.from_email, 'name', m.from_name) end as "from", m.reply_to as "replyTo"`

const types = {
  id: 'text',
  status: 'text',
  reason: 'text',
  error: 'text',
  type: 'text',
  to: 'text',
  subject: 'text',
  projectId: 'text',
  source: 'json',
  createdAt: 'int8',
  finishedAt: 'int8',
} as const

const attachmentsOfMessage = `case when m.attachments > 0 then (
    select coalesce(json_agg(json_build_object('filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
      'size', a.size) order by a.position), '[]')
    from message_attachments a where a.account_id = m.account_id and a.message_id = coalesce(m.copy_of, m.id)
  ) else '[]' end`

/** The columns of a `MessageDetail`, for `from messages m`. */
export const detailColumns = `${columns}, ${fromColumns}, m.html, m.text, m.calendar, m.project_version as "projectVersion", m.topic_id as "topicId", m.merge_data as "mergeData", m.headers, m.copy, m.copy_of as "copyOf", ${attachmentsOfMessage} as attachments, ${epochMs('m.scheduled_at')} as "scheduledAt",
  ${epochMs('m.dropped_at')} as "contentDroppedAt"`

/** The types of `detailColumns`. */
export const detailTypes = {
  ...types,
  from: 'json',
  replyTo: 'text',
  html: 'text',
  text: 'text',
  calendar: 'text',
  projectVersion: 'int4',
  topicId: 'text',
  mergeData: 'jsonb',
  headers: 'jsonb',
  copy: 'text',
  copyOf: 'text',
  attachments: 'json',
  scheduledAt: 'int8',
  contentDroppedAt: 'int8',
} as const

const readStatus = preparedStatement(
  'message-status',
  { row: { status: typed<MessageView['status']>('text') }, parameters: { accountId: 'text', id: 'text' } },
  'select status from messages where account_id = :accountId and id = :id',
)

/** Returns a message's status, or null if the account has no such message. */
export const statusOf = async (
  { sql, accountId }: Pick<Work, 'sql' | 'accountId'>,
  id: string,
): Promise<MessageView['status'] | null> => {
  const [row] = await sql(readStatus, { accountId, id })
  return row?.status ?? null
}

const readPage = statement(
  'list-messages',
  {
    row: typedRow<MessageView>(types),
    parameters: {
      accountId: 'text',
      before: 'text?',
      status: 'text?',
      email: 'text?',
      sinceId: 'text?',
      limit: 'int8',
    },
  },
  `select ${columns} from messages m
   where m.account_id = :accountId and (:before::text is null or m.id < :before) and (:status::text is null or m.status = :status)
     and (:email::text is null or m.email = :email) and (:sinceId::text is null or m.id >= :sinceId)
   order by m.id desc limit :limit`,
)

/** Returns a page of the account's messages, newest first. */
export const listMessages = async (
  { sql, accountId }: Work,
  { status, email, sinceId }: MessageFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<MessageView>> => {
  const before = cursor === undefined ? null : decodeCursor(cursor, 1)[0]
  const rows = await sql(readPage, { accountId, before: before ?? null, status, email, sinceId, limit: limit + 1 })
  return pageOf(rows, limit)
}

const readDetail = statement(
  'read-message',
  { row: typedRow<MessageDetail>({ ...detailTypes, queue: 'json' }), parameters: { accountId: 'text', id: 'text' } },
  `select ${detailColumns},
     case when q.id is not null then json_build_object(
       'state', case when q.is_handing then 'handing' when q.worker is not null then 'claimed' else 'queued' end,
       'tries', q.tries, 'dueAt', case when q.due_at < ${heldUntil} then ${epochMs('q.due_at')} end) end as queue
   from messages m left join message_queue q on q.account_id = m.account_id and q.id = m.id
   where m.account_id = :accountId and m.id = :id`,
)

/** Throws Problem `not_found`. */
export const showMessage = async ({ sql, accountId }: Work, id: string): Promise<MessageDetail> => {
  const [row] = await sql(readDetail, { accountId, id })
  if (!row) throw noSuch('send', id, { hint: 'svc sends list' })
  return row
}

/** A message as GET /sends answers it, without what its recipient did. Times in epoch ms. */
export interface SendView {
  id: string
  to: string
  subject: string
  type: MessageView['type']
  status: MessageView['status']
  /** Why it failed or was suppressed; null if neither. */
  error: string | null
  createdAt: number
  sentAt: number | null
  /** null: as soon as possible. */
  scheduledAt: number | null
  /** A report says that it was not delivered. */
  bounced: boolean
}

const sendTypes = {
  ...({ id: 'text', to: 'text', subject: 'text', type: 'text', status: 'text', error: 'text' } as const),
  ...({ createdAt: 'int8', sentAt: 'int8', scheduledAt: 'int8', bounced: 'bool' } as const),
}

const sendColumns = `m.id, m.email as "to", m.subject, m.type, m.status, coalesce(m.error, m.reason) as error,
  ${epochMs('m.created_at')} as "createdAt", case when m.status = 'sent' then ${epochMs('m.finished_at')} end as "sentAt",
  ${epochMs('m.scheduled_at')} as "scheduledAt", exists (
    select from message_reports r where r.account_id = m.account_id and r.message_id = m.id and r.kind in ('hard', 'soft')
  ) as bounced`

const pageOfSends = (name: string, condition: string) =>
  statement<SendView>(
    name,
    sendTypes,
    `select ${sendColumns} from messages m
     where m.account_id = $1 and m.id < $2 and ($3::text is null or m.status = $3) and ${condition}
     order by m.id desc limit $5`,
  )

// Two statements, because a generic plan of one with an optional address would not use the index of addresses.
const readSends = pageOfSends('list-sends', '$4::text is null')
const readSendsTo = pageOfSends('list-sends-to', 'm.email = $4')

const lastId = '~'

/** Returns a page of the account's messages, newest first. */
export const listSends = async (
  { sql, accountId }: Work,
  { status, email }: Omit<MessageFilter, 'sinceId'>,
  { limit, cursor }: PageRequest,
): Promise<Page<SendView>> => {
  const before = cursor === undefined ? lastId : decodeCursor(cursor, 1)[0]
  const rows = await sql(email === null ? readSends : readSendsTo, [accountId, before, status, email, limit + 1])
  return pageOf(rows, limit)
}

const readSend = statement(
  'read-send',
  { row: typedRow<SendView>(sendTypes), parameters: { accountId: 'text', id: 'text' } },
  `select ${sendColumns} from messages m where m.account_id = :accountId and m.id = :id`,
)

/** Throws Problem `not_found`. */
export const findSend = async ({ sql, accountId }: Work, id: string): Promise<SendView> => {
  const [row] = await sql(readSend, { accountId, id })
  if (!row) throw notFound('There is no such send')
  return row
}

/** An email of a project, with what its tracked links and its live view need. */
export interface ProjectMail {
  accountId: string
  id: string
  email: string
  /** The row id of the address; null if the account has no such contact. */
  rowId: string | null
  from: { email: string; name: string } | null
  replyTo: string | null
  projectId: string
  projectVersion: number
  mergeData: Record<string, string>
  source: { kind: 'send' | 'journey' | 'lifecycle'; id: string }
  /** The broadcast or journey whose results it counts in; null if there is none. */
  cause: string | null
  /** Its content was deleted: merge data has only the fields of links, and the email can't be shown any more. */
  isDropped: boolean
  /** epoch ms */
  createdAt: number
  /** When it was created, or when it was scheduled for, in epoch ms. */
  dueAt: number
}

/** Identifies a message. */
export interface MessageKey {
  accountId: string
  id: string
}

const readProjectMails = preparedStatement(
  'project-mails',
  {
    row: typedRow<ProjectMail & { place: number }>({
      place: 'int4',
      accountId: 'text',
      id: 'text',
      email: 'text',
      rowId: 'text',
      from: 'json',
      replyTo: 'text',
      projectId: 'text',
      projectVersion: 'int4',
      mergeData: 'jsonb',
      isDropped: 'bool',
      source: 'json',
      cause: 'text',
      createdAt: 'int8',
      dueAt: 'int8',
    }),
    parameters: { accountIds: '_text', ids: '_text' },
  },
  `select k.place::int, m.* from unnest(${opaqueArray(':accountIds')}, :ids::text[]) with ordinality as k(account, id, place)
   cross join lateral (
     select m.account_id as "accountId", m.id, m.email, ${rowIdOf('m.account_id', 'm.email')} as "rowId",
       ${fromColumns}, m.project_id as "projectId", m.project_version as "projectVersion", m.merge_data as "mergeData",
       m.dropped_at is not null as "isDropped", ${sourceOfMessage} as source,
       ${causeOf('m')} as cause, ${epochMs('m.created_at')} as "createdAt",
       ${epochMs('coalesce(m.scheduled_at, m.created_at)')} as "dueAt"
     from messages m
     where m.account_id = k.account and m.id = k.id and m.project_id is not null and m.project_version is not null
       and m.merge_data is not null limit 1
   ) m`,
)

/**
 * Returns the emails in the order of `keys`: null for a message that does not exist, has no project, or whose recipient was
 * erased.
 */
export const findProjectMails = async (
  { sql }: Pick<Work, 'sql'>,
  keys: readonly MessageKey[],
): Promise<(ProjectMail | null)[]> => {
  const rows = await sql(readProjectMails, {
    accountIds: keys.map(({ accountId }) => accountId),
    ids: keys.map(({ id }) => id),
  })
  const byPlace = new Map(rows.map(({ place, ...mail }) => [place, mail]))
  return keys.map((_, i) => byPlace.get(i + 1) ?? null)
}

/** Calls `findProjectMails` for one message. */
export const findProjectMail = async (
  reader: Pick<Work, 'sql'>,
  accountId: string,
  id: string,
): Promise<ProjectMail | null> => (await findProjectMails(reader, [{ accountId, id }]))[0]!

const countByStatus = countingByStatus('messages', messageStatuses)

/** Counts the messages of all accounts since `sinceMs` by their current status. */
export const countMessagesSince = (sql: Sql, sinceMs: number): Promise<Record<MessageView['status'], number>> =>
  countByStatus(sql, idAt('msg', sinceMs))

/** SQL condition: the message (SQL expressions) has failed. */
export const hasFailed = (account: string, id: string): string =>
  `exists (select from messages where account_id = ${account} and id = ${id} and status = 'failed')`
