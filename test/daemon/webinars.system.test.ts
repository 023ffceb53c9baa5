import { afterEach, beforeEach, expect, test } from 'vitest'
import { setBinding } from '../../src/lifecycle/lifecycle.ts'
import { advanceClock } from '../../src/store/clock.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { endWebinar, startWebinar, updateWebinar } from '../../src/webinars/webinars.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { callDaemon, type Daemon } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { eventually } from '../support/deliveries.ts'
import { sendingAccount } from '../support/messages.ts'
import { openSink, type Sink } from '../support/smtp.ts'
import { hour, makeWebinar, webinarOf } from '../webinars/support.ts'

let t: TestApp
let sink: Sink
let account: TestAccount

beforeEach(async () => {
  sink = await openSink()
  t = await startApp({ env: { SVC_SMTP_URL: sink.url }, development: true })
  account = await sendingAccount(t)
})
afterEach(async () => {
  await t.close()
  await sink.close()
})

const { start, kill } = useDaemons(() => t)
const register = async (daemon: Daemon, id: string, i: number) => {
  const body = { email: `p${i}@people.example`, name: `P ${i}` }
  return (await callDaemon(daemon, 'POST', `/webinars/${id}/register`, { key: account.key, body })).body
}
const subjects = () => {
  const counts: Record<string, number> = {}
  for (const mail of sink.mails) counts[mail.header('subject')!] = (counts[mail.header('subject')!] ?? 0) + 1
  return counts
}

test('two daemons confirm 50 of 200 concurrent registrations and send each email and reminder once, even after a kill', async () => {
  const [one, two] = await Promise.all([start(), start()])
  const { id } = await makeWebinar(t, account, { capacity: 50, scheduledAt: t.app.now().getTime() + 24 * hour })
  const startedAt = performance.now()
  const results = await Promise.all(Array.from({ length: 200 }, (_, i) => register(i % 2 ? one : two, id, i)))
  process.stderr.write(`200 registrations over two daemons in ${Math.round(performance.now() - startedAt)} ms\n`)
  expect(results.filter(({ status }) => status === 'confirmed')).toHaveLength(50)
  expect(results.filter(({ status }) => status === 'waitlisted')).toHaveLength(150)
  await sink.arrived(200)
  expect(subjects()).toEqual({ 'You are registered: Live!': 50, 'You are on the waitlist: Live!': 150 })
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 50, waitlistedCount: 150 })

  await advanceClock(t.app.database, 23 * hour)
  await sink.arrived(250)
  // By now both daemons have looked for due reminders again.
  await new Promise((resolve) => setTimeout(resolve, 4500))
  expect(subjects()).toMatchObject({ 'Reminder: Live!': 50 })
  expect(sink.mails).toHaveLength(250)

  await kill()
  const api = await start(['serve', '--no-jobs'])
  const later = await makeWebinar(t, account, { title: 'Later' })
  expect((await register(api, later.id, 1)).status).toBe('confirmed')
  await api.kill('SIGKILL')
  await start()
  await eventually(() => subjects()['You are registered: Later'] === 1)
  expect(sink.mails).toHaveLength(251)
})

test('of 1,000 people each gets one email after the end, although the daemon is killed between them', async () => {
  const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
  const people = 1_000
  const { id } = await makeWebinar(t, account)
  await work((w) => startWebinar(w, id))
  await t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, seen, created_at, updated_at)
     select $1, 'reg_' || n || $2, $2, 'p' || n || '@people.example', 'P', 'confirmed', n,
       case when n % 2 = 0 then tstzmultirange(tstzrange($3, $3::timestamptz + interval '2 minutes')) end, $3, $3
     from generate_series(1, $4) n`,
    [account.id, id, t.app.now(), people],
  )
  for (const event of ['attended', 'missed']) {
    const document = { name: event, theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: event } }] }
    const [project] = await work((w) => applyProjects(w, [document]))
    await work((w) => setBinding(t.app, w, `webinar:${id}`, event, project!.id!))
  }
  await work((w) => endWebinar(w, id))
  await advanceClock(t.app.database, 10_000)
  const mails = () =>
    t.app.sql<{ email: string; subject: string }>(
      `select email, subject from messages where account_id = $1 and source_id like $2 || ':%'`,
      [account.id, id],
    )
  const [killed] = await Promise.all([start(), eventually(async () => (await mails()).length > 0)])
  await killed.kill('SIGKILL')
  const early = (await mails()).length
  process.stderr.write(`killed after ${early} of ${people} emails\n`)
  await start()
  await eventually(async () => (await mails()).length >= people)
  const rows = await mails()
  expect([rows.length, new Set(rows.map(({ email }) => email)).size]).toEqual([people, people])
  const isRight = ({ email, subject }: { email: string; subject: string }) =>
    subject === (Number(/\d+/.exec(email)![0]) % 2 === 0 ? 'attended' : 'missed')
  expect(rows.filter((row) => !isRight(row))).toEqual([])
})

test('a webinar that is moved while two daemons send its reminders: one is killed, nobody gets one afterwards, and the new ones go out once', async () => {
  const [one] = await Promise.all([start(), start()])
  const now = t.app.now().getTime()
  const { id } = await makeWebinar(t, account, { scheduledAt: now + 48 * hour })
  const people = 400
  await t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select $1, 'reg_' || n || $2, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3, $3 from generate_series(1, $4) n`,
    [account.id, id, new Date(now + 24 * hour), people],
  )
  sink.always({ delayMs: 1000 })
  await advanceClock(t.app.database, 24 * hour)
  await sink.arrived(1)
  const scheduledAt = t.app.now().getTime() + 72 * hour
  const { moved } = await t.app.work(account.id, 'cli:test', (work) => updateWebinar(t.app, work, id, { scheduledAt }))
  expect(moved).toBe(people)
  await one.kill('SIGKILL')
  sink.always({})
  const isSent = async () =>
    (await t.app.sql('select from message_queue where account_id = $1', [account.id])).length === 0
  await eventually(isSent)
  const unknown = await t.app.sql(
    `select from messages where account_id = $1 and status = 'failed' and subject like 'New time%'`,
    [account.id],
  )
  const news = sink.mails.filter((mail) => mail.header('subject') === 'New time: Live!')
  expect(new Set(news.flatMap(({ to }) => to)).size).toBe(news.length)
  // At most the messages that the killed daemon was handing over.
  expect(news.length + unknown.length).toBeGreaterThanOrEqual(people)
  expect(unknown.length).toBeLessThanOrEqual(30)
  const early = subjects()['Reminder: Live!']!
  expect(early).toBeLessThan(people)
  for (const { to } of news) {
    const at = sink.mails.findIndex((mail) => mail.header('subject') === 'New time: Live!' && mail.to[0] === to[0])
    expect(
      sink.mails.slice(at).filter((mail) => mail.header('subject')?.startsWith('Reminder') && mail.to[0] === to[0]),
    ).toEqual([])
  }
  await advanceClock(t.app.database, 48 * hour)
  await eventually(() => subjects()['Reminder: Live!'] === early + people)
  await eventually(isSent)
  expect(subjects()['Reminder: Live!']).toBe(early + people)
})

test('of two daemons that send reminders of bookings one is killed: each booking has one reminder', async () => {
  const [one] = await Promise.all([start(), start()])
  const people = 300
  await t.app.sql(
    `insert into bookings (account_id, id, project_id, message_id, block_id, status, title, start_at, end_at, timezone, name, email,
       sequence, remind_at, created_at, updated_at)
     select $1, 'bkg_' || n, 'prj_1', 'msg_' || n, 'call', 'confirmed', 'A call', $2::timestamptz + interval '1 hour',
       $2::timestamptz + interval '2 hours', 'UTC', 'P', 'p' || n || '@people.example', 0, $2, $2, $2
     from generate_series(1, $3) n`,
    [account.id, new Date(t.app.now().getTime() + hour), people],
  )
  const reminders = () =>
    t.app.sql<{ key: string }>(`select key from messages where account_id = $1 and key like 'booking-reminder:%'`, [
      account.id,
    ])
  await advanceClock(t.app.database, hour)
  await eventually(async () => (await reminders()).length > 0)
  await one.kill('SIGKILL')
  const isScheduled = async () =>
    (await t.app.sql('select from bookings where account_id = $1 and remind_at is not null', [account.id])).length === 0
  await eventually(isScheduled)
  const keys = (await reminders()).map(({ key }) => key)
  expect(new Set(keys).size).toBe(people)
  expect(keys).toHaveLength(people)
})
