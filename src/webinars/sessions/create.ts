import type { z } from 'zod'
import { allowsWebinarCourses, quotaState } from '../../accounts/accounts.ts'
import { holdCourse } from '../../courses/courses.ts'
import { newId } from '../../lib/ids.ts'
import { Problem } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import { viewWebinar } from './sessions.find.ts'
import type { NewWebinar, WebinarView } from './sessions.shapes.ts'

const refusals = {
  'not in plan': "Live sessions aren't included in your plan",
  'used up': 'Monthly broadcast minutes for your plan used up',
}

/**
 * Checks the live-session quota: whether minutes are left, and whether the plan can attach a course. It uses no minutes. Throws
 * Problem `forbidden` with a message for each reason (docs/reference/api.md#post-webinars).
 */
export const requireLive = async (
  reader: Pick<Work, 'sql' | 'accountId' | 'now'>,
  { withCourse }: { withCourse: boolean },
): Promise<void> => {
  const state = await quotaState(reader, 'broadcastMinutes')
  if (state !== 'left') throw new Problem('forbidden', refusals[state])
  if (withCourse && !(await allowsWebinarCourses(reader))) {
    throw new Problem('forbidden', "Your plan can't attach a course to a webinar")
  }
}

/**
 * Schedules a webinar (docs/reference/api.md#post-webinars). Throws Problem `forbidden` if the plan's live-session quota refuses
 * it, `not_found` for an unknown or foreign course.
 */
export const createWebinar = async (work: Work, input: z.output<typeof NewWebinar>): Promise<WebinarView> => {
  const { accountId, now } = work
  const { title, accessMode, scheduledAt = null, courseId = null, capacity = null, streamUrl = null } = input
  const { durationMinutes, timezone = null, description } = input
  await requireLive(work, { withCourse: courseId !== null })
  if (courseId !== null) await holdCourse(work, courseId)
  const [em, { Webinar }] = await work.em(import('../webinars.entities.ts'))
  const webinar = em.create(Webinar, {
    accountId,
    id: newId('web', now.getTime()),
    title,
    accessMode,
    status: 'scheduled',
    scheduledAt: scheduledAt === null ? null : new Date(scheduledAt),
    durationMinutes: durationMinutes ?? 60,
    timezone,
    description: description ?? '',
    courseId,
    capacity,
    streamUrl,
    replayUrl: null,
    sequence: 0,
    registeredCount: 0,
    waitlistedCount: 0,
    lastNumber: 0,
    createdAt: now,
    updatedAt: now,
  })
  await em.flush()
  return viewWebinar(webinar)
}
