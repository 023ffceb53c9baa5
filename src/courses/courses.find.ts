import { shownIds, theOne } from '../lib/names.ts'
import { notFound } from '../lib/problem.ts'
import type { RowOf } from '../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../store/epoch-ms.ts'
import { preparedStatement, statement } from '../store/statement.ts'
import { columns, types } from '../store/tables.ts'
import type { AccountSql } from '../store/work.ts'
import { courses, lessons } from './courses.columns.ts'

export interface LessonView {
  id: string
  title: string
  /** CommonMark; a single line break stays one. */
  content: string
  /** Left out of a lesson without a video. */
  videoUrl?: string
  /** Starts at 1. */
  position: number
}

const plain = columns(courses, ['id', 'title', 'published'], 'c')
const times = columns(courses, ['createdAt', 'updatedAt'], 'c')

const courseColumns = `${plain.list},
  (select count(*) from lessons l where l.account_id = c.account_id and l.course_id = c.id) as "lessonCount", ${times.list}`
const courseTypes = { ...plain.types, lessonCount: 'int8', ...times.types } as const

type Row = RowOf<typeof courseTypes>

/** A course as the terminal shows it. */
export type CourseView = InEpochMs<Row>

const readCourses = statement(
  'list-courses',
  { row: courseTypes, parameters: { accountId: 'text' } },
  `select ${courseColumns} from courses c where c.account_id = :accountId order by c.id desc`,
)

/** Returns all courses, newest first. */
export const listCourses = async ({ sql, accountId }: AccountSql): Promise<CourseView[]> => {
  const rows = await sql(readCourses, { accountId })
  return rows.map(inEpochMs)
}

const selectCourse = (name: string, lock = '') =>
  preparedStatement(
    name,
    { row: courseTypes, parameters: types(courses, 'accountId', 'id') },
    `select ${courseColumns} from courses c where c.account_id = :accountId and c.id = :id ${lock}`,
  )

const readCourse = selectCourse('course-by-id')
const holdCourseRow = selectCourse('hold-course', 'for key share of c')

/** Returns null for an unknown id and for another account's course. */
export const courseById = async ({ sql, accountId }: AccountSql, id: string): Promise<CourseView | null> => {
  const [row] = await sql(readCourse, { accountId, id })
  return row ? inEpochMs(row) : null
}

export const noSuchCourse = () => notFound('There is no such course')

/** Throws Problem `not_found` for an unknown id and for another account's course (docs/reference/api.md#authentication). */
export const findCourse = async (reader: AccountSql, id: string): Promise<CourseView> => {
  const course = await courseById(reader, id)
  if (!course) throw noSuchCourse()
  return course
}

/** Returns a course, and keeps it from being deleted until the end of the transaction. Throws Problem `not_found`. */
export const holdCourse = async ({ sql, accountId }: AccountSql, id: string): Promise<CourseView> => {
  const [row] = await sql(holdCourseRow, { accountId, id })
  if (!row) throw noSuchCourse()
  return inEpochMs(row)
}

const readNamed = statement(
  'courses-named',
  { row: courseTypes, parameters: { accountId: 'text', ref: 'text' } },
  `select ${courseColumns} from courses c where c.account_id = :accountId and (c.id = :ref or c.title = :ref)
   order by c.id = :ref desc, c.id limit ${shownIds + 1}`,
)

/** Finds a course by its id or unique title. Throws Problem `not_found`, or `conflict` if several courses have the title. */
export const findCourseNamed = async ({ sql, accountId }: AccountSql, ref: string): Promise<CourseView> => {
  const rows = await sql(readNamed, { accountId, ref })
  return inEpochMs(theOne(rows, ref, { noun: 'course', property: 'title', list: 'svc courses list' }))
}

const lessonColumns = columns(lessons, ['id', 'title', 'content', 'videoUrl', 'position'], 'l')
type LessonRow = RowOf<typeof lessonColumns.types>

export const viewLesson = ({ videoUrl, ...lesson }: LessonRow): LessonView => ({
  ...lesson,
  ...(videoUrl !== null && { videoUrl }),
})

const readLessons = preparedStatement(
  'lessons-of-course',
  { row: lessonColumns.types, parameters: { accountId: 'text', courseId: 'text' } },
  `select ${lessonColumns.list} from lessons l where l.account_id = :accountId and l.course_id = :courseId order by l.position`,
)

/** Returns the lessons in order. */
export const lessonsOf = async ({ sql, accountId }: AccountSql, courseId: string): Promise<LessonView[]> =>
  (await sql(readLessons, { accountId, courseId })).map(viewLesson)

const readAllLessons = statement(
  'list-lessons',
  { row: { id: 'text', title: 'text', course: 'text' }, parameters: { accountId: 'text' } },
  `select l.id, l.title, c.title as course from lessons l join courses c on c.account_id = l.account_id and c.id = l.course_id
   where l.account_id = :accountId order by c.id desc, l.position`,
)

/** Returns the lessons of all courses with the titles of their courses, newest course first. */
export const listLessons = ({ sql, accountId }: AccountSql): Promise<{ id: string; title: string; course: string }[]> =>
  sql(readAllLessons, { accountId })

/**
 * Returns the SQL condition that the course of the key `e` is not deleted. Keys of a deleted course stay for a while
 * (courses.delete.ts).
 */
export const opens = (e: string) =>
  `exists (select from courses oc where oc.account_id = ${e}.account_id and oc.id = ${e}.course_id)`

const readActiveKey = preparedStatement(
  'is-entitled',
  { parameters: { accountId: 'text', memberId: 'text' } },
  `select from enrolments e where e.account_id = :accountId and e.member_id = :memberId and e.active and ${opens('e')} limit 1`,
)

/** Whether any of the member's keys is active. */
export const isEntitled = async ({ sql, accountId }: AccountSql, memberId: string): Promise<boolean> =>
  (await sql(readActiveKey, { accountId, memberId })).length > 0
