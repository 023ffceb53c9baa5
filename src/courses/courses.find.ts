import { conflict, noSuch, notFound, shown } from '../lib/problem.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import type { Course } from './courses.entities.ts'

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

type Row = Pick<Course, 'id' | 'title' | 'published' | 'lessonCount' | 'createdAt' | 'updatedAt'>

export const viewCourse = ({ id, title, published, lessonCount, createdAt, updatedAt }: Row): CourseView => ({
  id,
  title,
  published,
  lessonCount,
  createdAt: createdAt.getTime(),
  updatedAt: updatedAt.getTime(),
})

export const entitiesOf = (work: Work) => work.em(import('./courses.entities.ts'))

/** Returns all courses, newest first. */
export const listCourses = async (work: Work): Promise<CourseView[]> => {
  const [em, { Course }] = await entitiesOf(work)
  return (await em.find(Course, {}, { orderBy: { id: 'desc' } })).map(viewCourse)
}

const readCourse = statement<Row>(
  'course-by-id',
  {
    id: 'text',
    title: 'text',
    published: 'bool',
    lessonCount: 'int8',
    createdAt: 'timestamptz',
    updatedAt: 'timestamptz',
  },
  `select c.id, c.title, c.published, c.created_at as "createdAt", c.updated_at as "updatedAt",
     (select count(*) from lessons l where l.account_id = c.account_id and l.course_id = c.id) as "lessonCount"
   from courses c where c.account_id = $1 and c.id = $2`,
)

/** Returns null for an unknown id and for another account's course. */
export const courseById = async ({ sql, accountId }: Reader, id: string): Promise<CourseView | null> => {
  const [row] = await sql(readCourse, [accountId, id])
  return row ? viewCourse(row) : null
}

/** Throws Problem `not_found` for an unknown id and for another account's course (docs/reference/api.md#authentication). */
export const findCourse = async (reader: Reader, id: string): Promise<CourseView> => {
  const course = await courseById(reader, id)
  if (!course) throw notFound('There is no such course')
  return course
}

/** Returns the course with the id or unique title `ref`. Throws Problem `not_found`, or `conflict` if several courses have the title. */
export const loadCourseNamed = async (work: Work, ref: string): Promise<Course> => {
  const [em, { Course }] = await entitiesOf(work)
  const found = await em.find(Course, { $or: [{ id: ref }, { title: ref }] })
  const [course] = found.length > 1 ? found.filter(({ id }) => id === ref) : found
  if (found.length === 0) throw noSuch('course', ref, { hint: 'svc courses list' })
  if (!course)
    throw conflict(`${found.length} courses have the title ${shown(ref)}`, {
      hint: 'name one by its id: svc courses list',
    })
  return course
}

/** As `loadCourseNamed`, for display. */
export const findCourseNamed = async (work: Work, ref: string): Promise<CourseView> =>
  viewCourse(await loadCourseNamed(work, ref))

/** Returns the lessons in order. */
export const lessonsOf = async (work: Work, courseId: string): Promise<LessonView[]> => {
  const [em, { Lesson }] = await entitiesOf(work)
  return (await em.find(Lesson, { courseId }, { orderBy: { position: 'asc' } })).map(
    ({ id, title, content, position }) => ({ id, title, content, position }),
  )
}

const readActiveKey = statement(
  'is-entitled',
  {},
  'select from enrolments where account_id = $1 and member_id = $2 and active limit 1',
)

/** Whether any of the member's keys is active. */
export const isEntitled = async ({ sql, accountId }: Reader, memberId: string): Promise<boolean> =>
  (await sql(readActiveKey, [accountId, memberId])).length > 0
