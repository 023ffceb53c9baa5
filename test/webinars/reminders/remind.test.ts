import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { setBinding } from '../../../src/lifecycle/lifecycle.ts'
import { holdQueues, releaseQueues } from '../../../src/queue/holds.ts'
import { applyProjects } from '../../../src/studio/studio.ts'
import { remindDue, runReminders } from '../../../src/webinars/reminders/reminders.due.ts'
import { cancelWebinar, promoteRegistration, startWebinar } from '../../../src/webinars/webinars.ts'
import { ok, startApp, type TestAccount, useApp } from '../../support/app.ts'
import { eventually } from '../../support/deliveries.ts'
import { settlesWithin } from '../../support/eventually.ts'
import { sendingAccount } from '../../support/messages.ts'
import { hour, linkIn, mailsOf, makeWebinar, register } from '../support.ts'

let account: TestAccount
const clock = { now: 0 }
const start = Date.UTC(2026, 10, 22, 12)
const at = (hours: number) => start + hours * hour

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, now: () => new Date(clock.now) })
beforeEach(async () => {
  clock.now = start
  account = await sendingAccount(t)
})
afterEach(() => t.app.sql('update webinar_registrations set remind_at = null'))

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const never = new AbortController().signal
const remind = (hours: number, app = t.app) => {
  clock.now = at(hours)
  return remindDue(
    app,
    never,
    (fault) => {
      throw fault
    },
    new Set(),
  )
}
/** The keys of the reminders so far, without their registrations. */
const reminders = async () =>
  (await mailsOf(t, account)).flatMap(({ email, key }) =>
    key?.startsWith('reminder:') ? `${email.split('@')[0]} ${key.split(':')[2]}` : [],
  )
/** Creates a webinar in 48 h with a registration of Ada. */
const prepare = async (more: object = {}) => {
  const webinar = await makeWebinar(t, account, { scheduledAt: at(48), ...more })
  await ok(register(t, account, webinar.id, 'ada@people.example'))
  return webinar.id
}

test('reminders are sent 24 h and 1 h before, once each, with the join link', async () => {
  await prepare()
  const seen: string[][] = []
  for (const hours of [23.99, 24, 24.5, 46.9, 47, 47.5, 48, 49]) {
    await remind(hours)
    seen.push(await reminders())
  }
  const both = ['ada 1h', 'ada 24h']
  expect((await reminders()).toSorted()).toEqual(both)
  expect(seen.map((names) => names.length)).toEqual([0, 1, 1, 1, 2, 2, 2, 2])
  expect(seen[1]).toEqual(['ada 24h'])
  const mail = (await mailsOf(t, account)).find(({ key }) => key?.endsWith('24h'))!
  expect(mail.subject).toBe('Reminder: Live!')
  expect(mail.text).toContain('Tuesday, 24 November 2026\n12:00–13:00 UTC')
  expect((await t.request('GET', linkIn(mail, 'Join the session'))).status).toBe(200)
})

test('while sends are paused no reminder is decided: one that is still of use leaves after the pause, no other', async () => {
  await prepare()
  await holdQueues(t.app.sql, ['sends'])
  try {
    await remind(24)
    await remind(47)
    expect(await reminders()).toEqual([])
  } finally {
    await releaseQueues(t.app.sql, ['sends'])
  }
  await remind(47.5)
  expect(await reminders()).toEqual(['ada 1h'])
})

test('of two overdue reminders only the later is sent; overdue reminders are sent before the session begins, never after', async () => {
  await prepare()
  await remind(47.8)
  expect(await reminders()).toEqual(['ada 1h'])
  account = await sendingAccount(t)
  clock.now = start
  await prepare()
  await remind(30)
  expect(await reminders()).toEqual(['ada 24h'])
  await remind(48)
  await remind(47.9)
  expect(await reminders()).toEqual(['ada 24h'])
})

test('no reminder is sent within 15 minutes of the confirmation, and none if the session begins before that', async () => {
  const id = await makeWebinar(t, account, { scheduledAt: at(48) }).then((webinar) => webinar.id)
  for (const [name, hours] of [
    ['day', 23.9],
    ['hour', 46.9],
    ['late', 47.5],
    ['last', 47.8],
  ] as const) {
    clock.now = at(hours)
    await ok(register(t, account, id, `${name}@people.example`))
    await remind(hours + 0.24)
    expect((await reminders()).filter((reminder) => reminder.startsWith(name))).toEqual([])
    if (name === 'last') continue
    await remind(hours + 0.26)
    expect((await reminders()).filter((reminder) => reminder.startsWith(name))).toHaveLength(1)
  }
  await remind(47.99)
  await remind(48.1)
  expect((await reminders()).toSorted()).toEqual(['day 1h', 'day 24h', 'hour 1h', 'late 1h'])
})

test('a registration within the last 24 h gets only the 1 h reminder', async () => {
  const id = await makeWebinar(t, account, { scheduledAt: at(48) }).then((webinar) => webinar.id)
  clock.now = at(24)
  await ok(register(t, account, id, 'day@people.example'))
  clock.now = at(23.9)
  await ok(register(t, account, id, 'early@people.example'))
  clock.now = at(47.5)
  await ok(register(t, account, id, 'late@people.example'))
  await remind(24.2)
  expect(await reminders()).toEqual(['early 24h'])
  await remind(47.8)
  expect((await reminders()).toSorted()).toEqual(['day 1h', 'early 1h', 'early 24h', 'late 1h'])
})

test('the waitlist gets no reminders; an attendee seated from it does, and a cancelled one does not', async () => {
  const id = await prepare({ capacity: 1 })
  await ok(register(t, account, id, 'bob@people.example'))
  await ok(register(t, account, id, 'cyd@people.example'))
  const [ada] = await mailsOf(t, account)
  await ok(t.request('POST', linkIn(ada!, 'Cancel my registration')))
  await remind(24)
  expect(await reminders()).toEqual(['bob 24h'])
  await work((w) => promoteRegistration(t.app, w, id, null))
  await remind(47)
  expect((await reminders()).toSorted()).toEqual(['bob 1h', 'bob 24h', 'cyd 1h'])
})

test('a session that is live, cancelled or without a time gets no reminders', async () => {
  const [live, cancelled] = [await prepare(), await prepare()]
  await prepare({ scheduledAt: null })
  await work((w) => startWebinar(w, live))
  await work((w) => cancelWebinar(t.app, w, cancelled))
  for (const hours of [24, 47]) await remind(hours)
  expect(await reminders()).toEqual([])
})

test('a reminder that waits when the session is started does not leave any more, nor later than its time', async () => {
  const id = await prepare()
  await remind(47)
  const expiries = await t.app.sql(
    `select email, expires_at as "expiresAt" from message_queue join messages using (account_id, id)
     where account_id = $1 order by expires_at`,
    [account.id],
  )
  expect(expiries).toEqual([
    { email: 'ada@people.example', expiresAt: new Date(at(48)) },
    { email: 'ada@people.example', expiresAt: null },
  ])
  await work((w) => startWebinar(w, id))
  const mails = await mailsOf(t, account)
  expect(mails.map(({ subject, status, error }) => ({ subject, status, error }))).toEqual([
    { subject: 'Reminder: Live!', status: 'failed', error: 'The session has begun' },
    { subject: 'You are registered: Live!', status: 'pending', error: null },
  ])
})

test('what waits for someone who gives up their seat does not leave any more; what waits for others does', async () => {
  const id = await prepare()
  const other = await makeWebinar(t, account, { scheduledAt: at(48), title: 'Other' })
  await ok(register(t, account, other.id, 'ada@people.example'))
  await ok(register(t, account, id, 'bob@people.example'))
  await remind(24)
  const mail = (await mailsOf(t, account)).find((m) => m.email.startsWith('ada') && m.subject === 'Reminder: Live!')!
  await ok(t.request('POST', linkIn(mail, 'Cancel my registration')))
  const mails = await mailsOf(t, account)
  const shown = mails.map((m) => `${m.email.split('@')[0]} ${m.subject} ${m.status}${m.error ? ` ${m.error}` : ''}`)
  expect(shown.toSorted()).toEqual([
    'ada Registration cancelled: Live! pending',
    'ada Reminder: Live! failed The registration was cancelled',
    'ada Reminder: Other pending',
    'ada You are registered: Live! failed The registration was cancelled',
    'ada You are registered: Other pending',
    'bob Reminder: Live! pending',
    'bob You are registered: Live! pending',
  ])
  await ok(register(t, account, id, 'ada@people.example'))
  const again = (await mailsOf(t, account)).filter((m) => m.email.startsWith('ada') && m.status === 'pending')
  expect(again.map(({ subject }) => subject)).toContain('You are registered: Live!')
})

test('a bound reminder is rendered from its project; without a binding for the webinar it is plain', async () => {
  const blocks = [{ id: 'a', type: 'text', props: { text: '{{ title }}' } }]
  const [project] = await work((w) => applyProjects(w, [{ name: 'Soon, {{ name }}', theme: {}, blocks }]))
  const id = await prepare()
  const other = await makeWebinar(t, account, { scheduledAt: at(48), title: 'Other' })
  await ok(register(t, account, other.id, 'bob@people.example'))
  await work((w) => setBinding(t.app, w, `webinar:${id}`, 'reminder', project!.id!))
  await remind(24)
  const mails = (await mailsOf(t, account)).filter(({ key }) => key !== null)
  expect(mails).toMatchObject([
    { subject: 'Soon, Ada', projectId: project!.id, mergeData: { title: 'Live!', name: 'Ada' } },
    { subject: 'Reminder: Other', projectId: null },
  ])
})

test('three concurrent loops remind 700 registrations of two accounts once each', async () => {
  const others = await Promise.all([0, 1].map(() => openApp(readConfig(t.env), { now: () => new Date(clock.now) })))
  const seed = async () => {
    const { id } = await makeWebinar(t, account, { scheduledAt: at(48) })
    await t.app.sql(
      `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
       select $1, $2 || n, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3, $3 from generate_series(1, 350) n`,
      [account.id, id, new Date(at(24))],
    )
    return account
  }
  const first = await seed()
  account = await sendingAccount(t)
  await seed()
  await Promise.all([t.app, ...others].flatMap((app) => [remind(24, app), remind(24, app)]))
  for (account of [first, account]) expect((await reminders()).length).toBe(350)
  await Promise.all(others.map((app) => app.close()))
})

test('an error in one webinar is reported, does not delay others, and is retried later', async () => {
  const [bad] = [await prepare({ title: 'Bad' }), await prepare({ title: 'Good' })]
  await t.app.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
  await t.app.sql(
    `create trigger refuse before update on webinar_registrations for each row
     when (old.webinar_id = '${bad}') execute function refuse()`,
  )
  clock.now = at(24)
  const faults: object[] = []
  const failed = new Set<string>()
  for (let i = 0; i < 2; i++) await remindDue(t.app, never, (_, about) => void faults.push(about), failed)
  expect(faults).toEqual([{ accountId: account.id, webinarId: bad }])
  expect((await mailsOf(t, account)).filter(({ key }) => key).map(({ subject }) => subject)).toEqual(['Reminder: Good'])
  await t.app.sql('drop function refuse cascade')
  await remind(25)
  expect((await reminders()).length).toBe(2)
})

test('the loop wakes when the clock of a development database moves', async () => {
  const dev = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })
  account = await sendingAccount(dev)
  const { id } = await makeWebinar(dev, account, { scheduledAt: dev.app.now().getTime() + 24 * hour })
  await ok(register(dev, account, id, 'ada@people.example'))
  const stop = new AbortController()
  const loop = runReminders(dev.app, stop.signal, (fault) => {
    throw fault
  })
  const count = async () => (await mailsOf(dev, account)).filter(({ key }) => key).length
  expect(await count()).toBe(0)
  await dev.advance(23 * hour)
  // Without the notice of the move, it would wait for its next turn, every ten seconds.
  const reminded = eventually(async () => (await count()) === 1)
  expect(await settlesWithin(reminded, 5000)).toBe(true)
  stop.abort()
  await loop
  await dev.close()
})

test('2,000 due webinars of a half-deleted account do not delay those of others', async () => {
  const id = await prepare()
  const { id: gone } = await t.account()
  await t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select $1, 'reg_' || n, 'web_' || n, 'a@x.example', '', 'confirmed', n, $2, $2, $2 from generate_series(1, 2000) n`,
    [gone, new Date(start)],
  )
  await t.app.sql('update accounts set deleted_at = now() where id = $1', [gone])
  await remind(24)
  expect([id, await reminders()]).toEqual([id, ['ada 24h']])
})
