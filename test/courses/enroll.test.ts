import { beforeEach, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { accountUsage, countOwned } from '../../src/accounts/accounts.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { createCourse, listMembers } from '../../src/courses/courses.ts'
import { setBinding } from '../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { claim, course, enrol, mailsOf } from '../support/courses.ts'
import { journeyBench } from '../support/journeys.ts'
import { sendingAccount } from '../support/messages.ts'
import { plainProjects } from '../support/projects.ts'

let account: TestAccount
let courseId: string
const studio = plainProjects()

const t = useApp({
  env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
  projects: studio.projects,
})
beforeEach(async () => {
  account = await sendingAccount(t)
  courseId = (await course(t, account, 'Sourdough')).id
})

const enroll = (body: unknown, id = courseId, key = account.key) =>
  t.request('POST', `/courses/${id}/enroll`, { key, body })
const used = async () => {
  const usage = await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))
  return usage.find(({ quota }) => quota === 'embedApi')!.used
}
const members = async (id = courseId) =>
  (await t.app.work(account.id, 'cli:test', (work) => listMembers(work, id, { limit: 100 }))).rows
const subjects = async () => (await mailsOf(t, account)).map(({ email, subject }) => [email, subject])

test('enrolling grants access, answers { subscriberId, active } and sends the enrolled email', async () => {
  const { status, body } = await enroll({ email: 'ada@people.example' })
  expect([status, body]).toEqual([200, { subscriberId: expect.stringMatching(/^sub_/), active: true }])
  expect(await members()).toMatchObject([
    { subscriberId: body.subscriberId, email: 'ada@people.example', active: true, entitled: true },
  ])
  expect(await mailsOf(t, account)).toMatchObject([
    {
      email: 'ada@people.example',
      subject: 'You now have access to Sourdough',
      status: 'pending',
      type: 'transactional',
    },
  ])
})

test('the address is trimmed and lowercased; subscriberId is stable per address; an entitled member gets no second email', async () => {
  const [first, second, third] = [
    await enroll({ email: '  Ada@People.Example ' }),
    await enroll({ email: 'ada@people.example', active: true }),
    await enroll({ email: 'ADA@PEOPLE.EXAMPLE' }, (await course(t, account, 'Rye')).id),
  ]
  expect(second.body).toEqual(first.body)
  expect(third.body).toEqual(first.body)
  expect(await subjects()).toEqual([['ada@people.example', 'You now have access to Sourdough']])
})

test('revoking deactivates the key, sends nothing, and keeps the id; enrolling again sends the email again', async () => {
  const { body } = await ok(enroll({ email: 'ada@people.example' }))
  expect(await enroll({ email: 'ada@people.example', active: false })).toMatchObject({
    status: 200,
    body: { ...body, active: false },
  })
  expect(await members()).toMatchObject([{ active: false, entitled: false }])
  expect(await subjects()).toHaveLength(1)
  await ok(enroll({ email: 'ada@people.example' }))
  expect(await subjects()).toHaveLength(2)
})

test('a member is entitled while any key is active', async () => {
  const rye = (await course(t, account, 'Rye')).id
  await ok(enroll({ email: 'ada@people.example' }))
  await ok(enroll({ email: 'ada@people.example' }, rye))
  await ok(enroll({ email: 'ada@people.example', active: false }))
  expect(await members()).toMatchObject([{ active: false, entitled: true }])
  await ok(enroll({ email: 'ada@people.example' }))
  expect(await subjects()).toHaveLength(1)
  await ok(enroll({ email: 'ada@people.example', active: false }, rye))
  await ok(enroll({ email: 'ada@people.example', active: false }))
  expect(await members(rye)).toMatchObject([{ active: false, entitled: false }])
})

test('revoking an unknown address answers active false and sends nothing; a later enrolment has the same id', async () => {
  const revoked = await enroll({ email: 'stranger@people.example', active: false })
  expect(revoked).toMatchObject({ status: 200, body: { subscriberId: expect.stringMatching(/^sub_/), active: false } })
  expect([await members(), await subjects()]).toEqual([[], []])
  expect((await enroll({ email: 'stranger@people.example' })).body).toEqual({ ...revoked.body, active: true })
})

test('an unpublished course can be enrolled in', async () => {
  const { id } = await t.app.work(account.id, 'cli:test', (work) => createCourse(work, { title: 'Draft' }))
  expect(await enroll({ email: 'ada@people.example' }, id)).toMatchObject({ status: 200, body: { active: true } })
})

test.each([
  [{}, 'A valid email is required'],
  [{ email: 'no address' }, 'A valid email is required'],
  [{ email: '' }, 'A valid email is required'],
  [{ email: 7 }, 'A valid email is required'],
  [{ email: `${'a'.repeat(320)}@b.example` }, 'A valid email is required'],
  [{ email: 'a@b.example', active: 'false' }, 'active must be true or false'],
  [{ email: 'a@b.example', active: null }, 'active must be true or false'],
])('%.60j is 400 and writes nothing', async (body, error) => {
  const before = await countOwned(t.app, account.id)
  expect(await enroll(body)).toMatchObject({ status: 400, body: { error } })
  expect(await enroll(body, 'crs_none')).toMatchObject({ status: 400 })
  expect(await countOwned(t.app, account.id)).toEqual(before)
})

test('an unknown course and another account’s answer the same 404, and create no subscriber', async () => {
  const stranger = await t.account()
  const foreign = await enroll({ email: 'ada@people.example' }, courseId, stranger.key)
  expect(foreign).toMatchObject({ status: 404 })
  expect(foreign.body).toEqual((await enroll({ email: 'ada@people.example' }, 'crs_none')).body)
  expect(await countOwned(t.app, stranger.id)).toEqual({ api_keys: 1 })
})

test('a plan without the Embed API is 403 before any other error; a used up quota is 429; only successes count', async () => {
  await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'pro', { embedApi: 2 }))
  account = await t.account({ plan: 'starter' })
  for (const body of [{ email: 'a@b.example' }, { email: 'no' }, '{'])
    expect(await enroll(body, 'crs_none')).toMatchObject({
      status: 403,
      body: { error: "The Embed API isn't included in your plan" },
    })
  account = await t.account({ plan: 'pro' })
  courseId = (await course(t, account, 'Rye')).id
  expect((await enroll({ email: 'no' })).status).toBe(400)
  expect((await enroll({ email: 'a@b.example' }, 'crs_none')).status).toBe(404)
  expect(await used()).toBe(0)
  expect((await enroll({ email: 'a@b.example' })).status).toBe(200)
  expect((await enroll({ email: 'a@b.example', active: false })).status).toBe(200)
  expect(await enroll({ email: 'no' })).toMatchObject({
    status: 429,
    body: { error: 'Monthly Embed API quota for your plan exceeded' },
  })
  expect(await used()).toBe(2)
})

test('twenty concurrent calls for one address create one subscriber, one key and one email', async () => {
  const replies = await Promise.all(Array.from({ length: 20 }, () => enroll({ email: 'ada@people.example' })))
  expect(new Set(replies.map(({ body }) => JSON.stringify(body))).size).toBe(1)
  expect(await members()).toHaveLength(1)
  expect(await subjects()).toHaveLength(1)
})

test('if the email can’t be sent, the answer is the same and the email is listed with the reason', async () => {
  account = await t.account()
  courseId = (await course(t, account, 'Rye')).id
  expect(await enroll({ email: 'ada@people.example' })).toMatchObject({ status: 200, body: { active: true } })
  const rows = await t.app.sql('select status, error from messages where account_id = $1', [account.id])
  expect(rows).toEqual([{ status: 'failed', error: expect.stringContaining('sender') }])
})

test('a bound email is rendered from its project, with email, title and portalUrl', async () => {
  await claim(t, account, `bakery-${account.id.slice(-8)}`.toLowerCase())
  const [applied] = await t.app.work(account.id, 'cli:test', (work) =>
    applyProjects(work, [{ name: 'Welcome', blocks: [{ id: 'a', type: 'text', props: { text: 'Hi' } }] }]),
  )
  studio.add(account.id, applied!.id!, 'Welcome')
  await t.app.work(account.id, 'cli:test', (work) =>
    setBinding(t.app, work, `course:${courseId}`, 'enrolled', applied!.id!),
  )
  await ok(enroll({ email: 'ada@people.example' }))
  expect(await mailsOf(t, account)).toMatchObject([
    {
      subject: 'Welcome',
      text: null,
      mergeData: {
        email: 'ada@people.example',
        title: 'Sourdough',
        portalUrl: expect.stringMatching(
          new RegExp(`^https://svc\\.example/bakery-[a-z0-9]+/${courseId}/embed\\?token=[\\w-]+\\.[\\w-]+$`),
        ),
      },
    },
  ])
})

test('the email has a link only if the account has a slug', async () => {
  await ok(enroll({ email: 'ada@people.example' }))
  await claim(t, account, `s-${account.id.slice(-8)}`.toLowerCase())
  await ok(enroll({ email: 'bob@people.example' }))
  const [first, second] = await mailsOf(t, account)
  expect(first!.text).not.toContain('https:')
  expect(second!.text).toContain(`/${courseId}/embed?token=`)
})

test('course-enrolled starts journeys when a contact’s key becomes active; by id, by title, or for any course', async () => {
  const bench = await journeyBench(t)
  account = bench.account
  courseId = (await course(t, account, 'Sourdough')).id
  const rye = (await course(t, account, 'Rye')).id
  await bench.add(await bench.list('Leads'), ['ada@people.example'])
  const on = (name: string, more: object) =>
    bench.apply({
      name,
      trigger: { kind: 'course-enrolled', ...more },
      reentry: 'always',
      steps: [{ kind: 'delay', for: '1d' }],
    })
  const [any, byId, byTitle] = [
    await on('any', {}),
    await on('id', { course: courseId }),
    await on('title', { course: 'Sourdough' }),
  ]
  const tally = async () => (await Promise.all([any, byId, byTitle].map((id) => bench.runs(id)))).map((r) => r.length)
  await enrol(t, account, courseId, 'stranger@people.example')
  expect(await tally()).toEqual([0, 0, 0])
  await enrol(t, account, courseId, 'ada@people.example')
  await enrol(t, account, courseId, 'ada@people.example')
  expect(await tally()).toEqual([1, 1, 1])
  await enrol(t, account, rye, 'ada@people.example')
  expect(await tally()).toEqual([2, 1, 1])
  await enrol(t, account, courseId, 'ada@people.example', false)
  expect(await tally()).toEqual([2, 1, 1])
})

test('no event is emitted', async () => {
  await ok(enroll({ email: 'ada@people.example' }))
  await ok(enroll({ email: 'ada@people.example', active: false }))
  expect(await t.events(account.id)).toEqual([])
})

test('erasing a person deletes their membership and no other', async () => {
  await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email: 'ada@people.example', fields: {} }], new Map())
  })
  const before = (await enroll({ email: 'ada@people.example' })).body
  await ok(enroll({ email: 'bob@people.example' }))
  await t.app.work(account.id, 'cli:test', (work) => eraseContact(work, 'ada@people.example', { dryRun: false }))
  expect((await members()).map(({ email }) => email)).toEqual(['bob@people.example'])
  const held = await t.app.sql('select from members where account_id = $1 and email like $2', [account.id, 'ada%'])
  expect(held).toEqual([])
  expect((await enroll({ email: 'ada@people.example' })).body.subscriberId).not.toBe(before.subscriberId)
})

test('a member without a list can be erased too', async () => {
  await ok(enroll({ email: 'ada@people.example' }))
  const personalData = await t.app.personalData()
  const erase = () =>
    t.app.work(account.id, 'cli:test', (work) =>
      eraseContact(work, 'ada@people.example', { dryRun: false, personalData }),
    )
  await erase()
  expect(await members()).toEqual([])
  await expect(erase()).rejects.toMatchObject({ kind: 'not_found' })
})

test('deleting an account deletes its courses and members', async () => {
  await ok(enroll({ email: 'ada@people.example' }))
  expect(await countOwned(t.app, account.id)).toMatchObject({ courses: 1, members: 1, enrolments: 1 })
  const { deleted } = await deleteAccount(t.app, account.id, { actor: 'cli:test' })
  expect(deleted).toMatchObject({ courses: 1, members: 1, enrolments: 1 })
  expect(await countOwned(t.app, account.id)).toEqual({})
})
