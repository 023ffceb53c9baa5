import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { showScore } from '../../src/engagement/engagement.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import type { TestApp } from '../support/app.ts'
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
  bookingMails,
  bookingProject,
  bookingProps,
  bookingsOf,
  entryOf,
  halfPastNine,
  monday,
  nine,
  ten,
  toldBookings,
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
const slotsOf = async (by = mail): Promise<number[]> => (await shown(by)).blocks[0].props.slots
const taken = (reply: unknown) =>
  expect(reply).toMatchObject({ status: 409, body: { error: 'This time is no longer available' } })

describe('GET liveview', () => {
  test('adds `slots` in epoch ms to the block’s props, less those taken', async () => {
    const slots = await slotsOf()
    expect(slots.slice(0, 5)).toEqual([nine, halfPastNine, ten, at('2026-11-23T09:30Z'), at('2026-11-24T08:00Z')])
    expect(slots).toHaveLength(5 * 4)
    const bo = await mailTo('bo')
    await book(nine)
    expect(await slotsOf(bo)).toEqual(slots.slice(1))
    now = ten
    expect((await slotsOf(bo))[0]).toBe(ten)
  })

  test('shows at most 200; any that is offered can be booked', async () => {
    const days = [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from: '00:00', to: '23:59' }))
    account = await engagedAccount(t, bookingProject({ availability: days, durationMinutes: 5, days: 300 }))
    mail = await sendProject(t, sink, account)
    expect(await slotsOf()).toHaveLength(200)
    expect(await book(at('2027-09-01T08:05Z'))).toMatchObject({ status: 200, body: { duplicate: false } })
    taken(await book(at('2027-09-01T08:06Z')))
  })
})

describe('the first answer', () => {
  test('books: booking.created and interaction.received fire, each once, and the state says so', async () => {
    expect(await book(nine)).toMatchObject({ status: 200, body: { ok: true, duplicate: false } })
    const [created, received, ...more] = await toldBookings(t, account)
    expect(more).toEqual([])
    expect([created.type, created.data]).toEqual([
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
    expect([received.type, received.data]).toEqual([
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

  test('a name that is given wins, then the merge data’s, then the address', async () => {
    await book(nine, mail, { name: '  Ada\r\nLovelace ' })
    await book(halfPastNine, await mailTo('bo'), { name: '' })
    await book(ten, await mailTo('cy', { mergeData: { name: ' ' } }))
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
  ])('a value that the block can’t have is 400, and writes nothing: %j', async (value) => {
    const { status, body } = await answer(t, mail, 'call', value)
    expect([status, Object.keys(body)]).toEqual([400, ['error']])
    expect([await bookingsOf(t, account.id), await toldBookings(t, account)]).toEqual([[], []])
  })

  test.each([
    ['between two steps', nine + 60_000],
    ['a millisecond beside one', nine + 1],
    ['on a day without a window', at('2026-11-28T08:00Z')],
    ['that has passed', at('2026-11-20T08:00Z')],
    ['beyond the days', at('2026-12-01T08:00Z')],
    ['that ends after the window', at('2026-11-23T10:00Z')],
    ['before all time', -1],
  ])('a start that is not offered is 409, and writes nothing: one %s', async (_, startAt) => {
    taken(await book(startAt))
    expect([await bookingsOf(t, account.id), await toldBookings(t, account)]).toEqual([[], []])
    expect(await bookingMails(t, account.id)).toEqual([])
  })
})

describe('one attendee a start', () => {
  test('another’s start is 409: nothing is written, told or mailed', async () => {
    await book(nine)
    const bo = await mailTo('bo')
    taken(await book(nine, bo))
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await toldBookings(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
    expect((await shown(bo)).state).toEqual({})
  })

  test('of 20 callers at once exactly one has it', async () => {
    const mails = await Promise.all(Array.from({ length: 20 }, (_, i) => tokenOnly(`p${i}`)))
    const replies = await Promise.all(mails.map((by) => book(nine, by)))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(1)
    for (const reply of replies.filter(({ status }) => status !== 200)) taken(reply)
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await toldBookings(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })

  test('ten presses of one button at once are one booking, the others duplicates', async () => {
    const replies = await Promise.all(Array.from({ length: 10 }, () => book(nine)))
    expect(replies.map(({ body }) => body.duplicate).sort()).toEqual([false, ...Array(9).fill(true)])
    expect(await bookingsOf(t, account.id)).toHaveLength(1)
    expect(await toldBookings(t, account)).toHaveLength(2)
    expect(await bookingMails(t, account.id)).toHaveLength(1)
  })

  test('the calendar is the block’s over all versions of the project; another block’s and another project’s is another', async () => {
    await book(nine)
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

/** A mail’s place in the outbox is enough to answer it: no relay is waited for. */
const tokenOnly = async (name: string): Promise<Arrived> => {
  const [{ id }] = (await t.app.sql<{ id: string }>(
    `insert into messages (account_id, id, source_kind, type, email, subject, project_id, project_version, merge_data, status, created_at)
     select account_id, 'msg_' || $3, source_kind, type, $2, subject, project_id, project_version, merge_data, status, created_at
     from messages where account_id = $1 and project_id is not null limit 1 returning id`,
    [account.id, `${name}@people.example`, name],
  )) as [{ id: string }]
  return { ...mail, id, token: t.app.tokens.sign('liveview', [account.id, id], null) }
}

describe('another start moves the booking', () => {
  test('no event at all, the old start is free again, and the state has the new one', async () => {
    await book(nine, mail, { name: 'Countess' })
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

  test('a mail has the new .ics: the same UID, SEQUENCE one up', async () => {
    await book(nine)
    await book(ten)
    await book(halfPastNine)
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

  test('the same start again is a duplicate: no event, no mail', async () => {
    await book(nine)
    await book(ten)
    const before = await t.events(account.id)
    expect((await book(ten, mail, { name: 'Other' })).body).toEqual({ ok: true, duplicate: true })
    now = at('2027-01-01T00:00Z')
    expect((await book(ten)).body).toEqual({ ok: true, duplicate: true })
    expect(await t.events(account.id)).toEqual(before)
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('to one that is taken or not offered: 409, and the booking stands as it was', async () => {
    await book(nine)
    await book(ten, await tokenOnly('bo'))
    for (const startAt of [ten, ten + 1]) taken(await book(startAt))
    expect((await shown()).state.call.value).toEqual({ startAt: nine })
    expect((await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime())).toEqual([nine, ten])
    taken(await book(nine, await tokenOnly('cy')))
    expect(await bookingMails(t, account.id)).toHaveLength(2)
  })

  test('moves that cross wait for nobody in a circle, and no start is ever had by two or lost', async () => {
    const slots = (await slotsOf()).slice(0, 8)
    const mails = await Promise.all(Array.from({ length: 7 }, (_, i) => tokenOnly(`m${i}`)))
    for (const [i, by] of mails.entries()) await book(slots[i], by)
    const deadlocks = async () =>
      (
        await t.app.sql<{ n: number }>('select deadlocks as n from pg_stat_database where datname = current_database()')
      )[0]!.n
    const before = await deadlocks()
    for (let round = 0; round < 6; round++) {
      const replies = await Promise.all(
        mails.flatMap((by, i) => [book(slots[(i + round + 1) % 8], by), book(slots[(i + 2 * round + 3) % 8], by)]),
      )
      expect(replies.filter(({ status }) => status !== 200 && status !== 409)).toEqual([])
    }
    // Statistics of a session are seen once it has been idle for a moment.
    await sleep(1100)
    expect(await deadlocks()).toBe(before)
    const held = (await bookingsOf(t, account.id)).map(({ startAt }) => startAt.getTime()).sort((a, b) => a - b)
    const slotRows = await t.app.sql<{ at: Date }>(
      'select start_at as at from booking_slots where account_id = $1 order by 1',
      [account.id],
    )
    expect(new Set(held).size).toBe(7)
    expect(slotRows.map((row) => row.at.getTime())).toEqual(held)
    const states = await Promise.all(mails.map(async (by) => (await shown(by)).state.call.value.startAt))
    expect(states.sort((a, b) => a - b)).toEqual(held)
  }, 30_000)
})
