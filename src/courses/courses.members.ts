import { z } from 'zod'
import { emailAddress } from '../lib/address.ts'
import { decodeCursor, encodeCursor, type Page } from '../lib/cursor.ts'
import { newId } from '../lib/ids.ts'
import type { PageRequest } from '../lib/page-request.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { holdCourse, isEntitled, type LessonView, lessonsOf, opens } from './courses.find.ts'
import { mailMember } from './courses.mails.ts'

/** Schema of a member's address. Its message is that of a registration (docs/reference/api.md#errors). */
export const MemberEmail = emailAddress('A valid email is required').describe('The address of the person')

/** The body of POST /courses/{id}/enroll. */
export const EnrolmentBody = z
  .object({ email: MemberEmail, active: z.boolean().default(true).describe('false revokes the access. Default: true') })
  .meta({ examples: [{ email: 'ada.okafor@northwind.example' }] })

/** The result of an enrolment: the member, and whether this course's key is active. */
export const EnrolmentResult = z.object({
  subscriberId: z.string().describe('Id of the member'),
  active: z.boolean().describe('Whether the member has access'),
})
export type EnrolmentResult = z.infer<typeof EnrolmentResult>

const upsertMember = preparedStatement(
  'lock-member',
  { row: { id: 'text' }, parameters: { accountId: 'text', id: 'text', email: 'text', now: 'timestamptz' } },
  `insert into members (account_id, id, email, created_at) values (:accountId, :id, :email, :now)
   on conflict (account_id, email) do update set email = excluded.email returning id`,
)

/** Locks the address's member, and creates it if necessary, so that changes of its keys run one after another. Returns its id. */
const lockMember = async ({ sql, accountId, now }: Work, email: string): Promise<string> => {
  const [member] = await sql(upsertMember, { accountId, id: newId('sub', now.getTime()), email, now })
  return member!.id
}

const upsertKey = preparedStatement(
  'activate-key',
  {
    row: { isActivated: 'bool' },
    parameters: { accountId: 'text', memberId: 'text', courseId: 'text', now: 'timestamptz' },
  },
  `insert into enrolments as e (account_id, member_id, course_id, active, created_at, updated_at)
   values (:accountId, :memberId, :courseId, true, :now, :now)
   on conflict (account_id, member_id, course_id) do update set active = true, updated_at = :now where not e.active
   returning true as "isActivated"`,
)

/** Activates the key. Returns false if it was active already. */
const activateKey = async ({ sql, accountId, now }: Work, memberId: string, courseId: string): Promise<boolean> =>
  (await sql(upsertKey, { accountId, memberId, courseId, now })).length > 0

const revokeKey = statement(
  'revoke-key',
  { parameters: { accountId: 'text', memberId: 'text', courseId: 'text', now: 'timestamptz' } },
  `update enrolments set active = false, updated_at = :now
   where account_id = :accountId and member_id = :memberId and course_id = :courseId and active`,
)

/**
 * Activates or revokes the course's key to the whole membership for a normalised address (POST /courses/{id}/enroll). The
 * address's `subscriberId` never changes. A member who was not entitled before gets the `enrolled` email, and a newly active key
 * starts journeys. A revocation sends nothing. Throws Problem `not_found` for an unknown or foreign course.
 */
export const enrolMember = async (
  app: App,
  work: Work,
  courseId: string,
  { email, active }: z.output<typeof EnrolmentBody>,
): Promise<EnrolmentResult> => {
  const course = await holdCourse(work, courseId)
  const memberId = await lockMember(work, email)
  if (!active) {
    await work.sql(revokeKey, { accountId: work.accountId, memberId, courseId, now: work.now })
    return { subscriberId: memberId, active }
  }
  const wasEntitled = await isEntitled(work, memberId)
  if (await activateKey(work, memberId, courseId)) {
    for (const listener of await work.listeners()) await listener.memberEnrolled?.(work, { course, email })
    if (!wasEntitled) await mailMember(app, work, 'enrolled', course, { id: memberId, email })
  }
  return { subscriberId: memberId, active }
}

const countMembers = statement(
  'members-of-course',
  { row: { members: 'int8', completed: 'int8' }, parameters: { accountId: 'text', courseId: 'text' } },
  `select (select count(*) from enrolments where account_id = :accountId and course_id = :courseId and active) as members,
     (select count(*) from course_completions where account_id = :accountId and course_id = :courseId) as completed`,
)

const countLessons = statement(
  'finished-lessons-of-course',
  { row: { lessonId: 'text', finished: 'int8' }, parameters: { accountId: 'text', courseId: 'text' } },
  `select lesson_id as "lessonId", count(*) as finished from finished_lessons
   where account_id = :accountId and course_id = :courseId group by lesson_id`,
)

/** A lesson with the number of members who have finished it. */
type LessonProgress = LessonView & { finished: number }

/** Counts a course's members with an active key and those who have completed it, and for each lesson those who have finished it. */
export const progressOfCourse = async (
  reader: AccountSql,
  courseId: string,
): Promise<{ members: number; completed: number; lessons: LessonProgress[] }> => {
  const { sql, accountId } = reader
  const [counts] = await sql(countMembers, { accountId, courseId })
  const finished = new Map(
    (await sql(countLessons, { accountId, courseId })).map((row) => [row.lessonId, row.finished]),
  )
  const lessons = await lessonsOf(reader, courseId)
  return { ...counts!, lessons: lessons.map((lesson) => ({ ...lesson, finished: finished.get(lesson.id) ?? 0 })) }
}

const memberTypes = {
  subscriberId: 'text',
  email: 'text',
  /** Whether this course's key is active. */
  active: 'bool',
  /** Whether any of the member's keys is active. */
  entitled: 'bool',
  /** Number of finished lessons of this course. */
  completedLessons: 'int8',
  completedAt: 'timestamptz?',
  enrolledAt: 'timestamptz',
} as const

/** A member who has or had a course's key. */
export type MemberView = InEpochMs<RowOf<typeof memberTypes>>

const readMembers = statement(
  'list-members',
  { row: memberTypes, parameters: { accountId: 'text', courseId: 'text', after: 'text', limit: 'int8' } },
  `select m.id as "subscriberId", m.email, e.active,
     exists (select from enrolments o where o.account_id = :accountId and o.member_id = m.id and o.active and ${opens('o')}) as entitled,
     (select count(*) from finished_lessons f
      where f.account_id = :accountId and f.member_id = m.id and f.course_id = :courseId) as "completedLessons",
     c.completed_at as "completedAt", e.created_at as "enrolledAt"
   from enrolments e join members m on m.account_id = e.account_id and m.id = e.member_id
   left join course_completions c on c.account_id = :accountId and c.member_id = m.id and c.course_id = :courseId
   where e.account_id = :accountId and e.course_id = :courseId and e.member_id > :after order by e.member_id limit :limit`,
)

/** Returns a page of the members who have or had the course's key, oldest first. Throws Problem `invalid` for a bad cursor. */
export const listMembers = async (
  { sql, accountId }: AccountSql,
  courseId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<MemberView>> => {
  const [after = ''] = cursor === undefined ? [] : decodeCursor(cursor, 1)
  const rows = await sql(readMembers, { accountId, courseId, after, limit: limit + 1 })
  const page = rows.slice(0, limit).map(inEpochMs)
  return { rows: page, nextCursor: rows.length > limit ? encodeCursor([page.at(-1)!.subscriberId]) : null }
}
