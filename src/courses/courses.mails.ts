import { type PlainMail, plainMail, queueLifecycleMails } from '../lifecycle/lifecycle.ts'
import type { App, Work } from '../store/work.ts'
import { mailedPortalUrl } from './courses.links.ts'

export type CourseEvent = 'enrolled' | 'completed'

/** What goes where no project is bound. `portalUrl` is empty where there is no portal. */
export const plainMailOf = (
  event: CourseEvent,
  { email, title, portalUrl }: { email: string; title: string; portalUrl: string },
): PlainMail => {
  const link = (label: string) => (portalUrl === '' ? [] : [{ label, url: portalUrl }])
  if (event === 'enrolled')
    return plainMail(`You now have access to ${title}`, [
      `Everything in this membership is open to you at ${email}.`,
      ...link('Start the course'),
    ])
  return plainMail(`You have completed ${title}`, [
    'Congratulations: you have finished its last lesson.',
    ...link('Look at it again'),
  ])
}

/** Queues the lifecycle mail of a course, bound or plain (api.md section 4). Late in the unit of work: it counts as volume. */
export const mailMember = async (
  app: Pick<App, 'config' | 'projects' | 'tokens'>,
  work: Work,
  event: CourseEvent,
  { id: courseId, title }: { id: string; title: string },
  member: { id: string; email: string },
): Promise<void> => {
  const portalUrl = await mailedPortalUrl(app, work, { courseId, memberId: member.id })
  const mergeData = { email: member.email, title, portalUrl }
  const mail = {
    subject: { kind: 'course' as const, id: courseId },
    event,
    to: member.email,
    // Whether it is due is decided under the member's lock: for `enrolled`, again after each revocation.
    key: null,
    mergeData,
    plain: plainMailOf(event, mergeData),
  }
  await queueLifecycleMails(app, work, [mail])
}
