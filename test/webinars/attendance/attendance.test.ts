import { beforeEach, describe, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { eraseContact, readTimeline } from '../../../src/contacts/contacts.ts'
import { setBinding, unsetBinding } from '../../../src/lifecycle/lifecycle.ts'
import type { App } from '../../../src/store/work.ts'
import { applyProjects, deleteProject } from '../../../src/studio/studio.ts'
import { recordPresence } from '../../../src/webinars/attendance/presence.ts'
import { remindDue } from '../../../src/webinars/reminders/reminders.due.ts'
import { personalData } from '../../../src/webinars/webinars.personal-data.ts'
import {
  cancelWebinar,
  deleteWebinar,
  endWebinar,
  listAttendees,
  planEnd,
  promoteRegistration,
  startWebinar,
  updateWebinar,
  webinarStats,
} from '../../../src/webinars/webinars.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { journeyBench, testClock } from '../../support/journeys.ts'
import { sendingAccount } from '../../support/messages.ts'
import { hour, linkIn, mailsOf, makeWebinar, register } from '../support.ts'

const minute = 60_000
const clock = testClock(Date.UTC(2026, 10, 22, 12))
let account: TestAccount
const t = useApp(() => ({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, now: clock.now }))
beforeEach(async () => {
  account = await sendingAccount(t)
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const now = () => clock.now().getTime()
const never = new AbortController().signal
const fail = (fault: unknown) => {
  throw fault
}
/** Decides who attended the ended webinars. */
const decide = (app: App = t.app, signal = never) => remindDue(app, signal, fail, new Set())
const decideLater = () => {
  clock.advance(10_000)
  return decide()
}

/** Creates a live webinar with these registrants, and returns its id and the paths of their join pages. */
const live = async (names: readonly string[], more: object = {}) => {
  const { id } = await makeWebinar(t, account, { title: 'Launch', ...more })
  const paths: Record<string, `/${string}`> = {}
  for (const name of names) {
    const { joinUrl } = (await register(t, account, id, `${name}@people.example`, name)).body
    paths[name] = (joinUrl === null ? '/' : new URL(joinUrl!).pathname) as `/${string}`
  }
  await work((w) => startWebinar(w, id))
  return { id, paths }
}
const report = async (path: string) => (await t.request('POST', `${path as '/x'}/presence`)).status
const attendees = async (id: string) => (await work((w) => listAttendees(w, id, { limit: 100 }))).rows
const minutes = async (id: string) =>
  Object.fromEntries((await attendees(id)).map((row) => [row.email.split('@')[0], row.minutes]))
const project = async (name: string) => {
  const blocks = [{ id: 'a', type: 'text', props: { text: '{{ title }}' } }]
  const [made] = await work((w) => applyProjects(w, [{ name, theme: {}, blocks }]))
  return made!.id!
}
const bind = async (id: string, event: string, name = `${event}, {{ name }}`) => {
  const projectId = await project(name)
  await work((w) => setBinding(t.app, w, `webinar:${id}`, event, projectId))
  return projectId
}
/** `<person> <subject>` of each email about the outcome. */
const followUps = async () =>
  (await mailsOf(t, account)).flatMap(({ email, subject, key }) =>
    key?.startsWith('outcome:') ? `${email.split('@')[0]} ${subject}` : [],
  )

describe('a report of presence', () => {
  test('counts from the start to the end of the session, by the clock of the server; a GET counts nothing', async () => {
    const { id } = await makeWebinar(t, account, { scheduledAt: now() + hour })
    const { joinUrl } = (await register(t, account, id, 'ada@people.example', 'Ada')).body
    const path = new URL(joinUrl!).pathname as `/join/${string}`
    expect(await t.request('POST', `${path}/presence`)).toMatchObject({ status: 200, body: { status: 'scheduled' } })
    clock.advance(minute)
    // The old time passes; the session has not started.
    await work((w) => updateWebinar(t.app, w, id, { scheduledAt: now() + 2 * hour }))
    clock.advance(hour)
    expect(await report(path)).toBe(200)
    clock.advance(minute)
    await work((w) => startWebinar(w, id))
    expect(await attendees(id)).toEqual([])
    for (const method of ['GET', 'GET'] as const) expect((await t.request(method, path)).status).toBe(200)
    expect((await t.request('GET', `${path}/presence` as '/x')).status).toBe(405)
    expect(await attendees(id)).toEqual([])
    const startedAt = now()
    for (let i = 0; i < 3; i++) {
      const body = { at: now() - hour, minutes: 99 }
      const reply = await t.request('POST', `${path}/presence`, { body, headers: { date: new Date(0).toUTCString() } })
      expect([reply.status, reply.body]).toEqual([200, { status: 'live' }])
      clock.advance(minute)
    }
    const row = { email: 'ada@people.example', name: 'Ada', firstSeenAt: startedAt, minutes: 3 }
    expect(await attendees(id)).toEqual([{ ...row, lastSeenAt: startedAt + 2 * minute }])
    await work((w) => endWebinar(w, id))
    expect((await t.request('GET', path)).body).not.toContain('presence')
    for (let i = 0; i < 3; i++) {
      expect(await t.request('POST', `${path}/presence`)).toMatchObject({ status: 200, body: { status: 'ended' } })
      clock.advance(minute)
    }
    await decide()
    await report(path)
    expect(await attendees(id)).toEqual([{ ...row, lastSeenAt: startedAt + 2 * minute }])
  })

  test('two tabs, replays and a second daemon count a minute once; gaps over two minutes are left out', async () => {
    const { id, paths } = await live(['ada', 'bob', 'cyd', 'dee'])
    const other = await openApp(readConfig(t.env), { now: clock.now })
    const [registration] = await t.app.sql<{ id: string }>(
      'select id from webinar_registrations where webinar_id = $1 and name = $2',
      [id, 'ada'],
    )
    for (let i = 0; i < 4; i++) {
      await Promise.all([
        ...[1, 2, 3].map(() => report(paths.ada!)),
        recordPresence(other, account.id, registration!.id),
        report(paths.dee!),
        i % 2 === 0 && report(paths.bob!),
      ])
      clock.advance(minute / 2)
      await report(paths.ada!)
      if (i === 0) await report(paths.cyd!)
      clock.advance(minute / 2)
    }
    await other.close()
    // Ada: from 0 to 3.5 min. Bob: two reports, 2 min apart. Cyd: one.
    expect(await minutes(id)).toEqual({ ada: 5, bob: 3, cyd: 1, dee: 4 })
    clock.advance(10 * minute)
    await Promise.all([report(paths.bob!), report(paths.cyd!)])
    expect(await minutes(id)).toEqual({ ada: 5, bob: 4, cyd: 2, dee: 4 })
    const [, bob] = await attendees(id)
    expect(bob!.lastSeenAt - bob!.firstSeenAt).toBe(14 * minute)
  })

  test('is refused for everyone without a seat, and for every token but that of a join page', async () => {
    const { id, paths } = await live(['ada', 'bob'], { capacity: 1 })
    const stranger = await sendingAccount(t)
    const rows = await t.app.sql<{ id: string; name: string }>(
      'select id, name from webinar_registrations where webinar_id = $1',
      [id],
    )
    const idOf = (name: string) => rows.find((row) => row.name === name)!.id
    const token = (purpose: 'join' | 'waitlist', of: string, name: string) =>
      `/join/${t.app.tokens.sign(purpose, [of, idOf(name)], null)}`
    const refused = [
      token('join', account.id, 'bob'),
      token('waitlist', account.id, 'ada'),
      token('join', stranger.id, 'ada'),
      `${paths.ada}A`,
      '/join/x',
    ]
    for (const path of refused) expect([path, await report(path)]).toEqual([path, 404])
    expect(await attendees(id)).toEqual([])
    expect(await work((w) => promoteRegistration(t.app, w, id, null))).toBe(idOf('bob'))
    clock.advance(minute)
    expect(await report(refused[0]!)).toBe(200)
    expect(await minutes(id)).toEqual({ bob: 1 })
    await ok(t.request('POST', `${paths.ada as '/x'}/cancel`))
    expect(await report(paths.ada!)).toBe(404)
    await work(async (w) =>
      eraseContact(w, 'bob@people.example', { dryRun: false, personalData: await t.app.personalData() }),
    )
    clock.advance(minute)
    expect(await report(refused[0]!)).toBe(404)
    expect(await attendees(id)).toEqual([])
    expect(await t.app.sql('select seen from webinar_registrations where webinar_id = $1', [id])).toEqual([
      { seen: null },
      { seen: null },
    ])
  })

  test('is not held up by a registration that another transaction has locked', async () => {
    const { id, paths } = await live(['ada', 'bob'])
    await t.app.work(account.id, 'cli:test', async (w) => {
      await w.sql('select from webinar_registrations where webinar_id = $1 and name = $2 for update', [id, 'ada'])
      expect(await Promise.all([report(paths.ada!), report(paths.bob!)])).toEqual([200, 200])
    })
    expect(await minutes(id)).toEqual({ bob: 1 })
  })
})

describe('after the end', () => {
  test('each person with a seat gets the email of one of the two bound events, once', async () => {
    const { id, paths } = await live(['ada', 'bob', 'cyd', 'dee', 'eve'], { capacity: 4 })
    const [attended, missed] = [await bind(id, 'attended'), await bind(id, 'missed')]
    await work((w) => updateWebinar(t.app, w, id, { replayUrl: 'https://stream.example/again' }))
    await report(paths.ada!)
    await ok(t.request('POST', `${paths.dee as '/x'}/cancel`))
    clock.advance(minute)
    await Promise.all([report(paths.ada!), report(paths.bob!)])
    // Dee's seat went to Eve. Finn registers during the session, and waits.
    await ok(register(t, account, id, 'finn@people.example', 'finn'))
    expect(await work((w) => planEnd(w, id))).toEqual({ mails: 4 })
    await work((w) => endWebinar(w, id))
    await decide()
    expect(await followUps()).toEqual([])
    for (let i = 0; i < 3; i++) await decideLater()
    expect(await followUps()).toEqual(['ada attended, ada', 'bob attended, bob', 'cyd missed, cyd', 'eve missed, eve'])
    const mails = (await mailsOf(t, account)).filter(({ key }) => key?.startsWith('outcome:'))
    const fields = { title: 'Launch', replayUrl: 'https://stream.example/again' }
    expect(mails[0]).toMatchObject({
      projectId: attended,
      mergeData: { ...fields, minutes: '2', joinUrl: expect.stringContaining(paths.ada!) },
    })
    expect(mails[2]).toMatchObject({ projectId: missed, mergeData: { ...fields, minutes: '0' } })
    const sources = await t.app.sql(
      `select distinct source_id from messages where account_id = $1 and key like 'outcome:%' order by 1`,
      [account.id],
    )
    expect(sources).toEqual([{ source_id: `${id}:attended` }, { source_id: `${id}:missed` }])
  })

  test('nothing is sent without a binding, for a cancelled or a deleted webinar; the plain email replaces a deleted project', async () => {
    const first = await live(['ada', 'bob'])
    await bind(first.id, 'missed')
    await work((w) => unsetBinding(w, `webinar:${first.id}`, 'missed'))
    const second = await live(['ada', 'bob'])
    const projectId = await bind(second.id, 'attended', 'Gone')
    await Promise.all([report(first.paths.ada!), report(second.paths.ada!)])
    const third = await makeWebinar(t, account, {})
    await ok(register(t, account, third.id, 'ada@people.example'))
    for (const event of ['attended', 'missed']) await bind(third.id, event)
    await work((w) => cancelWebinar(t.app, w, third.id))
    const fourth = await live(['ada'])
    for (const event of ['attended', 'missed']) await bind(fourth.id, event)
    expect(await work((w) => planEnd(w, first.id))).toEqual({ mails: 0 })
    expect(await work((w) => planEnd(w, second.id))).toEqual({ mails: 1 })
    for (const { id } of [first, second, fourth]) await work((w) => endWebinar(w, id))
    await work((w) => deleteWebinar(w, fourth.id))
    await work((w) => deleteProject(w, projectId))
    for (let i = 0; i < 2; i++) await decideLater()
    expect(await followUps()).toEqual(['ada Thank you for attending: Launch'])
  })

  test('reports from just before the end count, also if a daemon stores them after it', async () => {
    const { id, paths } = await live(['ada', 'bob'])
    for (const event of ['attended', 'missed']) await bind(id, event)
    const [ada] = await t.app.sql<{ id: string }>(
      'select id from webinar_registrations where name = $1 and webinar_id = $2',
      ['ada', id],
    )
    // A daemon that has received the report before the end.
    const before = clock.now()
    const slow = await openApp(readConfig(t.env), { now: () => before })
    clock.advance(1)
    await work((w) => endWebinar(w, id))
    clock.advance(1)
    expect([await recordPresence(slow, account.id, ada!.id), await report(paths.bob!)]).toEqual(['ended', 200])
    await slow.close()
    await decideLater()
    expect(await followUps()).toEqual(['ada attended, ada', 'bob missed, bob'])
  })

  test('three daemons, one of which stops between batches, decide about each of 700 people once', async () => {
    const { id } = await live([])
    for (const event of ['attended', 'missed']) await bind(id, event)
    await t.app.sql(
      `insert into webinar_registrations (account_id, id, webinar_id, email, name, status, number, seen, created_at, updated_at)
       select $1, $2 || n, $2, 'p' || n || '@people.example', 'P', 'confirmed', n,
         case when n % 7 = 0 then tstzmultirange(tstzrange($3, $3::timestamptz + interval '2 minutes')) end, $3, $3
       from generate_series(1, 700) n`,
      [account.id, id, clock.now()],
    )
    await work((w) => endWebinar(w, id))
    clock.advance(10_000)
    const stop = new AbortController()
    const stopping = decide(t.app, stop.signal)
    stop.abort()
    await stopping
    const others = await Promise.all([0, 1].map(() => openApp(readConfig(t.env), { now: clock.now })))
    await Promise.all([t.app, ...others].map((app) => decide(app)))
    await Promise.all(others.map((app) => app.close()))
    const mails = await followUps()
    expect([mails.length, new Set(mails.map((mail) => mail.split(' ')[0])).size]).toEqual([700, 700])
    expect(mails.filter((mail) => mail.includes('attended'))).toHaveLength(100)
  })

  test('journeys begin for who attended and for who missed it, by id, title or any webinar', async () => {
    const bench = await journeyBench(t)
    account = bench.account
    const people = await bench.list('People')
    await bench.add(people, ['ada@people.example', 'bob@people.example', 'cyd@people.example'])
    const { id, paths } = await live(['ada', 'bob', 'cyd', 'stranger'])
    const other = await live(['ada'], { title: 'Other' })
    const make = (name: string, kind: string, webinar?: string) =>
      bench.apply({
        name,
        trigger: { kind, ...(webinar && { webinar }) },
        reentry: 'always',
        steps: [{ kind: 'delay', for: '1d' }],
      })
    const journeys = [
      await make('Thanks', 'webinar-attended', 'Launch'),
      await make('Any', 'webinar-attended'),
      await make('Sorry', 'webinar-missed', id),
      await make('Other', 'webinar-missed', 'Other'),
    ]
    const runs = () =>
      Promise.all(
        journeys.map(async (journey) => (await bench.runs(journey)).map(({ email }) => email.slice(0, 3)).sort()),
      )
    await Promise.all([report(paths.ada!), report(paths.cyd!), report(paths.stranger!)])
    await work((w) => endWebinar(w, id))
    expect(await runs()).toEqual([[], [], [], []])
    for (let i = 0; i < 2; i++) await decideLater()
    expect(await runs()).toEqual([['ada', 'cyd'], ['ada', 'cyd'], ['bob'], []])
    await work((w) => endWebinar(w, other.id))
    await decideLater()
    expect(await runs()).toEqual([['ada', 'cyd'], ['ada', 'cyd'], ['bob'], ['ada']])
    expect(await t.events(account.id)).toEqual([])
  })

  test('presence is in the timeline and the export of the address, and goes with its erasure', async () => {
    const { id, paths } = await live(['ada', 'bob'])
    const startedAt = now()
    for (let i = 0; i < 2; i++) {
      await report(paths.ada!)
      clock.advance(minute)
    }
    const endedAt = now()
    await work((w) => endWebinar(w, id))
    const past = async (email: string) =>
      (await work((w) => readTimeline(t.app, w, email, 50))).timeline.filter(({ kind }) => /attended|missed/.test(kind))
    expect([await past('ada@people.example'), await past('bob@people.example')]).toEqual([[], []])
    await decideLater()
    expect(await past('ada@people.example')).toEqual([
      { at: startedAt, kind: 'webinar.attended', title: 'Launch, 2 minutes', id },
    ])
    expect(await past('bob@people.example')).toEqual([{ at: endedAt, kind: 'webinar.missed', title: 'Launch', id }])
    const about = (email: string) => work((w) => personalData[0]!.read(w, email))
    expect(await about('ada@people.example')).toMatchObject([
      { attended: true, firstSeenAt: startedAt, lastSeenAt: startedAt + minute, minutes: 2 },
    ])
    expect(await about('bob@people.example')).toMatchObject([
      { attended: false, firstSeenAt: null, lastSeenAt: null, minutes: null },
    ])
    await work(async (w) =>
      eraseContact(w, 'ada@people.example', { dryRun: false, personalData: await t.app.personalData() }),
    )
    expect(await attendees(id)).toEqual([])
    expect(await about('ada@people.example')).toEqual([])
  })

  test('an erased person gets no email, although the webinar ended before', async () => {
    const { id } = await live(['ada', 'bob'])
    for (const event of ['attended', 'missed']) await bind(id, event)
    await work((w) => endWebinar(w, id))
    await work(async (w) =>
      eraseContact(w, 'ada@people.example', { dryRun: false, personalData: await t.app.personalData() }),
    )
    await decideLater()
    expect(await followUps()).toEqual(['bob missed, bob'])
  })
})

test('the waitlist email’s link opens no join page', async () => {
  const { id } = await live(['ada', 'bob'], { capacity: 1 })
  const mail = (await mailsOf(t, account)).find(({ email }) => email === 'bob@people.example')!
  const link = linkIn(mail, 'Leave the waitlist')
  const page = await t.request('GET', link)
  expect([page.status, page.body]).toEqual([200, expect.not.stringContaining('presence')])
  expect(await report(link)).toBe(404)
  expect((await t.request('GET', link.replace('/w/', '/join/') as '/x')).status).toBe(404)
  expect(await attendees(id)).toEqual([])
})

test('the numbers of a webinar have its attendance once it has started', async () => {
  const { id, paths } = await live(['ada', 'bob'])
  await report(paths.ada!)
  const numbers = { registrations: 2, confirmed: 2, waitlisted: 0, cancelled: 0, attended: 1 }
  const date = clock.now().toISOString().slice(0, 10)
  expect(await work((w) => webinarStats(w, id))).toEqual({ ...numbers, days: [{ date, ...numbers }] })
})

test('the list of attendees is paged in the order of registrations', async () => {
  const { id, paths } = await live(['ada', 'bob', 'cyd', 'dee', 'eve'])
  await Promise.all(['eve', 'ada', 'dee', 'cyd'].map((name) => report(paths[name]!)))
  const names: string[] = []
  let cursor: string | undefined
  do {
    const page = await work((w) => listAttendees(w, id, { limit: 2, cursor }))
    names.push(...page.rows.map(({ name }) => name))
    cursor = page.nextCursor ?? undefined
  } while (cursor)
  expect(names).toEqual(['ada', 'cyd', 'dee', 'eve'])
  for (const bad of ['x', Buffer.from('["1e9"]').toString('base64url')])
    await expect(work((w) => listAttendees(w, id, { limit: 2, cursor: bad }))).rejects.toMatchObject({
      kind: 'invalid',
    })
  const stranger = await sendingAccount(t)
  expect((await t.app.work(stranger.id, 'cli:test', (w) => listAttendees(w, id, { limit: 9 }))).rows).toEqual([])
})
