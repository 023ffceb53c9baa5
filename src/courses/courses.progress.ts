import { missing, Problem } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'
import { type CourseView, courseById, isEntitled, type LessonView, type Reader } from './courses.find.ts'
import { mailMember } from './courses.mails.ts'

/** A course as one member sees it. */
export interface Progress {
  course: CourseView
  lessons: (LessonView & { isFinished: boolean })[]
  isCompleted: boolean
}

/** A course that the membership shows; null for one that is not the account's or not published. */
const publishedCourse = async (reader: Reader, courseId: string): Promise<CourseView | null> => {
  const course = await courseById(reader, courseId)
  return course?.published ? course : null
}

/** The member's address; null where it is not entitled, or has been erased. */
export const entitledEmail = async (reader: Reader, memberId: string): Promise<string | null> => {
  const [member] = await reader.sql<{ email: string }>('select email from members where account_id = $1 and id = $2', [
    reader.accountId,
    memberId,
  ])
  return member && (await isEntitled(reader, memberId)) ? member.email : null
}

/** A course with what the member has finished of it; null for one that the membership does not show. */
export const readProgress = async (reader: Reader, memberId: string, courseId: string): Promise<Progress | null> => {
  const { sql, accountId } = reader
  const course = await publishedCourse(reader, courseId)
  if (!course) return null
  const lessons = await sql<Progress['lessons'][number]>(
    `select l.id, l.title, l.content, l.position, f.lesson_id is not null as "isFinished"
     from lessons l left join finished_lessons f
       on f.account_id = $1 and f.member_id = $3 and f.course_id = $2 and f.lesson_id = l.id
     where l.account_id = $1 and l.course_id = $2 order by l.position`,
    [accountId, courseId, memberId],
    'read-progress',
  )
  const completions = await sql(
    'select from course_completions where account_id = $1 and member_id = $2 and course_id = $3',
    [accountId, memberId, courseId],
  )
  return { course, lessons, isCompleted: completions.length > 0 }
}

/** The courses of the membership, by title. */
export const publishedCourses = ({ sql, accountId }: Reader): Promise<{ id: string; title: string }[]> =>
  sql('select id, title from courses where account_id = $1 and published order by title, id', [accountId])

/**
 * Finishes a lesson for a member, once; with the last one of its course the member has completed it, and gets the
 * `completed` mail, once for ever. Throws Problem `forbidden` where the member is not entitled any more, `missing` for a
 * course or lesson that the membership does not show.
 */
export const finishLesson = async (
  app: Pick<App, 'config' | 'projects' | 'tokens'>,
  work: Work,
  { memberId, courseId, lessonId }: { memberId: string; courseId: string; lessonId: string },
): Promise<void> => {
  const { sql, accountId, now } = work
  const course = await publishedCourse(work, courseId)
  if (!course) throw missing('There is no such course')
  // Of two lessons that are finished at once one is the last, and whoever is revoked first finishes nothing.
  await sql('select from members where account_id = $1 and id = $2 for no key update', [accountId, memberId])
  const email = await entitledEmail(work, memberId)
  if (email === null) throw new Problem('forbidden', 'You no longer have access')
  const found = await sql('select from lessons where account_id = $1 and course_id = $2 and id = $3', [
    accountId,
    courseId,
    lessonId,
  ])
  if (found.length === 0) throw missing('There is no such lesson')
  await sql(
    `insert into finished_lessons (account_id, member_id, course_id, lesson_id, finished_at) values ($1, $2, $3, $4, $5)
     on conflict do nothing`,
    [accountId, memberId, courseId, lessonId, now],
  )
  const completed = await sql(
    `insert into course_completions (account_id, member_id, course_id, completed_at)
     select $1, $2, $3, $4 where not exists (
       select from lessons l where l.account_id = $1 and l.course_id = $3 and not exists (
         select from finished_lessons f
         where f.account_id = $1 and f.member_id = $2 and f.course_id = $3 and f.lesson_id = l.id
       )
     ) on conflict do nothing returning 1`,
    [accountId, memberId, courseId, now],
  )
  if (completed.length > 0) await mailMember(app, work, 'completed', course, { id: memberId, email })
}
