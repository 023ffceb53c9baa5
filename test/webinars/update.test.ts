import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { z } from 'zod'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { accountUsage } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { upsertBatch } from '../../src/contacts/write/upsert.ts'
import { isUnavailable } from '../../src/store/database.ts'
import { remindDue } from '../../src/webinars/reminders/reminders.due.ts'
import {
  cancelWebinar,
  endWebinar,
  promoteRegistration,
  startWebinar,
  updateWebinar,
  type WebinarChange,
} from '../../src/webinars/webinars.ts'
import { ok, startApp, type TestAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import { eventually } from '../support/deliveries.ts'
import { sendingAccount, startMail } from '../support/messages.ts'
import { openSink } from '../support/smtp.ts'
import { hour, linkIn, mailed, mailsOf, makeWebinar, register, sendAll, webinarOf } from './support.ts'

let account: TestAccount
const clock = { now: 0 }
const start = Date.UTC(2026, 10, 22, 12)
const at = (hours: number) => start + hours * hour

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, now: () => new Date(clock.now) })
beforeEach(async () => {
  clock.now = start
  account = await sendingAccount(t)
  await t.app.sql('update webinar_registrations set remind_at = null')
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const update = (id: string, change: z.output<typeof WebinarChange>) => work((w) => updateWebinar(t.app, w, id, change))
const remind = (hours: number, app = t.app) => {
  clock.now = at(hours)
  return remindDue(
    app,
    new AbortController().signal,
    (fault) => {
      throw fault
    },
    new Set(),
  )
}
/** `<name> <key without the registration> <status>` of each email with a key. */
const keyed = async () =>
  (await mailsOf(t, account))
    .flatMap(({ email, key, status }) =>
      key ? [`${email.split('@')[0]} ${key.replace(/:reg_\w+/, '')} ${status}`] : [],
    )
    .toSorted()
const prepare = async (more: object, ...names: string[]) => {
  const { id } = await makeWebinar(t, account, { scheduledAt: at(48), ...more })
  for (const name of names) await ok(register(t, account, id, `${name}@people.example`, name))
  await sendAll(t, account)
  return id
}
const registerMany = (id: string, people: number) =>
  t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select $1, 'reg_' || n || $2, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3, $3 from generate_series(1, $4) n`,
    [account.id, id, new Date(at(24)), people],
  )
const calendars = () =>
  t.app.sql<{ email: string; calendar: string | null }>(
    `select email, calendar from messages where account_id = $1 and key like 'moved:%' order by email, key`,
    [account.id],
  )
const property = (calendar: string, name: string) => new RegExp(`^${name}:(.*)\r$`, 'm').exec(calendar)?.[1]

describe('a new time', () => {
  test('emails everyone with a seat once, with the calendar entry’s UID and a higher SEQUENCE; the waitlist without it', async () => {
    const id = await prepare({ capacity: 1 }, 'ada', 'bob', 'cyd')
    const [ada, bob, cyd] = await mailsOf(t, account)
    await ok(t.request('POST', linkIn(cyd!, 'Leave the waitlist')))
    const path = linkIn(ada!, 'Add to your calendar')
    const before: string = (await t.request('GET', path)).body
    expect(property(before, 'SEQUENCE') ?? '0').toBe('0')
    for (const hours of [72, 96]) {
      const { moved, promoted, webinar } = await update(id, { scheduledAt: at(hours) })
      expect([moved, promoted, webinar.scheduledAt]).toEqual([2, 0, at(hours)])
    }
    const [seat, waiting] = (await mailsOf(t, account)).filter(({ key }) => key?.endsWith(':2'))
    expect([seat!.email, seat!.subject]).toEqual(['ada@people.example', 'New time: Live!'])
    expect(seat!.text).toContain('Thursday, 26 November 2026\n12:00–13:00 UTC')
    expect(linkIn(seat!, 'Join the session')).toBe(linkIn(ada!, 'Join the session'))
    expect([waiting!.email, waiting!.subject]).toEqual(['bob@people.example', 'New time: Live!'])
    expect(waiting!.text).not.toContain('/join/')
    expect(linkIn(waiting!, 'Leave the waitlist')).toBe(linkIn(bob!, 'Leave the waitlist'))
    const entries = await calendars()
    expect(
      entries.map(({ email, calendar }) => `${email.slice(0, 3)} ${calendar && property(calendar, 'SEQUENCE')}`),
    ).toEqual(['ada 1', 'ada 2', 'bob null', 'bob null'])
    const entry = entries[1]!.calendar!
    const now: string = (await t.request('GET', path)).body
    for (const calendar of [entry, now]) {
      expect(property(calendar, 'UID')).toBe(property(before, 'UID'))
      expect(property(calendar, 'DTSTART')).toBe('20261126T120000Z')
      expect(property(calendar, 'SEQUENCE')).toBe('2')
    }
    // The email about the first of the two times was never sent.
    expect((await keyed()).filter((mail) => mail.includes('moved:1'))).toEqual([
      'ada moved:1 failed',
      'bob moved:1 failed',
    ])
  })

  test('that is the current one emails nobody; nor do a title, a stream and less capacity', async () => {
    const id = await prepare({}, 'ada', 'bob')
    const before = await webinarOf(t, account, id)
    clock.now += 1000
    expect(await update(id, { scheduledAt: at(48), title: 'Live!' })).toEqual({
      webinar: before,
      moved: 0,
      promoted: 0,
    })
    const change = {
      title: 'Later!',
      capacity: 1,
      streamUrl: 'https://stream.example/',
      replayUrl: 'https://r.example/',
    }
    const { webinar, moved, promoted } = await update(id, change)
    const expected = { ...before, title: 'Later!', capacity: 1, updatedAt: clock.now }
    expect([webinar, moved, promoted]).toEqual([expected, 0, 0])
    expect(await webinarOf(t, account, id)).toEqual(expected)
    expect(await mailed(t, account)).toHaveLength(2)
  })

  test('starts the reminders again: a day and an hour before it, none for the old time', async () => {
    const id = await prepare({}, 'ada')
    await remind(24)
    clock.now = at(25)
    await update(id, { scheduledAt: at(96) })
    for (const hours of [47, 48, 71, 72, 72.1, 94, 95, 95.5, 96, 97]) await remind(hours)
    expect(await keyed()).toEqual([
      'ada moved:1 pending',
      'ada reminder:1h:1 pending',
      'ada reminder:24h failed',
      'ada reminder:24h:1 pending',
    ])
  })

  test('less than a day away sends only the reminder of an hour before, and none right after the news', async () => {
    const id = await prepare({}, 'ada')
    await update(id, { scheduledAt: at(1.1) })
    await remind(0.2)
    expect(await keyed()).toEqual(['ada moved:1 pending'])
    await remind(0.3)
    expect(await keyed()).toEqual(['ada moved:1 pending', 'ada reminder:1h:1 pending'])
  })

  test('of a webinar without one emails everyone, with a calendar entry', async () => {
    const id = await prepare({ scheduledAt: null }, 'ada')
    await update(id, { scheduledAt: at(30) })
    expect((await calendars())[0]!.calendar).toContain('DTSTART:20261123T180000Z')
    await remind(6)
    expect(await keyed()).toEqual(['ada moved:1 pending', 'ada reminder:24h:1 pending'])
  })

  test('in the past is a usage error, and a live, ended, cancelled or foreign webinar has none: nothing is written', async () => {
    const [id, live, ended, cancelled] = [
      await prepare({}, 'ada'),
      await prepare({}),
      await prepare({}),
      await prepare({}),
    ]
    for (const started of [live, ended]) await work((w) => startWebinar(w, started))
    await work((w) => endWebinar(w, ended))
    await work((w) => cancelWebinar(t.app, w, cancelled))
    const foreign = await makeWebinar(t, await t.account(), { scheduledAt: at(48) })
    for (const [webinar, scheduledAt, kind] of [
      [id, at(-1), 'usage'],
      [id, at(0), 'usage'],
      [live, at(72), 'conflict'],
      [ended, at(72), 'conflict'],
      [cancelled, at(72), 'conflict'],
      [foreign.id, at(72), 'not_found'],
      ['web_none', at(72), 'not_found'],
    ] as const)
      await expect(update(webinar, { scheduledAt })).rejects.toMatchObject({ kind })
    for (const webinar of [ended, cancelled])
      await expect(update(webinar, { title: 'Other', replayUrl: 'https://r.example/' })).rejects.toMatchObject({
        kind: 'conflict',
      })
    expect((await webinarOf(t, account, id)).scheduledAt).toBe(at(48))
    expect(await mailed(t, account)).toEqual(['ada@people.example You are registered: Live!'])
  })

  test('is not news to an erased person, and an erased seat gets no reminder', async () => {
    const listId = (await work((w) => createList(w, { name: 'People' }))).id
    const contacts = [{ email: 'ada@people.example', fields: {} }]
    await upsertBatch(t.app, account.id, 'cli:test', { listId, contacts })
    const id = await prepare({}, 'ada', 'bob')
    await work((w) => eraseContact(w, 'ada@people.example', { dryRun: false }))
    expect((await update(id, { scheduledAt: at(72) })).moved).toBe(1)
    await remind(48)
    expect(await keyed()).toEqual(['bob moved:1 pending', 'bob reminder:24h:1 pending'])
  })
})

describe('capacity', () => {
  test('that grows seats the waitlist in its order, with the confirmation of the new time and its reminders', async () => {
    const id = await prepare({ capacity: 1 }, 'ada', 'zoe', 'bob', 'cyd')
    expect(await update(id, { capacity: 3, scheduledAt: at(72) })).toMatchObject({
      webinar: { capacity: 3, registeredCount: 3, waitlistedCount: 1 },
      moved: 2,
      promoted: 2,
    })
    expect((await mailed(t, account)).filter((mail) => !mail.includes('waitlist:'))).toEqual([
      'ada@people.example New time: Live!',
      'ada@people.example You are registered: Live!',
      'bob@people.example You are registered: Live!',
      'cyd@people.example New time: Live!',
      'zoe@people.example You are registered: Live!',
    ])
    await remind(48)
    expect((await keyed()).filter((mail) => mail.includes('24h'))).toEqual([
      'ada reminder:24h:1 pending',
      'bob reminder:24h:1 pending',
      'zoe reminder:24h:1 pending',
    ])
    expect(await update(id, { capacity: null })).toMatchObject({ promoted: 1, moved: 0 })
    expect(await webinarOf(t, account, id)).toMatchObject({ capacity: null, registeredCount: 4, waitlistedCount: 0 })
  })

  test('below the number of seats takes none away; seats that become free stay free until it is reached', async () => {
    const id = await prepare({ capacity: 3 }, 'ada', 'bob', 'cyd')
    const [ada, bob] = await mailsOf(t, account)
    await update(id, { capacity: 1 })
    await ok(register(t, account, id, 'dee@people.example'))
    const counts = async () => {
      const { registeredCount, waitlistedCount } = await webinarOf(t, account, id)
      return [registeredCount, waitlistedCount]
    }
    expect(await counts()).toEqual([3, 1])
    for (const mail of [ada, bob]) await ok(t.request('POST', linkIn(mail!, 'Cancel my registration')))
    expect(await counts()).toEqual([1, 1])
    expect(await update(id, { capacity: 2 })).toMatchObject({ promoted: 1 })
  })

  test('of a live webinar can grow; the seat beyond it that an operator gave stays', async () => {
    const id = await prepare({ capacity: 0 }, 'ada', 'bob')
    await work((w) => promoteRegistration(t.app, w, id, null))
    await work((w) => startWebinar(w, id))
    expect(await update(id, { capacity: 1 })).toMatchObject({ promoted: 0 })
    expect(await update(id, { capacity: 2 })).toMatchObject({ promoted: 1 })
    expect(await webinarOf(t, account, id)).toMatchObject({ status: 'live', registeredCount: 2, waitlistedCount: 0 })
  })

  test('that grows while people register and leave is never exceeded, and no free seat has a waitlist', async () => {
    const id = await prepare({ capacity: 2 }, ...Array.from({ length: 8 }, (_, i) => `p${i}`))
    const mails = await mailsOf(t, account)
    await Promise.all([
      ...[3, 4, 5, 6].map((capacity) => update(id, { capacity })),
      ...[10, 11, 12].map((i) => ok(register(t, account, id, `p${i}@people.example`))),
      ...[0, 1].map((i) => ok(t.request('POST', linkIn(mails[i]!, 'Cancel my registration')))),
    ])
    await update(id, { capacity: 6 })
    expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 6, waitlistedCount: 3 })
    const seats = (await mailed(t, account)).filter((mail) => mail.includes('registered:'))
    expect(new Set(seats).size).toBe(seats.length)
  })
})

test('the join page shows the recording after the end, to those with a seat', async () => {
  const id = await prepare({ capacity: 2 }, 'ada', 'bob', 'cyd')
  const [ada, bob] = await mailsOf(t, account)
  await ok(t.request('POST', linkIn(bob!, 'Cancel my registration')))
  await work((w) => startWebinar(w, id))
  await update(id, { replayUrl: 'https://stream.example/again?a=1&b="2"' })
  const shows = async (mail: typeof ada) =>
    ((await t.request('GET', linkIn(mail!, 'Join the session'))).body as string).includes(
      'https://stream.example/again',
    )
  expect(await shows(ada)).toBe(false)
  await work((w) => endWebinar(w, id))
  expect([await shows(ada), await shows(bob)]).toEqual([true, false])
  expect((await t.request('GET', linkIn(ada!, 'Join the session'))).body).toContain('again?a=1&amp;b=&quot;2&quot;')
  expect(Object.keys(await webinarOf(t, account, id))).not.toContain('replayUrl')
})

test('the emails that a move withdraws are returned to the quota', async () => {
  const id = await prepare({}, 'ada', 'bob')
  const used = async () =>
    (await t.app.operate('cli:test', (operation) => accountUsage(operation, account.id))).find(
      ({ quota }) => quota === 'sends',
    )!.used
  await remind(24)
  expect(await used()).toBe(4)
  await update(id, { scheduledAt: at(96) })
  expect(await used()).toBe(4)
  expect(await keyed()).toContain('ada reminder:24h failed')
})

test('a move that the month’s quota is too small for emails as many as it has units, and takes them after all emails are written', async () => {
  account = await sendingAccount(t, { plan: 'starter' })
  await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'starter', { sends: 610 }))
  const id = await prepare({})
  await registerMany(id, 700)
  const size = async () =>
    (await t.app.sql<{ bytes: number }>(`select pg_relation_size('messages')::int8 as bytes`))[0]!.bytes
  const before = await size()
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query(
    `insert into quota_uses (account_id, quota, month, used) values ($1, 'sends', date_trunc('month', $2::timestamptz), 10)`,
    [account.id, new Date(start)],
  )
  const updated = update(id, { scheduledAt: at(96) })
  await untilLocked(t.app.database, 1)
  // Only the quota is left to do: nothing else of the account waits meanwhile.
  const [waiting] = await t.app.sql<{ query: string }>(
    `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  const written = await size()
  await session.query('commit')
  expect(await updated).toMatchObject({ moved: 700 })
  expect(waiting!.query).toContain('quota_uses')
  const mails = await mailsOf(t, account)
  const of = (status: string) => mails.filter((mail) => mail.status === status).length
  expect([of('pending'), of('failed')]).toEqual([600, 100])
  // The second batch of 500 was written before the quota was taken. Then those without a unit were written again.
  expect((written - before) / ((await size()) - before)).toBeGreaterThan(0.8)
})

test('moved while its reminders are queued: nobody keeps one for the old time, everybody hears once, and is reminded once', async () => {
  const others = await Promise.all([0, 1].map(() => openApp(readConfig(t.env), { now: () => new Date(clock.now) })))
  const { id } = await makeWebinar(t, account, { scheduledAt: at(48) })
  const people = 350
  await registerMany(id, people)
  clock.now = at(24)
  const apps = [t.app, ...others]
  await Promise.all([
    ...apps.flatMap((app) => [remind(24, app), remind(24, app)]),
    ...apps.map((app) => app.work(account.id, 'cli:test', (w) => updateWebinar(app, w, id, { scheduledAt: at(96) }))),
  ])
  await Promise.all(apps.map((app) => remind(24, app)))
  const tally = async () => {
    const counts: Record<string, number> = {}
    for (const { key, status } of await mailsOf(t, account)) {
      const name = `${key!.replace(/:reg_\w+/, '')} ${status}`
      counts[name] = (counts[name] ?? 0) + 1
    }
    return counts
  }
  const moved = await tally()
  expect(moved).toMatchObject({ 'moved:1 pending': people })
  expect(moved).not.toHaveProperty('reminder:24h pending')
  await Promise.all(apps.flatMap((app) => [remind(72, app), remind(72, app)]))
  expect(await tally()).toEqual({ ...moved, 'reminder:24h:1 pending': people })
  await Promise.all(others.map((app) => app.close()))
})

test('while the relay is unreachable, a move replaces the emails that were not sent: nobody gets one with an old time', async () => {
  const sink = await openSink()
  const mine = await startApp({ env: { SVC_SMTP_URL: sink.url }, now: () => new Date(clock.now) })
  onTestFinished(async () => {
    await mine.close()
    await sink.close()
  })
  account = await sendingAccount(mine)
  const { id } = await makeWebinar(mine, account, { scheduledAt: at(48), capacity: 2 })
  const other = await makeWebinar(mine, account, { scheduledAt: at(48), title: 'Other' })
  await ok(register(mine, account, id, 'zoe@people.example'))
  await sendAll(mine, account)
  for (const name of ['ada', 'bob', 'cyd']) await ok(register(mine, account, id, `${name}@people.example`))
  await ok(register(mine, account, other.id, 'ada@people.example'))
  const move = (change: object) => mine.app.work(account.id, 'cli:test', (w) => updateWebinar(mine.app, w, id, change))
  expect(await move({ scheduledAt: at(72) })).toMatchObject({ moved: 4, promoted: 0 })
  expect(await move({ scheduledAt: at(96), capacity: 3 })).toMatchObject({ moved: 3, promoted: 1 })
  const used = await mine.app.sql<{ used: number }>('select used from quota_uses where account_id = $1', [account.id])
  expect(used.map((quota) => quota.used)).toContain(6)
  const mail = startMail(mine.app)
  await sink.arrived(5)
  await eventually(async () => (await mine.app.sql('select from message_queue')).length === 0)
  await mail.stop()
  const arrived = sink.mails.map((sunk) => {
    const entry = /text\/calendar/.test(sunk.raw) ? ' with the entry' : ''
    return `${sunk.header('To')} ${sunk.header('Subject')}${entry}`
  })
  expect(arrived.toSorted()).toEqual([
    'ada@people.example You are registered: Live! with the entry',
    'ada@people.example You are registered: Other with the entry',
    'bob@people.example You are registered: Live! with the entry',
    'cyd@people.example You are on the waitlist: Live!',
    'zoe@people.example New time: Live! with the entry',
  ])
  const mails = (await mailsOf(mine, account)).filter(
    ({ status, subject }) => status === 'sent' && !/Other/.test(subject),
  )
  for (const { email, subject, text } of mails) {
    const isOld = email.startsWith('zoe') && subject.startsWith('You')
    expect(text).toContain(isOld ? '24 November 2026' : '26 November 2026')
  }
})

test('a reminder that the relay is receiving during the move is not tried again after a temporary failure', async () => {
  const sink = await openSink()
  const mine = await startApp({ env: { SVC_SMTP_URL: sink.url }, now: () => new Date(clock.now) })
  onTestFinished(async () => {
    await mine.close()
    await sink.close()
  })
  account = await sendingAccount(mine)
  const { id } = await makeWebinar(mine, account, { scheduledAt: at(48) })
  await ok(register(mine, account, id, 'ada@people.example'))
  const mail = startMail(mine.app)
  await sink.arrived(1)
  const { promise: until, resolve: answer } = Promise.withResolvers<void>()
  sink.next({ until, refuse: { at: 'data', answer: '451 4.3.0 Later' } })
  await remind(24, mine.app)
  await eventually(async () => (await mine.app.sql('select from message_queue where is_handing')).length === 1)
  await mine.app.work(account.id, 'cli:test', (w) => updateWebinar(mine.app, w, id, { scheduledAt: at(96) }))
  answer()
  await sink.arrived(2)
  const rows = () =>
    mine.app.sql<{ subject: string; status: string }>(
      `select subject, status from messages where account_id = $1 order by subject`,
      [account.id],
    )
  await eventually(async () => (await rows()).every(({ status }) => status !== 'pending'))
  await mail.stop()
  expect(await mine.app.sql('select from message_queue')).toEqual([])
  expect((await rows()).map(({ subject, status }) => `${subject} ${status}`)).toEqual([
    'New time: Live! sent',
    'Reminder: Live! failed',
    'You are registered: Live! sent',
  ])
  expect(sink.mails.map((sunk) => sunk.header('Subject'))).toEqual(['You are registered: Live!', 'New time: Live!'])
  expect(sink.mails[1]!.raw).toMatch(/text\/calendar[^\n]*method=REQUEST/)
})

test('a connection that is lost between the change and its emails leaves neither; the next call does both once', async () => {
  const { id } = await makeWebinar(t, account, { scheduledAt: at(48) })
  await ok(register(t, account, id, 'ada@people.example'))
  const before = await webinarOf(t, account, id)
  const session = await t.app.database.connect()
  onTestFinished(() => session.end())
  await session.query('begin')
  await session.query('lock table messages in share mode')
  const updated = update(id, { scheduledAt: at(72) }).catch((error) => error)
  await untilLocked(t.app.database, 1)
  await session.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  expect(isUnavailable(await updated)).toBe(true)
  await session.query('commit')
  expect(await webinarOf(t, account, id)).toEqual(before)
  expect(await keyed()).toEqual([])
  await update(id, { scheduledAt: at(72) })
  expect(await keyed()).toEqual(['ada moved:1 pending'])
})
