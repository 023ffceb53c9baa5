import { slugOf } from '../accounts/accounts.ts'
import { conflict, missing, Problem } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { findCourse, isEntitled } from './courses.find.ts'

/*
 * Two tokens lead into the portal. That of a link signs in: it names account, member and course, and must be opened within
 * its time. What is opened goes on with that of a session, which names account and member and travels in the page's own
 * links, for in the frame of another site browsers keep no cookie. Neither grants anything: each request looks whether the
 * member is entitled.
 */

const embedMs = 5 * 60_000
/** A mail is read when its reader comes to it. */
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

/** The portal's URL for a mail, which can be opened for 30 days; empty where the account has claimed no slug. */
export const mailedPortalUrl = async (
  signer: Signer,
  work: Work,
  ids: { courseId: string; memberId: string },
): Promise<string> => {
  const slug = await slugOf(work)
  return slug === null ? '' : linkOf(signer, work, { slug, ...ids }, mailMs)
}

/**
 * The portal's URL for a member's address (normalised), to be opened within five minutes (POST /courses/{id}/embed-token).
 * Throws Problem `missing` for a course that is not the account's or not published, then `conflict` without a slug, then
 * `forbidden` where the member is not entitled.
 */
export const mintPortalUrl = async (signer: Signer, work: Work, courseId: string, email: string): Promise<string> => {
  const { sql, accountId } = work
  const course = await findCourse(work, courseId)
  if (!course.published) throw missing('There is no such course', { hint: `svc courses publish ${courseId}` })
  const slug = await slugOf(work)
  if (slug === null) {
    throw conflict('The account has not claimed a membership URL', { hint: 'svc accounts claim-slug <slug>' })
  }
  const [member] = await sql<{ id: string }>('select id from members where account_id = $1 and email = $2', [
    accountId,
    email,
  ])
  if (!member || !(await isEntitled(work, member.id))) {
    throw new Problem('forbidden', 'This member is not currently entitled', {
      hint: `svc courses enroll ${courseId} --email <email>`,
    })
  }
  return linkOf(signer, work, { slug, courseId, memberId: member.id }, embedMs)
}

/** Whom a portal's link signs in, as long as it can be opened; null for one of another account or course. */
export const memberOfLink = (
  { tokens, now }: Pick<App, 'tokens' | 'now'>,
  token: string,
  { accountId, courseId }: { accountId: string; courseId: string },
): string | null => {
  const [account, memberId, course] = tokens.read('portal', token, now().getTime()) ?? []
  return memberId !== undefined && account === accountId && course === courseId ? memberId : null
}

/** Whose session it is; null for one of another account, or that is over. */
export const memberOfSession = (
  { tokens, now }: Pick<App, 'tokens' | 'now'>,
  session: string,
  accountId: string,
): string | null => {
  const [account, memberId] = tokens.read('portal-session', session, now().getTime()) ?? []
  return memberId !== undefined && account === accountId ? memberId : null
}

/** A session of the member, for 12 hours. */
export const openSession = (
  { tokens, now }: Pick<App, 'tokens' | 'now'>,
  accountId: string,
  memberId: string,
): string => tokens.sign('portal-session', [accountId, memberId], now().getTime() + sessionMs)
