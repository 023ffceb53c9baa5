import type { z } from 'zod'
import { findCourse } from '../courses/courses.ts'
import { newId } from '../lib/ids.ts'
import type { Work } from '../store/work.ts'
import { entitiesOf, viewWebinar } from './webinars.find.ts'
import { requireLive } from './webinars.quota.ts'
import type { NewWebinar, WebinarView } from './webinars.shapes.ts'

/**
 * Schedules a webinar (docs/reference/api.md#post-webinars). Throws Problem `forbidden` if the plan's live-session quota refuses
 * it, `not_found` for an unknown or foreign course.
 */
export const createWebinar = async (work: Work, input: z.output<typeof NewWebinar>): Promise<WebinarView> => {
  const { accountId, now } = work
  const { title, accessMode, scheduledAt = null, courseId = null, capacity = null, streamUrl = null } = input
  await requireLive(work, { withCourse: courseId !== null })
  if (courseId !== null) await findCourse(work, courseId)
  const [em, { Webinar }] = await entitiesOf(work)
  const webinar = em.create(Webinar, {
    accountId,
    id: newId('web', now.getTime()),
    title,
    accessMode,
    status: 'scheduled',
    scheduledAt: scheduledAt === null ? null : new Date(scheduledAt),
    courseId,
    capacity,
    streamUrl,
    registeredCount: 0,
    waitlistedCount: 0,
    lastNumber: 0,
    createdAt: now,
    updatedAt: now,
  })
  await em.flush()
  return viewWebinar(webinar)
}
