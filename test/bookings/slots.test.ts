import { describe, expect, test } from 'vitest'
import { type Calendar, freeStarts, isOffered } from '../../src/bookings/bookings.slots.ts'

const none: readonly { startAt: number; endAt: number }[] = []
const at = (text: string) => Date.parse(text)
const everyDay = (from: string, to: string) => [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from, to }))
const calendar = (more: Partial<Calendar> = {}): Calendar => ({
  durationMinutes: 30,
  timezone: 'UTC',
  availability: everyDay('09:00', '10:00'),
  days: 1,
  ...more,
})
const iso = (starts: readonly number[]) => starts.map((start) => new Date(start).toISOString().slice(0, 16))
const offered = (now: string, more: Partial<Calendar> = {}, limit = 1000) =>
  iso(freeStarts(calendar(more), at(now), none, limit))
describe('start times of a booking block', () => {
  test('are steps of durationMinutes from the start of each window; the last one ends by its end', () => {
    expect(offered('2026-11-22T00:00Z', { availability: everyDay('09:10', '10:30'), durationMinutes: 25 })).toEqual([
      '2026-11-22T09:10',
      '2026-11-22T09:35',
      '2026-11-22T10:00',
    ])
    expect(offered('2026-11-22T00:00Z', { durationMinutes: 60 })).toEqual(['2026-11-22T09:00'])
    expect(offered('2026-11-22T00:00Z', { durationMinutes: 61 })).toEqual([])
  })

  test('day 1 is Monday', () => {
    const availability = [{ day: 1, from: '09:00', to: '09:30' }]
    expect(offered('2026-11-22T00:00Z', { availability, days: 14 })).toEqual(['2026-11-23T09:00', '2026-11-30T09:00'])
  })

  test('overlapping windows offer each start once, in order', () => {
    const availability = [
      { day: 7, from: '10:00', to: '11:00' },
      { day: 7, from: '09:30', to: '11:00' },
      { day: 7, from: '09:45', to: '10:15' },
    ]
    const starts = ['09:30', '09:45', '10:00', '10:30'].map((time) => `2026-11-22T${time}`)
    expect(offered('2026-11-22T00:00Z', { availability })).toEqual(starts)
  })

  test('are offered from now on for `days` times 24 hours', () => {
    expect(offered('2026-11-22T09:00Z')).toEqual(['2026-11-22T09:00', '2026-11-22T09:30'])
    expect(offered('2026-11-22T09:00:00.001Z')).toEqual(['2026-11-22T09:30', '2026-11-23T09:00'])
    // Clocks in Berlin go forward on the night to 29 March: 24 h later the wall clock shows an hour more.
    const berlin = { timezone: 'Europe/Berlin', availability: everyDay('09:00', '11:00'), durationMinutes: 60 }
    expect(offered('2026-03-28T08:00Z', berlin)).toEqual(['2026-03-28T08:00', '2026-03-28T09:00', '2026-03-29T07:00'])
  })

  test('taken times are left out, and at most 200 are shown', () => {
    const wide = calendar({ availability: everyDay('00:00', '23:59'), durationMinutes: 5, days: 3 })
    const now = at('2026-11-22T00:00Z')
    const [first, second] = freeStarts(wide, now, none)
    expect(freeStarts(wide, now, none)).toHaveLength(200)
    expect(freeStarts(wide, now, [{ startAt: first!, endAt: second! }])[0]).toBe(second)
    const all = freeStarts(wide, now, none, 10_000)
    expect(all).toHaveLength(3 * 287)
    expect(all.every((start) => isOffered(wide, now, start))).toBe(true)
  })

  test('a local time that does not exist is left out', () => {
    const night = { timezone: 'Europe/Berlin', availability: everyDay('01:00', '04:00') }
    expect(offered('2026-03-29T00:00Z', { ...night, days: 1 }).slice(0, 4)).toEqual([
      '2026-03-29T00:00', // 01:00
      '2026-03-29T00:30',
      '2026-03-29T01:00', // 03:00
      '2026-03-29T01:30',
    ])
  })

  test('a local time that occurs twice is offered once, the earlier one', () => {
    const night = { timezone: 'Europe/Berlin', availability: everyDay('01:30', '03:30'), durationMinutes: 30 }
    expect(offered('2026-10-24T22:00Z', night)).toEqual([
      '2026-10-24T23:30', // 01:30
      '2026-10-25T00:00', // 02:00, summer time
      '2026-10-25T00:30',
      '2026-10-25T02:00', // 03:00
    ])
    const lordHowe = { timezone: 'Australia/Lord_Howe', availability: everyDay('01:00', '02:30') }
    // Clocks go back half an hour at 02:00: 01:30 to 02:00 occurs twice.
    expect(offered('2026-04-04T13:00Z', lordHowe)).toEqual(['2026-04-04T14:00', '2026-04-04T14:30', '2026-04-04T15:30'])
  })

  test('a day whose midnight is skipped begins later', () => {
    const beirut = { timezone: 'Asia/Beirut', availability: everyDay('00:00', '02:00') }
    expect(offered('2026-03-28T21:00Z', beirut)).toEqual(['2026-03-28T22:00', '2026-03-28T22:30'])
  })
})

/** Brute force in steps of five minutes, with wall-clock times by Intl; of a repeated time the first counts. */
const wallClock = (timeZone: string, from: number, until: number) => {
  const format = new Intl.DateTimeFormat('sv', { timeZone, dateStyle: 'short', timeStyle: 'short' })
  const seen = new Set<string>()
  const clock: { time: number; minute: number; isFirst: boolean }[] = []
  for (let time = from - 4 * 3_600_000; time < until; time += 300_000) {
    const local = format.format(time)
    if (time >= from) clock.push({ time, minute: minuteOf(local.slice(11)), isFirst: !seen.has(local) })
    seen.add(local)
  }
  return clock
}
const minuteOf = (clock: string) => Number(clock.slice(0, 2)) * 60 + Number(clock.slice(3))

test.each([
  ['Europe/Berlin', '2026-03-28'],
  ['Europe/Berlin', '2026-10-24'],
  ['America/New_York', '2026-03-07'],
  ['America/New_York', '2026-10-31'],
  ['Australia/Lord_Howe', '2026-04-03'],
  ['Australia/Lord_Howe', '2026-10-02'],
  ['Asia/Kathmandu', '2026-06-01'],
  ['America/Havana', '2026-10-31'],
])('in %s from %s on every start is a step of a window by the wall clock, and no step is missing', (timezone, day) => {
  const now = at(`${day}T00:00Z`)
  const clock = wallClock(timezone, now, now + 3 * 86_400_000)
  for (const [from, to, durationMinutes] of [
    ['00:00', '23:59', 30],
    ['00:00', '04:00', 15],
    ['01:10', '03:50', 20],
    ['02:00', '02:45', 45],
  ] as const) {
    const zone = calendar({ timezone, availability: everyDay(from, to), durationMinutes, days: 3 })
    const isStart = ({ minute, isFirst }: (typeof clock)[number]) => {
      const step = minute - minuteOf(from)
      const isStep = step >= 0 && step % durationMinutes === 0 && minute + durationMinutes <= minuteOf(to)
      return isFirst && isStep
    }
    expect(freeStarts(zone, now, none, 10_000)).toEqual(clock.filter(isStart).map(({ time }) => time))
    const wrong = clock.filter((one) => isOffered(zone, now, one.time) !== isStart(one))
    expect(wrong).toEqual([])
  }
})

test('other times are not offered: off by a second, in the past, after the last day, not a time', () => {
  const now = at('2026-11-22T00:00Z')
  const start = at('2026-11-22T09:00Z')
  expect(isOffered(calendar(), now, start)).toBe(true)
  for (const other of [start + 1, start + 1000, start + 60_000, start - 86_400_000, start + 86_400_000, 0, -1, 9e15])
    expect([other, isOffered(calendar(), now, other)]).toEqual([other, false])
})
