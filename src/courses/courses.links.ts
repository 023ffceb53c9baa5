import { slugOf } from '../accounts/accounts.ts'
import { conflict, notFound, Problem } from '../lib/problem.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { findCourse, isEntitled } from './courses.find.ts'

/*
 * The portal has two tokens, and no cookie, because browsers keep none in a frame of another site. A link's token signs in: it contains
 * account, member and course, and expires after five minutes. The session's token contains account and member, lasts 12 hours, and is
 * passed in the portal's own links and forms. Neither token grants access: each request checks whether the member is entitled. A single
 * session can't be ended.
 *
 * The token of a certificate contains account, member and course, and never expires. It is valid while the completion exists: also for
 * a member who has lost access, and while the course is unpublished.
 */

const embedMs = 5 * 60_000
/** Emails can be read weeks after they arrive. */
const mailMs = 30 * 86_400_000
const sessionMs = 12 * 3_600_000

type Signer = Pick<App, 'config' | 'tokens'>

const linkOf = (
  { config, tokens }: Signer,
  { accountId, now }: Work,
  { slug, courseId, memberId }: { slug: string; courseId: string; memberId: string },
  lifetimeMs: number,
): string => {
  const token = tokens.sign('portal', [accountId, memberId, courseId], now.getTime() + lifetimeMs)
  return `${config.publicUrl}/${slug}/${courseId}/embed?token=${token}`
}

/** Returns the portal's URL for an email, valid for 30 days, or an empty text if the account has no slug. */
export const mailedPortalUrl = async (
  signer: Signer,
  work: Work,
  ids: { courseId: string; memberId: string },
): Promise<string> => {
  const slug = await slugOf(work)
  return slug === null ? '' : linkOf(signer, work, { slug, ...ids }, mailMs)
}

const findMember = statement(
  'find-member',
  { row: { id: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  'select id from members where account_id = :accountId and email = :email',
)

/**
 * Returns a portal URL for a member's normalised address, valid for 5 minutes (POST /courses/{id}/embed-token). Throws Problem
 * `not_found` for an unknown, foreign or unpublished course, then `conflict` if the account has no slug, then `forbidden` if the
 * member is not entitled.
 */
export const mintPortalUrl = async (signer: Signer, work: Work, courseId: string, email: string): Promise<string> => {
  const { sql, accountId } = work
  const course = await findCourse(work, courseId)
  if (!course.published) throw notFound('There is no such course', { hint: `svc courses publish ${courseId}` })
  const slug = await slugOf(work)
  if (slug === null) {
    throw conflict('The account has not claimed a membership URL', { hint: 'svc accounts claim-slug <slug>' })
  }
  const [member] = await sql(findMember, { accountId, email })
  if (!member || !(await isEntitled(work, member.id))) {
    throw new Problem('forbidden', 'This member is not currently entitled', {
      hint: `svc courses enroll ${courseId} --email <email>`,
    })
  }
  return linkOf(signer, work, { slug, courseId, memberId: member.id }, embedMs)
}

/** Returns the member id in a token of the purpose, or null if it is invalid, expired, or of another account or course. */
const memberIn =
  (purpose: 'portal' | 'certificate') =>
  (
    { tokens, now }: Pick<App, 'tokens' | 'now'>,
    token: string,
    { accountId, courseId }: { accountId: string; courseId: string },
  ): string | null => {
    const [account, memberId, course] = tokens.read(purpose, token, now().getTime()) ?? []
    return memberId !== undefined && account === accountId && course === courseId ? memberId : null
  }

/** Returns the member id in a link's token, or null if the token is invalid, expired, or of another account or course. */
export const memberOfLink = memberIn('portal')

/** Returns the member id in a certificate's token, or null if the token is invalid, or of another account or course. */
export const memberOfCertificate = memberIn('certificate')

/** Returns the member id in a session's token, or null if the token is invalid, expired or of another account. */
export const memberOfSession = (
  { tokens, now }: Pick<App, 'tokens' | 'now'>,
  session: string,
  accountId: string,
): string | null => {
  const [account, memberId] = tokens.read('portal-session', session, now().getTime()) ?? []
  return memberId !== undefined && account === accountId ? memberId : null
}

/** Returns a session token for the member, valid for 12 hours. */
export const openSession = (
  { tokens, now }: Pick<App, 'tokens' | 'now'>,
  accountId: string,
  memberId: string,
): string => tokens.sign('portal-session', [accountId, memberId], now().getTime() + sessionMs)

/** Returns the course's portal URL without a token, or null if the account has no slug. */
export const portalPage = async (
  { config }: Pick<App, 'config'>,
  work: AccountSql,
  courseId: string,
): Promise<string | null> => {
  const slug = await slugOf(work)
  return slug === null ? null : `${config.publicUrl}/${slug}/${courseId}/embed`
}

/** A member who has completed a course. */
export interface Holder {
  courseId: string
  memberId: string
}

/** Returns the path of a certificate, relative to that of its course. */
export const certificatePath = (
  { tokens }: Pick<App, 'tokens'>,
  accountId: string,
  { courseId, memberId }: Holder,
): string => `certificate/${tokens.sign('certificate', [accountId, memberId, courseId], null)}`

export const certificateUrlOf = (
  { config, tokens }: Signer,
  { slug, accountId }: { slug: string; accountId: string },
  holder: Holder,
): string => `${config.publicUrl}/${slug}/${holder.courseId}/${certificatePath({ tokens }, accountId, holder)}`

/** Returns the URL of a certificate, or an empty text if the account has no slug. */
export const certificateUrl = async (signer: Signer, work: AccountSql, holder: Holder): Promise<string> => {
  const slug = await slugOf(work)
  return slug === null ? '' : certificateUrlOf(signer, { slug, accountId: work.accountId }, holder)
}
