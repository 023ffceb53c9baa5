import type ICAL from 'ical.js'
import { windowsZones } from './bookings.zones.ts'

const isZone = (name: string): boolean => {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

/**
 * Returns a function that converts the times of a calendar file to epoch ms. `timezone` is that of floating times and days. Calls
 * `onUnknown` for each zone that neither Temporal nor the file nor Windows knows; its times are read in `timezone`.
 */
export const clockOf = (
  ical: typeof ICAL,
  calendar: ICAL.Component,
  timezone: string,
  onUnknown: (zone: string) => void,
) => {
  const inZone = (time: ICAL.Time, zone: string): number => {
    const { year, month, day, hour, minute, second } = time
    const local = Temporal.PlainDateTime.from({ year, month, day, hour, minute, second: Math.min(second, 59) })
    return local.toZonedDateTime(zone).epochMilliseconds
  }
  const byRules = new Map<string, ICAL.Timezone>()
  for (const component of calendar.getAllSubcomponents('vtimezone')) {
    const tzid = component.getFirstPropertyValue('tzid')
    if (typeof tzid === 'string') byRules.set(tzid, new ical.Timezone(component))
  }
  /** Returns a name that Temporal knows, or null if the file defines the zone, or it is unknown. */
  const known = new Map<string, string | null>()
  const nameOf = (tzid: string): string | null =>
    known.getOrInsertComputed(tzid, () => {
      // Some programs write a prefix: /freeassociation.sourceforge.net/Europe/Berlin
      const names = [tzid, tzid.split('/').slice(-2).join('/'), tzid.split('/').slice(-3).join('/')]
      return names.find(isZone) ?? null
    })
  const windowsNameOf = (tzid: string): string | null => windowsZones.get(tzid.trim().toLowerCase()) ?? null
  /** Zones that neither Temporal nor the file knows: by their Windows name, else that of the block. */
  const foreign = new Map<string, string>()
  const foreignZoneOf = (tzid: string): string =>
    foreign.getOrInsertComputed(tzid, () => {
      const name = windowsNameOf(tzid)
      if (name === null) onUnknown(tzid)
      return name ?? timezone
    })
  /** `tzid` is the parameter of the property, if it has one. */
  return (time: ICAL.Time, tzid: string | undefined): number => {
    if (time.isDate) return inZone(time, timezone)
    if (time.zone === ical.Timezone.utcTimezone) return time.toUnixTime() * 1000
    if (tzid === undefined) return inZone(time, timezone)
    const name = nameOf(tzid)
    if (name !== null) return inZone(time, name)
    const rules = byRules.get(tzid)
    if (!rules) return inZone(time, foreignZoneOf(tzid))
    const { year, month, day, hour, minute, second } = time
    return Date.UTC(year, month - 1, day, hour, minute, second) - rules.utcOffset(time) * 1000
  }
}

export type Clock = ReturnType<typeof clockOf>
