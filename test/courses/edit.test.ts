import { expect, test } from 'vitest'
import {
  addLesson,
  createCourse,
  findCourseNamed,
  lessonsOf,
  listCourses,
  listLessons,
  updateLesson,
} from '../../src/courses/courses.ts'
import type { Work } from '../../src/store/work.ts'
import { useApp } from '../support/app.ts'
import { eventually } from '../support/eventually.ts'

const t = useApp()

const asOwner = async () => {
  const { id } = await t.account()
  return <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(id, 'cli:test', run)
}

test.each([`It's 100 % "safe"?`, 'back\\slash \\? $1 :id', "'; drop table courses; --"])(
  'the title %s is stored and found unchanged',
  async (title) => {
    const work = await asOwner()
    const { id } = await work((w) => createCourse(w, { title }))
    expect(await work((w) => findCourseNamed(w, title))).toMatchObject({ id, title })
    await work((w) => addLesson(w, title, { title, content: title }))
    expect(await work((w) => lessonsOf(w, id))).toMatchObject([{ title, content: title, position: 1 }])
  },
)

test('courses are listed newest first, with their number of lessons, and only to their own account', async () => {
  const [work, foreign] = [await asOwner(), await asOwner()]
  await foreign((w) => createCourse(w, { title: 'Foreign' }))
  for (const title of ['First', 'Second']) {
    await work((w) => createCourse(w, { title }))
    // Courses of one millisecond have no order.
    const createdAt = t.app.now().getTime()
    await eventually(() => t.app.now().getTime() > createdAt)
  }
  await work((w) => addLesson(w, 'First', { title: 'One', content: 'One' }))
  expect(await work(listCourses)).toMatchObject([
    { title: 'Second', lessonCount: 0 },
    { title: 'First', lessonCount: 1 },
  ])
  await expect(work((w) => findCourseNamed(w, 'Foreign'))).rejects.toMatchObject({ kind: 'not_found' })
})

test('an id is preferred to a title; a title of several courses is refused', async () => {
  const work = await asOwner()
  const { id } = await work((w) => createCourse(w, { title: 'Twice' }))
  const second = await work((w) => createCourse(w, { title: 'Twice' }))
  await work((w) => createCourse(w, { title: id }))
  expect(await work((w) => findCourseNamed(w, id))).toMatchObject({ id, title: 'Twice' })
  await expect(work((w) => findCourseNamed(w, 'Twice'))).rejects.toMatchObject({
    kind: 'conflict',
    message: `More than one course has the title Twice: ${id}, ${second.id}`,
  })
  for (let i = 0; i < 4; i++) await work((w) => createCourse(w, { title: 'Twice' }))
  await expect(work((w) => findCourseNamed(w, 'Twice'))).rejects.toThrow(/Twice: (crs_\w+, ){5}…$/)
  for (let i = 0; i < 2; i++) await work((w) => addLesson(w, id, { title: 'Same', content: 'x' }))
  await expect(work((w) => updateLesson(w, id, 'Same', { content: 'y' }))).rejects.toThrow(
    /^More than one lesson has the title Same: les_\w+, les_\w+$/,
  )
})

test('concurrent calls add lessons at successive positions', async () => {
  const work = await asOwner()
  await work((w) => createCourse(w, { title: 'Busy' }))
  const lesson = { title: 'Lesson', content: 'Content' }
  const added = await Promise.all(Array.from({ length: 8 }, () => work((w) => addLesson(w, 'Busy', lesson))))
  expect(added.map(({ position }) => position).sort()).toEqual([1, 2, 3, 4, 5, 6, 7, 8])
})

test('the lessons of all courses are listed in order with their course, and only to their own account', async () => {
  const [work, foreign] = [await asOwner(), await asOwner()]
  for (const title of ['Sailing', 'Knots']) {
    await work((w) => createCourse(w, { title }))
    for (const lesson of ['One', 'Two']) await work((w) => addLesson(w, title, { title: lesson, content: 'x' }))
  }
  const found = await work(listLessons)
  expect(found.map(({ title, course }) => `${course} ${title}`)).toEqual([
    'Knots One',
    'Knots Two',
    'Sailing One',
    'Sailing Two',
  ])
  expect(await foreign(listLessons)).toEqual([])
})
