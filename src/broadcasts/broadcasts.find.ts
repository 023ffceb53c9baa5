import { idOfCursor, type Page, pageOf } from '../lib/cursor.ts'
import { shownIds, theOne } from '../lib/names.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { notFound } from '../lib/problem.ts'
import { batchKeyPrefix } from '../messages/messages.ts'
import { batchCounts } from '../messages/outbox/batches.rows.ts'
import { filterOfSegment } from '../segments/segments.rows.ts'
import { senderShown } from '../senders/senders.rows.ts'
import { type RowOf, typed } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import { types } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { projectNameOf } from '../studio/studio.ts'
import { inputOf } from './broadcasts.audience.ts'
import { broadcasts } from './broadcasts.columns.ts'
import type { Audience } from './broadcasts.entities.ts'
import type { BroadcastView } from './broadcasts.shapes.ts'

type AudienceView = Pick<
  BroadcastView,
  'listId' | 'where' | 'all' | 'listIds' | 'segmentIds' | 'excludeListIds' | 'excludeSegmentIds'
>

const viewOfAudience = (audience: Audience): AudienceView => {
  const { list = [], segment = [], where, excludeList = [], excludeSegment = [] } = inputOf(audience)
  return {
    listId: audience.parts[0]?.listId ?? null,
    ...(audience.isAll && { all: true }),
    ...(list.length > 0 && { listIds: list }),
    ...(segment.length > 0 && { segmentIds: segment }),
    ...(where !== undefined && { where }),
    ...(excludeList.length > 0 && { excludeListIds: excludeList }),
    ...(excludeSegment.length > 0 && { excludeSegmentIds: excludeSegment }),
  }
}

// Adds the counters that the broadcast's row does not include yet, so that the numbers are exact without counting messages.
const selecting = `
  select b.id, b.name, case when b.paused_at is null then b.status else 'paused' end as status, b.list_id as "listId", b.segment_id as "segmentId",
    case when b.started_at is null then coalesce(${filterOfSegment('b.account_id', 'b.segment_id')}, b.filter) else b.filter end as "where", b.audience,
    b.project_id as "projectId", b.topic_id as "topicId", (b.letter -> 'projectVersion')::int as "projectVersion",
    coalesce(b.letter ->> 'subject', b.subject, ${projectNameOf('b.account_id', 'b.project_id')}) as subject,
    case when b.letter is null then ${senderShown('b.account_id', 'b.sender')} else (b.letter -> 'from')::json end as shown,
    case when b.letter is null then b.reply_to else b.letter ->> 'replyTo' end as "replyTo", b.rate,
    ${epochMs('b.scheduled_at')} as "scheduledAt", b.recipients,
    b.queued - t.sent - t.failed - t.suppressed as queued, b.sent + t.sent as sent, b.failed + t.failed as failed,
    b.suppressed + t.suppressed as suppressed, ${epochMs('b.created_at')} as "createdAt",
    ${epochMs('b.started_at')} as "startedAt", ${epochMs('b.finished_at')} as "endedAt",
    b.reason
  from broadcasts b cross join lateral ${batchCounts('b.account_id', 'b.id')} t`

const rowTypes = {
  ...types(
    broadcasts,
    'id',
    'name',
    'listId',
    'segmentId',
    'audience',
    'projectId',
    'topicId',
    'subject',
    'replyTo',
    'rate',
  ),
  status: typed<BroadcastView['status']>('text'),
  where: 'text?',
  projectVersion: 'int4?',
  shown: typed<{ email: string; name: string; replyTo: string | null } | null>('json'),
  scheduledAt: 'int8?',
  ...types(broadcasts, 'recipients', 'queued', 'sent', 'failed', 'suppressed', 'reason'),
  createdAt: 'int8',
  startedAt: 'int8?',
  endedAt: 'int8?',
} as const

type Row = RowOf<typeof rowTypes>

const view = ({ segmentId, where, topicId, reason, shown, replyTo, audience, ...row }: Row): BroadcastView => ({
  ...row,
  from: shown && { email: shown.email, name: shown.name },
  replyTo: replyTo ?? shown?.replyTo ?? null,
  ...(reason !== null && { reason }),
  ...(segmentId !== null && { segmentId }),
  ...(where !== null && { where }),
  ...(topicId !== null && { topicId }),
  ...(audience && viewOfAudience(audience)),
})

const readPage = statement(
  'list-broadcasts',
  { row: rowTypes, parameters: { accountId: 'text', before: 'text?', limit: 'int8' } },
  `${selecting} where b.account_id = :accountId and (:before::text is null or b.id < :before) order by b.id desc limit :limit`,
)

/** Returns a page of the account's broadcasts, newest first. */
export const listBroadcasts = async (
  { sql, accountId }: Work,
  { limit, cursor }: PageRequest,
): Promise<Page<BroadcastView>> => {
  const before = idOfCursor('bct', cursor)
  const rows = await sql(readPage, { accountId, before, limit: limit + 1 })
  return pageOf(rows.map(view), limit)
}

const readBroadcast = statement(
  'read-broadcast',
  { row: rowTypes, parameters: { accountId: 'text', id: 'text' } },
  `${selecting} where b.account_id = :accountId and b.id = :id`,
)

const readNamed = statement(
  'broadcasts-named',
  { row: { id: 'text' }, parameters: { accountId: 'text', ref: 'text' } },
  `select id from broadcasts where account_id = :accountId and (id = :ref or name = :ref)
   order by id = :ref desc, id limit ${shownIds + 1}`,
)

/**
 * Returns the id of a broadcast (id or unique name). Throws Problem `not_found`, or `conflict` if several broadcasts
 * have the name.
 */
export const idOfBroadcast = async ({ sql, accountId }: AccountSql, ref: string): Promise<string> => {
  const found = await sql(readNamed, { accountId, ref })
  return theOne(found, ref, { noun: 'broadcast', property: 'name', list: 'svc broadcasts list' }).id
}

/** Returns a broadcast by its id, not by its name. Throws Problem `not_found`. */
export const findBroadcastById = async ({ sql, accountId }: Work, id: string): Promise<BroadcastView> => {
  const [row] = await sql(readBroadcast, { accountId, id })
  if (!row) throw notFound('There is no such broadcast')
  return view(row)
}

/**
 * Returns a broadcast (id or unique name). Throws Problem `not_found`, or `conflict` if several broadcasts have the
 * name.
 */
export const showBroadcast = async (work: Work, ref: string): Promise<BroadcastView> => {
  const [row] = await work.sql(readBroadcast, { accountId: work.accountId, id: await idOfBroadcast(work, ref) })
  return view(row!)
}

/** The prefix of the keys of a broadcast's messages. The row id of the contact follows. */
export const keyPrefix = batchKeyPrefix

const findNamed = statement(
  'find-broadcasts-named',
  { row: { id: 'text', projectId: 'text' }, parameters: { accountId: 'text', ref: 'text' } },
  `select id, project_id as "projectId" from broadcasts
   where account_id = :accountId and (id = :ref or name = :ref) and status <> 'draft'`,
)

/** Returns the ids and projects of a broadcast (id), or of those with a name, and the prefixes of the keys of their messages. */
export const findBatches = async (
  { sql, accountId }: Work,
  ref: string,
): Promise<{ ids: string[]; projectIds: string[]; keys: string[] }> => {
  const rows = await sql(findNamed, { accountId, ref })
  return {
    ids: rows.map(({ id }) => id),
    projectIds: [...new Set(rows.map(({ projectId }) => projectId))],
    keys: rows.map(({ id }) => keyPrefix(id)),
  }
}

const findMailJob = statement(
  'find-mail-job',
  {},
  `select from pg_stat_activity where datname = current_database() and application_name like 'svc mail %' limit 1`,
)

/** Returns whether a mail job is running in any process, recognised by the name of its database connections. */
export const isMailJobRunning = async ({ sql }: Pick<App, 'sql'>): Promise<boolean> =>
  (await sql(findMailJob)).length > 0
