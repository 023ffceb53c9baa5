import type { z } from 'zod'
import { findCourse } from '../courses/courses.ts'
import { newId } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import { viewWebinar, type WebinarRow } from './webinars.find.ts'
import { requireLive } from './webinars.quota.ts'
import type { NewWebinar, WebinarView } from './webinars.shapes.ts'

const inserting = `
  insert into webinars (account_id, id, title, access_mode, status, scheduled_at, course_id, capacity, stream_url,
    registered_count, waitlisted_count, last_number, created_at, updated_at)
  values ($1, $2, $3, $4, 'scheduled', $5, $6, $7, $8, 0, 0, 0, $9, $9)`

/**
 * Schedules a webinar (docs/reference/api.md#post-webinars). Throws Problem `forbidden` if the plan's live-session quota refuses
 * it, `not_found` for an unknown or foreign course.
 */
export const createWebinar = async (work: Work, input: z.output<typeof NewWebinar>): Promise<WebinarView> => {
  const { sql, accountId, now } = work
  const { title, accessMode, scheduledAt = null, courseId = null, capacity = null, streamUrl = null } = input
  await requireLive(work, { withCourse: courseId !== null })
  if (courseId !== null) await findCourse(work, courseId)
  const webinar: WebinarRow = {
    id: newId('web', now.getTime()),
    title,
    accessMode,
    status: 'scheduled',
    scheduledAt: scheduledAt === null ? null : new Date(scheduledAt),
    startedAt: null,
    endedAt: null,
    courseId,
    capacity,
    streamUrl,
    registeredCount: 0,
    waitlistedCount: 0,
    createdAt: now,
    updatedAt: now,
  }
  const params = [accountId, webinar.id, title, accessMode, webinar.scheduledAt, courseId, capacity, streamUrl, now]
  await sql(inserting, params)
  return viewWebinar(webinar)
}
