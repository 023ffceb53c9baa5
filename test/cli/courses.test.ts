import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { finishLesson } from '../../src/courses/courses.progress.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'

const t = useApp()
let account: TestAccount
beforeEach(async () => {
  account = await t.account()
})

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])
const json = async (...args: string[]) => {
  const ran = await run('courses', ...args, '--json')
  expect([ran.stderr, ran.status]).toEqual(['', 0])
  return ran.json
}

test('a course runs from its creation to its portal at the terminal', async () => {
  const made = await json('create', '--title', 'Sourdough')
  expect(made).toEqual({
    id: expect.stringMatching(/^crs_/),
    title: 'Sourdough',
    published: false,
    lessonCount: 0,
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
  })
  const { id } = made
  const lesson = await json('lessons', 'add', id, '--title', 'Flour', '--content', 'Rye.\n\nWheat.')
  expect(lesson).toEqual({
    id: expect.stringMatching(/^les_/),
    courseId: id,
    title: 'Flour',
    content: 'Rye.\n\nWheat.',
    position: 1,
  })
  const { courseId, ...listed } = lesson
  expect(await json('lessons', 'list', 'Sourdough')).toEqual({ lessons: [listed] })
  const course = await json('show', id)
  expect(course).toMatchObject({ id, lessonCount: 1, lessons: [listed] })
  expect(course.portal).toBeUndefined()
  expect((await run('courses', 'show', id)).stdout).toMatch(/portal\t(none: .*claim-slug|http)/)

  const dry = await run('courses', 'enroll', id, '--email', 'ada@people.example', '--dry-run', '--json')
  expect([dry.status, dry.json]).toMatchObject([0, { dryRun: true, active: true }])
  expect((await json('members', id)).members).toEqual([])
  expect(await t.app.sql('select from messages where account_id = $1', [account.id])).toEqual([])
  const ada = await json('enroll', id, '--email', ' Ada@People.example')
  expect(ada).toEqual({ subscriberId: expect.stringMatching(/^sub_/), active: true })
  const token = ['courses', 'embed-token', id, '--email', 'ada@people.example']
  expect(await run(...token)).toMatchObject({ status: 3, stdout: '', stderr: expect.stringContaining('publish') })
  expect(await json('publish', id)).toMatchObject({ id, published: true })
  expect(await run(...token)).toMatchObject({ status: 6, stderr: expect.stringContaining('claim-slug') })
  expect(await run('accounts', 'claim-slug', 'bakery', '--json')).toMatchObject({ status: 0, json: { slug: 'bakery' } })
  const url = await run(...token)
  expect(url).toMatchObject({ status: 0, stderr: '' })
  expect(url.stdout).toMatch(new RegExp(`^http://[^/]+/bakery/${id}/embed\\?token=[\\w.-]+\n$`))
  expect(Object.keys((await run(...token, '--json')).json)).toEqual(['portalUrl'])

  const member = { subscriberId: ada.subscriberId, email: 'ada@people.example', completedLessons: 0, completedAt: null }
  expect(await json('members', id)).toEqual({
    members: [{ ...member, active: true, entitled: true, enrolledAt: expect.any(Number) }],
  })
  expect(await json('revoke', id, '--email', 'ada@people.example')).toEqual({ ...ada, active: false })
  expect(await json('members', id)).toMatchObject({ members: [{ ...member, active: false, entitled: false }] })
  expect(await run(...token)).toMatchObject({ status: 6, stderr: expect.stringContaining('enroll') })
  expect((await mailsOf(t, account)).map(({ subject }) => subject)).toEqual(['You now have access to Sourdough'])
  expect(await json('unpublish', id)).toMatchObject({ id, published: false })
})

test('members are listed page by page', async () => {
  const { id } = await course(t, account, 'Paged')
  const ids: string[] = []
  for (const name of ['a', 'b', 'c']) ids.push((await enrol(t, account, id, `${name}@b.example`)).subscriberId)
  const first = await json('members', id, '--limit', '2')
  const second = await json('members', id, '--limit', '2', '--cursor', first.nextCursor)
  const shown = [...first.members, ...second.members].map(({ subscriberId }) => subscriberId)
  expect([shown.toSorted(), second.nextCursor]).toEqual([ids.toSorted(), undefined])
  expect((await run('courses', 'members', id, '-q')).stdout.trim().split('\n').toSorted()).toEqual(ids.toSorted())
})

test('a title identifies a course while only one course has it', async () => {
  const first = await course(t, account, 'Twice')
  expect(await json('unpublish', 'Twice')).toMatchObject({ id: first.id, published: false })
  const second = await course(t, account, 'Twice')
  expect(await run('courses', 'publish', 'Twice')).toMatchObject({ status: 6, stdout: '' })
  expect((await json('list')).courses.slice(0, 2).map(({ id }: { id: string }) => id)).toEqual([second.id, first.id])
  expect((await run('courses', 'create', '--title', 'Quiet', '-q')).stdout).toMatch(/^crs_\w+\n$/)
})

test.each([
  [2, ['courses', 'create']],
  [2, ['courses', 'create', '--title', '  ']],
  [2, ['courses', 'enroll', 'Sourdough']],
  [2, ['courses', 'enroll', 'Sourdough', '--email', 'nobody']],
  [2, ['courses', 'lessons', 'add', 'Sourdough', '--title', 'x']],
  [3, ['courses', 'enroll', 'crs_none', '--email', 'a@b.example']],
  [3, ['courses', 'members', 'crs_none']],
  [3, ['courses', 'lessons', 'add', 'crs_none', '--title', 'x', '--content', 'y']],
  [2, ['accounts', 'claim-slug', 'api']],
])('exit %i: svc %s', async (status, args) => {
  const ran = await run(...args)
  expect([ran.status, ran.stdout]).toEqual([status, ''])
  expect(ran.stderr).toMatch(/^error: /)
})

test('create --publish, publish and enroll suggest claim-slug until the account has a slug', async () => {
  const mine = await t.account()
  const stderr = async (...args: string[]) => {
    const ran = await svc(t, ['courses', ...args, '--account', mine.id])
    expect(ran.status).toBe(0)
    return ran.stderr
  }
  const suggestion = / no link to the course\.\n {2}next: svc accounts claim-slug <slug>\n$/
  expect(await stderr('create', '--title', 'Rye')).toBe('')
  for (const args of [
    ['create', '--title', 'Spelt', '--publish'],
    ['publish', 'Rye'],
    ['enroll', 'Rye', '--email', 'ada@b.example'],
  ])
    expect(await stderr(...args)).toMatch(suggestion)
  expect(await stderr('revoke', 'Rye', '--email', 'ada@b.example')).toBe('')
  expect(await stderr('unpublish', 'Rye')).toBe('')
  await claim(t, mine, 'rye')
  expect(await stderr('publish', 'Rye')).toBe('')
  expect(await stderr('enroll', 'Rye', '--email', 'ada@b.example')).toBe('')
})

test('the content of a lesson comes from a file, from standard input or from the flag', async () => {
  const { id } = await json('create', '--title', 'Sources')
  const folder = await mkdtemp(join(tmpdir(), 'svc-lessons-'))
  const contentOf = async (content: string, stdin = '') => {
    const update = ['courses', 'lessons', 'update', id, 'One', '--content', content, '--account', account.id, '--json']
    return (await svc(t, update, { stdin, cwd: folder })).json.content
  }
  try {
    await writeFile(join(folder, 'one.md'), '@ada has **this** rope.')
    const add = ['courses', 'lessons', 'add', id, '--title', 'One', '--account', account.id, '--json', '--content']
    expect((await svc(t, [...add, '@one.md'], { cwd: folder })).json).toMatchObject({
      content: '@ada has **this** rope.',
    })
    expect(await contentOf('-', '# Piped')).toBe('# Piped')
    expect(await contentOf('two.md')).toBe('two.md')
    expect(await contentOf('one.md')).toBe('@ada has **this** rope.')
    expect(await contentOf('@one.md')).toBe('@ada has **this** rope.')
    for (const change of [
      ['update', id, 'One'],
      ['add', id, '--title', 'Two'],
    ])
      expect(await run('courses', 'lessons', ...change, '--content', '@none.md')).toMatchObject({
        ...{ status: 2, stdout: '' },
        stderr: expect.stringContaining("--content names a file that can't be read: none.md"),
      })
    expect((await json('lessons', 'list', id)).lessons).toMatchObject([{ content: '@ada has **this** rope.' }])
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('show describes lessons without their content, which --json and --fields have', async () => {
  const { id } = await json('create', '--title', 'Brief')
  const video = 'https://youtu.be/dQw4w9WgXcQ'
  await json('lessons', 'add', id, '--title', 'One', '--content', 'Long.'.repeat(100), '--video-url', video)
  await json('lessons', 'add', id, '--title', 'Two', '--content', 'Short.')
  const line = (await run('courses', 'show', id)).stdout.split('\n').find((text) => text.startsWith('lessons\t'))
  expect(JSON.parse(line!.slice('lessons\t'.length))).toEqual([
    { position: 1, title: 'One', characters: 500, finished: 0, videoUrl: video },
    { position: 2, title: 'Two', characters: 6, finished: 0 },
  ])
  expect((await run('courses', 'show', id, '--fields', 'lessons')).stdout).toContain('Long.Long.')
  const { text } = await svc(t, ['courses', 'show', id, '--account', account.id], { tty: {} })
  expect(text).toMatch(/POSITION +TITLE +CHARACTERS +FINISHED +VIDEO URL/)
  expect(text).toMatch(/^ +1 +One +500 +0 +https/m)
  expect(text).not.toContain('Long.')
})

test('a course of another account is not found', async () => {
  const { id } = await json('create', '--title', 'Mine', '--publish')
  const other = await t.account()
  for (const args of [
    ['show', id],
    ['enroll', id, '--email', 'a@b.example'],
    ['unpublish', 'Mine'],
  ])
    expect((await svc(t, ['courses', ...args, '--account', other.id])).status).toBe(3)
  expect(await json('show', id)).toMatchObject({ published: true })
})

test('a course and its lessons are changed, moved and deleted', async () => {
  const { id, lessons } = await course(t, account, 'Knots', ['Bowline', 'Hitch', 'Splice'])
  const [bowline, hitch, splice] = lessons
  expect(await json('update', 'Knots', '--title', 'All knots')).toMatchObject({
    id,
    title: 'All knots',
    lessonCount: 3,
  })
  const changed = { id: hitch, courseId: id, title: 'Clove hitch', content: 'Twice.', position: 2 }
  const change = ['lessons', 'update', id, 'Hitch', '--title', 'Clove hitch', '--content', 'Twice.']
  const dry = await run('courses', ...change, '--dry-run', '--json')
  expect([dry.status, dry.json]).toEqual([0, { dryRun: true, ...changed }])
  expect((await json('lessons', 'list', id)).lessons[1].title).toBe('Hitch')
  expect(await json(...change)).toEqual(changed)
  expect(await json('lessons', 'move', id, 'Clove hitch', '--before', bowline!)).toMatchObject({ position: 1 })
  expect(await json('lessons', 'move', id, 'Clove hitch', '--last', '--yes')).toMatchObject({ position: 3 })
  await enrol(t, account, id, 'ada@people.example')
  for (const [args, says, planned] of [
    [
      ['lessons', 'delete', id, 'Splice'],
      'delete the lesson Splice, which nobody has finished',
      { id: splice, courseId: id, title: 'Splice', finished: 0 },
    ],
    [
      ['delete', id],
      'delete the course All knots with 2 lessons and 1 active key, and all progress in it; no email is sent',
      { id, title: 'All knots', lessons: 2, keys: 1 },
    ],
  ] as const) {
    const asked = await run('courses', ...args)
    expect([asked.status, asked.stdout, asked.stderr]).toEqual([
      2,
      '',
      expect.stringContaining(`${says}: it needs --yes`),
    ])
    const before = await json('show', id)
    expect((await run('courses', ...args, '--dry-run', '--json')).json).toEqual({ dryRun: true, ...planned })
    expect(await json('show', id)).toEqual(before)
    expect(await json(...args, '--yes')).toEqual(planned)
    expect((await run('courses', ...args, '--yes')).status).toBe(3)
  }
})

test('a lesson has at most one video, of a known kind', async () => {
  const { id } = await json('create', '--title', 'Films')
  const youtube = 'https://youtu.be/dQw4w9WgXcQ'
  const add = ['courses', 'lessons', 'add', id, '--title', 'One', '--content', '# Knots', '--video-url']
  for (const url of [
    'http://cdn.example/a.mp4',
    'https://evil.example/',
    'https://*/a.mp4',
    'javascript:alert(1)',
    'x',
  ])
    expect(await run(...add, url)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringContaining('YouTube') })
  expect((await json('lessons', 'list', id)).lessons).toEqual([])
  expect((await run(...add, youtube, '--json')).json).toMatchObject({ videoUrl: youtube })
  const update = (...flags: string[]) => json('lessons', 'update', id, 'One', ...flags)
  expect(await update('--title', 'One')).toMatchObject({ videoUrl: youtube, content: '# Knots' })
  const file = 'https://cdn.example/a.mp4'
  expect(await update('--video-url', file)).toMatchObject({ videoUrl: file })
  expect((await run('courses', 'lessons', 'update', id, 'One', '--video-url', 'x')).status).toBe(2)
  expect((await json('show', id)).lessons).toMatchObject([{ videoUrl: file }])
  expect(await update('--video-url', '')).not.toHaveProperty('videoUrl')
})

test('show and members count what members have finished; who has completed a course has a certificate', async () => {
  const mine = await t.account()
  const { id, lessons } = await course(t, mine, 'Progress', ['One', 'Two'])
  const [ada] = [await enrol(t, mine, id, 'ada@b.example'), await enrol(t, mine, id, 'bob@b.example')]
  const finish = (lessonId: string) =>
    t.app.work(mine.id, 'cli:test', (w) =>
      finishLesson(t.app, w, { memberId: ada.subscriberId, courseId: id, lessonId }),
    )
  const read = (...args: string[]) => svc(t, ['courses', ...args, id, '--account', mine.id])
  await finish(lessons[1]!)
  expect((await read('show', '--json')).json).toMatchObject({
    ...{ members: 2, completed: 0 },
    lessons: [{ finished: 0 }, { finished: 1 }],
  })
  expect((await read('members')).stdout).toMatch(/ada@b\.example.*\t1 of 2\t/)
  await finish(lessons[0]!)
  const members = async () => (await read('members', '--json')).json.members
  expect((await members()).filter((member: object) => 'certificateUrl' in member)).toEqual([])
  await claim(t, mine, 'progress')
  const [completed, other] = await members()
  expect(completed.certificateUrl).toMatch(new RegExp(`^http://[^/]+/progress/${id}/certificate/[\\w.-]+$`))
  expect(other).not.toHaveProperty('certificateUrl')
})

test('changes of lessons and courses: wrong flags are exit 2, unknown ids 3, an ambiguous title 6', async () => {
  const { id } = await course(t, account, 'Splices', ['Eye', 'Short', 'Short'])
  for (const [status, ...args] of [
    [2, 'update', id],
    [2, 'update', id, '--title', ' '],
    [2, 'lessons', 'update', id, 'Eye'],
    [2, 'lessons', 'update', id, 'Eye', '--title', ''],
    [2, 'lessons', 'move', id, 'Eye'],
    [2, 'lessons', 'move', id, 'Eye', '--last', '--before', 'Short'],
    [3, 'update', 'crs_none', '--title', 'x'],
    [3, 'delete', 'crs_none', '--yes'],
    [3, 'lessons', 'update', id, 'les_none', '--title', 'x'],
    [3, 'lessons', 'move', id, 'Eye', '--before', 'les_none'],
    [3, 'lessons', 'delete', id, 'les_none', '--yes'],
    [6, 'lessons', 'delete', id, 'Short', '--yes'],
  ] as const) {
    const ran = await run('courses', ...args)
    expect([args, ran.status, ran.stdout]).toEqual([args, status, ''])
  }
  const other = await t.account()
  for (const args of [
    ['delete', id, '--yes'],
    ['lessons', 'delete', id, 'Eye', '--yes'],
  ])
    expect((await svc(t, ['courses', ...args, '--account', other.id])).status).toBe(3)
  expect((await json('lessons', 'list', id)).lessons).toHaveLength(3)
})
