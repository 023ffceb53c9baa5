import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { text } from '../lib/text.ts'
import { inEpochMs } from '../store/epoch-ms.ts'
import type { Work } from '../store/work.ts'
import { type CourseView, findCourseNamed, noSuchCourse } from './courses.find.ts'

export const Title = text(200).trim().min(1, 'is required')

const NewCourse = z.object({ title: Title, published: z.boolean().default(false) })
const CourseChange = z.object({ title: Title })

const entitiesOf = (work: Work) => work.em(import('./courses.entities.ts'))

/** Creates a course. Titles need not be unique. Throws Problem `invalid`. */
export const createCourse = async (work: Work, input: z.input<typeof NewCourse>): Promise<CourseView> => {
  const { title, published } = parse(NewCourse, input)
  const { accountId, now } = work
  const [em, { Course }] = await entitiesOf(work)
  const id = newId('crs', now.getTime())
  const course = { id, title, published, lessonCount: 0, createdAt: now, updatedAt: now }
  em.create(Course, { accountId, ...course })
  await em.flush()
  return inEpochMs(course)
}

/** Changes a course. Throws Problem `not_found` if it was deleted after it was read. */
const change = async (
  work: Work,
  course: CourseView,
  values: Partial<Pick<CourseView, 'title' | 'published'>>,
): Promise<CourseView> => {
  const [em, { Course }] = await entitiesOf(work)
  if ((await em.nativeUpdate(Course, { id: course.id }, { ...values, updatedAt: work.now })) === 0) throw noSuchCourse()
  return { ...course, ...values, updatedAt: work.now.getTime() }
}

/**
 * Opens a course (id or title) to the members, or closes it, also for members who have it open. Keys and progress stay. Throws
 * Problem `not_found`, or `conflict` if several courses have the title.
 */
export const publishCourse = async (work: Work, ref: string, published: boolean): Promise<CourseView> => {
  const course = await findCourseNamed(work, ref)
  return course.published === published ? course : change(work, course, { published })
}

/**
 * Changes the title of a course (id or title). Throws Problem `invalid`, `not_found`, or `conflict` if several courses have the
 * title.
 */
export const updateCourse = async (
  work: Work,
  ref: string,
  input: z.input<typeof CourseChange>,
): Promise<CourseView> => {
  const { title } = parse(CourseChange, input)
  const course = await findCourseNamed(work, ref)
  return course.title === title ? course : change(work, course, { title })
}
