import { conflict, missing } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import type { WebinarView } from './webinars.shapes.ts'

type Reader = Pick<Work, 'sql' | 'accountId'>

/** A webinar as the operations know it. */
export interface Held {
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

/** As everybody may see it: not where its stream is. */
export const viewWebinar = ({ streamUrl: _, ...webinar }: Held): WebinarView => ({
  ...webinar,
  scheduledAt: webinar.scheduledAt?.getTime() ?? null,
  startedAt: webinar.startedAt?.getTime() ?? null,
  endedAt: webinar.endedAt?.getTime() ?? null,
  createdAt: webinar.createdAt.getTime(),
  updatedAt: webinar.updatedAt.getTime(),
})

/** Newest first; with `accessMode` only those. */
export const listWebinars = async (
  { sql, accountId }: Reader,
  { accessMode = null }: { accessMode?: WebinarView['accessMode'] | null } = {},
): Promise<WebinarView[]> =>
  (
    await sql<Held>(
      `select ${columns} from webinars w where w.account_id = $1 and ($2::text is null or w.access_mode = $2)
       order by w.id desc`,
      [accountId, accessMode],
    )
  ).map(viewWebinar)

/** By id, else by a title that only one webinar has. Throws Problem `missing`, `conflict`. */
export const findWebinar = async ({ sql, accountId }: Reader, ref: string): Promise<WebinarView> => {
  const rows = await sql<Held>(
    `select ${columns} from webinars w where w.account_id = $1 and (w.id = $2 or w.title = $2)
     order by w.id = $2 desc, w.id limit 2`,
    [accountId, ref],
  )
  const [first] = rows
  if (!first) throw missing(`There is no webinar ${ref}`, { hint: 'svc webinars list' })
  if (first.id !== ref && rows.length > 1)
    throw conflict(`More than one webinar has the title ${ref}`, { hint: 'name one by its id: svc webinars list' })
  return viewWebinar(first)
}

/**
 * The webinar under its lock, by which everything that seats, unseats or reminds goes one after the other; `share` lets others
 * look at the same time. Throws Problem `missing`, for another account's just as for none.
 */
export const holdWebinar = async (
  { sql, accountId }: Reader,
  id: string,
  lock: 'no key update' | 'share' = 'no key update',
): Promise<Held> => {
  const [row] = await sql<Held>(
    `select ${columns} from webinars w where w.account_id = $1 and w.id = $2 for ${lock}`,
    [accountId, id],
    `hold-webinar-${lock}`,
  )
  if (!row) throw missing('There is no such webinar')
  return row
}
