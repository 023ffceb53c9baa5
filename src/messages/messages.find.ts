import { countingByStatus } from '../accounts/accounts.rows.ts'
import { rowIdOf } from '../contacts/contacts.rows.ts'
import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { idAt } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { noSuch, notFound } from '../lib/problem.ts'
import type { BesideResults } from '../results/results.ts'
import { opaqueArray } from '../store/arrays.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import type { Sql } from '../store/database.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, type Row, types } from '../store/tables.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { type messageAttachments, messages } from './messages.columns.ts'
import { causeOf } from './messages.ended.ts'
import type { Message } from './messages.entities.ts'
import { heldUntil } from './messages.queue.ts'
import { messageStatuses } from './messages.shapes.ts'

type Status = Message['status']
type Source = { kind: Message['sourceKind']; id: string }

interface MessageFilter {
  status: Status | null
  /** Normalised. */
  email: string | null
  sinceId: string | null
}

/** Returns the SQL join of the message `m` that the column `message_id` of `owner` names. */
export const joinMessage = (owner: string) =>
  `join messages m on m.account_id = ${owner}.account_id and m.id = ${owner}.message_id`

/** The SQL expression of what caused the message `m`, as `source` of a view. */
export const sourceOfMessage = `json_build_object('kind', m.source_kind, 'id', coalesce(m.source_id, m.id))`

const sendTypes = {
  id: 'text',
  to: 'text',
  ...types(messages, 'subject', 'type', 'status'),
  /** Why it failed or was suppressed. It is null if neither happened. */
  error: 'text?',
  createdAt: 'int8',
  sentAt: 'int8?',
  /** It is null if the message is sent as soon as possible. */
  scheduledAt: 'int8?',
  /** A report says that it was not delivered. */
  bounced: 'bool',
} as const

/** A message as GET /sends answers it, without what its recipient did. Times in epoch ms. */
export type SendView = RowOf<typeof sendTypes>

const sendList = `m.id, m.email as "to", m.subject, m.type, m.status, coalesce(m.error, m.reason) as error,
  ${epochMs('m.created_at')} as "createdAt", case when m.status = 'sent' then ${epochMs('m.finished_at')} end as "sentAt",
  ${epochMs('m.scheduled_at')} as "scheduledAt", exists (
    select from message_reports r where r.account_id = m.account_id and r.message_id = m.id and r.kind in ('hard', 'soft')
  ) as bounced`

const viewList = `${sendList}, m.reason, m.project_id as "projectId", ${sourceOfMessage} as source,
  ${epochMs('m.finished_at')} as "finishedAt"`

const viewTypes = {
  ...sendTypes,
  ...types(messages, 'reason', 'projectId'),
  source: typed<Source>('json'),
  finishedAt: 'int8?',
} as const

/** A message as `svc sends` shows it, without what its recipient did. Times in epoch ms. */
export type MessageView = RowOf<typeof viewTypes>

const fromColumn = `case when m.from_email is not null then json_build_object('email', m.from_email, 'name', m.from_name) end as "from"`
const fromType = typed<{ email: string; name: string } | null>('json')

const attachmentsOfMessage = `case when m.attachments > 0 then (
    select coalesce(json_agg(json_build_object('filename', a.filename, 'contentType', a.content_type, 'contentId', a.content_id,
      'size', a.size) order by a.position), '[]')
    from message_attachments a where a.account_id = m.account_id and a.message_id = coalesce(m.copy_of, m.id)
  ) else '[]' end`

const contentColumns = columns(
  messages,
  ['replyTo', 'html', 'text', 'calendar', 'projectVersion', 'topicId', 'mergeData', 'headers', 'copy', 'copyOf'],
  'm',
)

/** The columns of a message with its content, for `from messages m`. */
export const detailList = `${viewList}, ${fromColumn}, ${contentColumns.list}, ${attachmentsOfMessage} as attachments,
  ${epochMs('m.dropped_at')} as "contentDroppedAt"`

export const detailTypes = {
  ...viewTypes,
  from: fromType,
  ...contentColumns.types,
  /** Its attachments without their content. */
  attachments: typed<Row<typeof messageAttachments, 'filename' | 'contentType' | 'contentId' | 'size'>[]>('json'),
  /** When its content was deleted: html, text and calendar are null since then, and merge data has only the fields of links. */
  contentDroppedAt: 'int8?',
} as const

const messageId = types(messages, 'accountId', 'id')

const readStatus = preparedStatement(
  'message-status',
  { row: types(messages, 'status'), parameters: messageId },
  'select status from messages where account_id = :accountId and id = :id',
)

/** Returns a message's status, or null if the account has no such message. */
export const statusOf = async ({ sql, accountId }: AccountSql, id: string): Promise<Status | null> => {
  const [row] = await sql(readStatus, { accountId, id })
  return row?.status ?? null
}

const readTopicId = statement(
  'topic-of-message',
  { row: types(messages, 'topicId'), parameters: messageId },
  'select topic_id as "topicId" from messages where account_id = :accountId and id = :id',
)

/** Returns the topic of a message, which may be deleted, or null if it has none, or does not exist. */
export const topicOf = async ({ sql, accountId }: AccountSql, id: string): Promise<string | null> => {
  const [row] = await sql(readTopicId, { accountId, id })
  return row?.topicId ?? null
}

const readPage = statement(
  'list-messages',
  {
    row: viewTypes,
    parameters: {
      accountId: 'text',
      before: 'text?',
      status: 'text?',
      email: 'text?',
      sinceId: 'text?',
      limit: 'int8',
    },
  },
  `select ${viewList} from messages m
   where m.account_id = :accountId and (:before::text is null or m.id < :before) and (:status::text is null or m.status = :status)
     and (:email::text is null or m.email = :email) and (:sinceId::text is null or m.id >= :sinceId)
   order by m.id desc limit :limit`,
)

/** Returns messages with what their recipients did. */
const reactedTo = async <Row extends { id: string }>(work: Work, messages: Row[]): Promise<Row[]> => {
  for (const listener of await work.listeners())
    if (listener.withReactions) return listener.withReactions(work, messages)
  return messages
}

/** Returns a page of the account's messages, newest first, with what their recipients did. */
export const listMessages = async (
  work: Work,
  { status, email, sinceId }: MessageFilter,
  { limit, cursor }: PageRequest,
): Promise<Page<MessageView>> => {
  const { sql, accountId } = work
  const before = idOfCursor('msg', cursor)
  const rows = await sql(readPage, { accountId, before, status, email, sinceId, limit: limit + 1 })
  const page = pageOf(rows, limit)
  return { ...page, rows: await reactedTo(work, page.rows) }
}

const shownTypes = {
  ...detailTypes,
  /** It is null if the message is not queued any more. `dueAt` null: its broadcast has not released it yet. */
  queue: typed<{ state: 'queued' | 'claimed' | 'handing'; tries: number; dueAt: number | null } | null>('json'),
} as const

/** A message with its content, its sender and its state in the queue. */
export type MessageDetail = RowOf<typeof shownTypes>

const readDetail = statement(
  'read-message',
  { row: shownTypes, parameters: messageId },
  `select ${detailList},
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

/** Returns a message with what its recipient and machines did. Throws Problem `not_found`. */
export const showMessageInDetail = async (work: Work, id: string): Promise<MessageDetail & BesideResults> => {
  const { besideResults } = await import('../results/results.ts')
  const [message] = await reactedTo(work, [await showMessage(work, id)])
  for (const listener of await work.listeners())
    if (listener.machineActionsOn) return { ...message!, ...besideResults(await listener.machineActionsOn(work, id)) }
  return message!
}

const sendsOfPage = `select ${sendList} from messages m
  where m.account_id = :accountId and m.id < :before and m.id >= :end and (:status::text is null or m.status = :status)`
const pageOfSends = { accountId: 'text', before: 'text', end: 'text', status: 'text?', limit: 'int8' } as const

const readSends = statement(
  'list-sends',
  { row: sendTypes, parameters: pageOfSends },
  `${sendsOfPage} order by m.id desc limit :limit`,
)

// A statement of its own, because a generic plan of one with an optional address would not use the index of addresses.
const readSendsTo = statement(
  'list-sends-to',
  { row: sendTypes, parameters: { ...pageOfSends, email: 'text' } },
  `${sendsOfPage} and m.email = :email order by m.id desc limit :limit`,
)

const readEndOfSends = statement(
  'end-of-sends',
  { row: { id: 'text' }, parameters: { accountId: 'text', before: 'text', skipped: 'int8' } },
  `select id from messages where account_id = :accountId and id < :before order by id desc offset :skipped limit 1`,
)

const lastId = '~'

/** Returns a page of the account's messages, newest first. */
export const listSends = async (
  { sql, accountId }: Work,
  { status, email }: Omit<MessageFilter, 'sinceId'>,
  { limit, cursor, reads }: PageRequest,
): Promise<Page<SendView>> => {
  const before = idOfCursor('msg', cursor) ?? lastId
  const asked = { accountId, before, end: '', status, limit: limit + 1 }
  if (email !== null) return pageOf(await sql(readSendsTo, { ...asked, email }), limit)
  const [end] = status !== null && reads ? await sql(readEndOfSends, { accountId, before, skipped: reads - 1 }) : []
  return pageOf(await sql(readSends, { ...asked, end: end?.id ?? '' }), limit, end)
}

const readSend = statement(
  'read-send',
  { row: sendTypes, parameters: messageId },
  `select ${sendList} from messages m where m.account_id = :accountId and m.id = :id`,
)

/** Throws Problem `not_found`. */
export const findSend = async ({ sql, accountId }: Work, id: string): Promise<SendView> => {
  const [row] = await sql(readSend, { accountId, id })
  if (!row) throw notFound('There is no such send')
  return row
}

const projectMailTypes = {
  ...types(messages, 'accountId', 'id', 'email'),
  /** The row id of the address. It is null if the account has no such contact. */
  rowId: 'text?',
  from: fromType,
  replyTo: 'text?',
  projectId: 'text',
  projectVersion: 'int4',
  mergeData: typed<Record<string, string>>('jsonb'),
  /** Its content was deleted: merge data has only the fields of links, and the email can't be shown any more. */
  isDropped: 'bool',
  source: typed<Source>('json'),
  /** The broadcast or journey whose results it counts in. It is null if there is none. */
  cause: 'text?',
  /** epoch ms */
  createdAt: 'int8',
  /** When it was created, or when it was scheduled for, in epoch ms. */
  dueAt: 'int8',
} as const

/** An email of a project, with what its tracked links and its live view need. */
export type ProjectMail = RowOf<typeof projectMailTypes>

export interface MessageKey {
  accountId: string
  id: string
}

const readProjectMails = preparedStatement(
  'project-mails',
  {
    row: { place: 'int4', ...projectMailTypes },
    parameters: { accountIds: '_text', ids: '_text' },
  },
  `select k.place::int, m.* from unnest(${opaqueArray(':accountIds')}, :ids::text[]) with ordinality as k(account, id, place)
   cross join lateral (
     select m.account_id as "accountId", m.id, m.email, ${rowIdOf('m.account_id', 'm.email')} as "rowId",
       ${fromColumn}, m.reply_to as "replyTo", m.project_id as "projectId", m.project_version as "projectVersion", m.merge_data as "mergeData",
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
export const countMessagesSince = (sql: Sql, sinceMs: number): Promise<Record<Status, number>> =>
  countByStatus(sql, idAt('msg', sinceMs))

/** Returns the SQL condition that the message, named by SQL expressions, has failed. */
export const hasFailed = (account: string, id: string): string =>
  `exists (select from messages where account_id = ${account} and id = ${id} and status = 'failed')`
