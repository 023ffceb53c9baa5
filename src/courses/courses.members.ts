import { z } from 'zod'
import { emailAddress } from '../lib/address.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import type { App, Work } from '../store/work.ts'
import { findCourse, isEntitled, type Reader } from './courses.find.ts'
import { mailMember } from './courses.mails.ts'

/** A member's address, normalised; refused in the words of a registration (api.md section 7). */
export const MemberEmail = emailAddress('A valid email is required')

/** The body of POST /courses/{id}/enroll. */
export const EnrolmentBody = z
  .object({ email: MemberEmail, active: z.boolean().default(true) })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example' }] })

/** What became of an enrolment: the member, and whether this course's key is active. */
export const EnrolmentResult = z.object({ subscriberId: z.string(), active: z.boolean() })
export type EnrolmentResult = z.infer<typeof EnrolmentResult>

/** Holds the address's member, made where there is none: what its keys decide is decided one after the other. */
const holdMember = async ({ sql, accountId, now }: Work, email: string): Promise<string> => {
  const [member] = await sql<{ id: string }>(
    `insert into members (account_id, id, email, created_at) values ($1, $2, $3, $4)
     on conflict (account_id, email) do update set email = excluded.email returning id`,
    [accountId, newId('sub', now.getTime()), email, now],
    'hold-member',
  )
  return member!.id
}

/** Gives the key; false where it is active already. */
const giveKey = async ({ sql, accountId, now }: Work, memberId: string, courseId: string): Promise<boolean> => {
  const given = await sql(
    `insert into enrolments as e (account_id, member_id, course_id, active, created_at, updated_at)
     values ($1, $2, $3, true, $4, $4)
     on conflict (account_id, member_id, course_id) do update set active = true, updated_at = $4 where not e.active
     returning 1`,
    [accountId, memberId, courseId, now],
    'give-key',
  )
  return given.length > 0
}

/**
 * Gives the address (normalised) the course's key to the account's whole membership, or takes it away (POST
 * /courses/{id}/enroll); its `subscriberId` is the same for ever. Who was not entitled before gets the `enrolled` mail; a key
 * that was not active before starts journeys; whoever is revoked hears nothing. Throws Problem `missing` for a course that is
 * not the account's.
 */
export const enrolMember = async (
  app: App,
  work: Work,
  courseId: string,
  { email, active }: z.output<typeof EnrolmentBody>,
): Promise<EnrolmentResult> => {
  const course = await findCourse(work, courseId)
  const memberId = await holdMember(work, email)
  if (!active) {
    await work.sql(
      `update enrolments set active = false, updated_at = $4
       where account_id = $1 and member_id = $2 and course_id = $3 and active`,
      [work.accountId, memberId, courseId, work.now],
    )
    return { subscriberId: memberId, active }
  }
  const wasEntitled = await isEntitled(work, memberId)
  if (await giveKey(work, memberId, courseId)) {
    for (const listener of work.listeners) await listener.memberEnrolled?.(work, { course, email })
    if (!wasEntitled) await mailMember(app, work, 'enrolled', course, { id: memberId, email })
  }
  return { subscriberId: memberId, active }
}

/** Who has or had a course's key; times in epoch ms. */
export interface MemberView {
  subscriberId: string
  email: string
  /** Whether this course's key is active. */
  active: boolean
  /** Whether any key is. */
  entitled: boolean
  /** How many lessons of this course it has finished. */
  completedLessons: number
  completedAt: number | null
  enrolledAt: number
}

/** A page of those to whom the course's key was ever given, first come first. Throws Problem `invalid` for a bad cursor. */
export const listMembers = async (
  { sql, accountId }: Reader,
  courseId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
): Promise<Page<MemberView>> => {
  const [after = ''] = cursor === undefined ? [] : decodeCursor(cursor, 1)
  const rows = await sql<
    Omit<MemberView, 'completedAt' | 'enrolledAt'> & { completedAt: Date | null; enrolledAt: Date }
  >(
    `select m.id as "subscriberId", m.email, e.active,
       exists (select from enrolments o where o.account_id = $1 and o.member_id = m.id and o.active) as entitled,
       (select count(*) from finished_lessons f
        where f.account_id = $1 and f.member_id = m.id and f.course_id = $2) as "completedLessons",
       c.completed_at as "completedAt", e.created_at as "enrolledAt"
     from enrolments e join members m on m.account_id = e.account_id and m.id = e.member_id
     left join course_completions c on c.account_id = $1 and c.member_id = m.id and c.course_id = $2
     where e.account_id = $1 and e.course_id = $2 and e.member_id > $3 order by e.member_id limit $4`,
    [accountId, courseId, after, limit + 1],
  )
  const page = rows.slice(0, limit).map(({ completedAt, enrolledAt, ...member }) => ({
    ...member,
    completedAt: completedAt?.getTime() ?? null,
    enrolledAt: enrolledAt.getTime(),
  }))
  return { rows: page, nextCursor: rows.length > limit ? encodeCursor([page.at(-1)!.subscriberId]) : null }
}
