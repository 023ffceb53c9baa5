import { readBrand } from '../accounts/accounts.ts'
import { queueLifecycleMails } from '../lifecycle/lifecycle.ts'
import { type MailBrand, type PlainMail, plainMail } from '../pages/plain-mail.ts'
import type { App, Work } from '../store/work.ts'
import { certificateUrl, mailedPortalUrl } from './courses.links.ts'

type CourseEvent = 'enrolled' | 'completed'

/** Builds the email for events without a bound project. The URLs are empty if the account has no portal. */
export const courseMail = (
  event: CourseEvent,
  facts: { email: string; title: string; portalUrl: string; certificate: string; brand?: MailBrand },
): PlainMail => {
  const { email, title, portalUrl, certificate, brand } = facts
  const button = (label: string, place = '') =>
    portalUrl === '' ? [] : [{ label, url: `${portalUrl}${place}`, button: true as const }]
  if (event === 'enrolled')
    return plainMail(
      `You now have access to ${title}`,
      [`All courses of this membership are open to you, as ${email}.`, ...button('Start the course')],
      { preheader: `Start whenever you like, as ${email}.`, brand },
    )
  return plainMail(
    `You have completed ${title}`,
    [
      'Congratulations: you have finished the last lesson.',
      // The portal asks for the name. Browsers keep the place through its redirect.
      ...(certificate === '' ? button('Open the course') : button('Get your certificate', '#certificate')),
      ...(certificate === '' ? [] : [{ label: 'Show it to others', url: certificate }]),
    ],
    {
      preheader:
        certificate === ''
          ? 'Congratulations, that was the last lesson.'
          : 'Congratulations, your certificate is ready.',
      brand,
    },
  )
}

/**
 * Queues a course's lifecycle email, bound or plain (docs/reference/mail.md#lifecycle-emails). Call it late in the unit of work:
 * it updates the email quota, a hot row.
 */
export const mailMember = async (
  app: Pick<App, 'config' | 'projects' | 'tokens'>,
  work: Work,
  event: CourseEvent,
  { id: courseId, title }: { id: string; title: string },
  member: { id: string; email: string },
): Promise<void> => {
  const portalUrl = await mailedPortalUrl(app, work, { courseId, memberId: member.id })
  const mergeData = { email: member.email, title, portalUrl }
  const certificate = event === 'completed' ? await certificateUrl(app, work, { courseId, memberId: member.id }) : ''
  const brand = { ...(await readBrand(work)), publicUrl: app.config.publicUrl }
  const mail = {
    subject: { kind: 'course' as const, id: courseId },
    event,
    to: member.email,
    // No key: the caller decides under the member's lock, and `enrolled` is sent again after a revocation.
    key: null,
    mergeData,
    plain: courseMail(event, { ...mergeData, certificate, brand }),
  }
  await queueLifecycleMails(app, work, [mail])
}
