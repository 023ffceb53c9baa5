import { byName } from '../lib/names.ts'
import { notFound, Problem } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns } from '../store/tables.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { lessons } from './courses.columns.ts'
import { type CourseView, courseById, isEntitled } from './courses.find.ts'
import { mailMember } from './courses.mails.ts'

const lessonColumns = columns(lessons, ['id', 'title', 'videoUrl', 'position'], 'l')
const seenTypes = { ...lessonColumns.types, isFinished: 'bool' } as const

/** A lesson as one member sees it, without its content. */
export type SeenLesson = RowOf<typeof seenTypes>

/** A course as one member sees it. */
export interface Progress {
  course: CourseView
  lessons: SeenLesson[]
  isCompleted: boolean
}

/** Returns null for an unknown, foreign or unpublished course. */
const publishedCourse = async (reader: AccountSql, courseId: string): Promise<CourseView | null> => {
  const course = await courseById(reader, courseId)
  return course?.published ? course : null
}

const readEmail = statement(
  'email-of-member',
  { row: { email: 'text' }, parameters: { accountId: 'text', memberId: 'text' } },
  'select email from members where account_id = :accountId and id = :memberId',
)

/** Returns the member's address, or null if the member is not entitled or was erased. */
export const entitledEmail = async (reader: AccountSql, memberId: string): Promise<string | null> => {
  const [member] = await reader.sql(readEmail, { accountId: reader.accountId, memberId })
  return member && (await isEntitled(reader, memberId)) ? member.email : null
}

const readLessons = preparedStatement(
  'read-progress',
  {
    row: seenTypes,
    parameters: { accountId: 'text', courseId: 'text', memberId: 'text' },
  },
  `select ${lessonColumns.list}, f.lesson_id is not null as "isFinished"
   from lessons l left join finished_lessons f
     on f.account_id = :accountId and f.member_id = :memberId and f.course_id = :courseId and f.lesson_id = l.id
   where l.account_id = :accountId and l.course_id = :courseId order by l.position`,
)

const readCompletion = statement(
  'is-completed',
  { parameters: { accountId: 'text', memberId: 'text', courseId: 'text' } },
  'select from course_completions where account_id = :accountId and member_id = :memberId and course_id = :courseId',
)

/** Returns a course with the member's progress, or null for an unknown, foreign or unpublished course. */
export const readProgress = async (
  reader: AccountSql,
  memberId: string,
  courseId: string,
): Promise<Progress | null> => {
  const { sql, accountId } = reader
  const course = await publishedCourse(reader, courseId)
  if (!course) return null
  const lessons = await sql(readLessons, { accountId, courseId, memberId })
  const completions = await sql(readCompletion, { accountId, memberId, courseId })
  return { course, lessons, isCompleted: completions.length > 0 }
}

const readHtml = preparedStatement(
  'html-of-lesson',
  { row: { html: 'text' }, parameters: { accountId: 'text', courseId: 'text', id: 'text' } },
  'select html from lessons where account_id = :accountId and course_id = :courseId and id = :id',
)

/** Returns the content of a lesson as sanitised HTML. */
export const lessonHtml = async ({ sql, accountId }: AccountSql, courseId: string, id: string): Promise<string> =>
  (await sql(readHtml, { accountId, courseId, id }))[0]?.html ?? ''

const readPublished = statement(
  'published-courses',
  { row: { id: 'text', title: 'text' }, parameters: { accountId: 'text' } },
  'select id, title from courses where account_id = :accountId and published order by id',
)

/** Returns the published courses by title. */
export const publishedCourses = async ({ sql, accountId }: AccountSql): Promise<{ id: string; title: string }[]> =>
  (await sql(readPublished, { accountId })).sort(byName('title'))

// Locks the member: of two concurrent calls exactly one completes the course, and after a revocation none succeeds.
const lockMember = statement(
  'lock-member-by-id',
  { parameters: { accountId: 'text', memberId: 'text' } },
  'select from members where account_id = :accountId and id = :memberId for no key update',
)

// Keeps the lesson from being deleted before the commit. Returns no row if it was deleted.
const holdLesson = statement(
  'hold-lesson',
  { parameters: { accountId: 'text', courseId: 'text', lessonId: 'text' } },
  'select from lessons where account_id = :accountId and course_id = :courseId and id = :lessonId for key share',
)

const insertFinished = statement(
  'finish-lesson',
  {
    row: { isNew: 'bool' },
    parameters: { accountId: 'text', memberId: 'text', courseId: 'text', lessonId: 'text', now: 'timestamptz' },
  },
  `insert into finished_lessons (account_id, member_id, course_id, lesson_id, finished_at) values (:accountId, :memberId, :courseId, :lessonId, :now)
   on conflict do nothing returning true as "isNew"`,
)

const insertCompletion = statement(
  'complete-course',
  {
    row: { isCompleted: 'bool' },
    parameters: { accountId: 'text', memberId: 'text', courseId: 'text', now: 'timestamptz' },
  },
  `insert into course_completions (account_id, member_id, course_id, completed_at)
   select :accountId, :memberId, :courseId, :now where not exists (
     select from lessons l where l.account_id = :accountId and l.course_id = :courseId and not exists (
       select from finished_lessons f
       where f.account_id = :accountId and f.member_id = :memberId and f.course_id = :courseId and f.lesson_id = l.id
     )
   ) on conflict do nothing returning true as "isCompleted"`,
)

/**
 * Marks a lesson as finished. The last lesson of a course completes it, which sends the `completed` email, at most once per
 * member and course. A lesson that was finished before changes nothing, even if it is the last one by now. Throws Problem
 * `forbidden` if the member is no longer entitled, `not_found` for an unknown lesson and for an unknown, foreign or unpublished
 * course.
 */
export const finishLesson = async (
  app: Pick<App, 'config' | 'projects' | 'tokens'>,
  work: Work,
  { memberId, courseId, lessonId }: { memberId: string; courseId: string; lessonId: string },
): Promise<void> => {
  const { sql, accountId, now } = work
  const course = await publishedCourse(work, courseId)
  if (!course) throw notFound('There is no such course')
  await sql(lockMember, { accountId, memberId })
  const email = await entitledEmail(work, memberId)
  if (email === null) throw new Problem('forbidden', 'You no longer have access')
  const found = await sql(holdLesson, { accountId, courseId, lessonId })
  if (found.length === 0) throw notFound('There is no such lesson')
  const finished = await sql(insertFinished, { accountId, memberId, courseId, lessonId, now })
  if (finished.length === 0) return
  const completed = await sql(insertCompletion, { accountId, memberId, courseId, now })
  if (completed.length > 0) await mailMember(app, work, 'completed', course, { id: memberId, email })
}
