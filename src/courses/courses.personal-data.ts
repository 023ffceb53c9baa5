import { epochMs } from '../store/epoch-ms.ts'
import { statement } from '../store/statement.ts'
import type { Listener, PersonalDataPart } from '../store/work.ts'

const readEnrolments = statement(
  'enrolments-of-email',
  {
    row: {
      subscriberId: 'text',
      courseId: 'text?',
      title: 'text?',
      active: 'bool?',
      enrolledAt: 'int8?',
      updatedAt: 'int8?',
    },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select m.id as "subscriberId", e.course_id as "courseId", c.title, e.active, ${epochMs('e.created_at')} as "enrolledAt",
     ${epochMs('e.updated_at')} as "updatedAt"
   from members m left join enrolments e on e.account_id = :accountId and e.member_id = m.id
   left join courses c on c.account_id = :accountId and c.id = e.course_id
   where m.account_id = :accountId and m.email = :email order by e.course_id`,
)

const readFinishedLessons = statement(
  'finished-lessons-of-email',
  {
    row: { courseId: 'text', lessonId: 'text', title: 'text', finishedAt: 'int8' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select f.course_id as "courseId", f.lesson_id as "lessonId", l.title, ${epochMs('f.finished_at')} as "finishedAt"
   from members m join finished_lessons f on f.account_id = :accountId and f.member_id = m.id
   join lessons l on l.account_id = :accountId and l.id = f.lesson_id
   where m.account_id = :accountId and m.email = :email order by f.finished_at, f.lesson_id`,
)

const readCompletedCourses = statement(
  'completed-courses-of-email',
  {
    row: { courseId: 'text', title: 'text', completedAt: 'int8', name: 'text?' },
    parameters: { accountId: 'text', email: 'text' },
  },
  `select o.course_id as "courseId", c.title, ${epochMs('o.completed_at')} as "completedAt", o.name
   from members m join course_completions o on o.account_id = :accountId and o.member_id = m.id
   join courses c on c.account_id = :accountId and c.id = o.course_id
   where m.account_id = :accountId and m.email = :email order by o.completed_at, o.course_id`,
)

/** An address's keys and progress. Erasing the address deletes all of it. */
export const personalData: readonly PersonalDataPart[] = [
  { name: 'enrolments', read: ({ sql, accountId }, email) => sql(readEnrolments, { accountId, email }) },
  { name: 'finishedLessons', read: ({ sql, accountId }, email) => sql(readFinishedLessons, { accountId, email }) },
  {
    name: 'completedCourses',
    // With the name on the certificate, if the member entered one.
    read: async ({ sql, accountId }, email) =>
      (await sql(readCompletedCourses, { accountId, email })).map(({ name, ...course }) => ({
        ...course,
        ...(name !== null && { name }),
      })),
  },
]

const deleteMember = statement(
  'delete-member',
  { row: { id: 'text' }, parameters: { accountId: 'text', email: 'text' } },
  'delete from members where account_id = :accountId and email = :email returning id',
)

const deleteFrom = (table: string) =>
  statement(
    `delete-${table}-of-member`.replaceAll('_', '-'),
    { parameters: { accountId: 'text', memberId: 'text' } },
    `delete from ${table} where account_id = :accountId and member_id = :memberId`,
  )

const deleteRows = ['enrolments', 'finished_lessons', 'course_completions'].map(deleteFrom)

/** Deletes an erased address from the membership, with its keys and progress. Its portal sessions end immediately. */
export const forgetMembers: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const [member] = await sql(deleteMember, { accountId, email })
    if (!member) return
    for (const deletion of deleteRows) await sql(deletion, { accountId, memberId: member.id })
  },
}
