import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { text } from '../lib/text.ts'
import type { Work } from '../store/work.ts'
import { type CourseView, findCourse, findCourseNamed, type LessonView } from './courses.find.ts'

const Title = text(200).trim().min(1, 'is required')

const NewCourse = z.object({ title: Title, published: z.boolean().default(false) })
const NewLesson = z.object({ title: Title, content: text(100_000).trim().min(1, 'is required') })

/** Creates a course. Titles need not be unique. Throws Problem `invalid`. */
export const createCourse = async (work: Work, input: z.input<typeof NewCourse>): Promise<CourseView> => {
  const { title, published } = parse(NewCourse, input)
  const { sql, accountId, now } = work
  const id = newId('crs', now.getTime())
  await sql(
    'insert into courses (account_id, id, title, published, created_at, updated_at) values ($1, $2, $3, $4, $5, $5)',
    [accountId, id, title, published, now],
  )
  return findCourse(work, id)
}

/**
 * Opens a course (id or title) to the members, or closes it, also for members who have it open. Keys and progress stay. Throws
 * Problem `not_found`, or `conflict` if several courses have the title.
 */
export const publishCourse = async (work: Work, ref: string, published: boolean): Promise<CourseView> => {
  const { id } = await findCourseNamed(work, ref)
  const { sql, accountId, now } = work
  await sql(
    'update courses set published = $3, updated_at = $4 where account_id = $1 and id = $2 and published <> $3',
    [accountId, id, published, now],
  )
  return findCourse(work, id)
}

/** Adds a lesson at the end of a course (id or title). Throws Problem `invalid`, `not_found`, `conflict`. */
export const addLesson = async (
  work: Work,
  ref: string,
  input: z.input<typeof NewLesson>,
): Promise<LessonView & { courseId: string }> => {
  const { title, content } = parse(NewLesson, input)
  const { sql, accountId, now } = work
  const { id: courseId } = await findCourseNamed(work, ref)
  // Locks the course, so that concurrent calls get successive positions.
  await sql('update courses set updated_at = $3 where account_id = $1 and id = $2', [accountId, courseId, now])
  const [lesson] = await sql<LessonView>(
    `insert into lessons (account_id, course_id, id, title, content, position)
     select $1, $2, $3, $4, $5, coalesce(max(position), 0) + 1 from lessons where account_id = $1 and course_id = $2
     returning id, title, content, position`,
    [accountId, courseId, newId('les', now.getTime()), title, content],
  )
  return { ...lesson!, courseId }
}
