import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { personalData } from '../../src/courses/courses.personal-data.ts'
import { finishLesson, readProgress } from '../../src/courses/courses.progress.ts'
import { addLesson, deleteLesson, lessonsOf, listMembers, moveLesson, updateLesson } from '../../src/courses/courses.ts'
import { openDatabase } from '../../src/store/database.ts'
import { migrate } from '../../src/store/schema.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { course, enrol, mailsOf } from '../support/courses.ts'
import { cloneDatabase, untilLocked } from '../support/database.ts'
import { served } from '../support/eventually.ts'
import { sendingAccount } from '../support/messages.ts'

let account: TestAccount
let id: string
let lessons: string[]

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
beforeEach(async () => {
  account = await sendingAccount(t)
  ;({ id, lessons } = await course(t, account, 'Sourdough', ['Flour', 'Water', 'Salt']))
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const titles = async () => (await work((w) => lessonsOf(w, id))).map(({ title, position }) => `${position} ${title}`)
const member = async (email: string) => {
  const { subscriberId: memberId } = await enrol(t, account, id, email)
  return {
    finish: (...at: number[]) =>
      at.reduce(
        (before, i) =>
          before.then(() => work((w) => finishLesson(t.app, w, { memberId, courseId: id, lessonId: lessons[i]! }))),
        Promise.resolve(),
      ),
    progress: () => work((w) => readProgress(w, memberId, id)),
  }
}
const completions = async () =>
  (await mailsOf(t, account)).flatMap(({ email, subject }) =>
    subject.includes('completed') ? [email.split('@')[0]] : [],
  )
const remove = (i: number) => work((w) => deleteLesson(w, id, lessons[i]!))

test('a lesson is changed by id or title; omitted properties stay, and members who finished it stay finished', async () => {
  const ada = await member('ada@people.example')
  await ada.finish(0)
  const changed = await work((w) => updateLesson(w, 'Sourdough', 'Flour', { title: ' Rye ' }))
  expect(changed).toEqual({
    id: lessons[0],
    courseId: id,
    title: 'Rye',
    content: 'About Flour.\n\nAnd more.',
    position: 1,
  })
  await work((w) => updateLesson(w, id, lessons[1]!, { content: 'Warm.' }))
  const { lessons: seen } = (await ada.progress())!
  expect(seen).toMatchObject([
    { title: 'Rye', isFinished: true },
    { title: 'Water', isFinished: false },
    { title: 'Salt' },
  ])
  expect(await work((w) => lessonsOf(w, id))).toMatchObject([{}, { content: 'Warm.' }, {}])
  for (const title of ['', ' ', 'x'.repeat(201)])
    await expect(work((w) => updateLesson(w, id, 'Rye', { title }))).rejects.toMatchObject({ kind: 'invalid' })
  await work((w) => addLesson(w, id, { title: 'Rye', content: 'Again' }))
  await expect(work((w) => updateLesson(w, id, 'Rye', { title: 'x' }))).rejects.toMatchObject({ kind: 'conflict' })
})

test('a lesson moves before another one or to the end, and positions stay 1, 2, 3', async () => {
  const move = (lesson: string, before: string | null) => work((w) => moveLesson(w, id, lesson, before))
  expect(await move('Salt', 'Flour')).toMatchObject({ id: lessons[2], position: 1 })
  expect(await titles()).toEqual(['1 Salt', '2 Flour', '3 Water'])
  expect(await move(lessons[2]!, null)).toMatchObject({ position: 3 })
  expect(await titles()).toEqual(['1 Flour', '2 Water', '3 Salt'])
  await move('Flour', 'Salt')
  expect(await titles()).toEqual(['1 Water', '2 Flour', '3 Salt'])
  await move('Flour', 'Flour')
  await move('Salt', null)
  expect(await titles()).toEqual(['1 Water', '2 Flour', '3 Salt'])
})

test('concurrent moves, additions and deletions leave each lesson once, at successive positions', async () => {
  await Promise.all([
    ...[0, 1].map((i) => work((w) => moveLesson(w, id, lessons[i]!, null))),
    ...['Time', 'Heat'].map((title) => work((w) => addLesson(w, id, { title, content: 'x' }))),
    remove(2),
  ])
  const found = (await titles()).map((title) => title.split(' '))
  expect(found.map(([position]) => position)).toEqual(['1', '2', '3', '4'])
  expect(found.map(([, title]) => title).toSorted()).toEqual(['Flour', 'Heat', 'Time', 'Water'])
})

test('a lesson of another course or account is not found, and nothing changes', async () => {
  const other = await course(t, account, 'Rye', ['Flour'])
  const stranger = await t.account()
  const calls: ((w: Parameters<typeof lessonsOf>[0] & never) => Promise<unknown>)[] = [
    (w) => updateLesson(w, other.id, lessons[0]!, { title: 'x' }),
    (w) => moveLesson(w, other.id, lessons[0]!, null),
    (w) => moveLesson(w, id, lessons[0]!, other.lessons[0]!),
    (w) => deleteLesson(w, other.id, lessons[0]!),
    (w) => deleteLesson(w, 'crs_none', lessons[0]!),
  ]
  for (const call of calls) await expect(work((w) => call(w as never))).rejects.toMatchObject({ kind: 'not_found' })
  for (const call of [
    () => t.app.work(stranger.id, 'cli:test', (w) => updateLesson(w, id, lessons[0]!, { title: 'x' })),
    () => t.app.work(stranger.id, 'cli:test', (w) => deleteLesson(w, id, lessons[0]!)),
  ])
    await expect(call()).rejects.toMatchObject({ kind: 'not_found' })
  expect(await titles()).toEqual(['1 Flour', '2 Water', '3 Salt'])
})

test('deleting the last unfinished lesson completes nobody; the next finished lesson decides', async () => {
  const [ada, bob] = [await member('ada@people.example'), await member('bob@people.example')]
  await ada.finish(0, 1)
  await bob.finish(0)
  expect(await remove(2)).toEqual({ finished: 0 })
  expect(await titles()).toEqual(['1 Flour', '2 Water'])
  expect([await completions(), (await ada.progress())!.isCompleted]).toEqual([[], false])
  // A page that was open still has the button.
  await ada.finish(1)
  expect([await completions(), (await ada.progress())!.isCompleted]).toEqual([[], false])
  await bob.finish(1)
  expect(await completions()).toEqual(['bob'])
  lessons.push((await work((w) => addLesson(w, id, { title: 'Time', content: 'Wait.' }))).id)
  await ada.finish(3)
  expect((await completions()).toSorted()).toEqual(['ada', 'bob'])
})

test('a completed course stays completed; the progress in a deleted lesson goes, and counts no more', async () => {
  const ada = await member('ada@people.example')
  await ada.finish(0, 1, 2)
  expect(await remove(0)).toEqual({ finished: 1 })
  expect(await ada.progress()).toMatchObject({
    isCompleted: true,
    lessons: [{ isFinished: true }, { isFinished: true }],
  })
  const { rows } = await work((w) => listMembers(w, id, { limit: 10 }))
  expect(rows).toMatchObject([{ completedLessons: 2, completedAt: expect.any(Number) }])
  const part = personalData.find(({ name }) => name === 'finishedLessons')!
  expect(await work((w) => part.read(w, 'ada@people.example'))).toHaveLength(2)
  expect(await t.app.sql('select from finished_lessons where account_id = $1', [account.id])).toHaveLength(2)
  for (const i of [1, 2]) await remove(i)
  expect(await ada.progress()).toMatchObject({ isCompleted: true, lessons: [] })
  expect(await completions()).toEqual(['ada'])
})

/** Holds the row of a lesson until `release`. */
const hold = async (lesson: string) => {
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from lessons where id = $1 for update', [lesson])
  return { release: () => session.query('commit') }
}

test('a lesson that is deleted first can’t be finished: 404, no progress, no completion', async () => {
  const ada = await member('ada@people.example')
  await ada.finish(0, 1)
  const held = await hold(lessons[2]!)
  const deletion = remove(2)
  await untilLocked(t.app.database, 1)
  const refused = expect(ada.finish(2)).rejects.toMatchObject({ kind: 'not_found' })
  await untilLocked(t.app.database, 2)
  await held.release()
  expect(await deletion).toEqual({ finished: 0 })
  await refused
  expect([await completions(), (await ada.progress())!.isCompleted]).toEqual([[], false])
  expect(await t.app.sql('select from finished_lessons where account_id = $1', [account.id])).toHaveLength(2)
})

test('a lesson that is finished first completes the course, and then its progress goes with it', async () => {
  const ada = await member('ada@people.example')
  await ada.finish(0, 1)
  const held = await hold(lessons[2]!)
  const finishing = ada.finish(2)
  await untilLocked(t.app.database, 1)
  const deletion = remove(2)
  await untilLocked(t.app.database, 2)
  await held.release()
  await finishing
  expect(await deletion).toEqual({ finished: 1 })
  expect([await completions(), (await ada.progress())!.isCompleted]).toEqual([['ada'], true])
  expect(await t.app.sql('select from finished_lessons where account_id = $1', [account.id])).toHaveLength(2)
})

test('forty members finish lessons while one is deleted: nobody’s progress names it, and all who finished after it completed', async () => {
  const members = await Promise.all(Array.from({ length: 40 }, (_, i) => member(`p${i}@people.example`)))
  await Promise.all(members.map(({ finish }) => served(() => finish(0))))
  const [, ...ends] = await Promise.all([
    served(() => remove(2)),
    ...members.map(async ({ finish }) => {
      await finish(2).catch(() => {})
      await served(() => finish(1))
    }),
  ])
  expect(ends).toHaveLength(40)
  const orphans = await t.app.sql('select from finished_lessons where account_id = $1 and lesson_id = $2', [
    account.id,
    lessons[2],
  ])
  expect(orphans).toEqual([])
  expect(new Set(await completions()).size).toBe((await completions()).length)
  for (const { progress } of members)
    expect((await progress())!.lessons.every(({ isFinished }) => isFinished)).toBe(true)
})

test('the migration renders the lessons that exist, also those that can’t be rendered', async () => {
  const { url, drop } = await cloneDatabase()
  const database = openDatabase(url)
  onTestFinished(async () => {
    await database.close()
    await drop()
  })
  for (const change of [
    'alter table lessons drop column html, drop column video_url',
    'alter table course_completions drop column name',
    `delete from mikro_orm_migrations where name like '%lesson_videos'`,
    `insert into lessons (account_id, id, course_id, title, content, position)
     select 'acc', 'les_' || n, 'crs', 'Title', 'It''s \\ ' || n || '?' || chr(10) || '*more*', n from generate_series(1, 150) n`,
  ])
    await database.sql(change)
  const hostile = `[a]: https://x.example/${'y'.repeat(1_900)}\n\n${'[a] '.repeat(1_000)}<b>`
  await database.sql(`insert into lessons values ('acc', 'les_x', 'crs', 'Title', $1, 151)`, [hostile])
  expect(await migrate(database, url)).toHaveLength(1)
  const lessons = await database.sql<{ html: string; video: string | null }>(
    'select html, video_url as video from lessons order by position',
  )
  expect(lessons[119]).toEqual({ html: "<p>It's \\ 120?<br>\n<em>more</em></p>\n", video: null })
  expect(lessons.filter(({ html }) => html === '')).toEqual([])
  expect(lessons[150]!.html).toMatch(/^<p>\[a\]: .*<br>\n.*&lt;b&gt;<\/p>\n$/s)
})
