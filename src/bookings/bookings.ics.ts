import type ICAL from 'ical.js'
import { type Clock, clockOf } from './bookings.ics.clock.ts'

/*
 * Reads the busy times of an .ics file (RFC 5545). Anyone may have written the file: its cost is bounded here, and again by the thread
 * that runs this (bookings.ics.worker.ts), because a rule that never matches keeps the library busy within one call.
 */

/** A time when the host is busy, in epoch ms. `uid` identifies an entry that one of our bookings has made. */
export interface BusySpan {
  startAt: number
  endAt: number
  uid?: string
}

export interface BusyTimes {
  busy: BusySpan[]
  /** Times may be missing: a bound was reached, or an entry can't be read. */
  isPartial: boolean
  /** An unknown time zone of the file, whose times were read in the block's zone. It is null if there is none. */
  unknownZone: string | null
}

interface Window {
  /** The time zone of floating times and days. */
  timezone: string
  /** epoch ms */
  from: number
  until: number
}

const bounds = { occurrences: 20_000, steps: 400_000, ms: 3_000 } as const

export const isEntryOf = ({ uid }: BusySpan, bookingId: string | undefined): boolean =>
  uid !== undefined && uid === bookingId

type Library = typeof ICAL
type Component = ICAL.Component
type Time = ICAL.Time

const textOf = (event: Component, name: string): string => String(event.getFirstPropertyValue(name) ?? '').toUpperCase()

const isBusy = (event: Component): boolean =>
  textOf(event, 'transp') !== 'TRANSPARENT' && textOf(event, 'status') !== 'CANCELLED'

const tzidOf = (property: ICAL.Property | null): string | undefined => {
  const tzid = property?.getParameter('tzid')
  return typeof tzid === 'string' ? tzid : undefined
}

/** The beginning of an event, and how its end follows from the beginning of an occurrence. */
interface Shape {
  start: Time
  tzid: string | undefined
  endOf(start: Time): number
}

const shapeOf = (event: Component, toMs: Clock): Shape | null => {
  const property = event.getFirstProperty('dtstart')
  const start = property?.getFirstValue() as Time | undefined
  if (!property || !start) return null
  const tzid = tzidOf(property)
  const endProperty = event.getFirstProperty('dtend')
  const end = endProperty?.getFirstValue() as Time | undefined
  const duration = event.getFirstPropertyValue('duration') as ICAL.Duration | null
  if (start.isDate) {
    const days = end ? end.subtractDate(start).toSeconds() / 86_400 : duration ? duration.toSeconds() / 86_400 : 1
    const endOf = (from: Time) => {
      const to = from.clone()
      to.adjust(Math.max(1, Math.round(days)), 0, 0, 0)
      return toMs(to, tzid)
    }
    return { start, tzid, endOf }
  }
  const ms = end ? toMs(end, tzidOf(endProperty) ?? tzid) - toMs(start, tzid) : (duration?.toSeconds() ?? 0) * 1000
  return { start, tzid, endOf: (from) => toMs(from, tzid) + ms }
}

const ours = /^bkg_[0-9a-z]+$/

/** Collects busy times within the window, until a bound is reached. */
const collector = ({ from, until }: Window) => {
  const found: BusySpan[] = []
  const endsAt = performance.now() + bounds.ms
  let steps = 0
  let isCut = false
  return {
    found,
    isCut: () => isCut,
    /** Returns whether there is more to do: counts one step. */
    goesOn(): boolean {
      steps++
      isCut ||= steps > bounds.steps || (steps % 64 === 0 && performance.now() > endsAt)
      return !isCut
    },
    add(startAt: number, endAt: number, uid: string) {
      if (!(endAt > startAt) || endAt <= from || startAt >= until) return
      if (found.length >= bounds.occurrences) isCut = true
      else found.push({ startAt, endAt, ...(ours.test(uid) && { uid }) })
    },
  }
}

type Collector = ReturnType<typeof collector>

/** Returns whether all occurrences are over by `from`, without computing them. */
const isOver = (event: Component, { from }: Window, toMs: Clock, lengthMs: number): boolean => {
  if (event.getFirstProperty('rdate')) return false
  const rules = event.getAllProperties('rrule').map((rule) => rule.getFirstValue() as ICAL.Recur)
  return rules.every(({ until }) => until && toMs(until as Time, undefined) + lengthMs + 2 * 86_400_000 < from)
}

/** Changes of occurrences of an event: those of one, by its time, and those of one and all later ones (RANGE=THISANDFUTURE), in order. */
interface Changes {
  one: Map<number, Component>
  onwards: { from: number; event: Component }[]
}

const noChanges: Changes = { one: new Map(), onwards: [] }

/** The day of a time as it is written, whatever its zone. */
const dayOf = ({ year, month, day }: Time): number => (year * 100 + month) * 100 + day

interface Reading {
  ical: Library
  window: Window
  toMs: Clock
  times: Collector
  /** Notes that an entry, or a part of it, can't be read. */
  onDamage(): void
}

interface Occurrence {
  time: Time
  startAt: number
  endAt: number
}

/** Yields the occurrences of a rule that begin before the end of the window, in order. */
function* occurrencesOfRule(rule: ICAL.Recur, { start, tzid, endOf }: Shape, { window, toMs }: Reading) {
  const until = rule.until as Time | null
  const untilMs = until && !until.isDate ? toMs(until, tzid) : Number.NEGATIVE_INFINITY
  // Days are compared as they are written: UNTIL of a whole day may be its beginning in any zone.
  const isPast = (time: Time, startAt: number): boolean =>
    until !== null && startAt > untilMs && (dayOf(time) > dayOf(until) || !(start.isDate || until.isDate))
  // The library compares times as they are written, but UNTIL is mostly in another zone than the start. So it gets a later UNTIL, at
  // which it still stops if a rule never matches.
  const extended = rule.clone()
  if (extended.until) (extended.until as Time).adjust(2, 0, 0, 0)
  const times = extended.iterator(start)
  for (let time = times.next(); time; time = times.next()) {
    const startAt = toMs(time, tzid)
    if (isPast(time, startAt) || startAt >= window.until) return
    yield { time, startAt, endAt: endOf(time) }
  }
}

/**
 * Yields the occurrences of an event that repeats, some of them twice. The first one counts even if no rule matches it. An added one
 * (RDATE) may have a length of its own.
 */
function* occurrencesOf(event: Component, shape: Shape, reading: Reading): Generator<Occurrence> {
  const { ical, toMs, onDamage } = reading
  const { start, tzid, endOf } = shape
  yield { time: start, startAt: toMs(start, tzid), endAt: endOf(start) }
  for (const property of event.getAllProperties('rdate')) {
    const own = tzidOf(property) ?? tzid
    try {
      for (const value of property.getValues()) {
        const period = value instanceof ical.Period ? value : null
        const time = period?.start ?? (value as Time)
        const startAt = toMs(time, own)
        if (period) yield { time, startAt, endAt: toMs(period.getEnd(), own) }
        else yield { time, startAt, endAt: time.isDate ? endOf(time) : startAt + endOf(start) - toMs(start, tzid) }
      }
    } catch {
      onDamage()
    }
  }
  for (const rule of event.getAllProperties('rrule'))
    yield* occurrencesOfRule(rule.getFirstValue() as ICAL.Recur, shape, reading)
}

const expand = (event: Component, { one: changed, onwards }: Changes, reading: Reading): void => {
  const { window, toMs, times, onDamage } = reading
  const shape = shapeOf(event, toMs)
  if (!shape) return
  const { start, tzid, endOf } = shape
  const uid = String(event.getFirstPropertyValue('uid') ?? '')
  const startAt = toMs(start, tzid)
  if (!event.getFirstProperty('rrule') && !event.getFirstProperty('rdate')) {
    if (isBusy(event)) times.add(startAt, endOf(start), uid)
    return
  }
  if (!isBusy(event) || isOver(event, window, toMs, endOf(start) - startAt)) return
  const excluded = new Set<number>()
  const excludedDays = new Set<number>()
  for (const property of event.getAllProperties('exdate')) {
    try {
      for (const value of property.getValues() as Time[]) {
        if (value.isDate && !start.isDate) excludedDays.add(dayOf(value))
        else excluded.add(toMs(value, tzidOf(property) ?? tzid))
      }
    } catch {
      onDamage()
    }
  }
  /** By how many ms an occurrence from `from` on is moved, and how long it is. `moved` is null if the occurrence is not a busy time. */
  const later = onwards.map(({ from, event: change }) => {
    const own = isBusy(change) ? shapeOf(change, toMs) : null
    const at = own && toMs(own.start, own.tzid)
    return { from, moved: own && at !== null ? { by: at - from, ms: own.endOf(own.start) - at } : null }
  })
  for (const { time, startAt: at, endAt } of occurrencesOf(event, shape, reading)) {
    if (!times.goesOn()) return
    if (excluded.has(at) || changed.has(at) || excludedDays.has(dayOf(time))) continue
    const range = later.findLast(({ from }) => at >= from)
    if (!range) times.add(at, endAt, uid)
    else if (range.moved) times.add(at + range.moved.by, at + range.moved.by + range.moved.ms, uid)
  }
}

/** Adds the periods of published free/busy times. */
const addFreeBusy = (component: Component, toMs: Clock, times: Collector): void => {
  for (const property of component.getAllProperties('freebusy')) {
    if (String(property.getParameter('fbtype') ?? 'BUSY').toUpperCase() === 'FREE') continue
    for (const value of property.getValues()) {
      const period = value as ICAL.Period
      if (times.goesOn()) times.add(toMs(period.start, undefined), toMs(period.getEnd(), undefined), '')
    }
  }
}

/** Merges overlapping spans; entries of bookings stay single. */
const merged = (spans: readonly BusySpan[]): BusySpan[] => {
  const result: BusySpan[] = spans.filter(({ uid }) => uid !== undefined)
  let last: BusySpan | undefined
  for (const { startAt, endAt, uid } of spans.toSorted((a, b) => a.startAt - b.startAt)) {
    if (uid !== undefined) continue
    if (last && startAt <= last.endAt) last.endAt = Math.max(last.endAt, endAt)
    else {
      last = { startAt, endAt }
      result.push(last)
    }
  }
  return result.sort((a, b) => a.startAt - b.startAt)
}

/** Parses a file after removing lines that are not properties. Throws if the rest is not a calendar. */
const parseSound = (ical: Library, text: string): unknown[] => {
  const lines = text.replace(/\r?\n[ \t]/g, '').split(/\r?\n/)
  const isSound = (line: string): boolean => {
    if (/^(BEGIN|END):/i.test(line)) return true
    try {
      ical.parse.property(line)
      return true
    } catch {
      return false
    }
  }
  return ical.parse(lines.filter(isSound).join('\r\n')) as unknown[]
}

const parseFile = (ical: Library, text: string): { parsed: unknown[]; isDamaged: boolean } => {
  try {
    return { parsed: ical.parse(text) as unknown[], isDamaged: false }
  } catch {
    return { parsed: parseSound(ical, text), isDamaged: true }
  }
}

/** Returns the busy times of an .ics file within a window, in order. Throws if it is no such file. */
export const readBusy = (ical: Library, given: string, window: Window): BusyTimes => {
  const { parsed, isDamaged: hasBrokenLines } = parseFile(ical, given.replace(/^\ufeff/, ''))
  const calendars = (Array.isArray(parsed[0]) ? parsed : [parsed]) as unknown[][]
  const times = collector(window)
  let isDamaged = hasBrokenLines
  const onDamage = () => {
    isDamaged = true
  }
  let unknownZone: string | null = null
  for (const jcal of calendars) {
    const calendar = new ical.Component(jcal)
    const toMs = clockOf(ical, calendar, window.timezone, (zone) => {
      unknownZone ??= zone
    })
    const events = calendar.getAllSubcomponents('vevent')
    const changes = new Map<string, Changes>()
    for (const event of events) {
      const property = event.getFirstProperty('recurrence-id')
      if (!property) continue
      try {
        const at = toMs(property.getFirstValue() as Time, tzidOf(property))
        const uid = String(event.getFirstPropertyValue('uid'))
        const { one, onwards } = changes.getOrInsertComputed(uid, () => ({ one: new Map(), onwards: [] }))
        one.set(at, event)
        if (/^thisandfuture$/i.test(String(property.getParameter('range')))) onwards.push({ from: at, event })
      } catch {
        onDamage()
      }
    }
    for (const { onwards } of changes.values()) onwards.sort((a, b) => a.from - b.from)
    const isRecurring = (event: Component) => event.hasProperty('rrule') || event.hasProperty('rdate')
    // Single events first: a rule that uses up the bounds hides none of them.
    const ordered = [...events.filter((event) => !isRecurring(event)), ...events.filter(isRecurring)]
    for (const component of calendar.getAllSubcomponents('vfreebusy')) addFreeBusy(component, toMs, times)
    for (const event of ordered) {
      if (!times.goesOn()) break
      const changed = isRecurring(event) ? changes.get(String(event.getFirstPropertyValue('uid'))) : undefined
      try {
        expand(event, changed ?? noChanges, { ical, window, toMs, times, onDamage })
      } catch {
        onDamage()
      }
    }
  }
  return { busy: merged(times.found), isPartial: isDamaged || times.isCut(), unknownZone }
}
