import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { accountUsage, type Quota } from '../../src/accounts/accounts.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { createCourse } from '../../src/courses/courses.ts'
import { personalData } from '../../src/webinars/webinars.personal-data.ts'
import {
  cancelWebinar,
  endWebinar,
  freeSeat,
  listRegistrations,
  promoteRegistration,
  startWebinar,
} from '../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { journeyBench } from '../support/journeys.ts'
import { sendingAccount } from '../support/messages.ts'
import { hour, linkIn, mailed, mailsOf, makeWebinar, register, webinarOf } from './support.ts'

let account: TestAccount
const clock = { now: new Date('2026-11-22T12:00:00Z') }

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, now: () => clock.now })
beforeAll(async () => {
  await t.app.sql(
    `insert into plans (name, position, contacts, sends, send_api_calls, embed_api, broadcast_minutes, webinar_courses) values
       ('no live', 10, null, null, null, null, 0, true), ('ten minutes', 11, null, null, null, null, 10, false)`,
  )
})
beforeEach(async () => {
  account = await sendingAccount(t)
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const post = (body: unknown) => t.request('POST', '/webinars', { key: account.key, body })
const list = async () => (await t.request('GET', '/webinars', { key: account.key })).body.webinars
const used = async (quota: Quota) =>
  (await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))).find((u) => u.quota === quota)!
    .used

describe('POST /webinars', () => {
  test('answers with the record and nothing else, always in registration mode, title trimmed', async () => {
    const scheduledAt = clock.now.getTime() + hour
    const reply = await post({
      title: '  Growing  ',
      scheduledAt,
      capacity: 0,
      accessMode: 'subscribers',
      streamUrl: 'https://x.example',
      status: 'live',
    })
    expect([reply.status, reply.body]).toEqual([
      201,
      {
        webinar: {
          id: expect.stringMatching(/^web_/),
          title: 'Growing',
          accessMode: 'registration',
          status: 'scheduled',
          scheduledAt,
          startedAt: null,
          endedAt: null,
          courseId: null,
          capacity: 0,
          registeredCount: 0,
          waitlistedCount: 0,
          createdAt: clock.now.getTime(),
          updatedAt: clock.now.getTime(),
        },
      },
    ])
    const bare = (await post({ title: 'Bare' })).body.webinar
    expect(bare).toMatchObject({ scheduledAt: null, capacity: null })
    expect(await list()).toEqual([bare, reply.body.webinar].toSorted((a, b) => (a.id < b.id ? 1 : -1)))
    expect(await used('embedApi')).toBe(3)
  })

  test.each([
    [{}, 'title is required'],
    [{ title: ' \n ' }, 'title must not be empty'],
    [{ title: 5 }, 'title must be a string'],
    [{ title: 'x'.repeat(201) }, 'title must be at most 200 characters'],
    [{ title: 'x', capacity: -1 }, 'capacity must be at least 0'],
    [{ title: 'x', capacity: 1.5 }, 'capacity must be a whole number'],
    [{ title: 'x', capacity: '10' }, 'capacity must be a number'],
    [{ title: 'x', scheduledAt: '2026-12-01' }, 'scheduledAt must be a number'],
    [{ title: 'x', scheduledAt: 1.5 }, 'scheduledAt must be a whole number'],
    [{ title: 'x', courseId: 5 }, 'courseId must be a string'],
  ])('%j is 400, and counts nothing', async (body, error) => {
    const reply = await post(body)
    expect([reply.status, reply.body]).toEqual([400, { error }])
    expect([await list(), await used('embedApi')]).toEqual([[], 1])
  })

  test('takes a course of the account; another account’s is 404', async () => {
    const course = await work((w) => createCourse(w, { title: 'Mine' }))
    expect((await post({ title: 'x', courseId: course.id })).body.webinar.courseId).toBe(course.id)
    account = await t.account()
    expect((await post({ title: 'x', courseId: course.id })).status).toBe(404)
    expect(await list()).toEqual([])
  })

  test('is 403 with the live-session quota’s message, before the body is read', async () => {
    account = await t.account({ plan: 'no live' })
    for (const body of [{ title: 'x' }, { title: '' }])
      expect(await post(body)).toMatchObject({
        status: 403,
        body: { error: "Live sessions aren't included in your plan" },
      })
    account = await t.account({ plan: 'ten minutes' })
    expect(await post({ title: 'x', courseId: 'crs_none' })).toMatchObject({
      status: 403,
      body: { error: "Your plan can't attach a course to a webinar" },
    })
    const { id } = (await post({ title: 'x' })).body.webinar
    await work((w) => startWebinar(w, id))
    clock.now = new Date(clock.now.getTime() + 11.5 * 60_000)
    await work((w) => endWebinar(w, id))
    expect(await used('broadcastMinutes')).toBe(12)
    expect(await post({ title: 'x' })).toMatchObject({
      status: 403,
      body: { error: 'Monthly broadcast minutes for your plan used up' },
    })
    expect(await used('embedApi')).toBe(1)
  })
})

test('GET /webinars omits sessions for subscribers and other accounts’ sessions', async () => {
  await makeWebinar(t, account, { accessMode: 'subscribers' })
  const mine = await makeWebinar(t, account)
  await makeWebinar(t, await t.account())
  expect(await list()).toEqual([mine])
})

describe('a session', () => {
  test('starts once, ends once, and its minutes are counted from start to end, rounded up', async () => {
    const { id } = await makeWebinar(t, account)
    await expect(work((w) => endWebinar(w, id))).rejects.toMatchObject({ kind: 'conflict' })
    const startedAt = clock.now.getTime()
    expect(await work((w) => startWebinar(w, id))).toMatchObject({ status: 'live', startedAt, endedAt: null })
    await expect(work((w) => startWebinar(w, id))).rejects.toMatchObject({ kind: 'conflict' })
    await expect(work((w) => cancelWebinar(t.app, w, id))).rejects.toMatchObject({ kind: 'conflict' })
    expect(await used('broadcastMinutes')).toBe(0)
    clock.now = new Date(startedAt + 30 * 60_000 + 1)
    expect(await work((w) => endWebinar(w, id))).toMatchObject({
      status: 'ended',
      startedAt,
      endedAt: startedAt + 1_800_001,
    })
    for (const again of [startWebinar, endWebinar])
      await expect(work((w) => again(w, id))).rejects.toMatchObject({ kind: 'conflict' })
    expect(await used('broadcastMinutes')).toBe(31)
    expect(await webinarOf(t, account, id)).toMatchObject({ status: 'ended', updatedAt: startedAt + 1_800_001 })
  })

  test('does not start without broadcast minutes', async () => {
    account = await t.account({ plan: 'ten minutes' })
    const { id } = await makeWebinar(t, account)
    await t.app.sql(`update accounts set plan = 'no live' where id = $1`, [account.id])
    await expect(work((w) => startWebinar(w, id))).rejects.toMatchObject({ kind: 'forbidden' })
    expect(await webinarOf(t, account, id)).toMatchObject({ status: 'scheduled' })
  })

  test('that is cancelled sends a plain email to everyone who is still registered', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1, scheduledAt: clock.now.getTime() + hour })
    for (const name of ['ada', 'bob', 'cyd']) await ok(register(t, account, id, `${name}@people.example`))
    const mails = await mailsOf(t, account)
    await ok(t.request('POST', linkIn(mails[2]!, 'Leave the waitlist')))
    expect(await work((w) => cancelWebinar(t.app, w, id))).toMatchObject({ status: 'cancelled' })
    await expect(work((w) => cancelWebinar(t.app, w, id))).rejects.toMatchObject({ kind: 'conflict' })
    expect((await mailed(t, account)).filter((mail) => mail.includes('Cancelled'))).toEqual([
      'ada@people.example Cancelled: Live!',
      'bob@people.example Cancelled: Live!',
    ])
    const join = linkIn(mails[0]!, 'Join the session')
    expect((await t.request('GET', join)).body).toContain('This session was cancelled')
    expect((await t.request('GET', `${join}/calendar.ics`)).status).toBe(404)
  })

  test('that is cancelled withdraws what was not sent yet about it, and returns its volume', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1, scheduledAt: clock.now.getTime() + hour })
    const other = await makeWebinar(t, account, { scheduledAt: clock.now.getTime() + hour })
    for (const name of ['ada', 'bob']) await ok(register(t, account, id, `${name}@people.example`))
    await ok(register(t, account, other.id, 'cyd@people.example'))
    await work((w) => cancelWebinar(t.app, w, id))
    expect((await mailsOf(t, account)).map(({ email, subject, status }) => `${email} ${subject} ${status}`)).toEqual([
      'ada@people.example Cancelled: Live! pending',
      'ada@people.example You are registered: Live! failed',
      'bob@people.example Cancelled: Live! pending',
      'bob@people.example You are on the waitlist: Live! failed',
      'cyd@people.example You are registered: Live! pending',
    ])
    expect(await used('sends')).toBe(3)
  })

  test('of another account is not found', async () => {
    const foreign = await makeWebinar(t, await t.account())
    for (const run of [startWebinar, endWebinar]) {
      await expect(work((w) => run(w, foreign.id))).rejects.toMatchObject({ kind: 'not_found' })
    }
    await expect(work((w) => promoteRegistration(t.app, w, foreign.id, null))).rejects.toMatchObject({
      kind: 'not_found',
    })
  })
})

describe('promotion', () => {
  const promote = (id: string, registrationId: string | null = null) =>
    work((w) => promoteRegistration(t.app, w, id, registrationId))
  const waiting = (id: string) => work((w) => listRegistrations(t.app, w, id, { status: 'waitlisted' }))

  test('seats the first on the waitlist, even beyond the capacity, with the confirmation email', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 0 })
    for (const name of ['zoe', 'ada']) await ok(register(t, account, id, `${name}@people.example`))
    await promote(id)
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
    expect(await mailed(t, account)).toEqual([
      'ada@people.example You are on the waitlist: Live!',
      'zoe@people.example You are on the waitlist: Live!',
      'zoe@people.example You are registered: Live!',
    ])
    expect(await waiting(id)).toMatchObject([{ email: 'ada@people.example', joinUrl: null }])
  })

  test('seats the given registration, once; a freed seat beyond the capacity is not assigned again', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    for (const name of ['ada', 'bob', 'cyd']) await ok(register(t, account, id, `${name}@people.example`))
    const cyd = (await waiting(id))[1]!
    for (let i = 0; i < 2; i++) expect(await promote(id, cyd.id)).toBe(cyd.id)
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 2, waitlistedCount: 1 })
    expect((await mailed(t, account)).filter((mail) => mail.includes('registered:'))).toHaveLength(2)
    await ok(t.request('POST', linkIn((await mailsOf(t, account))[0]!, 'Cancel my registration')))
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
  })

  test('refuses an empty waitlist, a cancelled registration, and another webinar’s registration', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    const other = await makeWebinar(t, account, { capacity: 0 })
    await ok(register(t, account, id, 'ada@people.example'))
    await ok(register(t, account, other.id, 'bob@people.example'))
    await expect(promote(id)).rejects.toMatchObject({ kind: 'conflict' })
    await expect(promote(id, (await waiting(other.id))[0]!.id)).rejects.toMatchObject({ kind: 'not_found' })
    await expect(promote(id, 'reg_none')).rejects.toMatchObject({ kind: 'not_found' })
    await ok(t.request('POST', linkIn((await mailsOf(t, account))[1]!, 'Leave the waitlist')))
    const [left] = await work((w) => listRegistrations(t.app, w, other.id))
    await expect(promote(other.id, left!.id)).rejects.toMatchObject({ kind: 'conflict' })
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 0 })
  })
})

describe('a journey with the trigger webinar-registered', () => {
  test('starts when a contact gets a seat in that or any webinar; not on the waitlist, not twice, not for other addresses', async () => {
    const bench = await journeyBench(t)
    account = bench.account
    const people = await bench.list('People')
    await bench.add(people, ['ada@people.example', 'bob@people.example'])
    const mine = await makeWebinar(t, account, { title: 'Mine', capacity: 1 })
    const other = await makeWebinar(t, account, { title: 'Other' })
    const make = (name: string, webinar?: string) =>
      bench.apply({
        name,
        trigger: { kind: 'webinar-registered', ...(webinar && { webinar }) },
        steps: [{ kind: 'delay', for: '1d' }],
      })
    const [any, byId, byTitle] = [await make('Any'), await make('By id', mine.id), await make('By title', 'Mine')]
    const runs = async () =>
      Promise.all(
        [any, byId, byTitle].map(async (id) => (await bench.runs(id)).map(({ email }) => email.slice(0, 3)).sort()),
      )
    await ok(register(t, account, mine.id, 'ada@people.example'))
    await ok(register(t, account, mine.id, 'ada@people.example'))
    await ok(register(t, account, mine.id, 'bob@people.example'))
    await ok(register(t, account, other.id, 'stranger@people.example'))
    expect(await runs()).toEqual([['ada'], ['ada'], ['ada']])
    await ok(register(t, account, other.id, 'bob@people.example'))
    expect(await runs()).toEqual([['ada', 'bob'], ['ada'], ['ada']])
    await work((w) => promoteRegistration(t.app, w, mine.id, null))
    expect(await runs()).toEqual([
      ['ada', 'bob'],
      ['ada', 'bob'],
      ['ada', 'bob'],
    ])
  })
})

test('an erased person is removed from registrations and waitlists, has no page, and leaves a seat that can be freed', async () => {
  const { id } = await makeWebinar(t, account, { capacity: 1, scheduledAt: clock.now.getTime() + 48 * hour })
  const listId = (await work((w) => createList(w, { name: 'People' }))).id
  const names = ['ada', 'bob', 'cyd', 'dee']
  await upsertBatch(t.app, account.id, 'cli:test', {
    listId,
    contacts: names.slice(0, 3).map((name) => ({ email: `${name}@people.example`, fields: {} })),
  })
  for (const name of names) await ok(register(t, account, id, `${name}@people.example`))
  const [mail] = await mailsOf(t, account)
  const about = () => work((w) => personalData[0]!.read(w, 'ada@people.example'))
  expect(await about()).toMatchObject([{ webinarId: id, title: 'Live!', name: 'Ada', status: 'confirmed' }])
  for (const name of ['ada', 'bob', 'cyd'])
    await work((w) => eraseContact(w, `${name}@people.example`, { dryRun: false }))
  expect(await about()).toEqual([])
  const rows = await t.app.sql(
    'select email, name, status, remind_at as "remindAt" from webinar_registrations where account_id = $1 order by number',
    [account.id],
  )
  expect(rows).toEqual([
    { email: '', name: '', status: 'confirmed', remindAt: null },
    { email: '', name: '', status: 'cancelled', remindAt: null },
    { email: '', name: '', status: 'cancelled', remindAt: null },
    { email: 'dee@people.example', name: 'Ada', status: 'waitlisted', remindAt: null },
  ])
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
  expect((await t.request('GET', linkIn(mail!, 'Join the session'))).status).toBe(404)
  const registrations = await t.app.sql<{ id: string; status: string; email: string }>(
    'select id, status, email from webinar_registrations where account_id = $1 order by number',
    [account.id],
  )
  const [ada, bob, , dee] = registrations
  const free = (registrationId: string) => work((w) => freeSeat(t.app, w, id, registrationId))
  for (const [registration, kind] of [
    [bob!.id, 'conflict'],
    [dee!.id, 'conflict'],
    ['reg_none', 'not_found'],
  ] as const)
    await expect(free(registration)).rejects.toMatchObject({ kind })
  await free(ada!.id)
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 0 })
  // It does not free another person's seat.
  for (const registration of [ada!, dee!])
    await expect(free(registration.id)).rejects.toMatchObject({ kind: 'conflict' })
  expect((await mailed(t, account)).filter((m) => m.includes('registered:'))).toContain(
    'dee@people.example You are registered: Live!',
  )
})
