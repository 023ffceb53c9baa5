import { conflict, noSuch, notFound, shown } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { WebinarView } from './webinars.shapes.ts'

type Reader = Pick<Work, 'sql' | 'accountId'>

/** A webinar's row. */
export interface WebinarRow {
  id: string
  title: string
  accessMode: WebinarView['accessMode']
  status: WebinarView['status']
  scheduledAt: Date | null
  startedAt: Date | null
  endedAt: Date | null
  courseId: string | null
  capacity: number | null
  streamUrl: string | null
  registeredCount: number
  waitlistedCount: number
  createdAt: Date
  updatedAt: Date
}

const columns = `w.id, w.title, w.access_mode as "accessMode", w.status, w.scheduled_at as "scheduledAt",
  w.started_at as "startedAt", w.ended_at as "endedAt", w.course_id as "courseId", w.capacity, w.stream_url as "streamUrl",
  w.registered_count as "registeredCount", w.waitlisted_count as "waitlistedCount", w.created_at as "createdAt",
  w.updated_at as "updatedAt"`

/** Returns the public view, without the stream's URL. */
export const viewWebinar = ({ streamUrl: _, ...webinar }: WebinarRow): WebinarView => ({
  ...webinar,
  scheduledAt: webinar.scheduledAt?.getTime() ?? null,
  startedAt: webinar.startedAt?.getTime() ?? null,
  endedAt: webinar.endedAt?.getTime() ?? null,
  createdAt: webinar.createdAt.getTime(),
  updatedAt: webinar.updatedAt.getTime(),
})

/** Returns the webinars, optionally of one access mode, newest first. */
export const listWebinars = async (
  { sql, accountId }: Reader,
  { accessMode = null }: { accessMode?: WebinarView['accessMode'] | null } = {},
): Promise<WebinarView[]> =>
  (
    await sql<WebinarRow>(
      `select ${columns} from webinars w where w.account_id = $1 and ($2::text is null or w.access_mode = $2)
       order by w.id desc`,
      [accountId, accessMode],
    )
  ).map(viewWebinar)

/** Finds a webinar by its id or unique title. Throws Problem `not_found`, or `conflict` if several webinars have the title. */
export const findWebinar = async ({ sql, accountId }: Reader, ref: string): Promise<WebinarView> => {
  const rows = await sql<WebinarRow>(
    `select ${columns} from webinars w where w.account_id = $1 and (w.id = $2 or w.title = $2)
     order by w.id = $2 desc, w.id limit 2`,
    [accountId, ref],
  )
  const [first] = rows
  if (!first) throw noSuch('webinar', ref, { hint: 'svc webinars list' })
  if (first.id !== ref && rows.length > 1)
    throw conflict(`More than one webinar has the title ${shown(ref)}`, {
      hint: 'name one by its id: svc webinars list',
    })
  return viewWebinar(first)
}

/** Returns the stream's URL, or null if it is not set. Only for the operator: the API does not show it. */
export const findStream = async ({ sql, accountId }: Reader, id: string): Promise<string | null> => {
  const [row] = await sql<{ streamUrl: string | null }>(
    'select stream_url as "streamUrl" from webinars where account_id = $1 and id = $2',
    [accountId, id],
  )
  return row?.streamUrl ?? null
}

/**
 * Locks and returns the webinar. The lock serialises changes of seats; `share` allows concurrent readers, such as reminders.
 * Throws Problem `not_found` for an unknown or foreign webinar.
 */
export const lockWebinar = async (
  { sql, accountId }: Reader,
  id: string,
  lock: 'no key update' | 'share' = 'no key update',
): Promise<WebinarRow> => {
  const [row] = await sql<WebinarRow>(
    `select ${columns} from webinars w where w.account_id = $1 and w.id = $2 for ${lock}`,
    [accountId, id],
    `lock-webinar-${lock}`,
  )
  if (!row) throw notFound('There is no such webinar')
  return row
}
