import { takeSlug } from '../../src/accounts/accounts.slug.ts'
import { addLesson, createCourse, enrolMember } from '../../src/courses/courses.ts'
import type { TestAccount, TestApp } from './app.ts'

/** Creates a published course of the account, with lessons of these titles. */
export const course = (t: TestApp, { id }: TestAccount, title: string, lessons: readonly string[] = []) =>
  t.app.work(id, 'cli:test', async (work) => {
    const made = await createCourse(work, { title, published: true })
    const ids: string[] = []
    for (const lesson of lessons)
      ids.push((await addLesson(work, made.id, { title: lesson, content: `About ${lesson}.\n\nAnd more.` })).id)
    return { id: made.id, lessons: ids }
  })

export const claim = (t: TestApp, { id }: TestAccount, slug: string) =>
  t.app.operate('cli:test', (operation) => takeSlug(operation, id, slug))

export const enrol = (t: TestApp, { id }: TestAccount, courseId: string, email: string, active = true) =>
  t.app.work(id, 'cli:test', (work) => enrolMember(t.app, work, courseId, { email, active }))

/** Returns the messages of the account in order of creation. */
export const mailsOf = (t: TestApp, { id }: TestAccount) =>
  t.app.sql<{ email: string; subject: string; status: string; text: string | null; mergeData: unknown; type: string }>(
    `select email, subject, status, text, merge_data as "mergeData", type from messages where account_id = $1 order by id`,
    [id],
  )
