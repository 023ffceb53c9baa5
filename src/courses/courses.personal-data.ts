import type { Listener, PersonalDataPart } from '../store/work.ts'

const epochMs = (column: string) => `(extract(epoch from ${column}) * 1000)::int8`

/** An address's keys and progress. Erasing the address deletes all of it. */
export const personalData: readonly PersonalDataPart[] = [
  {
    name: 'enrolments',
    read: ({ sql, accountId }, email) =>
      sql(
        `select m.id as "subscriberId", e.course_id as "courseId", c.title, e.active, ${epochMs('e.created_at')} as "enrolledAt",
           ${epochMs('e.updated_at')} as "updatedAt"
         from members m left join enrolments e on e.account_id = $1 and e.member_id = m.id
         left join courses c on c.account_id = $1 and c.id = e.course_id
         where m.account_id = $1 and m.email = $2 order by e.course_id`,
        [accountId, email],
      ),
  },
  {
    name: 'finishedLessons',
    read: ({ sql, accountId }, email) =>
      sql(
        `select f.course_id as "courseId", f.lesson_id as "lessonId", l.title, ${epochMs('f.finished_at')} as "finishedAt"
         from members m join finished_lessons f on f.account_id = $1 and f.member_id = m.id
         join lessons l on l.account_id = $1 and l.id = f.lesson_id
         where m.account_id = $1 and m.email = $2 order by f.finished_at, f.lesson_id`,
        [accountId, email],
      ),
  },
  {
    name: 'completedCourses',
    read: ({ sql, accountId }, email) =>
      sql(
        `select o.course_id as "courseId", c.title, ${epochMs('o.completed_at')} as "completedAt"
         from members m join course_completions o on o.account_id = $1 and o.member_id = m.id
         join courses c on c.account_id = $1 and c.id = o.course_id
         where m.account_id = $1 and m.email = $2 order by o.completed_at, o.course_id`,
        [accountId, email],
      ),
  },
]

/** Deletes an erased address from the membership, with its keys and progress. Its portal sessions end immediately. */
export const forgetMembers: Listener = {
  async contactsRemoved({ sql, accountId }, { listId, email }) {
    if (listId !== undefined || email === undefined) return
    const [member] = await sql<{ id: string }>(
      'delete from members where account_id = $1 and email = $2 returning id',
      [accountId, email],
    )
    if (!member) return
    for (const table of ['enrolments', 'finished_lessons', 'course_completions'])
      await sql(`delete from ${table} where account_id = $1 and member_id = $2`, [accountId, member.id])
  },
}
