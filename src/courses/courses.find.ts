import { conflict, noSuch, notFound, shown } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'

export type Reader = Pick<Work, 'sql' | 'accountId'>

/** A course as the terminal shows it; times in epoch ms. */
export interface CourseView {
  id: string
  title: string
  published: boolean
  lessonCount: number
  createdAt: number
  updatedAt: number
}

export interface LessonView {
  id: string
  title: string
  /** Plain text: a blank line ends a paragraph. */
  content: string
  /** Starts at 1. */
  position: number
}

type Row = Omit<CourseView, 'createdAt' | 'updatedAt'> & { createdAt: Date; updatedAt: Date }

const columns = `c.id, c.title, c.published, c.created_at as "createdAt", c.updated_at as "updatedAt",
  (select count(*) from lessons l where l.account_id = c.account_id and l.course_id = c.id) as "lessonCount"`

const view = ({ createdAt, updatedAt, ...course }: Row): CourseView => ({
  ...course,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

/** Returns all courses, newest first. */
export const listCourses = async ({ sql, accountId }: Reader): Promise<CourseView[]> =>
  (await sql<Row>(`select ${columns} from courses c where c.account_id = $1 order by c.id desc`, [accountId])).map(view)

/** Returns null for an unknown id and for another account's course. */
export const courseById = async ({ sql, accountId }: Reader, id: string): Promise<CourseView | null> => {
  const [row] = await sql<Row>(
    `select ${columns} from courses c where c.account_id = $1 and c.id = $2`,
    [accountId, id],
    'course-by-id',
  )
  return row ? view(row) : null
}

/** Throws Problem `not_found` for an unknown id and for another account's course (docs/reference/api.md#authentication). */
export const findCourse = async (reader: Reader, id: string): Promise<CourseView> => {
  const course = await courseById(reader, id)
  if (!course) throw notFound('There is no such course')
  return course
}

/** Finds a course by its id or unique title. Throws Problem `not_found`, or `conflict` if several courses have the title. */
export const findCourseNamed = async ({ sql, accountId }: Reader, ref: string): Promise<CourseView> => {
  const rows = await sql<Row>(
    `select ${columns} from courses c where c.account_id = $1 and (c.id = $2 or c.title = $2) order by c.id = $2 desc, c.id`,
    [accountId, ref],
  )
  const [first] = rows
  if (!first) throw noSuch('course', ref, { hint: 'svc courses list' })
  if (first.id !== ref && rows.length > 1)
    throw conflict(`${rows.length} courses have the title ${shown(ref)}`, {
      hint: 'name one by its id: svc courses list',
    })
  return view(first)
}

/** Returns the lessons in order. */
export const lessonsOf = ({ sql, accountId }: Reader, courseId: string): Promise<LessonView[]> =>
  sql<LessonView>(
    'select id, title, content, position from lessons where account_id = $1 and course_id = $2 order by position',
    [accountId, courseId],
    'lessons-of-course',
  )

/** Whether any of the member's keys is active. */
export const isEntitled = async ({ sql, accountId }: Reader, memberId: string): Promise<boolean> => {
  const keys = await sql(
    'select from enrolments where account_id = $1 and member_id = $2 and active limit 1',
    [accountId, memberId],
    'is-entitled',
  )
  return keys.length > 0
}
