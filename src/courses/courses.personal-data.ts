import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

const readEnrolments = statement<{
  subscriberId: string
  courseId: string | null
  title: string | null
  active: boolean | null
  enrolledAt: number | null
  updatedAt: number | null
}>(
  'enrolments-of-email',
  { subscriberId: 'text', courseId: 'text', title: 'text', active: 'bool', enrolledAt: 'int8', updatedAt: 'int8' },
  `select m.id as "subscriberId", e.course_id as "courseId", c.title, e.active, ${epochMs('e.created_at')} as "enrolledAt",
     ${epochMs('e.updated_at')} as "updatedAt"
   from members m left join enrolments e on e.account_id = $1 and e.member_id = m.id
   left join courses c on c.account_id = $1 and c.id = e.course_id
   where m.account_id = $1 and m.email = $2 order by e.course_id`,
)

const readFinishedLessons = statement<{ courseId: string; lessonId: string; title: string; finishedAt: number }>(
  'finished-lessons-of-email',
  { courseId: 'text', lessonId: 'text', title: 'text', finishedAt: 'int8' },
  `select f.course_id as "courseId", f.lesson_id as "lessonId", l.title, ${epochMs('f.finished_at')} as "finishedAt"
   from members m join finished_lessons f on f.account_id = $1 and f.member_id = m.id
   join lessons l on l.account_id = $1 and l.id = f.lesson_id
   where m.account_id = $1 and m.email = $2 order by f.finished_at, f.lesson_id`,
)

const readCompletedCourses = statement<{ courseId: string; title: string; completedAt: number; name: string | null }>(
  'completed-courses-of-email',
  { courseId: 'text', title: 'text', completedAt: 'int8', name: 'text' },
  `select o.course_id as "courseId", c.title, ${epochMs('o.completed_at')} as "completedAt", o.name
   from members m join course_completions o on o.account_id = $1 and o.member_id = m.id
   join courses c on c.account_id = $1 and c.id = o.course_id
   where m.account_id = $1 and m.email = $2 order by o.completed_at, o.course_id`,
)

/** An address's keys and progress. Erasing the address deletes all of it. */
export const personalData: readonly PersonalDataPart[] = [
  { name: 'enrolments', read: ({ sql, accountId }, email) => sql(readEnrolments, [accountId, email]) },
  { name: 'finishedLessons', read: ({ sql, accountId }, email) => sql(readFinishedLessons, [accountId, email]) },
  {
    name: 'completedCourses',
    // With the name on the certificate, if the member entered one.
    read: async ({ sql, accountId }, email) =>
      (await sql(readCompletedCourses, [accountId, email])).map(({ name, ...course }) => ({
        ...course,
        ...(name !== null && { name }),
      })),
  },
]

const deleteMember = statement<{ id: string }>(
  'delete-member',
  { id: 'text' },
  'delete from members where account_id = $1 and email = $2 returning id',
)

const deletingFrom = (table: string) =>
  statement(
    `delete-${table}-of-member`.replaceAll('_', '-'),
    {},
    `delete from ${table} where account_id = $1 and member_id = $2`,
  )

const deletionsOfMember = ['enrolments', 'finished_lessons', 'course_completions'].map(deletingFrom)

/** Deletes an erased address from the membership, with its keys and progress. Its portal sessions end immediately. */
export const forgetMembers: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const [member] = await sql(deleteMember, [accountId, email])
    if (!member) return
    for (const deletion of deletionsOfMember) await sql(deletion, [accountId, member.id])
  },
}
