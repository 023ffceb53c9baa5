import { afterEach, beforeEach, expect, test } from 'vitest'
import { setBinding } from '../../src/lifecycle/lifecycle.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { endWebinar, startWebinar, updateWebinar } from '../../src/webinars/webinars.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { callDaemon, freePort } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
import { holdUp } from '../support/hold.ts'
import { startApi, startJob } from '../support/jobs.ts'
import { sendingAccount } from '../support/messages.ts'
import { endStarted } from '../support/scope.ts'
import { openSink, type Sink } from '../support/smtp.ts'
import { hour, makeWebinar, webinarOf } from './support.ts'

// Two threads that send the emails of webinars share the work, also if one is killed.

let sink: Sink
let account: TestAccount

const port = await freePort()
const t = useApp({ env: { SVC_SMTP_URL: `smtp://127.0.0.1:${port}` }, development: true })
beforeEach(async () => {
  sink = await openSink({ port })
  account = await sendingAccount(t)
})
afterEach(async () => {
  await endStarted()
  await sink.close()
  await t.app.sql('delete from message_queue')
})

const start = () => startJob(t, 'mail')
const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
/** Registers person `i` as a client does: 503 is repeated. On a slow machine calls wait longer for the webinar than lock_timeout. */
const register = async (api: { url: string }, id: string, i: number) => {
  const body = { email: `p${i}@people.example`, name: `P ${i}` }
  for (;;) {
    const answer = await callDaemon(api, 'POST', `/webinars/${id}/register`, { key: account.key, body })
    if (answer.status !== 503) return answer.body
  }
}
const subjects = () => {
  const counts: Record<string, number> = {}
  for (const mail of sink.mails) counts[mail.header('subject')!] = (counts[mail.header('subject')!] ?? 0) + 1
  return counts
}
const isSent = async () =>
  (await t.app.sql('select from message_queue where account_id = $1', [account.id])).length === 0

test('two processes confirm 50 of 200 concurrent registrations and send each email and reminder once, even after a kill', async () => {
  const [one, two] = await Promise.all([startApi(t), startApi(t)])
  const mailers = await Promise.all([start(), start()])
  const { id } = await makeWebinar(t, account, { capacity: 50, scheduledAt: t.app.now().getTime() + 24 * hour })
  const results = await Promise.all(Array.from({ length: 200 }, (_, i) => register(i % 2 ? one : two, id, i)))
  expect(results.filter(({ status }) => status === 'confirmed')).toHaveLength(50)
  expect(results.filter(({ status }) => status === 'waitlisted')).toHaveLength(150)
  await sink.arrived(200)
  expect(subjects()).toEqual({ 'You are registered: Live!': 50, 'You are on the waitlist: Live!': 150 })
  expect(await webinarOf(t, account, id)).toMatchObject({ registeredCount: 50, waitlistedCount: 150 })

  await t.advance(23 * hour)
  await sink.arrived(250)
  await eventually(isSent)
  expect(
    await t.app.sql('select from webinar_registrations where webinar_id = $1 and remind_at is not null', [id]),
  ).toEqual([])
  expect(subjects()).toMatchObject({ 'Reminder: Live!': 50 })
  expect(sink.mails).toHaveLength(250)

  await Promise.all([two, ...mailers].map(({ kill }) => kill()))
  const later = await makeWebinar(t, account, { title: 'Later' })
  expect((await register(one, later.id, 1)).status).toBe('confirmed')
  await one.kill()
  await start()
  await eventually(() => subjects()['You are registered: Later'] === 1)
  expect(sink.mails).toHaveLength(251)
})

test('of 300 people each gets one email after the end, although the thread is killed between them', async () => {
  const people = 300
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
  await t.advance(10_000)
  const mails = () =>
    t.app.sql<{ email: string; subject: string }>(
      `select email, subject from messages where account_id = $1 and source_id like $2 || ':%'`,
      [account.id, id],
    )
  const held = await holdUp(t, 'insert on messages', { after: people / 2 })
  const killed = await start()
  await held.reached()
  await killed.kill()
  await held.end()
  expect((await mails()).length).toBeLessThan(people)
  await start()
  await eventually(async () => (await mails()).length >= people)
  const rows = await mails()
  expect([rows.length, new Set(rows.map(({ email }) => email)).size]).toEqual([people, people])
  const isRight = ({ email, subject }: { email: string; subject: string }) =>
    subject === (Number(/\d+/.exec(email)![0]) % 2 === 0 ? 'attended' : 'missed')
  expect(rows.filter((row) => !isRight(row))).toEqual([])
})

test('a webinar that is moved while two threads send its reminders: one is killed, nobody gets one afterwards, and the new ones go out once', async () => {
  const people = 120
  const one = await start()
  await start()
  const now = t.app.now().getTime()
  const { id } = await makeWebinar(t, account, { scheduledAt: now + 48 * hour })
  await t.app.sql(
    `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, remind_at, created_at, updated_at)
     select $1, 'reg_' || n || $2, $2, 'p' || n || '@people.example', 'P', 'confirmed', n, $3, $3, $3 from generate_series(1, $4) n`,
    [account.id, id, new Date(now + 24 * hour), people],
  )
  sink.always({ delayMs: 1000 })
  await t.advance(24 * hour)
  await sink.arrived(1)
  const scheduledAt = t.app.now().getTime() + 72 * hour
  const { moved } = await work((w) => updateWebinar(t.app, w, id, { scheduledAt }))
  expect(moved).toBe(people)
  await one.kill()
  sink.always({})
  await eventually(isSent)
  // The relay accepts those that the killed thread had handed over.
  await eventually(() => sink.mails.length === sink.begun)
  const unknown = await t.app.sql(
    `select from messages where account_id = $1 and status = 'failed' and subject like 'New time%'`,
    [account.id],
  )
  const news = sink.mails.filter((mail) => mail.header('subject') === 'New time: Live!')
  expect(new Set(news.flatMap(({ to }) => to)).size).toBe(news.length)
  // At most the messages that the killed thread was handing over.
  expect(news.length + unknown.length).toBeGreaterThanOrEqual(people)
  expect(unknown.length).toBeLessThanOrEqual(30)
  const early = subjects()['Reminder: Live!']!
  expect(early).toBeLessThan(people)
  for (const { to, begun } of news) {
    const later = sink.mails.filter((mail) => mail.to[0] === to[0] && mail.begun > begun)
    expect(later.filter((mail) => mail.header('subject')?.startsWith('Reminder'))).toEqual([])
  }
  await t.advance(48 * hour)
  await eventually(() => subjects()['Reminder: Live!'] === early + people)
  await eventually(isSent)
  expect(subjects()['Reminder: Live!']).toBe(early + people)
})
