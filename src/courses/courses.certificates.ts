import { z } from 'zod'
import { activeAccounts } from '../accounts/accounts.rows.ts'
import { slugOf } from '../accounts/accounts.ts'
import { parse } from '../lib/parse.ts'
import { notFound } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { RowOf } from '../store/column-types.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { certificateUrlOf, type Holder } from './courses.links.ts'
import type { MemberView } from './courses.members.ts'

/** Adds their certificates to members of a course, unless the account has no slug. */
export const withCertificates = async (
  signer: Pick<App, 'config' | 'tokens'>,
  work: AccountSql,
  courseId: string,
  members: readonly MemberView[],
): Promise<(MemberView & { certificateUrl?: string })[]> => {
  const slug = await slugOf(work)
  return members.map((member) => {
    if (member.completedAt === null || slug === null) return member
    const holder = { courseId, memberId: member.subscriberId }
    return { ...member, certificateUrl: certificateUrlOf(signer, { slug, accountId: work.accountId }, holder) }
  })
}

const certificate = {
  course: 'text',
  account: 'text',
  name: 'text?',
  email: 'text',
  completedAt: 'timestamptz',
} as const

/** `name` is the name as the member entered it. It is null if they entered none. */
export type Certificate = RowOf<typeof certificate>

const readRow = statement(
  'read-certificate',
  { row: certificate, parameters: { accountId: 'text', memberId: 'text', courseId: 'text' } },
  `select c.title as course, a.name as account, o.name, m.email, o.completed_at as "completedAt"
   from course_completions o
   join courses c on c.account_id = :accountId and c.id = o.course_id
   join members m on m.account_id = :accountId and m.id = o.member_id
   join ${activeAccounts} a on a.id = o.account_id
   where o.account_id = :accountId and o.member_id = :memberId and o.course_id = :courseId`,
)

/** Returns null if the member has not completed the course, or one of them was deleted. */
export const findCertificate = async (
  { sql, accountId }: AccountSql,
  { memberId, courseId }: Holder,
): Promise<Certificate | null> => (await sql(readRow, { accountId, memberId, courseId }))[0] ?? null

export const nameMaxLength = 100

/** Control characters, ends of lines, and characters that change the direction of the text around them. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u

const CertificateName = z
  .string()
  .trim()
  .pipe(text(nameMaxLength))
  .refine((name) => !controls.test(name), 'must not contain control characters')
  .refine((name) => name === '' || /\p{L}/u.test(name), 'must contain a letter')

const updateName = statement(
  'name-certificate',
  { row: { id: 'text' }, parameters: { accountId: 'text', memberId: 'text', courseId: 'text', name: 'text?' } },
  `update course_completions set name = :name where account_id = :accountId and member_id = :memberId and course_id = :courseId
   returning course_id as id`,
)

/**
 * Changes the name on a certificate; an empty one shows the masked address again. Throws Problem `invalid`, and `not_found` if the
 * member has not completed the course.
 */
export const nameCertificate = async (work: Work, { memberId, courseId }: Holder, given: string): Promise<void> => {
  const { name } = parse(z.object({ name: CertificateName }), { name: given })
  const named = await work.sql(updateName, {
    accountId: work.accountId,
    memberId,
    courseId,
    name: name === '' ? null : name,
  })
  if (named.length === 0) throw notFound('There is no such certificate')
}
