/*
 * Capacity is exact and the waitlist keeps its order, so whatever takes or frees a seat, or sends a reminder for it, locks the webinar
 * first. Registrations that reach a process at the same time share a transaction. Each seat has the time of its next reminder: an
 * index finds the due ones, also after a downtime. A new time of the webinar moves the reminders of its seats.
 */

import { shownIds, theOne } from '../../lib/names.ts'
import { notFound } from '../../lib/problem.ts'
import type { RowOf } from '../../store/column-types.ts'
import { preparedStatement, statement } from '../../store/statement.ts'
import { columns, types } from '../../store/tables.ts'
import type { AccountSql } from '../../store/work.ts'
import { webinars } from '../webinars.columns.ts'
import type { Webinar } from '../webinars.entities.ts'
import type { WebinarView } from './sessions.shapes.ts'

const webinarColumns = columns(webinars, [
  'id',
  'title',
  'accessMode',
  'status',
  'scheduledAt',
  'durationMinutes',
  'timezone',
  'description',
  'startedAt',
  'endedAt',
  'courseId',
  'capacity',
  'streamUrl',
  'replayUrl',
  'sequence',
  'registeredCount',
  'waitlistedCount',
  'createdAt',
  'updatedAt',
])

export type WebinarRow = RowOf<typeof webinarColumns.types>

/** Returns the public view, without the URLs of the stream and the recording. */
export const viewWebinar = (webinar: WebinarRow | Webinar): WebinarView => ({
  id: webinar.id,
  title: webinar.title,
  accessMode: webinar.accessMode,
  status: webinar.status,
  scheduledAt: webinar.scheduledAt?.getTime() ?? null,
  startedAt: webinar.startedAt?.getTime() ?? null,
  endedAt: webinar.endedAt?.getTime() ?? null,
  courseId: webinar.courseId ?? null,
  capacity: webinar.capacity ?? null,
  registeredCount: webinar.registeredCount,
  waitlistedCount: webinar.waitlistedCount,
  createdAt: webinar.createdAt.getTime(),
  updatedAt: webinar.updatedAt.getTime(),
})

/** What the operator sees beside the public view. */
type WebinarDetails = Pick<WebinarRow, 'durationMinutes' | 'timezone' | 'description'>

const webinarId = types(webinars, 'accountId', 'id')

const readWebinars = statement(
  'list-webinars',
  { row: webinarColumns.types, parameters: { accountId: 'text', accessMode: 'text?' } },
  `select ${webinarColumns.list} from webinars
   where account_id = :accountId and (:accessMode::text is null or access_mode = :accessMode) order by id desc`,
)

/** Returns the webinars, optionally of one access mode, newest first. */
export const listWebinars = async (
  { sql, accountId }: AccountSql,
  { accessMode }: { accessMode?: WebinarView['accessMode'] } = {},
): Promise<WebinarView[]> => (await sql(readWebinars, { accountId, accessMode: accessMode ?? null })).map(viewWebinar)

const readNamed = statement(
  'webinars-named',
  { row: webinarColumns.types, parameters: { accountId: 'text', ref: 'text' } },
  `select ${webinarColumns.list} from webinars
   where account_id = :accountId and (id = :ref or title = :ref) order by id = :ref desc, id limit ${shownIds + 1}`,
)

/** Finds a webinar by its id or unique title. Throws Problem `not_found`, or `conflict` if several webinars have the title. */
export const findWebinar = async ({ sql, accountId }: AccountSql, ref: string): Promise<WebinarView> => {
  const found = await sql(readNamed, { accountId, ref })
  return viewWebinar(theOne(found, ref, { noun: 'webinar', property: 'title', list: 'svc webinars list' }))
}

const urlOf = (name: string, column: string) => {
  const readUrl = statement(
    name,
    { row: { url: 'text?' }, parameters: webinarId },
    `select ${column} as url from webinars where account_id = :accountId and id = :id`,
  )
  return async ({ sql, accountId }: AccountSql, id: string): Promise<string | null> =>
    (await sql(readUrl, { accountId, id }))[0]?.url ?? null
}

/** Returns the stream's URL, or null if it is not set. It is only for the operator: the API does not show it. */
export const findStream = urlOf('read-stream-url', 'stream_url')

/** Returns the recording's URL, or null if it is not set. It is only for the operator. */
export const findReplay = urlOf('read-replay-url', 'replay_url')

/** Returns what the operator sees beside the public view. Throws Problem `not_found`. */
export const readDetails = async (reader: AccountSql, id: string): Promise<WebinarDetails> => {
  const { durationMinutes, timezone, description } = await readWebinar(reader, id)
  return { durationMinutes, timezone, description }
}

const selectLocked = (name: string, lock: string) =>
  preparedStatement(
    name,
    { row: webinarColumns.types, parameters: webinarId },
    `select ${webinarColumns.list} from webinars where account_id = :accountId and id = :id for ${lock}`,
  )

/** The lock of a change of seats, and the lock that allows concurrent readers, such as reminders. */
const lockFor = {
  change: selectLocked('lock-webinar', 'no key update'),
  read: selectLocked('share-webinar', 'share'),
} as const

/** Returns the webinar, or throws Problem `not_found` for an unknown or foreign one. */
const required = ([row]: readonly WebinarRow[]): WebinarRow => {
  if (!row) throw notFound('There is no such webinar')
  return row
}

const readOne = statement(
  'read-webinar',
  { row: webinarColumns.types, parameters: webinarId },
  `select ${webinarColumns.list} from webinars where account_id = :accountId and id = :id`,
)

/** Returns the webinar as it is now, without a lock: for plans. Throws Problem `not_found` for an unknown or foreign webinar. */
export const readWebinar = async ({ sql, accountId }: AccountSql, id: string): Promise<WebinarRow> =>
  required(await sql(readOne, { accountId, id }))

/**
 * Locks and returns the webinar: changes of seats run one after another, and not while it is locked to `read`. Throws Problem
 * `not_found` for an unknown or foreign webinar.
 */
export const lockWebinar = async (
  { sql, accountId }: AccountSql,
  id: string,
  purpose: keyof typeof lockFor = 'change',
): Promise<WebinarRow> => required(await sql(lockFor[purpose], { accountId, id }))
