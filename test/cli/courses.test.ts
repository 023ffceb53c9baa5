import { expect, test } from 'vitest'
import { useAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { course, enrol, mailsOf } from '../support/courses.ts'

const t = useApp()
const account = useAccount(t)

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
