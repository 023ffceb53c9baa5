import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import ical from 'ical.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { checkCalendars } from '../../src/app/operate/doctor.database.ts'
import { purgeBusyTimes } from '../../src/bookings/bookings.busy.ts'
import { type BusySpan, readBusy } from '../../src/bookings/bookings.ics.ts'
import { remindBookings } from '../../src/bookings/bookings.remind.ts'
import { freeStarts } from '../../src/bookings/bookings.slots.ts'
import { windowsZones } from '../../src/bookings/bookings.zones.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { eraseContact } from '../../src/contacts/contacts.ts'
import { holdQueues, releaseQueues } from '../../src/queue/holds.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import { eventually } from '../support/eventually.ts'
import { isSlow } from '../support/slowness.ts'
import type { Sink } from '../support/smtp.ts'
import { at, bookingProject, bookingsOf, cancelPath, halfPastNine, monday, nine, slotsIn, ten } from './support.ts'

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount
let now = monday

beforeAll(async () => {
  const env = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32' }
  engaged = await startEngaged({ now: () => new Date(now), env })
  ;({ t, sink } = engaged)
})
beforeEach(() => {
  now = monday
})
afterAll(() => engaged.close())

/** Uses a project with these props, and sends it to people of these names. */
const open = async (props: object, ...names: string[]): Promise<Arrived[]> => {
  account = await engagedAccount(t, bookingProject(props))
  const mails: Arrived[] = []
  for (const name of names)
    mails.push(await sendProject(t, sink, account, { to: `${name}@people.example`, mergeData: { name } }))
  return mails
}
const book = (by: Arrived, startAt: number) => answer(t, by, 'call', { startAt })
const shown = async (by: Arrived) => (await t.request('GET', `/liveview/${by.token}`)).body
const slotsOf = async (by: Arrived): Promise<number[]> => slotsIn(await shown(by))
const taken = (reply: unknown) =>
  expect(reply).toMatchObject({ status: 409, body: { error: 'This time is no longer available' } })
const booked = (reply: unknown) => expect(reply).toMatchObject({ status: 200, body: { duplicate: false } })
const halfPastTen = at('2026-11-23T09:30Z')
const nextDay = at('2026-11-24T08:00Z')

describe('minNoticeMinutes', () => {
  test('times before it are neither shown nor bookable, nor may a booking move there', async () => {
    const [ada] = await open({ minNoticeMinutes: 150 }, 'ada')
    // At 7:00 in Berlin, half past nine is the first one.
    expect((await slotsOf(ada!))[0]).toBe(halfPastNine)
    taken(await book(ada!, nine))
    booked(await book(ada!, ten))
    taken(await book(ada!, nine))
    booked(await book(ada!, halfPastNine))
  })
})

describe('bufferMinutes', () => {
  test('keeps time free before and after each booking; a move ignores the booking itself', async () => {
    const [ada, bo] = await open({ bufferMinutes: 30 }, 'ada', 'bo')
    booked(await book(ada!, halfPastNine))
    expect((await slotsOf(bo!)).slice(0, 2)).toEqual([halfPastTen, nextDay])
    taken(await book(bo!, nine))
    taken(await book(bo!, ten))
    // Ada may choose the neighbours of her own time, but is not shown that time.
    expect((await slotsOf(ada!)).slice(0, 4)).toEqual([nine, ten, halfPastTen, nextDay])
    booked(await book(ada!, ten))
    expect((await slotsOf(bo!))[0]).toBe(nine)
    expect((await book(ada!, ten)).body).toMatchObject({ duplicate: true })
  })

  test('of concurrent callers for neighbouring times, those with a buffer between them get one', async () => {
    const mails = await open({ bufferMinutes: 30 }, 'a', 'b', 'c', 'd', 'e', 'f')
    const starts = [nine, halfPastNine, ten]
    const replies = await Promise.all(mails.map((mail, i) => book(mail, starts[i % 3]!)))
    const held = (await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime()).sort((a, b) => a - b)
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(held.length)
    for (const [i, start] of held.slice(1).entries()) expect(start - held[i]!).toBeGreaterThanOrEqual(60 * 60_000)
  })
})

describe('maxPerDay', () => {
  test('a day of the block’s time zone is full after that many; a move within it ignores the booking itself', async () => {
    const [ada, bo, cy] = await open({ maxPerDay: 2 }, 'ada', 'bo', 'cy')
    booked(await book(ada!, nine))
    booked(await book(bo!, halfPastTen))
    expect((await slotsOf(cy!))[0]).toBe(nextDay)
    taken(await book(cy!, ten))
    expect((await slotsOf(ada!))[0]).toBe(halfPastNine)
    booked(await book(ada!, ten))
    booked(await book(cy!, nextDay))
    taken(await book(cy!, nine))
    booked(await book(ada!, at('2026-11-24T08:30Z')))
    booked(await book(cy!, nine))
  })

  test('a cancelled booking makes its place free', async () => {
    const [ada, bo] = await open({ maxPerDay: 1 }, 'ada', 'bo')
    booked(await book(ada!, nine))
    taken(await book(bo!, ten))
    const [mail] = await t.app.sql<{ text: string }>(
      'select text from messages where account_id = $1 and key like $2',
      [account.id, 'booking:%'],
    )
    await ok(t.request('POST', cancelPath(mail as never) as '/', { body: {} }))
    booked(await book(bo!, ten))
  })

  test('counts days around midnight of the block’s time zone', () => {
    const calendar = {
      ...{ durationMinutes: 60, timezone: 'Asia/Tokyo', days: 2, maxPerDay: 1 },
      availability: [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from: '00:00', to: '23:00' })),
    }
    // 23:30 in Tokyo on the 23rd.
    const late = { startAt: at('2026-11-23T14:30Z'), endAt: at('2026-11-23T15:30Z') }
    const starts = freeStarts(calendar, at('2026-11-23T00:00Z'), [late])
    expect(new Date(starts[0]!).toISOString()).toBe('2026-11-23T16:00:00.000Z')
  })

  test('of ten concurrent callers exactly as many as allowed get a time', async () => {
    const mails = await open({ maxPerDay: 2, durationMinutes: 10 }, ...'abcdefghij')
    const replies = await Promise.all(mails.map((mail, i) => book(mail, nine + i * 10 * 60_000)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(2)
    expect(await bookingsOf(t, account.id)).toHaveLength(2)
  })
})

describe('reminders', () => {
  const reminders = async () =>
    (
      await t.app.sql<{ email: string; subject: string; key: string; error: string | null }>(
        `select email, subject, key, error from messages where account_id = $1 and key like 'booking-reminder:%' order by key`,
        [account.id],
      )
    ).map(({ email, key, error }) => `${email} ${key.split(':').slice(2).join(':')}${error ? ` ${error}` : ''}`)
  const fail = (fault: unknown) => {
    throw fault
  }
  const remind = () => remindBookings(t.app, new AbortController().signal, fail, new Set())
  const tuesday = at('2026-11-24T09:00Z')

  test('an account whose reminder fails is reported, and delays no other', async () => {
    const [bo] = await open({}, 'bo')
    const bad = account
    booked(await book(bo!, tuesday))
    const [ada] = await open({}, 'ada')
    booked(await book(ada!, tuesday))
    await t.app.sql(`create function refuse() returns trigger language plpgsql as $$ begin raise 'refused'; end $$`)
    await t.app.sql(
      `create trigger refuse before update on bookings for each row
       when (old.account_id = '${bad.id}') execute function refuse()`,
    )
    const faults: object[] = []
    const failed = new Set<string>()
    try {
      now = at('2026-11-23T09:00Z')
      for (let i = 0; i < 2; i++)
        await remindBookings(t.app, new AbortController().signal, (_, about) => void faults.push(about), failed)
    } finally {
      await t.app.sql('drop function refuse cascade')
    }
    expect(faults).toEqual([{ accountId: bad.id, booking: expect.any(String) }])
    expect(await reminders()).toEqual(['ada@people.example 0:24h'])
    account = bad
    expect(await reminders()).toEqual([])
    await remind()
    expect(await reminders()).toEqual(['bo@people.example 0:24h'])
  })

  test('are sent a day and an hour before, each once, also by two processes at the same time; not while sends are paused', async () => {
    const [ada] = await open({}, 'ada')
    booked(await book(ada!, tuesday))
    await remind()
    expect(await reminders()).toEqual([])
    now = at('2026-11-23T09:00Z')
    await holdQueues(t.app.sql, ['sends'])
    await remind()
    expect(await reminders()).toEqual([])
    await releaseQueues(t.app.sql, ['sends'])
    await Promise.all([remind(), remind(), remind()])
    expect(await reminders()).toEqual(['ada@people.example 0:24h'])
    now = at('2026-11-24T07:59Z')
    await remind()
    expect(await reminders()).toHaveLength(1)
    now = at('2026-11-24T08:00Z')
    await Promise.all([remind(), remind()])
    await remind()
    expect(await reminders()).toEqual(['ada@people.example 0:1h', 'ada@people.example 0:24h'])
    now = at('2026-11-24T08:59Z')
    await remind()
    expect(await reminders()).toHaveLength(2)
    const [mail] = await t.app.sql<{ subject: string; text: string; calendar: string | null; type: string }>(
      `select subject, text, calendar, type from messages where account_id = $1 and key like 'booking-reminder:%' limit 1`,
      [account.id],
    )
    expect(mail).toMatchObject({
      subject: 'Reminder: A call, ada, Tuesday, 24 November 2026, 10:00',
      calendar: null,
      type: 'transactional',
    })
    expect(mail!.text).toContain('/b/')
  })

  test('leave no later than the booking begins', async () => {
    const [ada] = await open({}, 'ada')
    booked(await book(ada!, tuesday))
    now = at('2026-11-23T09:00Z')
    await remind()
    const expiries = await t.app.sql<{ key: string; expiresAt: Date | null }>(
      `select key, expires_at as "expiresAt" from message_queue join messages using (account_id, id)
       where account_id = $1 and source_kind = 'lifecycle' order by key desc`,
      [account.id],
    )
    expect(expiries).toEqual([
      { key: expect.stringMatching(/^booking:/), expiresAt: null },
      { key: expect.stringMatching(/^booking-reminder:/), expiresAt: new Date(tuesday) },
    ])
  })

  test('bookings made later than that get none for it', async () => {
    const [ada, bo] = await open({}, 'ada', 'bo')
    booked(await book(ada!, ten))
    now = at('2026-11-23T08:01Z')
    booked(await book(bo!, halfPastNine))
    await remind()
    expect(await reminders()).toEqual(['ada@people.example 0:1h'])
  })

  test('if both are overdue, only the later one is sent; after the start none', async () => {
    const [ada, bo] = await open({}, 'ada', 'bo')
    booked(await book(ada!, tuesday))
    booked(await book(bo!, nextDay))
    now = at('2026-11-24T08:30Z')
    await remind()
    expect(await reminders()).toEqual(['ada@people.example 0:1h'])
  })

  test('a moved booking is reminded again for the new time, a cancelled one not at all', async () => {
    const [ada, bo] = await open({}, 'ada', 'bo')
    booked(await book(ada!, tuesday))
    booked(await book(bo!, at('2026-11-24T09:30Z')))
    now = at('2026-11-23T09:30Z')
    await remind()
    expect(await reminders()).toHaveLength(2)
    const thursday = at('2026-11-26T09:00Z')
    booked(await book(ada!, thursday))
    const bookings = await bookingsOf(t, account.id)
    const { cancelBooking } = await import('../../src/bookings/bookings.ts')
    await t.app.work(account.id, 'cli:test', (work) =>
      cancelBooking(t.app, work, bookings.find(({ email }) => email.startsWith('bo'))!.id, {
        by: 'host',
        reason: null,
      }),
    )
    now = at('2026-11-24T09:00Z')
    await remind()
    now = at('2026-11-25T09:00Z')
    await remind()
    now = at('2026-11-26T08:00Z')
    await remind()
    // Nobody has sent the first ones, so they were withdrawn.
    const gone = 'The booking was moved or cancelled'
    expect(new Set(await reminders())).toEqual(
      new Set([
        ...[`ada@people.example 0:24h ${gone}`, `bo@people.example 0:24h ${gone}`],
        ...['ada@people.example 1:24h', 'ada@people.example 1:1h'],
      ]),
    )
  })

  test('an erased attendee is not reminded', async () => {
    const [ada] = await open({}, 'ada')
    booked(await book(ada!, tuesday))
    const { eraseAttendee } = await import('../../src/bookings/bookings.cancel.ts')
    await t.app.work(account.id, 'cli:test', (work) => eraseAttendee(work, 'ada@people.example'))
    now = at('2026-11-23T09:00Z')
    await remind()
    expect(await reminders()).toEqual([])
  })
})

const calendar = (...events: string[]) =>
  [
    'BEGIN:VCALENDAR',
    'VERSION:2.0',
    ...events.flatMap((event) => ['BEGIN:VEVENT', event, 'END:VEVENT']),
    'END:VCALENDAR',
    '',
  ]
    .join('\n')
    .replaceAll('\n', '\r\n')
const meeting = 'UID:1\nDTSTART:20261123T080000Z\nDTEND:20261123T090000Z\nSUMMARY:Secret plans'

describe('busyUrl', () => {
  let host: Server
  let requests: string[] = []
  type Reply = { status?: number; headers?: Record<string, string>; body?: string | Buffer }
  let reply: (path: string) => Reply | Promise<Reply>
  const url = (path = '/secret-token.ics', name = '127.0.0.1') =>
    `http://${name}:${(host.address() as AddressInfo).port}${path}`

  beforeEach(async () => {
    requests = []
    reply = () => ({ body: calendar(meeting) })
    host = createServer(async (request, response) => {
      requests.push(request.url!)
      const { status = 200, headers = {}, body = '' } = await reply(request.url!)
      response.writeHead(status, headers).end(body)
    })
    await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  })
  afterEach(async () => {
    host.closeAllConnections()
    await new Promise((resolve) => host.close(resolve))
  })

  const warnings = async () => (await checkCalendars(t.app)).filter(({ message }) => message.includes(account.id))

  test('its times are neither shown nor bookable; the file is read once in ten minutes, and its address is shown to nobody', async () => {
    const [ada, bo] = await open({ busyUrl: url() }, 'ada', 'bo')
    const views = await Promise.all([shown(ada!), shown(bo!), shown(ada!), shown(bo!)])
    expect(slotsIn(views[0]!)[0]).toBe(ten)
    expect(requests).toHaveLength(1)
    taken(await book(ada!, halfPastNine))
    booked(await book(ada!, ten))
    expect(requests).toHaveLength(1)
    const page = await t.request('GET', ada!.view as '/')
    const [stored] = await t.app.sql<{ text: string }>(
      'select busy_calendars::text as text from busy_calendars where account_id = $1',
      [account.id],
    )
    for (const text of [JSON.stringify(views), String(page.body), ada!.html, JSON.stringify(stored)]) {
      expect(text).not.toContain('secret-token')
      expect(text).not.toContain('Secret plans')
    }
    expect(await warnings()).toEqual([])
    reply = () => ({ body: calendar() })
    now += 9 * 60_000
    expect((await slotsOf(bo!))[0]).toBe(halfPastTen)
    now += 60_000
    expect((await slotsOf(bo!))[0]).toBe(nine)
    expect(requests).toHaveLength(2)
  })

  test('they are deleted once no block has needed them for 30 days', async () => {
    const [ada] = await open({ busyUrl: url() }, 'ada')
    await slotsOf(ada!)
    const day = 24 * 3600_000
    const isStored = async () =>
      (await t.app.sql('select from busy_calendars where account_id = $1', [account.id])).length > 0
    await purgeBusyTimes(t.app, new Date(now - day))
    expect(await isStored()).toBe(true)
    await purgeBusyTimes(t.app, new Date(now + 1))
    expect(await isStored()).toBe(false)
  })

  test('the files of many blocks that are opened together are read two at a time, and none is missed', async () => {
    const recipients: Arrived[] = []
    for (let n = 0; n < 8; n++) recipients.push(...(await open({ busyUrl: url(`/${n}.ics`) }, `p${n}`)))
    const firsts = await Promise.all(recipients.map(async (one) => (await slotsOf(one))[0]))
    expect(firsts).toEqual(recipients.map(() => ten))
    expect(requests).toHaveLength(8)
  })

  test('a recipient who is erased while the file is read books nothing', async () => {
    const [ada, bo] = await open({ busyUrl: url() }, 'ada', 'bo')
    const { promise: until, resolve: release } = Promise.withResolvers<void>()
    reply = () => until.then(() => ({ body: calendar() }))
    const replies = Promise.all([book(ada!, nine), book(bo!, ten)])
    await eventually(() => requests.length > 0)
    await t.app.work(account.id, 'cli:test', async (work) =>
      eraseContact(work, 'ada@people.example', { dryRun: false, personalData: await t.app.personalData() }),
    )
    release()
    const [gone, kept] = await replies
    expect(gone).toMatchObject({ status: 404, body: { error: 'There is no such live view' } })
    expect((await book(ada!, nine)).body).toEqual(gone!.body)
    booked(kept)
    expect((await bookingsOf(t, account.id)).map(({ email }) => email)).toEqual(['bo@people.example'])
    await expect(
      t.app.work(account.id, 'cli:test', (work) => readPerson(t.app, work, 'ada@people.example')),
    ).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('the buffer is kept around busy times, too', async () => {
    const [ada] = await open({ busyUrl: url(), bufferMinutes: 15 }, 'ada')
    expect((await slotsOf(ada!))[0]).toBe(halfPastTen)
    taken(await book(ada!, ten))
  })

  test('the entry of the own booking in the host’s calendar does not stop a move', async () => {
    const [ada, bo] = await open({ busyUrl: url() }, 'ada', 'bo')
    reply = () => ({ body: calendar() })
    booked(await book(ada!, nine))
    const [{ id } = { id: '' }] = await bookingsOf(t, account.id)
    reply = () => ({ body: calendar(`UID:${id}\nDTSTART:20261123T080000Z\nDTEND:20261123T090000Z`) })
    now += 10 * 60_000
    expect((await slotsOf(bo!))[0]).toBe(ten)
    expect((await slotsOf(ada!))[0]).toBe(halfPastNine)
    booked(await book(ada!, halfPastNine))
  })

  /** Compressed before the request, whose deadline is the product's. */
  const bomb = gzipSync(Buffer.alloc(50_000_000))

  test.each<[string, () => Reply, string]>([
    ['an error', () => ({ status: 404 }), 'answered 404'],
    ['a page instead of a calendar', () => ({ body: '<html>Sign in</html>' }), 'it is no iCalendar file'],
    ['a loop', () => ({ status: 302, headers: { location: '/again' } }), 'redirects more than 5 times'],
    [
      'a redirect to a private address',
      () => ({ status: 302, headers: { location: 'http://10.0.0.1/secret-token' } }),
      'address 10.0.0.1 is not public',
    ],
    [
      'a redirect to a file',
      () => ({ status: 302, headers: { location: 'file:///etc/passwd' } }),
      'neither http nor https',
    ],
    ['a long answer', () => ({ body: Buffer.alloc(2_100_000, 'a') }), 'more than 2 MB'],
    [
      'a compressed answer that becomes long',
      () => ({ headers: { 'content-encoding': 'gzip' }, body: bomb }),
      'more than 2 MB',
    ],
  ])('%s makes the host not busy, with a warning of svc doctor', async (_, answers, sentence) => {
    const [ada] = await open({ busyUrl: url() }, 'ada')
    reply = answers
    expect((await slotsOf(ada!))[0]).toBe(nine)
    const [warning, ...others] = await warnings()
    expect(others).toEqual([])
    expect(warning).toMatchObject({ status: 'warn', name: 'busy times' })
    expect(warning!.message).toContain(sentence)
    expect(warning!.message).toMatch(/was not read: .*; its busyUrl is ignored$/)
    expect(warning!.message).not.toContain('secret-token')
    const asked = requests.length
    booked(await book(ada!, nine))
    expect(requests).toHaveLength(asked)
    reply = () => ({ body: calendar(meeting) })
    now += 60_000
    const [bo] = [await sendProject(t, sink, account, { to: 'bo@people.example' })]
    expect((await slotsOf(bo))[0]).toBe(ten)
    expect(await warnings()).toEqual([])
  })

  test('of a file that can’t be read the last times stand for a day, with a warning; then the host is not busy', async () => {
    const hour = 3600_000
    const [ada] = await open({ busyUrl: url() }, 'ada')
    expect((await slotsOf(ada!))[0]).toBe(ten)
    reply = () => ({ status: 503 })
    now += hour
    expect((await slotsOf(ada!))[0]).not.toBe(nine)
    const kept = await warnings()
    expect(kept).toHaveLength(1)
    expect(kept[0]!.message).toMatch(/was not read: .*; the times that were read last are used$/)
    const asked = requests.length
    now += 60_000
    await slotsOf(ada!)
    expect(requests.length).toBe(asked + 1)
    const [stored] = await t.app.sql<{ busy: object[] }>('select busy from busy_calendars where account_id = $1', [
      account.id,
    ])
    expect(stored!.busy).toHaveLength(1)
    now += 23 * hour
    await slotsOf(ada!)
    const [later] = await t.app.sql<{ busy: object[] }>('select busy from busy_calendars where account_id = $1', [
      account.id,
    ])
    expect(later!.busy).toEqual([])
  })

  test('times in an unknown zone are read in the block’s, with a warning', async () => {
    reply = () => ({ body: calendar('UID:1\nDTSTART;TZID=Mars/Base:20261123T090000\nDURATION:PT1H') })
    const [ada] = await open({ busyUrl: url() }, 'ada')
    await slotsOf(ada!)
    const [warning] = await warnings()
    expect(warning!.message).toMatch(/ was read with an error: its time zone Mars\/Base is unknown: read as [^;]*$/)
  })

  test('a redirect and a compressed answer are followed and read', async () => {
    reply = (path) =>
      path === '/moved'
        ? { headers: { 'content-encoding': 'gzip' }, body: gzipSync(calendar(meeting)) }
        : { status: 301, headers: { location: '/moved' } }
    const [ada] = await open({ busyUrl: url() }, 'ada')
    expect((await slotsOf(ada!))[0]).toBe(ten)
  })

  test('private addresses are refused unless the operator allows them', async () => {
    const [ada] = await open({ busyUrl: 'http://10.1.2.3/secret-token.ics' }, 'ada')
    expect((await slotsOf(ada!))[0]).toBe(nine)
    expect((await warnings())[0]!.message).toContain('address 10.1.2.3 is not public')
  })

  test('a rule that is expensive does not hold up the process, and hides no single event', async () => {
    const bomb = 'UID:2\nDTSTART:19700101T000000Z\nDTEND:19700101T000001Z\nRRULE:FREQ=SECONDLY'
    reply = () => ({ body: calendar(bomb, meeting) })
    const [ada] = await open({ busyUrl: url() }, 'ada')
    let turns = 0
    const timer = setInterval(() => turns++, 20)
    expect((await slotsOf(ada!))[0]).toBe(ten)
    clearInterval(timer)
    expect(turns).toBeGreaterThan(5)
    expect((await warnings())[0]!.message).toContain('only a part of its busy times could be read')
  })

  test.each(['ftp://host.example/a.ics', 'http://user:word@host.example/', 'http://host.example/#a', 'not a url'])(
    '%s is no busyUrl; the refusal does not repeat it',
    async (busyUrl) => {
      const refused = engagedAccount(t, bookingProject({ busyUrl }))
      await expect(refused).rejects.toThrow(/must be an absolute http, https or webcal address/)
      await refused.catch((error) => expect(String(error)).not.toContain(busyUrl))
    },
  )
})

describe('busy times of a file', () => {
  const window = { timezone: 'Europe/Berlin', from: at('2026-11-20T00:00Z'), until: at('2027-11-20T00:00Z') }
  const short = (ms: number) => new Date(ms).toISOString().slice(5, 16)
  const read = (...events: string[]) => {
    let times = readBusy(ical, calendar(...events), window)
    // A slow machine can need longer than reading may take.
    for (let repeats = 0; isSlow() && repeats < 5 && times.isPartial; repeats++)
      times = readBusy(ical, calendar(...events), window)
    return times.busy.map((one: BusySpan) => `${short(one.startAt)} ${short(one.endAt)}`)
  }

  test.each<[string, string[], string[]]>([
    ['in UTC', ['DTSTART:20261123T090000Z\nDTEND:20261123T100000Z'], ['11-23T09:00 11-23T10:00']],
    ['floating, in the block’s time zone', ['DTSTART:20261123T090000\nDURATION:PT1H'], ['11-23T08:00 11-23T09:00']],
    [
      'in a named time zone without its definition',
      ['DTSTART;TZID=America/New_York:20261123T090000\nDTEND;TZID=America/New_York:20261123T100000'],
      ['11-23T14:00 11-23T15:00'],
    ],
    ['of a whole day', ['DTSTART;VALUE=DATE:20261123'], ['11-22T23:00 11-23T23:00']],
    ['of two days', ['DTSTART;VALUE=DATE:20261123\nDTEND;VALUE=DATE:20261125'], ['11-22T23:00 11-24T23:00']],
    ['transparent', ['DTSTART:20261123T090000Z\nDTEND:20261123T100000Z\nTRANSP:TRANSPARENT'], []],
    ['cancelled', ['DTSTART:20261123T090000Z\nDTEND:20261123T100000Z\nSTATUS:CANCELLED'], []],
    ['without a length', ['DTSTART:20261123T090000Z'], []],
    ['before the window', ['DTSTART:20200101T090000Z\nDTEND:20200101T100000Z'], []],
    [
      'repeated, without exceptions in either form',
      [
        'DTSTART;TZID=Europe/Berlin:20100104T090000\nDTEND;TZID=Europe/Berlin:20100104T100000\nRRULE:FREQ=WEEKLY;UNTIL=20261222T000000Z\nEXDATE;TZID=Europe/Berlin:20261130T090000\nEXDATE:20261207T080000Z',
      ],
      ['11-23T08:00 11-23T09:00', '12-14T08:00 12-14T09:00', '12-21T08:00 12-21T09:00'],
    ],
    [
      'repeated, with the last one named in UTC, east of it',
      ['DTSTART;TZID=Europe/Berlin:20261109T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;UNTIL=20261130T090000Z'],
      ['11-23T09:00 11-23T10:00', '11-30T09:00 11-30T10:00'],
    ],
    [
      'repeated, with an end in UTC before the next one, west of it',
      ['DTSTART;TZID=America/New_York:20261109T040000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;UNTIL=20261130T080000Z'],
      ['11-23T09:00 11-23T10:00'],
    ],
    [
      'repeated until a day, which counts',
      ['DTSTART;TZID=Europe/Berlin:20261109T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;UNTIL=20261130'],
      ['11-23T09:00 11-23T10:00', '11-30T09:00 11-30T10:00'],
    ],
    [
      'of whole days, repeated until a day and until a time',
      [
        'DTSTART;VALUE=DATE:20261123\nRRULE:FREQ=DAILY;UNTIL=20261124',
        'DTSTART;VALUE=DATE:20261201\nRRULE:FREQ=DAILY;UNTIL=20261201T230000Z',
      ],
      ['11-22T23:00 11-24T23:00', '11-30T23:00 12-02T23:00'],
    ],
    [
      'with other dates and no rule: the first one counts, too',
      [
        'DTSTART;TZID=Europe/Berlin:20261123T100000\nDURATION:PT1H\nRDATE;TZID=Europe/Berlin:20261124T100000,20261126T120000\nRDATE:20261127T120000Z',
      ],
      [
        ...['11-23T09:00 11-23T10:00', '11-24T09:00 11-24T10:00'],
        ...['11-26T11:00 11-26T12:00', '11-27T12:00 11-27T13:00'],
      ],
    ],
    [
      'repeated, with a period, which has a length of its own, and a date that is none',
      [
        'DTSTART;TZID=Europe/Berlin:20261123T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=2\nRDATE;VALUE=PERIOD:20261125T080000Z/PT2H,20261126T080000Z/20261126T083000Z\nRDATE:nonsense',
      ],
      [
        ...['11-23T09:00 11-23T10:00', '11-25T08:00 11-25T10:00'],
        ...['11-26T08:00 11-26T08:30', '11-30T09:00 11-30T10:00'],
      ],
    ],
    [
      'repeated, without a whole day, and with an exception that only looks like one in its own zone',
      [
        'DTSTART;TZID=Europe/Berlin:20261123T100000\nDURATION:PT1H\nRRULE:FREQ=WEEKLY;COUNT=3\nEXDATE;VALUE=DATE:20261130\nEXDATE:20261207T100000Z',
      ],
      ['11-23T09:00 11-23T10:00', '12-07T09:00 12-07T10:00'],
    ],
    [
      'repeated, one moved and one cancelled',
      [
        'UID:r\nDTSTART:20261123T090000Z\nDTEND:20261123T100000Z\nRRULE:FREQ=DAILY;COUNT=3',
        'UID:r\nRECURRENCE-ID:20261124T090000Z\nDTSTART:20261124T150000Z\nDTEND:20261124T160000Z',
        'UID:r\nRECURRENCE-ID:20261125T090000Z\nDTSTART:20261125T090000Z\nDTEND:20261125T100000Z\nSTATUS:CANCELLED',
      ],
      ['11-23T09:00 11-23T10:00', '11-24T15:00 11-24T16:00'],
    ],
  ])('%s', (_, events, times) => {
    expect(read(...events)).toEqual(times)
  })

  test('in a time zone that only the file defines', () => {
    const zone = `BEGIN:VTIMEZONE\r\nTZID:Ours\r\nBEGIN:STANDARD\r\nDTSTART:16010101T000000\r\nTZOFFSETFROM:+0300\r\nTZOFFSETTO:+0300\r\nEND:STANDARD\r\nEND:VTIMEZONE\r\n`
    const text = calendar('DTSTART;TZID=Ours:20261123T090000\nDTEND;TZID=Ours:20261123T100000')
    const { busy } = readBusy(ical, text.replace('BEGIN:VEVENT', `${zone}BEGIN:VEVENT`), window)
    expect(busy).toEqual([{ startAt: at('2026-11-23T06:00Z'), endAt: at('2026-11-23T07:00Z') }])
  })

  test('after a byte-order mark', () => {
    expect(readBusy(ical, `\ufeff${calendar(meeting)}`, window)).toMatchObject({ isPartial: false, busy: [{}] })
  })

  test('beside a line that is broken: the file counts as read in part', () => {
    const broken = calendar(meeting).replace('BEGIN:VEVENT', 'BEGIN:VEVENT\r\nthis line has no colon and no name')
    const { busy, isPartial } = readBusy(ical, broken, window)
    expect([busy.length, isPartial]).toEqual([1, true])
    expect(() => readBusy(ical, '<html>no calendar</html>', window)).toThrow()
  })

  test.each([
    ['Eastern Standard Time', '14:00'],
    ['W. Europe Standard Time', '08:00'],
    ['Tokyo Standard Time', '00:00'],
  ])('in the Windows zone %s without its definition', (zone, time) => {
    const text = calendar(`DTSTART;TZID=${zone}:20261123T090000\nDURATION:PT1H`)
    const { busy, unknownZone } = readBusy(ical, text, window)
    expect([busy[0]!.startAt, unknownZone]).toEqual([at(`2026-11-23T${time}Z`), null])
  })

  test('in an unknown zone, which is reported', () => {
    const { busy, unknownZone } = readBusy(
      ical,
      calendar('DTSTART;TZID=Nowhere:20261123T090000\nDURATION:PT1H'),
      window,
    )
    expect([busy[0]!.startAt, unknownZone]).toEqual([at('2026-11-23T08:00Z'), 'Nowhere'])
  })

  test('every zone of Windows is one that this machine knows', () => {
    expect(windowsZones.size).toBeGreaterThan(130)
    for (const name of windowsZones.values())
      expect(() => new Intl.DateTimeFormat('en', { timeZone: name }), name).not.toThrow()
  })

  test('of a series that changes from one occurrence on (RANGE=THISANDFUTURE)', () => {
    const series = 'UID:s\nDTSTART:20261123T090000Z\nDTEND:20261123T100000Z\nRRULE:FREQ=DAILY;COUNT=5'
    const change =
      'UID:s\nRECURRENCE-ID;RANGE=THISANDFUTURE:20261125T090000Z\nDTSTART:20261125T130000Z\nDTEND:20261125T133000Z'
    expect(read(series, change)).toEqual([
      ...['11-23T09:00 11-23T10:00', '11-24T09:00 11-24T10:00', '11-25T13:00 11-25T13:30'],
      ...['11-26T13:00 11-26T13:30', '11-27T13:00 11-27T13:30'],
    ])
    expect(read(series, `${change}\nSTATUS:CANCELLED`)).toEqual(['11-23T09:00 11-23T10:00', '11-24T09:00 11-24T10:00'])
  })

  test('an entry that can’t be read hides no other one', () => {
    const { busy, isPartial } = readBusy(ical, calendar('DTSTART:20261123T250000Z\nDURATION:nonsense', meeting), window)
    expect(isPartial || busy.length > 0).toBe(true)
    expect(busy.at(-1)).toMatchObject({ startAt: at('2026-11-23T08:00Z') })
  })
})
