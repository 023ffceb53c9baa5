import { activeAccounts } from '../accounts/accounts.rows.ts'
import { deleteBindings } from '../lifecycle/lifecycle.ts'
import { continueDeletions, type Deletion, defineJob, inBatches } from '../store/background.ts'
import { statement } from '../store/statement.ts'
import type { AccountSql, App, Work } from '../store/work.ts'
import { noSuchCourse } from './courses.find.ts'

/*
 * A course may have a million finished lessons. The first transaction deletes the course with its lessons and bindings: its keys no
 * longer open anything, and no member can enrol or finish a lesson. Then its keys and the progress are deleted in batches of the
 * account's members, whose rows are found by primary key, so that no index by course slows down the portal. If the process is killed,
 * housekeeping continues.
 */

/** Maximum members for each transaction. */
const batchSize = 1000

/** What the deletion of a course deletes with it. */
interface CourseRemoval {
  lessons: number
  /** Active keys to the membership. */
  keys: number
}

const countDependants = statement(
  'count-removal-of-course',
  { row: { lessons: 'int8', keys: 'int8' }, parameters: { accountId: 'text', id: 'text' } },
  `select (select count(*) from lessons where account_id = :accountId and course_id = :id) as lessons,
     (select count(*) from enrolments where account_id = :accountId and course_id = :id and active) as keys`,
)

/** Counts what the deletion of a course (by id) would delete with it. Locks nothing. */
export const countCourseRemoval = async ({ sql, accountId }: AccountSql, id: string): Promise<CourseRemoval> =>
  (await sql(countDependants, { accountId, id }))[0]!

/** Deletes a course with its lessons and bindings, and records that its keys remain to be deleted. Returns the number of its lessons. */
const close = async (work: Work, id: string): Promise<number> => {
  const { accountId, now } = work
  const [em, { Course, DeletedCourse, Lesson }] = await work.em(import('./courses.entities.ts'))
  // First, so that no enrolment is added later: it locks the course. Then lessons, which a member who finishes one locks.
  if ((await em.nativeDelete(Course, { id })) === 0) throw noSuchCourse()
  const lessons = await em.nativeDelete(Lesson, { courseId: id })
  await em.insert(DeletedCourse, { accountId, id, startedAt: now })
  await deleteBindings(work, { kind: 'course', id })
  for (const listener of await work.listeners()) await listener.courseDeleted?.(work, id)
  return lessons
}

// One batch of a course at a time: a second process waits for the batch of the first.
const lockDeleted = statement(
  'lock-deleted-course',
  { parameters: { accountId: 'text', id: 'text' } },
  'select from deleted_courses where account_id = :accountId and id = :id for update',
)

const readBatch = statement(
  'members-of-account',
  { row: { count: 'int8', last: 'text?' }, parameters: { accountId: 'text', after: 'text' } },
  `select count(*) as count, max(id) as last from (
     select id from members where account_id = :accountId and id > :after order by id limit ${batchSize}
   ) batch`,
)

const ofBatch = 'account_id = :accountId and course_id = :id and member_id > :after and member_id <= :last'
const batchTypes = { accountId: 'text', id: 'text', after: 'text', last: 'text' } as const

const deleteKeys = statement(
  'delete-keys-of-course',
  { row: { keys: 'int8' }, parameters: batchTypes },
  `with gone as (delete from enrolments where ${ofBatch} returning active)
   select count(*) filter (where active) as keys from gone`,
)

const deleteFinished = statement(
  'delete-finished-lessons-of-course',
  { parameters: batchTypes },
  `delete from finished_lessons where ${ofBatch}`,
)

const deleteCompletions = statement(
  'delete-completions-of-course',
  { parameters: batchTypes },
  `delete from course_completions where ${ofBatch}`,
)

const forgetDeleted = statement(
  'forget-deleted-course',
  { parameters: { accountId: 'text', id: 'text' } },
  'delete from deleted_courses where account_id = :accountId and id = :id',
)

interface Swept {
  members: number
  keys: number
  /** The last member's id. */
  last: string
}

/** Deletes the keys and the progress of one batch of members, and after the last batch the row in `deleted_courses`. */
const sweepBatch = async ({ sql, accountId }: Work, id: string, after: string): Promise<Swept> => {
  if ((await sql(lockDeleted, { accountId, id })).length === 0) return { members: 0, keys: 0, last: after }
  const [batch] = await sql(readBatch, { accountId, after })
  const { count: members, last } = batch!
  let keys = 0
  if (last !== null) {
    const rows = { accountId, id, after, last }
    keys = (await sql(deleteKeys, rows))[0]!.keys
    await sql(deleteFinished, rows)
    await sql(deleteCompletions, rows)
  }
  if (members < batchSize) await sql(forgetDeleted, { accountId, id })
  return { members, keys, last: last ?? after }
}

/** Deletes the keys and the progress of a deleted course. Returns the number of active keys. */
const sweep = async (
  app: Pick<App, 'work'>,
  accountId: string,
  id: string,
  { actor, signal, onBatch }: Deletion,
): Promise<number> => {
  let keys = 0
  let after = ''
  const batch = async () => {
    const swept = await app.work(accountId, actor, (work) => sweepBatch(work, id, after))
    keys += swept.keys
    after = swept.last
    onBatch?.(keys)
    return swept.members
  }
  await inBatches(batchSize, batch, signal)
  return keys
}

/**
 * Deletes a course (by id) with its lessons, keys, progress and bindings. From the first transaction on it does not exist and its keys
 * open nothing. Its members stay members, entitled as far as they have a key of another course; no email is sent. Returns what this run
 * deleted. Throws Problem `not_found`.
 */
export const deleteCourse = async (
  app: Pick<App, 'work'>,
  accountId: string,
  id: string,
  deletion: Deletion,
): Promise<CourseRemoval> => {
  const lessons = await app.work(accountId, deletion.actor, (work) => close(work, id))
  return { lessons, keys: await sweep(app, accountId, id, deletion) }
}

const unfinished = statement(
  'unfinished-course-deletions',
  { row: { accountId: 'text', id: 'text' }, parameters: { only: 'text?' } },
  `select c.account_id as "accountId", c.id from deleted_courses c join ${activeAccounts} a on a.id = c.account_id
   where :only::text is null or c.account_id = :only order by c.id`,
)

const finishCourseDeletions = continueDeletions(unfinished, (app, { accountId, id }, deletion) =>
  sweep(app, accountId, id, deletion),
)

export const jobs = [
  defineJob('course deletions', {
    does: 'Continues interrupted deletions of courses',
    runFor: finishCourseDeletions,
  }),
]
