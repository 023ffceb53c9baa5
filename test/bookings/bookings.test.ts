import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { showScore } from '../../src/engagement/engagement.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { countsOf } from '../support/database.ts'
import {
  type Arrived,
  answer,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import type { Sink } from '../support/smtp.ts'
import {
  at,
  bookingEvents,
  bookingMails,
  bookingProject,
  bookingProps,
  bookingsOf,
  cancelPath,
  entryOf,
  halfPastNine,
  monday,
  nine,
  slotsIn,
  ten,
} from './support.ts'

let engaged: EngagedApp
let t: TestApp
let sink: Sink
let account: EngagedAccount
let mail: Arrived
let now = monday

beforeAll(async () => {
  engaged = await startEngaged({ now: () => new Date(now) })
  ;({ t, sink } = engaged)
})
beforeEach(async () => {
  now = monday
  account = await engagedAccount(t, bookingProject())
  mail = await sendProject(t, sink, account)
})
afterAll(() => engaged.close())

const mailTo = (name: string, more: object = {}) =>
  sendProject(t, sink, account, { to: `${name}@people.example`, mergeData: { name }, ...more })
const book = (startAt: unknown, by = mail, more: object = {}) => answer(t, by, 'call', { startAt, ...more })
const shown = async (by = mail) => (await t.request('GET', `/liveview/${by.token}`)).body
const slotsOf = async (by = mail): Promise<number[]> => slotsIn(await shown(by))
const taken = (reply: unknown) =>
  expect(reply).toMatchObject({ status: 409, body: { error: 'This time is no longer available' } })

describe('GET liveview', () => {
  test('adds free start times as `slots` in epoch ms to the props of the block', async () => {
    const slots = await slotsOf()
    expect(slots.slice(0, 5)).toEqual([nine, halfPastNine, ten, at('2026-11-23T09:30Z'), at('2026-11-24T08:00Z')])
    expect(slots).toHaveLength(5 * 4)
    const bo = await mailTo('bo')
    await ok(book(nine))
    expect(await slotsOf(bo)).toEqual(slots.slice(1))
    now = ten
    expect((await slotsOf(bo))[0]).toBe(ten)
  })

  test('shows at most 200 slots; any offered time can be booked', async () => {
    const days = [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from: '00:00', to: '23:59' }))
    account = await engagedAccount(t, bookingProject({ availability: days, durationMinutes: 5, days: 300 }))
    mail = await sendProject(t, sink, account)
    expect(await slotsOf()).toHaveLength(200)
    expect(await book(at('2027-09-01T08:05Z'))).toMatchObject({ status: 200, body: { duplicate: false } })
    taken(await book(at('2027-09-01T08:06Z')))
  })
})

describe('the first answer', () => {
  test('books the time, fires booking.created and interaction.received once, and sets the state', async () => {
    expect(await book(nine)).toMatchObject({ status: 200, body: { ok: true, duplicate: false } })
    const [created, received, ...more] = await bookingEvents(t, account)
    expect(more).toEqual([])
    expect([created!.type, created!.data]).toEqual([
      'booking.created',
      {
        booking: {
          id: expect.stringMatching(/^bkg_/),
          title: 'A call, Ada',
          startAt: nine,
          endAt: halfPastNine,
          timezone: 'Europe/Berlin',
          attendee: { name: 'Ada', email: 'ada@people.example' },
        },
      },
    ])
    expect([received!.type, received!.data]).toEqual([
      'interaction.received',
      {
        interaction: {
          id: expect.stringMatching(/^int_/),
          kind: 'booking',
          blockId: 'call',
          value: { startAt: nine },
          at: monday,
        },
        project: { id: account.projectId, name: 'Calls' },
        recipient: { email: 'ada@people.example', rowId: null },
        source: { kind: 'send', id: mail.id },
      },
    ])
    expect((await shown()).state).toEqual({ call: { kind: 'booking', value: { startAt: nine }, answeredAt: monday } })
    const score = await t.app.work(account.id, 'cli:test', (work) => showScore(work, 'ada@people.example'))
    expect(score.score).toBe(15)
  })

  test('uses the given name, else the merge field, else the address', async () => {
    await ok(book(nine, mail, { name: '  Ada\r\nLovelace ' }))
    await ok(book(halfPastNine, await mailTo('bo'), { name: '' }))
    await ok(book(ten, await mailTo('cy', { mergeData: { name: ' ' } })))
    expect((await bookingsOf(t, account.id)).map(({ name }) => name)).toEqual([
      'Ada Lovelace',
      'bo',
      'cy@people.example',
    ])
  })

  test.each([
    null,
    'x',
    5,
    [],
    {},
    { startAt: null },
    { startAt: String(nine) },
    { startAt: nine + 0.5 },
    { startAt: 1e300 },
    { startAt: nine, name: 5 },
    { startAt: nine, name: 'x'.repeat(201) },
    { startAt: nine, name: 'a\0b' },
  ])('an invalid value is 400 and writes nothing: %j', async (value) => {
    const { status, body } = await answer(t, mail, 'call', value)
    expect([status, Object.keys(body)]).toEqual([400, ['error']])
    expect([await bookingsOf(t, account.id), await bookingEvents(t, account)]).toEqual([[], []])
  })

  test.each([
    ['between two steps', nine + 60_000],
    ['one millisecond late', nine + 1],
    ['on a day without a window', at('2026-11-28T08:00Z')],
    ['in the past', at('2026-11-20T08:00Z')],
    ['after the last day', at('2026-12-01T08:00Z')],
    ['that ends after the window', at('2026-11-23T10:00Z')],
    ['before the epoch', -1],
  ])('a start time that is not offered is 409 and writes nothing: one %s', async (_, startAt) => {
    taken(await book(startAt))
    expect([await bookingsOf(t, account.id), await bookingEvents(t, account)]).toEqual([[], []])
    expect(await bookingMails(t, account.id)).toEqual([])
  })
})

describe('a start time has one attendee', () => {
  test('booking a taken time is 409: no row, no event, no email', async () => {
    await ok(book(nine))
    const bo = await mailTo('bo')
    taken(await book(nine, bo))
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await bookingEvents(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
    expect((await shown(bo)).state).toEqual({})
  })

  test('exactly one of 20 concurrent callers gets it', async () => {
    const mails = await Promise.all(Array.from({ length: 20 }, (_, i) => tokenOnly(`p${i}`)))
    const replies = await Promise.all(mails.map((by) => book(nine, by)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const reply of replies.filter(({ status }) => status !== 200)) taken(reply)
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await bookingEvents(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })

  test('ten concurrent presses of one button create one booking; the others are duplicates', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => book(nine)))
    expect(replies.map(({ body }) => body.duplicate).sort()).toEqual([false, ...Array(9).fill(true)])
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await bookingEvents(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })

  test('a calendar covers all versions of a block; other blocks and projects have their own', async () => {
    await ok(book(nine))
    const second = { id: 'second', type: 'booking', props: bookingProps }
    const apply = (file: object) => t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [file as never]))
    await apply({ ...bookingProject({ title: 'Anew' }, [second]), id: account.projectId })
    const bo = await mailTo('bo')
    expect(await slotsOf(bo)).not.toContain(nine)
    taken(await book(nine, bo))
    expect(await answer(t, bo, 'second', { startAt: nine })).toMatchObject({ status: 200 })
    const [other] = await apply({ ...bookingProject(), name: 'Others' })
    expect(await book(nine, await mailTo('cy', { projectId: other!.id! }))).toMatchObject({ status: 200 })
  })
})

/** A queued email can be answered: the test does not wait for a relay. */
const tokenOnly = async (name: string): Promise<Arrived> => {
  const [{ id }] = (await t.app.sql<{ id: string }>(
    `insert into messages (account_id, id, source_kind, type, email, subject, project_id, project_version, merge_data, status, created_at)
     select account_id, 'msg_' || $3, source_kind, type, $2, subject, project_id, project_version, merge_data, status, created_at
     from messages where account_id = $1 and project_id is not null limit 1 returning id`,
    [account.id, `${name}@people.example`, name],
  )) as [{ id: string }]
  return { ...mail, id, token: t.app.tokens.sign('liveview', [account.id, id], null) }
}

describe('a different start moves the booking', () => {
  test('fires no event, frees the old time and shows the new one in the state', async () => {
    await ok(book(nine, mail, { name: 'Countess' }))
    const before = await t.events(account.id)
    now = monday + 60_000
    expect(await book(ten)).toMatchObject({ status: 200, body: { ok: true, duplicate: false } })
    expect(await t.events(account.id)).toEqual(before)
    expect((await bookingsOf(t, account.id)).map(({ startAt, name }) => [startAt.getTime(), name])).toEqual([
      [ten, 'Countess'],
    ])
    expect((await shown()).state.call).toEqual({ kind: 'booking', value: { startAt: ten }, answeredAt: now })
    const score = await t.app.work(account.id, 'cli:test', (work) => showScore(work, 'ada@people.example'))
    expect(Math.round(score.score)).toBe(15)
    expect(await book(nine, await mailTo('bo'))).toMatchObject({ status: 200 })
    taken(await book(nine))
  })

  test('sends an email with the new .ics: same UID, SEQUENCE increased by one', async () => {
    await ok(book(nine))
    await ok(book(ten))
    await ok(book(halfPastNine))
    const mails = await bookingMails(t, account.id)
    const entries = mails.map(({ calendar }) => [
      entryOf(calendar, 'METHOD'),
      entryOf(calendar, 'SEQUENCE'),
      entryOf(calendar, 'DTSTART'),
      entryOf(calendar, 'DTEND'),
    ])
    expect(entries).toEqual([
      ['REQUEST', '0', '20261123T080000Z', '20261123T083000Z'],
      ['REQUEST', '1', '20261123T090000Z', '20261123T093000Z'],
      ['REQUEST', '2', '20261123T083000Z', '20261123T090000Z'],
    ])
    const id = (await bookingsOf(t, account.id))[0]!.id
    expect(mails.map(({ calendar }) => entryOf(calendar, 'UID'))).toEqual([id, id, id])
    expect(mails.map(({ subject }) => subject)).toEqual([
      'Booked: A call, Ada, Monday, 23 November 2026, 09:00',
      'New time: A call, Ada, Monday, 23 November 2026, 10:00',
      'New time: A call, Ada, Monday, 23 November 2026, 09:30',
    ])
  })

  const inQueue = (change: string, subject: string) =>
    t.app.sql(
      `update message_queue q set ${change} from messages m
       where m.account_id = q.account_id and m.id = q.id and m.account_id = $1 and m.subject like $2`,
      [account.id, `${subject}:%`],
    )
  const shownMails = async () =>
    (await bookingMails(t, account.id)).map(({ to, subject, status, error }) =>
      [to.split('@')[0], subject.replace(/:.*,/, ''), status, ...(error ? [error] : [])].join(' '),
    )
  const withdrawn = 'failed The booking was moved or cancelled'

  test('unsent emails about an earlier state are withdrawn by a move and by a cancellation; nobody else’s are', async () => {
    await ok(book(at('2026-11-24T08:00Z'), await tokenOnly('dan')))
    await ok(book(nine))
    const [path] = (await bookingMails(t, account.id)).filter(({ to }) => to.startsWith('ada')).map(cancelPath)
    await ok(book(ten))
    const afterMove = [`ada Booked 09:00 ${withdrawn}`, 'ada New time 10:00 pending', 'dan Booked 09:00 pending']
    expect((await shownMails()).sort()).toEqual(afterMove)
    await ok(t.request('POST', path as '/', { body: {} }))
    expect((await shownMails()).sort()).toEqual([
      `ada Booked 09:00 ${withdrawn}`,
      'ada Cancelled 10:00 pending',
      `ada New time 10:00 ${withdrawn}`,
      'dan Booked 09:00 pending',
    ])
  })

  test('an email that the relay may have is not tried again', async () => {
    await ok(book(nine))
    await inQueue('is_handing = true', 'Booked')
    await ok(book(ten))
    expect(await shownMails()).toEqual(['ada Booked 09:00 failed delivery state unknown', 'ada New time 10:00 pending'])
  })

  test('a withdrawn email makes room in the month’s volume for the one about the change', async () => {
    await t.app.sql(`insert into plans select 'two sends', 9, null, 2, null, null, null, true on conflict do nothing`)
    await t.app.sql(`update accounts set plan = 'two sends' where id = $1`, [account.id])
    await ok(book(nine))
    await ok(book(ten))
    expect(await shownMails()).toEqual([`ada Booked 09:00 ${withdrawn}`, 'ada New time 10:00 pending'])
    await inQueue('is_handing = true', 'New time')
    await ok(book(halfPastNine))
    const used = 'Monthly send quota for your plan exceeded'
    expect((await shownMails()).at(-1)).toBe(`ada New time 09:30 failed ${used}`)
  })

  test('the same start again is a duplicate: no event, no email', async () => {
    await ok(book(nine))
    await ok(book(ten))
    const before = await t.events(account.id)
    expect((await book(ten, mail, { name: 'Other' })).body).toEqual({ ok: true, duplicate: true })
    now = at('2027-01-01T00:00Z')
    expect((await book(ten)).body).toEqual({ ok: true, duplicate: true })
    expect(await t.events(account.id)).toEqual(before)
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('a move to a taken or unoffered time is 409 and leaves the booking unchanged', async () => {
    await ok(book(nine))
    await ok(book(ten, await tokenOnly('bo')))
    for (const startAt of [ten, ten + 1]) taken(await book(startAt))
    expect((await shown()).state.call!.value).toEqual({ startAt: nine })
    expect((await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime())).toEqual([nine, ten])
    taken(await book(nine, await tokenOnly('cy')))
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('crossing moves never deadlock, and no time is booked twice or lost', async () => {
    account = await engagedAccount(t, bookingProject({ days: 14 }))
    mail = await sendProject(t, sink, account)
    const all = await slotsOf()
    const deadlocks = async () => (await countsOf(t.app.database)).deadlocks
    const before = await deadlocks()
    const everybody: Arrived[] = []
    // A booking moves at most five times, so each round uses other bookings and start times.
    for (let set = 0; set < 3; set++) {
      const slots = all.slice(8 * set, 8 * set + 8)
      const mails = await Promise.all(Array.from({ length: 7 }, (_, i) => tokenOnly(`m${set}${i}`)))
      everybody.push(...mails)
      for (const [i, by] of mails.entries()) await ok(book(slots[i], by))
      for (let round = 0; round < 2; round++) {
        const replies = await Promise.all(
          mails.flatMap((by, i) => [book(slots[(i + round + 1) % 8], by), book(slots[(i + 2 * round + 3) % 8], by)]),
        )
        for (const reply of replies.filter(({ status }) => status !== 200)) taken(reply)
      }
    }
    expect(await deadlocks()).toBe(before)
    const held = (await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime()).sort((a, b) => a - b)
    const slotRows = await t.app.sql<{ at: Date }>(
      'select start_at as at from booking_slots where account_id = $1 order by 1',
      [account.id],
    )
    expect(new Set(held).size).toBe(21)
    expect(slotRows.map((row) => row.at.getTime())).toEqual(held)
    const states = await Promise.all(
      everybody.map(async (by) => (await shown(by)).state.call!.value as { startAt: number }),
    )
    expect(states.map(({ startAt }) => startAt).sort((a, b) => a - b)).toEqual(held)
  })

  test('the sixth move is 409, even concurrently: at most five emails about moves', async () => {
    await ok(book(nine))
    const wishes = (await slotsOf()).slice(0, 8)
    const replies = await Promise.all(Array.from({ length: 40 }, (_, i) => book(wishes[i % 8])))
    const refusals = replies.filter(({ status }) => status !== 200)
    expect(refusals.length).toBeGreaterThan(0)
    for (const { status, body } of refusals)
      expect([status, body]).toEqual([409, { error: "This booking can't be moved any more" }])
    expect(await bookingMails(t, account.id)).toHaveLength(6)
    const { startAt } = (await bookingsOf(t, account.id))[0]!
    // The same start stays a duplicate.
    expect((await book(startAt.getTime())).body).toEqual({ ok: true, duplicate: true })
    expect((await shown()).state.call!.value).toEqual({ startAt: startAt.getTime() })
  })

  test('booking and cancelling repeatedly is limited to ten bookings per email in 24 hours', async () => {
    const cancel = async () => {
      const mails = await bookingMails(t, account.id)
      const paths = mails.filter(({ calendar }) => entryOf(calendar, 'METHOD') === 'REQUEST').map(cancelPath)
      for (const path of paths) await ok(t.request('POST', path, { body: '', headers: urlencoded }))
    }
    for (let i = 0; i < 10; i++) {
      expect(await book(nine)).toMatchObject({ status: 200, body: { duplicate: false } })
      await cancel()
    }
    const reply = await book(nine)
    expect([reply.status, reply.body]).toEqual([
      409,
      { error: 'Too many bookings were made here today: try again tomorrow' },
    ])
    expect(await bookingMails(t, account.id)).toHaveLength(20)
    now = monday + 25 * 60 * 60_000
    expect(await book(at('2026-11-24T08:00Z'))).toMatchObject({ status: 200 })
  })
})

const urlencoded = { 'content-type': 'application/x-www-form-urlencoded' }

describe('a booking that has ended', () => {
  test('is not moved: a new answer creates another booking with its own event and email', async () => {
    await ok(book(nine))
    now = halfPastNine
    expect(await book(ten)).toMatchObject({ status: 200, body: { duplicate: false } })
    const [first, second] = await bookingsOf(t, account.id)
    expect([first!.startAt.getTime(), second!.startAt.getTime()]).toEqual([nine, ten])
    expect([first!.status, second!.status]).toEqual(['confirmed', 'confirmed'])
    const events = await bookingEvents(t, account)
    expect(events.map(({ type }) => type).sort()).toEqual([
      'booking.created',
      'booking.created',
      'interaction.received',
      'interaction.received',
    ])
    expect((await shown()).state.call!.value).toEqual({ startAt: ten })
    const mails = await bookingMails(t, account.id)
    expect(new Set(mails.map(({ calendar }) => entryOf(calendar, 'UID')))).toEqual(new Set([first!.id, second!.id]))
    expect(mails.map(({ calendar }) => entryOf(calendar, 'SEQUENCE'))).toEqual(['0', '0'])
    // The second one is moved like any other.
    expect(await book(at('2026-11-24T08:00Z'))).toMatchObject({ status: 200 })
    expect((await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime())).toEqual([
      nine,
      at('2026-11-24T08:00Z'),
    ])
  })

  test('can be moved until its end', async () => {
    await ok(book(nine))
    now = halfPastNine - 1
    await ok(book(ten))
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
  })

  test('is replaced by one booking even after ten concurrent presses', async () => {
    await ok(book(nine))
    now = halfPastNine
    const replies = await Promise.all(Array.from({ length: 10 }, () => book(ten)))
    expect(replies.filter(({ body }) => body.duplicate === false)).toHaveLength(1)
    expect(await bookingsOf(t, account.id)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('can not be cancelled: the page says so, without event or email', async () => {
    await ok(book(nine))
    const path = cancelPath((await bookingMails(t, account.id))[0]!)
    const events = await t.events(account.id)
    now = halfPastNine
    const replies = [
      await t.request('GET', path),
      await t.request('POST', path, { body: 'reason=ill', headers: urlencoded }),
    ]
    for (const { status, body } of replies) {
      expect([status, body]).toEqual([200, expect.stringContaining('This booking is over')])
      expect(body).not.toContain('<form')
    }
    const view = (await t.request('GET', mail.view)).body
    expect(view).toContain('Your last booking: Monday, 23 November 2026, 09:00')
    expect(view).toMatch(/<button>Book</)
    expect((await bookingsOf(t, account.id)).map(({ status }) => status)).toEqual(['confirmed'])
    expect(await t.events(account.id)).toEqual(events)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })
})

describe('overlapping times exclude each other', () => {
  const overlaps = async () =>
    t.app.sql(
      `select from booking_slots a join booking_slots b on a.account_id = b.account_id and a.project_id = b.project_id
         and a.block_id = b.block_id and a.booking_id < b.booking_id and a.start_at < b.end_at and b.start_at < a.end_at
       where a.account_id = $1`,
      [account.id],
    )
  /** Half-hour steps from nine, and others a quarter of an hour later. */
  const shifted = {
    availability: [1, 2, 3, 4, 5].flatMap((day) => [
      { day, from: '09:00', to: '11:00' },
      { day, from: '09:15', to: '11:00' },
    ]),
  }
  const quarterPast = nine + 15 * 60_000

  test('with windows 15 minutes apart, the overlapping later start is neither shown nor bookable', async () => {
    account = await engagedAccount(t, bookingProject(shifted))
    mail = await sendProject(t, sink, account)
    await ok(book(nine))
    const bo = await mailTo('bo')
    expect((await slotsOf(bo)).slice(0, 2)).toEqual([halfPastNine, halfPastNine + 15 * 60_000])
    taken(await book(quarterPast, bo))
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await bookingEvents(t, account)).toHaveLength(2)
    // Back to back is no overlap; and a move may overlap the booking's own time.
    expect(await book(halfPastNine + 15 * 60_000, bo)).toMatchObject({ status: 200 })
    expect(await book(quarterPast)).toMatchObject({ status: 200 })
    expect(await overlaps()).toEqual([])
  })

  test('a version with another duration respects the bookings of the former version', async () => {
    await ok(book(halfPastNine))
    const longer = { ...bookingProject({ durationMinutes: 60 }), id: account.projectId }
    await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [longer as never]))
    const bo = await mailTo('bo')
    expect(await slotsOf(bo)).not.toContain(nine)
    taken(await book(nine, bo))
    expect(await book(ten, bo)).toMatchObject({ status: 200 })
    // The email of the former version sees that this hour is taken now.
    const cy = await tokenOnly('older')
    taken(await book(at('2026-11-23T09:30Z'), cy))
    expect(await overlaps()).toEqual([])
  })

  test('compares elapsed time across a clock change', async () => {
    now = at('2026-03-28T12:00Z')
    const availability = [{ day: 7, from: '01:00', to: '08:00' }]
    account = await engagedAccount(t, bookingProject({ availability, durationMinutes: 120, days: 3 }))
    mail = await sendProject(t, sink, account)
    // The booking at 01:00 lasts two hours, until 04:00 by the clock, so it overlaps the start at 03:00.
    const slots = await slotsOf()
    expect(slots.slice(0, 2)).toEqual([at('2026-03-29T00:00Z'), at('2026-03-29T01:00Z')])
    await ok(book(slots[0]))
    taken(await book(slots[1], await mailTo('bo')))
  })

  test('bookings of 40 concurrent callers for overlapping times never overlap', async () => {
    account = await engagedAccount(t, bookingProject(shifted))
    mail = await sendProject(t, sink, account)
    const starts = (await slotsOf()).slice(0, 7)
    const mails = await Promise.all(Array.from({ length: 40 }, (_, i) => tokenOnly(`o${i}`)))
    const replies = await Promise.all(mails.map((by, i) => book(starts[i % 7], by)))
    for (const reply of replies.filter(({ status }) => status !== 200)) taken(reply)
    const held = await bookingsOf(t, account.id)
    expect(held.length).toBe(replies.filter(({ status }) => status === 200).length)
    expect(held.length).toBeGreaterThan(1)
    expect(await overlaps()).toEqual([])
    expect(await bookingMails(t, account.id)).toHaveLength(held.length)
  })
})
