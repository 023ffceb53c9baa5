import { beforeEach, expect, test } from 'vitest'
import { accountUsage, claimSlug } from '../../src/accounts/accounts.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { createCourse, publishCourse } from '../../src/courses/courses.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { claim, course, enrol } from '../support/courses.ts'

let account: TestAccount
let courseId: string
let slug: string
let claimed = 0

const t = useApp({ env: { SVC_PUBLIC_URL: 'https://svc.example' } })
beforeEach(async () => {
  account = await t.account()
  courseId = (await course(t, account, 'Sourdough')).id
  slug = `bakery-${++claimed}`
})

const mint = (body: unknown, id = courseId, key = account.key) =>
  t.request('POST', `/courses/${id}/embed-token`, { key, body })
const ada = { email: 'ada@people.example' }
const used = async () => {
  const usage = await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))
  return usage.find(({ quota }) => quota === 'embedApi')!.used
}

test('an entitled member gets a portal URL: slug, course, embed, a token', async () => {
  await claim(t, account, slug)
  await enrol(t, account, courseId, ada.email)
  const { status, body } = await mint({ email: ' ADA@People.example ' })
  expect(status).toBe(200)
  expect(Object.keys(body)).toEqual(['portalUrl'])
  expect(body.portalUrl).toMatch(new RegExp(`^https://svc\\.example/${slug}/${courseId}/embed\\?token=[\\w.-]+$`))
})

test('a key of another course of the membership is enough', async () => {
  await claim(t, account, slug)
  await enrol(t, account, (await course(t, account, 'Rye')).id, ada.email)
  expect((await mint(ada)).status).toBe(200)
})

test('the order of refusals is 400 malformed email, 404 course, 409 no slug, 403 not entitled; none of them counts', async () => {
  const draft = await t.app.work(account.id, 'cli:test', (work) => createCourse(work, { title: 'Draft' }))
  expect(await mint({ email: 'no address' }, 'crs_none')).toMatchObject({
    status: 400,
    body: { error: 'A valid email is required' },
  })
  expect((await mint({}, 'crs_none')).status).toBe(400)
  const missing = await mint(ada, 'crs_none')
  expect(missing.status).toBe(404)
  expect(await mint(ada, draft.id)).toMatchObject({ status: 404, body: missing.body })
  expect(await mint(ada, courseId, (await t.account()).key)).toMatchObject({ status: 404, body: missing.body })
  expect((await mint(ada)).status).toBe(409)
  await claim(t, account, slug)
  expect(await mint(ada)).toMatchObject({ status: 403, body: { error: expect.stringContaining('entitled') } })
  expect(await used()).toBe(0)
  expect(await t.app.sql('select from members where account_id = $1', [account.id])).toEqual([])
  await enrol(t, account, courseId, ada.email)
  expect((await mint(ada)).status).toBe(200)
  expect(await used()).toBe(1)
})

test('each call checks the entitlement: revoked 403, unpublished 404', async () => {
  await claim(t, account, slug)
  await enrol(t, account, courseId, ada.email)
  expect((await mint(ada)).status).toBe(200)
  await enrol(t, account, courseId, ada.email, false)
  expect((await mint(ada)).status).toBe(403)
  await enrol(t, account, courseId, ada.email)
  await t.app.work(account.id, 'cli:test', (work) => publishCourse(work, courseId, false))
  expect((await mint(ada)).status).toBe(404)
})

test('the plan’s 403 precedes other errors', async () => {
  account = await t.account({ plan: 'free' })
  for (const body of ['{', {}, ada])
    expect(await mint(body, 'crs_none')).toMatchObject({
      status: 403,
      body: { error: "The Embed API isn't included in your plan" },
    })
})

test('a slug belongs to one account, and can be changed', async () => {
  const other = await t.account()
  await claim(t, account, slug)
  await expect(claim(t, other, slug)).rejects.toMatchObject({ kind: 'conflict' })
  await claim(t, account, `${slug}-new`)
  await claim(t, other, slug)
  const both = await Promise.allSettled([claim(t, account, `${slug}-x`), claim(t, other, `${slug}-x`)])
  expect(both.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected'])
  expect(both.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { kind: 'conflict' } })
})

test('no slug hides a path of the server: first segments of its paths are reserved', async () => {
  const paths = [...(await loadRoutes()).map(({ path }) => `/api/v1${path}`), ...(await loadPages()).map((p) => p.path)]
  const segments = new Set(paths.map((path) => path.split('/')[1]!).filter((segment) => !segment.startsWith(':')))
  expect(segments.size).toBeGreaterThan(1)
  const documented = 'api f u v t b p join docs metrics healthz readyz assets admin www openapi'.split(' ')
  for (const word of [...segments, ...documented]) {
    const claiming = t.app.operate('cli:test', (operation) => claimSlug(operation, account.id, word))
    await expect(claiming, word).rejects.toMatchObject({ kind: 'invalid' })
  }
  for (const word of ['Bakery', '-a', 'a-', 'a_b', 'a.b', 'ä', '', 'a/b', 'openapi.json', 'a'.repeat(64)])
    await expect(claim(t, account, word), word).rejects.toMatchObject({ kind: 'invalid' })
})
