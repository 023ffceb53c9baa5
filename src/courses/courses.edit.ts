import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { parse } from '../lib/parse.ts'
import { notFound } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { deleteBindings } from '../lifecycle/lifecycle.ts'
import type { Work } from '../store/work.ts'
import { type CourseView, theCourse, viewCourse } from './courses.find.ts'

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

/**
 * Changes the title of a course (id or title). Throws Problem `invalid`, `not_found`, or `conflict` if several courses have the
 * title.
 */
export const updateCourse = async (
  work: Work,
  ref: string,
  change: z.input<typeof CourseChange>,
): Promise<CourseView> => {
  const { title } = parse(CourseChange, change)
  const [em, { Course }] = await entitiesOf(work)
  const course = theCourse(await em.find(Course, { $or: [{ id: ref }, { title: ref }] }), ref)
  if (course.title !== title) {
    Object.assign(course, { title, updatedAt: work.now })
    await em.flush()
  }
  return viewCourse(course)
}

/** What the deletion of a course deletes with it. */
export interface CourseRemoval {
  lessons: number
  /** Active keys to the membership. */
  keys: number
}

/**
 * Deletes a course (by id) with its lessons, keys, progress and bindings. Its members stay members, entitled as far as they have a key
 * of another course; no email is sent. Throws Problem `not_found`.
 */
export const deleteCourse = async (work: Work, id: string): Promise<CourseRemoval> => {
  const [em, { Completion, Course, Enrolment, FinishedLesson, Lesson }] = await entitiesOf(work)
  // First, so that no enrolment is added later: it locks the course. Then lessons, which a member who finishes one locks.
  if ((await em.nativeDelete(Course, { id })) === 0) throw notFound('There is no such course')
  const lessons = await em.nativeDelete(Lesson, { courseId: id })
  const keys = await em.count(Enrolment, { courseId: id, active: true })
  await em.nativeDelete(Enrolment, { courseId: id })
  await em.nativeDelete(FinishedLesson, { courseId: id })
  await em.nativeDelete(Completion, { courseId: id })
  await deleteBindings(work, { kind: 'course', id })
  for (const listener of await work.listeners()) await listener.courseDeleted?.(work, id)
  return { lessons, keys }
}
