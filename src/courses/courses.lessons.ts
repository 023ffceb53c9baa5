import { z } from 'zod'
import { newId } from '../lib/ids.ts'
import { theOne } from '../lib/names.ts'
import { parse } from '../lib/parse.ts'
import { notFound } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import { VideoUrl } from '../lib/video.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, Work } from '../store/work.ts'
import { Title } from './courses.edit.ts'
import { findCourseNamed, type LessonView, lessonsOf, noSuchCourse, viewLesson } from './courses.find.ts'
import { renderMarkdown } from './courses.markdown.ts'

/*
 * Changes of lessons lock their course, so that positions stay 1, 2, 3. A member who finishes a lesson locks that lesson
 * (courses.progress.ts).
 */

const NewLesson = z.object({
  title: Title,
  content: text(100_000).trim().min(1, 'is required'),
  videoUrl: VideoUrl.optional(),
})
const LessonChange = NewLesson.partial()

/** A lesson as the terminal shows it. */
type CourseLesson = LessonView & { courseId: string }

const entitiesOf = (work: Work) => work.em(import('./courses.entities.ts'))

/** Finds a course by its id or unique title, and locks its lessons. Returns its id. Throws Problem `not_found`, `conflict`. */
const lockCourse = async (work: Work, ref: string): Promise<string> => {
  const { id } = await findCourseNamed(work, ref)
  // It may have waited for the deletion of the course.
  const [em, { Course }] = await entitiesOf(work)
  if ((await em.nativeUpdate(Course, { id }, { updatedAt: work.now })) === 0) throw noSuchCourse()
  return id
}

/** Returns the lesson with the id or unique title `ref`. Throws Problem `not_found`, `conflict`. */
const theLesson = (lessons: readonly LessonView[], courseId: string, ref: string): LessonView => {
  const found = lessons.filter(({ id, title }) => id === ref || title === ref)
  return theOne(found, ref, { noun: 'lesson', property: 'title', list: `svc courses lessons list ${courseId}` })
}

/** Adds a lesson at the end of a course (id or title). Throws Problem `invalid`, `not_found`, `conflict`. */
export const addLesson = async (work: Work, ref: string, input: z.input<typeof NewLesson>): Promise<CourseLesson> => {
  const { title, content, videoUrl = '' } = parse(NewLesson, input)
  const { accountId, now } = work
  const html = await renderMarkdown(content)
  const courseId = await lockCourse(work, ref)
  const [em, { Lesson }] = await entitiesOf(work)
  const position = (await em.count(Lesson, { courseId })) + 1
  const lesson = { id: newId('les', now.getTime()), title, content, videoUrl: videoUrl || null, position }
  em.create(Lesson, { ...lesson, accountId, courseId, html })
  await em.flush()
  return { ...viewLesson(lesson), courseId }
}

/** Finds a lesson by its id or unique title in its course (id or title). Throws Problem `not_found`, `conflict`. */
export const findLesson = async (work: Work, courseRef: string, ref: string): Promise<CourseLesson> => {
  const { id: courseId } = await findCourseNamed(work, courseRef)
  return { ...theLesson(await lessonsOf(work, courseId), courseId, ref), courseId }
}

/**
 * Changes title, content or video of a lesson; an empty `videoUrl` removes the video. Members who finished it stay finished. Throws
 * Problem `invalid`, `not_found`, `conflict`.
 */
export const updateLesson = async (
  work: Work,
  courseRef: string,
  ref: string,
  input: z.input<typeof LessonChange>,
): Promise<CourseLesson> => {
  const change = parse(LessonChange, input)
  const html = change.content === undefined ? undefined : await renderMarkdown(change.content)
  const courseId = await lockCourse(work, courseRef)
  const lesson = theLesson(await lessonsOf(work, courseId), courseId, ref)
  const { title = lesson.title, content = lesson.content } = change
  const videoUrl = (change.videoUrl ?? lesson.videoUrl) || null
  const [em, { Lesson }] = await entitiesOf(work)
  const values = { title, content, videoUrl, ...(html !== undefined && { html }) }
  await em.nativeUpdate(Lesson, { id: lesson.id, courseId }, values)
  return { ...viewLesson({ ...lesson, title, content, videoUrl }), courseId }
}

// A unique index on the position is checked row by row, so positions that are taken are first moved out of the way.
const freePositions = statement(
  'free-positions',
  { parameters: { accountId: 'text', courseId: 'text' } },
  'update lessons set position = -position where account_id = :accountId and course_id = :courseId',
)

const numberLessons = statement(
  'number-lessons',
  { parameters: { accountId: 'text', courseId: 'text', ids: '_text' } },
  `update lessons l set position = o.n from unnest(:ids::text[]) with ordinality as o(id, n)
   where l.account_id = :accountId and l.course_id = :courseId and l.id = o.id`,
)

/** Sets the positions of the lessons of a locked course. The order names all of them. */
const order = async ({ sql, accountId }: Work, courseId: string, ids: readonly string[]): Promise<void> => {
  await sql(freePositions, { accountId, courseId })
  await sql(numberLessons, { accountId, courseId, ids })
}

/** Moves a lesson before another one of its course, or with null to the end. Throws Problem `not_found`, `conflict`. */
export const moveLesson = async (
  work: Work,
  courseRef: string,
  ref: string,
  beforeRef: string | null,
): Promise<CourseLesson> => {
  const courseId = await lockCourse(work, courseRef)
  const lessons = await lessonsOf(work, courseId)
  const { id } = theLesson(lessons, courseId, ref)
  const before = beforeRef === null ? null : theLesson(lessons, courseId, beforeRef).id
  if (before !== id) {
    const others = lessons.map((lesson) => lesson.id).filter((other) => other !== id)
    const at = before === null ? others.length : others.indexOf(before)
    await order(work, courseId, others.toSpliced(at, 0, id))
  }
  return findLesson(work, courseId, id)
}

const countOfLesson = statement(
  'count-finished-lesson',
  { row: { finished: 'int8' }, parameters: { accountId: 'text', courseId: 'text', id: 'text' } },
  'select count(*) as finished from finished_lessons where account_id = :accountId and course_id = :courseId and lesson_id = :id',
)

/** Returns how many members have finished a lesson (by id). Locks nothing. */
export const countFinished = async ({ sql, accountId }: AccountSql, courseId: string, id: string): Promise<number> =>
  (await sql(countOfLesson, { accountId, courseId, id }))[0]!.finished

/**
 * Deletes a lesson (by id) and the progress in it. It completes nobody: whether a member has completed the course is decided when the
 * member finishes a lesson. Completed courses stay completed. Returns how many members had finished it. Throws Problem `not_found`.
 */
export const deleteLesson = async (work: Work, courseId: string, id: string): Promise<{ finished: number }> => {
  await lockCourse(work, courseId)
  const [em, { FinishedLesson, Lesson }] = await entitiesOf(work)
  // First, because it waits for members who are finishing the lesson: their progress in it is deleted too.
  if ((await em.nativeDelete(Lesson, { id, courseId })) === 0) throw notFound('There is no such lesson')
  const finished = await em.nativeDelete(FinishedLesson, { courseId, lessonId: id })
  const rest = await lessonsOf(work, courseId)
  await order(
    work,
    courseId,
    rest.map((lesson) => lesson.id),
  )
  return { finished }
}
