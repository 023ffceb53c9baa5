import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { runHousekeeping } from '../../src/app/daemon/housekeeping.ts'
import { isEntitled } from '../../src/courses/courses.find.ts'
import { finishLesson } from '../../src/courses/courses.progress.ts'
import {
  addLesson,
  countCourseRemoval,
  deleteCourse,
  listCourses,
  publishCourse,
  updateCourse,
} from '../../src/courses/courses.ts'
import { listBindings, setBinding } from '../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { deleteWebinar } from '../../src/webinars/webinars.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { untilLocked } from '../support/database.ts'
import { sendingAccount } from '../support/messages.ts'
import { makeWebinar, webinarOf } from '../webinars/support.ts'

let account: TestAccount
let claimed = 0

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' } })
beforeEach(async () => {
  account = await sendingAccount(t)
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const remove = (id: string, more: object = {}) => deleteCourse(t.app, account.id, id, { actor: 'cli:test', ...more })
const rowsOf = async (id: string) =>
  Promise.all(
    ['lessons', 'enrolments', 'finished_lessons', 'course_completions'].map(
      async (table) => (await t.app.sql(`select from ${table} where course_id = $1`, [id])).length,
    ),
  )

test('a course goes with its lessons, keys, progress and bindings, without an email; the other course stays as it is', async () => {
  const [gone, kept] = [await course(t, account, 'Rye', ['One', 'Two']), await course(t, account, 'Wheat', ['One'])]
  const blocks = [{ id: 'a', type: 'text', props: { text: 'Hi' } }]
  await work((w) => applyProjects(w, [{ name: 'Welcome', theme: {}, blocks }]))
  for (const { id, lessons } of [gone, kept]) {
    await work((w) => setBinding(t.app, w, `course:${id}`, 'enrolled', 'Welcome'))
    const { subscriberId: memberId } = await enrol(t, account, id, 'ada@people.example')
    for (const lessonId of lessons) await work((w) => finishLesson(t.app, w, { memberId, courseId: id, lessonId }))
  }
  await enrol(t, account, gone.id, 'bob@people.example')
  await enrol(t, account, gone.id, 'cyd@people.example', false)
  expect([await rowsOf(gone.id), await rowsOf(kept.id)]).toEqual([
    [2, 2, 2, 1],
    [1, 1, 1, 1],
  ])
  const mails = await mailsOf(t, account)
  const members = await t.app.sql('select * from members where account_id = $1 order by id', [account.id])
  expect(await remove(gone.id)).toEqual({ lessons: 2, keys: 2 })
  expect([await rowsOf(gone.id), await rowsOf(kept.id)]).toEqual([
    [0, 0, 0, 0],
    [1, 1, 1, 1],
  ])
  expect(await work(listCourses)).toMatchObject([{ id: kept.id }])
  expect((await work(listBindings)).map(({ subject }) => subject)).toEqual([`course:${kept.id}`])
  expect(await mailsOf(t, account)).toEqual(mails)
  expect(await t.app.sql('select * from members where account_id = $1 order by id', [account.id])).toEqual(members)
  for (const id of [gone.id, 'crs_none', (await course(t, await t.account(), 'Foreign')).id])
    await expect(remove(id)).rejects.toMatchObject({ kind: 'not_found' })
})

test('its members lose what only its key opened, at once; an enrolment in it is 404', async () => {
  const slug = `bakery-delete-${++claimed}`
  await claim(t, account, slug)
  const [gone, kept] = [await course(t, account, 'Rye', ['One']), await course(t, account, 'Wheat', ['One'])]
  await enrol(t, account, gone.id, 'ada@people.example')
  const call = { key: account.key, body: { email: 'ada@people.example' } }
  const enroll = (id: string) => t.request('POST', `/courses/${id}/enroll`, call)
  const embed = (id: string) => t.request('POST', `/courses/${id}/embed-token`, call)
  const { portalUrl } = (await embed(kept.id)).body
  const entered = await t.request('GET', portalUrl.replace('https://svc.example', ''))
  const page = (id: string) => t.request('GET', `/${slug}/${id}/embed${entered.headers.location}`)
  expect((await page(kept.id)).status).toBe(200)
  await remove(gone.id)
  expect([(await page(kept.id)).status, (await page(gone.id)).status]).toEqual([403, 403])
  const statuses = [await enroll(gone.id), await embed(gone.id), await embed(kept.id)].map(({ status }) => status)
  expect(statuses).toEqual([404, 404, 403])
})

test('its webinars stay without a course', async () => {
  const [gone, kept] = [await course(t, account, 'Rye'), await course(t, account, 'Wheat')]
  const [one, two] = [
    await makeWebinar(t, account, { courseId: gone.id }),
    await makeWebinar(t, account, { courseId: kept.id }),
  ]
  await remove(gone.id)
  expect([await webinarOf(t, account, one.id), await webinarOf(t, account, two.id)]).toMatchObject([
    { courseId: null, status: 'scheduled' },
    { courseId: kept.id, updatedAt: two.updatedAt },
  ])
})

test('an enrolment and a webinar that wait for the deletion find no course; those before it go with it or are detached', async () => {
  const { id } = await course(t, account, 'Rye', ['One'])
  await enrol(t, account, id, 'ada@people.example')
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from courses where id = $1 for update', [id])
  const deletion = remove(id)
  await untilLocked(t.app.database, 1)
  const enrolment = enrol(t, account, id, 'bob@people.example')
  const webinar = makeWebinar(t, account, { courseId: id })
  await untilLocked(t.app.database, 3)
  const ended = Promise.allSettled([deletion, enrolment, webinar])
  await session.query('commit')
  expect(await ended).toMatchObject([
    { status: 'fulfilled' },
    { status: 'rejected', reason: { kind: 'not_found' } },
    { status: 'rejected', reason: { kind: 'not_found' } },
  ])
  expect(await rowsOf(id)).toEqual([0, 0, 0, 0])
  expect(await t.app.sql('select from webinars where course_id = $1', [id])).toEqual([])
})

test('changes, lessons and bindings that wait for the deletion find no course, and leave nothing', async () => {
  const { id } = await course(t, account, 'Rye', ['One'])
  const blocks = [{ id: 'a', type: 'text', props: { text: 'Hi' } }]
  await work((w) => applyProjects(w, [{ name: 'Welcome', theme: {}, blocks }]))
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from courses where id = $1 for update', [id])
  const deletion = remove(id)
  await untilLocked(t.app.database, 1)
  const late = [
    work((w) => addLesson(w, id, { title: 'Two', content: 'x' })),
    work((w) => updateCourse(w, id, { title: 'Spelt' })),
    work((w) => publishCourse(w, id, false)),
    work((w) => setBinding(t.app, w, `course:${id}`, 'enrolled', 'Welcome')),
  ]
  await untilLocked(t.app.database, 5)
  const ended = Promise.allSettled([deletion, ...late])
  await session.query('commit')
  const [deleted, ...ends] = await ended
  expect(deleted.status).toBe('fulfilled')
  const missing = { status: 'rejected', reason: { kind: 'not_found' } }
  expect(ends).toMatchObject([missing, missing, missing, missing])
  expect(await rowsOf(id)).toEqual([0, 0, 0, 0])
  expect(await work(listBindings)).toEqual([])
})

test('a binding of a webinar that is being deleted finds none', async () => {
  const { id } = await makeWebinar(t, account, {})
  const blocks = [{ id: 'a', type: 'text', props: { text: 'Hi' } }]
  await work((w) => applyProjects(w, [{ name: 'Welcome', theme: {}, blocks }]))
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('select from webinars where id = $1 for update', [id])
  const deletion = work((w) => deleteWebinar(w, id))
  await untilLocked(t.app.database, 1)
  const binding = work((w) => setBinding(t.app, w, `webinar:${id}`, 'registered', 'Welcome'))
  await untilLocked(t.app.database, 2)
  const ended = Promise.allSettled([deletion, binding])
  await session.query('commit')
  expect(await ended).toMatchObject([{ status: 'fulfilled' }, { status: 'rejected', reason: { kind: 'not_found' } }])
  expect(await work(listBindings)).toEqual([])
})

test('a deletion that is interrupted closes at once what its keys opened; the housekeeping finishes it', async () => {
  const [gone, kept] = [await course(t, account, 'Rye', ['One']), await course(t, account, 'Wheat', ['One'])]
  const { subscriberId: memberId } = await enrol(t, account, kept.id, 'ada@people.example')
  await enrol(t, account, gone.id, 'bob@people.example')
  // Her key of the other course opens this one too.
  for (const { id, lessons } of [gone, kept])
    await work((w) => finishLesson(t.app, w, { memberId, courseId: id, lessonId: lessons[0]! }))
  const bob = await enrol(t, account, gone.id, 'bob@people.example')
  expect(await work((w) => countCourseRemoval(w, gone.id))).toEqual({ lessons: 1, keys: 1 })
  expect(await remove(gone.id, { signal: AbortSignal.abort() })).toEqual({ lessons: 1, keys: 0 })
  expect(await rowsOf(gone.id)).toEqual([0, 1, 1, 1])
  expect(await work((w) => isEntitled(w, bob.subscriberId))).toBe(false)
  expect(await work((w) => isEntitled(w, memberId))).toBe(true)
  await expect(remove(gone.id)).rejects.toMatchObject({ kind: 'not_found' })
  await runHousekeeping(t.app, new AbortController().signal)
  expect([await rowsOf(gone.id), await rowsOf(kept.id)]).toEqual([
    [0, 0, 0, 0],
    [1, 1, 1, 1],
  ])
  expect(await t.app.sql('select from deleted_courses')).toEqual([])
})

test('a deletion of more members than one batch deletes all, and counts as the question did', async () => {
  const [gone, kept] = [await course(t, account, 'Rye', ['One', 'Two']), await course(t, account, 'Wheat', ['One'])]
  await t.app.sql(
    `insert into members (account_id, id, email, created_at)
     select $1, 'sub_' || lpad(n::text, 8, '0'), 'p' || n || '@people.example', now() from generate_series(1, 2500) n`,
    [account.id],
  )
  for (const [id, lessons] of [
    [gone.id, gone.lessons],
    [kept.id, kept.lessons],
  ] as const) {
    await t.app.sql(
      `insert into enrolments (account_id, member_id, course_id, active, created_at, updated_at)
       select account_id, id, $2, id like '%0', now(), now() from members where account_id = $1`,
      [account.id, id],
    )
    for (const lesson of lessons)
      await t.app.sql(
        'insert into finished_lessons select account_id, id, $2, $3, now() from members where account_id = $1',
        [account.id, id, lesson],
      )
  }
  const planned = await work((w) => countCourseRemoval(w, gone.id))
  expect(planned).toEqual({ lessons: 2, keys: 250 })
  const seen: number[] = []
  expect(await remove(gone.id, { onBatch: (keys: number) => seen.push(keys) })).toEqual(planned)
  expect(seen).toEqual([100, 200, 250])
  expect([await rowsOf(gone.id), await rowsOf(kept.id)]).toEqual([
    [0, 0, 0, 0],
    [1, 2500, 2500, 0],
  ])
})

test('enrolments, finished lessons and the deletion at once leave no row of the course', async () => {
  const { id, lessons } = await course(t, account, 'Rye', ['One', 'Two'])
  const early = await Promise.all(Array.from({ length: 10 }, (_, i) => enrol(t, account, id, `p${i}@people.example`)))
  await Promise.allSettled([
    ...early.flatMap(({ subscriberId: memberId }) =>
      lessons.map((lessonId) => work((w) => finishLesson(t.app, w, { memberId, courseId: id, lessonId }))),
    ),
    remove(id),
    ...Array.from({ length: 10 }, (_, i) => enrol(t, account, id, `p${i + 5}@people.example`, i % 2 === 0)),
  ])
  expect(await work(listCourses)).toEqual([])
  expect(await rowsOf(id)).toEqual([0, 0, 0, 0])
})

test('a course gets another title; the same one changes nothing, and an empty one is refused', async () => {
  const { id } = await course(t, account, 'Rye')
  const before = (await work(listCourses))[0]!
  expect(await work((w) => updateCourse(w, 'Rye', { title: 'Rye' }))).toEqual(before)
  expect(await work((w) => updateCourse(w, 'Rye', { title: ' Spelt ' }))).toMatchObject({
    id,
    title: 'Spelt',
    published: true,
  })
  for (const title of ['', '  ', 'x'.repeat(201)])
    await expect(work((w) => updateCourse(w, id, { title }))).rejects.toMatchObject({ kind: 'invalid' })
  await expect(work((w) => updateCourse(w, 'Rye', { title: 'x' }))).rejects.toMatchObject({ kind: 'not_found' })
  expect(await work(listCourses)).toMatchObject([{ id, title: 'Spelt' }])
})
