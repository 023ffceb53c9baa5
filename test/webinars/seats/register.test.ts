import { beforeEach, describe, expect, test } from 'vitest'
import { accountUsage } from '../../../src/accounts/accounts.ts'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { setBinding } from '../../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import {
  cancelWebinar,
  endWebinar,
  promoteRegistration,
  registerAttendee,
  startWebinar,
} from '../../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { served } from '../../support/eventually.ts'
import { sendingAccount } from '../../support/messages.ts'
import { hour, linkIn, mailed, mailsOf, makeWebinar, register, webinarOf } from '../support.ts'

let account: TestAccount
const start = Date.UTC(2026, 10, 22, 12)

const t = useApp({
  env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
  now: () => new Date(start),
})
beforeEach(async () => {
  account = await sendingAccount(t)
})

const post = (path: string) => t.request('POST', path as `/${string}`)
const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)

describe('a registration', () => {
  test('below the capacity is confirmed, with a join link and an email with it', async () => {
    const { id } = await makeWebinar(t, account, { title: 'Growing <b>', scheduledAt: start + 48 * hour, capacity: 2 })
    const { status, body } = await register(t, account, id, 'ada@people.example')
    expect([status, body]).toEqual([
      200,
      { status: 'confirmed', joinUrl: expect.stringMatching(/^https:\/\/svc\.example\/join\/[\w.-]+$/) },
    ])
    const [mail, ...others] = await mailsOf(t, account)
    expect(others).toEqual([])
    expect(mail).toMatchObject({
      email: 'ada@people.example',
      subject: 'You are registered: Growing <b>',
      status: 'pending',
      projectId: null,
    })
    expect(mail!.text).toContain('Tuesday, 24 November 2026\n12:00–13:00 UTC')
    expect(mail!.text).toContain(`Join the session: ${body.joinUrl}\n`)
    expect(linkIn(mail!, 'your calendar')).toBe(`${new URL(body.joinUrl!).pathname}/calendar.ics`)
    expect(mail!.html).toContain('Growing &lt;b&gt;')
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 0 })
  })

  test('beyond the capacity is waitlisted without a join link, and gets the plain email', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 0 })
    expect((await register(t, account, id, 'ada@people.example')).body).toEqual({ status: 'waitlisted', joinUrl: null })
    const [mail] = await mailsOf(t, account)
    expect(mail!.subject).toBe('You are on the waitlist: Live!')
    expect(mail!.text).not.toContain('/join/')
    expect(mail!.html).not.toContain('/join/')
    const link = linkIn(mail!, 'Leave the waitlist')
    expect((await t.request('GET', link)).body).toContain('You are on the waitlist')
    const token = link.split('/').at(-1)
    for (const path of ['', '/cancel', '/calendar.ics'])
      expect((await t.request('GET', `/join/${token}${path}`)).status).toBe(404)
    // People who already have a seat keep it.
    await t.app.work(account.id, 'cli:test', (w) => promoteRegistration(t.app, w, id, null))
    expect((await t.request('POST', link)).status).toBe(303)
    expect((await t.request('GET', link)).body).toContain('You have a seat now')
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 0 })
  })

  test('the source of each email names the webinar and the event', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    for (const name of ['ada', 'bob']) await ok(register(t, account, id, `${name}@people.example`))
    const rows = await t.app.sql(
      'select email, source_kind as kind, source_id as id from messages where account_id = $1 order by email',
      [account.id],
    )
    expect(rows).toEqual([
      { email: 'ada@people.example', kind: 'lifecycle', id: `${id}:registered` },
      { email: 'bob@people.example', kind: 'lifecycle', id: `${id}:waitlisted` },
    ])
  })

  test('beyond the capacity is counted on the waitlist', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 0 })
    await ok(register(t, account, id, 'ada@people.example'))
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 0, waitlistedCount: 1 })
  })

  test('of the same address again, in any spelling, returns its state without a second email', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    const first = (await register(t, account, id, '  ADA@People.Example ')).body
    expect((await register(t, account, id, 'ada@people.example', 'Other')).body).toEqual(first)
    for (let i = 0; i < 2; i++)
      expect((await register(t, account, id, 'bob@people.example')).body.status).toBe('waitlisted')
    expect(await mailed(t, account)).toEqual([
      'ada@people.example You are registered: Live!',
      'bob@people.example You are on the waitlist: Live!',
    ])
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
  })

  test.each([
    [{ name: 'Ada' }, 'A valid email is required'],
    [{ email: 'ada', name: 'Ada' }, 'A valid email is required'],
    [{ email: 'ada@', name: 'Ada' }, 'A valid email is required'],
    [{ email: 5, name: 'Ada' }, 'A valid email is required'],
    [{ email: `${'a'.repeat(320)}@b.example`, name: 'Ada' }, 'A valid email is required'],
    [{ email: 'ada@people.example' }, 'A name is required'],
    [{ email: 'ada@people.example', name: '  ' }, 'A name is required'],
    [{ email: 'ada@people.example', name: null }, 'A name is required'],
    [{ email: 'ada@people.example', name: 'x'.repeat(201) }, 'name must be at most 200 characters'],
    [{ email: 'ada@people.example', name: 'A\0' }, 'name must not contain NUL characters'],
  ])('%j is 400, and nothing is written', async (body, error) => {
    const { id } = await makeWebinar(t, account)
    const reply = await t.request('POST', `/webinars/${id}/register`, { key: account.key, body })
    expect([reply.status, reply.body]).toEqual([400, { error }])
    expect(await mailed(t, account)).toEqual([])
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 0 })
  })

  test('a name of 200 characters between blanks is accepted', async () => {
    const { id } = await makeWebinar(t, account)
    expect((await register(t, account, id, 'ada@people.example', `  ${'x'.repeat(200)}  `)).status).toBe(200)
  })

  test('on a subscribers session is 400, on a foreign one 404, on an ended or cancelled one 409', async () => {
    const closed = await makeWebinar(t, account, { accessMode: 'subscribers' })
    const ended = await makeWebinar(t, account)
    const cancelled = await makeWebinar(t, account)
    await ok(register(t, account, ended.id, 'early@people.example'))
    await work((w) => startWebinar(w, ended.id))
    expect((await register(t, account, ended.id, 'late@people.example')).body.status).toBe('confirmed')
    await work((w) => endWebinar(w, ended.id))
    await work((w) => cancelWebinar(t.app, w, cancelled.id))
    const mails = await mailed(t, account)
    for (const [id, status] of [
      [closed.id, 400],
      [ended.id, 409],
      [cancelled.id, 409],
      [(await makeWebinar(t, await t.account())).id, 404],
      ['web_none', 404],
    ] as const)
      expect([id, (await register(t, account, id, 'ada@people.example')).status]).toEqual([id, status])
    expect((await register(t, account, ended.id, 'early@people.example')).body).toEqual({
      error: 'The webinar has ended',
    })
    expect(await mailed(t, account)).toEqual(mails)
  })

  test('counts one Embed call if it succeeds', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    const used = async () =>
      (await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))).find(
        ({ quota }) => quota === 'embedApi',
      )!.used
    await ok(register(t, account, id, 'ada@people.example'))
    await ok(register(t, account, id, 'ada@people.example'))
    await ok(register(t, account, id, 'ada'), 400)
    await ok(register(t, account, 'web_none', 'ada@people.example'), 404)
    expect(await used()).toBe(2)
  })

  test('is not undone by an email that can’t be sent', async () => {
    account = await t.account()
    const { id } = await makeWebinar(t, account)
    expect((await register(t, account, id, 'ada@people.example')).body.status).toBe('confirmed')
    expect(await mailsOf(t, account)).toMatchObject([{ status: 'failed' }])
  })
})

test('200 concurrent calls to two daemons for 50 seats: 50 confirmed with their email, 150 waitlisted with the plain one', async () => {
  const project = {
    name: 'Bound, {{ name }}',
    theme: {},
    blocks: [{ id: 'a', type: 'text', props: { text: '{{ title }}' } }],
  }
  const [made] = await work((w) => applyProjects(w, [project]))
  const { id } = await makeWebinar(t, account, { capacity: 50 })
  await work((w) => setBinding(t.app, w, `webinar:${id}`, 'registered', made!.id!))
  const other = await openApp(readConfig(t.env), { now: () => new Date(start) })
  const startedAt = performance.now()
  const results = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      served(() =>
        registerAttendee(i % 2 ? other : t.app, account.id, 'key:test', id, {
          email: `p${i}@people.example`,
          name: `P ${i}`,
        }),
      ),
    ),
  )
  process.stderr.write(`200 registrations in ${Math.round(performance.now() - startedAt)} ms\n`)
  await other.close()
  const confirmed = results.filter(({ status }) => status === 'confirmed')
  expect(confirmed).toHaveLength(50)
  expect(new Set(confirmed.map(({ joinUrl }) => joinUrl)).size).toBe(50)
  expect(results.filter(({ status, joinUrl }) => status === 'waitlisted' && joinUrl === null)).toHaveLength(150)
  const mails = await mailsOf(t, account)
  expect(
    mails.filter(({ projectId, subject }) => projectId === made!.id && /^Bound, P \d+$/.test(subject)),
  ).toHaveLength(50)
  expect(
    mails.filter(({ projectId, subject }) => projectId === null && subject === 'You are on the waitlist: Live!'),
  ).toHaveLength(150)
  expect(new Set(mails.map(({ email }) => email)).size).toBe(200)
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 50, waitlistedCount: 150 })
})

test('of ten concurrent calls with three Embed units left, three succeed and the others write nothing', async () => {
  account = await sendingAccount(t, { plan: 'pro' })
  const { id } = await makeWebinar(t, account, { capacity: 2 })
  await t.app.sql(
    `insert into quota_uses (account_id, quota, month, used) select $1, 'embedApi', '2026-11-01', embed_api - 3 from plans where name = 'pro'`,
    [account.id],
  )
  const replies = await Promise.all(
    Array.from({ length: 10 }, (_, i) => register(t, account, id, `p${i}@people.example`)),
  )
  expect(replies.map(({ status }) => status).toSorted()).toEqual([200, 200, 200, ...Array(7).fill(429)])
  expect(await mailsOf(t, account)).toHaveLength(3)
  expect(
    await t.app.sql('select registered_count as r, waitlisted_count as w from webinars where id = $1', [id]),
  ).toEqual([{ r: 2, w: 1 }])
})

test('twenty concurrent calls for one address create one registration with one email', async () => {
  const { id } = await makeWebinar(t, account, { capacity: 5 })
  const replies = await Promise.all(Array.from({ length: 20 }, () => register(t, account, id, 'ada@people.example')))
  expect(new Set(replies.map(({ body }) => body.joinUrl)).size).toBe(1)
  expect(await mailed(t, account)).toEqual(['ada@people.example You are registered: Live!'])
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 0 })
})

test('a bound confirmation has the merge fields of a webinar', async () => {
  const project = { name: 'Hi', theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: '{{ title }}' } }] }
  const [made] = await work((w) => applyProjects(w, [project]))
  const { id } = await makeWebinar(t, account, { scheduledAt: start + hour })
  await work((w) => setBinding(t.app, w, `webinar:${id}`, 'registered', made!.id!))
  const { joinUrl } = (await register(t, account, id, 'ada@people.example')).body
  expect((await mailsOf(t, account))[0]).toMatchObject({
    projectId: made!.id,
    mergeData: {
      name: 'Ada',
      email: 'ada@people.example',
      title: 'Live!',
      scheduledAt: 'Sunday, 22 November 2026 at 13:00 UTC',
      joinUrl,
      cancelUrl: `${joinUrl}/cancel`,
    },
  })
})

describe('a seat that is given up', () => {
  test('goes to the first on the waitlist, with the confirmation email, after the button and not before', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    await ok(register(t, account, id, 'ada@people.example'))
    for (const name of ['bob', 'cyd']) await ok(register(t, account, id, `${name}@people.example`))
    const cancel = linkIn((await mailsOf(t, account))[0]!, 'Cancel my registration')
    expect((await t.request('GET', cancel)).body).toContain('<button type="submit">Cancel my registration</button>')
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 2 })
    for (let i = 0; i < 2; i++) {
      const reply = await post(cancel)
      expect([reply.status, reply.headers.location]).toEqual([303, cancel])
    }
    expect((await t.request('GET', cancel)).body).toContain('You cancelled your registration')
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
    expect(await mailed(t, account)).toEqual([
      'ada@people.example You are registered: Live!',
      'bob@people.example You are on the waitlist: Live!',
      'bob@people.example You are registered: Live!',
      'cyd@people.example You are on the waitlist: Live!',
    ])
    expect((await register(t, account, id, 'bob@people.example')).body.status).toBe('confirmed')
  })

  test('can be registered for again, at the end of the waitlist and with new links', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    await ok(register(t, account, id, 'ada@people.example'))
    const cancel = linkIn((await mailsOf(t, account))[0]!, 'Cancel my registration')
    await ok(register(t, account, id, 'bob@people.example'))
    await ok(post(cancel))
    expect((await register(t, account, id, 'ada@people.example')).body.status).toBe('waitlisted')
    await ok(post(cancel))
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
    expect(await mailed(t, account)).toContain('ada@people.example You are on the waitlist: Live!')
  })

  test('on the waitlist frees no seat', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    for (const name of ['ada', 'bob', 'cyd']) await ok(register(t, account, id, `${name}@people.example`))
    const mails = await mailsOf(t, account)
    await ok(post(linkIn(mails[1]!, 'Leave the waitlist')))
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
    expect(await mailsOf(t, account)).toHaveLength(3)
    await ok(post(linkIn(mails[0]!, 'Cancel my registration')))
    expect((await mailed(t, account)).filter((mail) => mail.includes('registered:'))).toEqual([
      'ada@people.example You are registered: Live!',
      'cyd@people.example You are registered: Live!',
    ])
  })

  test('of twenty concurrent calls goes to the first twenty on the waitlist, once each', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 20 })
    for (let i = 10; i < 55; i++) await ok(register(t, account, id, `p${i}@people.example`))
    const seated = (await mailsOf(t, account)).slice(0, 20)
    await Promise.all(seated.map((mail) => ok(post(linkIn(mail, 'Cancel my registration')))))
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 20, waitlistedCount: 5 })
    const confirmed = (await mailed(t, account)).filter((mail) => mail.includes('registered:'))
    expect(confirmed).toEqual(
      Array.from({ length: 40 }, (_, i) => `p${i + 10}@people.example You are registered: Live!`),
    )
  })

  test('after the session is over changes nothing', async () => {
    const { id } = await makeWebinar(t, account, { capacity: 1 })
    for (const name of ['ada', 'bob']) await ok(register(t, account, id, `${name}@people.example`))
    const cancel = linkIn((await mailsOf(t, account))[0]!, 'Cancel my registration')
    await work((w) => startWebinar(w, id))
    await work((w) => endWebinar(w, id))
    await ok(post(cancel))
    expect((await t.request('GET', cancel)).body).toContain('This session has ended')
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 1, waitlistedCount: 1 })
    expect(await mailsOf(t, account)).toHaveLength(2)
  })
})
