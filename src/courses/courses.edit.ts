import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { text } from '../lib/text.ts'
import { statement } from '../store/statement.ts'
import type { Work } from '../store/work.ts'
import {
  type CourseView,
  findCourseNamed,
  type LessonView,
  lessonTypes,
  theCourse,
  viewCourse,
} from './courses.find.ts'

const Title = text(200).trim().min(1, 'is required')

const NewCourse = z.object({ title: Title, published: z.boolean().default(false) })
const NewLesson = z.object({ title: Title, content: text(100_000).trim().min(1, 'is required') })

const entitiesOf = (work: Work) => work.em(import('./courses.entities.ts'))

/** Creates a course. Titles need not be unique. Throws Problem `invalid`. */
export const createCourse = async (work: Work, input: z.input<typeof NewCourse>): Promise<CourseView> => {
  const { title, published } = parse(NewCourse, input)
  const { accountId, now } = work
  const [em, { Course }] = await entitiesOf(work)
  const id = newId('crs', now.getTime())
  const course = em.create(Course, { accountId, id, title, published, lessonCount: 0, createdAt: now, updatedAt: now })
  await em.flush()
  return viewCourse(course)
}

/**
 * Opens a course (id or title) to the members, or closes it, also for members who have it open. Keys and progress stay. Throws
 * Problem `not_found`, or `conflict` if several courses have the title.
 */
export const publishCourse = async (work: Work, ref: string, published: boolean): Promise<CourseView> => {
  const [em, { Course }] = await entitiesOf(work)
  const course = theCourse(await em.find(Course, { $or: [{ id: ref }, { title: ref }] }), ref)
  if (course.published !== published) {
    Object.assign(course, { published, updatedAt: work.now })
    await em.flush()
  }
  return viewCourse(course)
}

// Locks the course, so that concurrent calls get successive positions.
const touchCourse = statement(
  'touch-course',
  {},
  'update courses set updated_at = $3 where account_id = $1 and id = $2',
)

const insertLesson = statement<LessonView>(
  'insert-lesson',
  lessonTypes,
  `insert into lessons (account_id, course_id, id, title, content, position)
   select $1, $2, $3, $4, $5, coalesce(max(position), 0) + 1 from lessons where account_id = $1 and course_id = $2
   returning id, title, content, position`,
)

/** Adds a lesson at the end of a course (id or title). Throws Problem `invalid`, `not_found`, `conflict`. */
export const addLesson = async (
  work: Work,
  ref: string,
  input: z.input<typeof NewLesson>,
): Promise<LessonView & { courseId: string }> => {
  const { title, content } = parse(NewLesson, input)
  const { sql, accountId, now } = work
  const { id: courseId } = await findCourseNamed(work, ref)
  await sql(touchCourse, [accountId, courseId, now])
  const [lesson] = await sql(insertLesson, [accountId, courseId, newId('les', now.getTime()), title, content])
  return { ...lesson!, courseId }
}
