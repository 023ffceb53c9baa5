import { decodeCursor, encodeCursor, type Page } from '../../lib/cursor.ts'
import type { PageRequest } from '../../lib/page-request.ts'
import { invalid } from '../../lib/problem.ts'
import type { RowOf } from '../../store/column-types.ts'
import { type InEpochMs, inEpochMs } from '../../store/epoch-ms.ts'
import { statement } from '../../store/statement.ts'
import { types } from '../../store/tables.ts'
import type { AccountSql } from '../../store/work.ts'
import { webinarRegistrations } from '../webinars.columns.ts'

/*
 * A report counts for the minute after it, and a gap of up to two minutes between reports counts as presence too. `seen` therefore
 * stores two minutes from each report: PostgreSQL merges reports without a longer gap into one range, in any order and however often a
 * report is stored. A range ends two minutes after its last report, so it counts a minute less than its length.
 */

/** Returns the SQL expression of when the person of a registration was first seen. */
export const firstSeen = (registration: string): string => `lower(${registration}.seen)`

/** Returns the SQL expression of when the person of a registration was last seen. */
export const lastSeen = (registration: string): string => `upper(${registration}.seen) - interval '2 minutes'`

/** Returns the SQL expression of how many minutes the person of a registration was present, rounded. */
export const minutesSeen = (registration: string): string =>
  `(select round(sum(extract(epoch from upper(s) - lower(s)) - 60) / 60)::int4 from unnest(${registration}.seen) s)`

const attendeeTypes = {
  ...types(webinarRegistrations, 'email', 'name'),
  minutes: 'int4',
  firstSeenAt: 'timestamptz',
  lastSeenAt: 'timestamptz',
} as const

/** A person who attended a webinar, in the terminal. */
export type AttendeeView = InEpochMs<RowOf<typeof attendeeTypes>>

const readAttendees = statement(
  'list-attendees',
  {
    row: { ...attendeeTypes, number: 'int4' },
    parameters: { accountId: 'text', webinarId: 'text', after: 'int4', limit: 'int8' },
  },
  `select r.number, r.email, r.name, ${minutesSeen('r')} as minutes,
     ${firstSeen('r')} as "firstSeenAt", ${lastSeen('r')} as "lastSeenAt"
   from webinar_registrations r
   where r.account_id = :accountId and r.webinar_id = :webinarId and r.number > :after
     and r.seen is not null and r.email <> ''
   order by r.number limit :limit`,
)

/**
 * Returns a page of the people who have attended the webinar so far, in the order of their registrations. Throws Problem `invalid` for a
 * bad cursor.
 */
export const listAttendees = async (
  { sql, accountId }: AccountSql,
  webinarId: string,
  { limit, cursor }: PageRequest,
): Promise<Page<AttendeeView>> => {
  const [after = '0'] = cursor === undefined ? [] : decodeCursor(cursor, 1)
  if (!/^\d{1,9}$/.test(after)) throw invalid('cursor is not valid')
  const rows = await sql(readAttendees, { accountId, webinarId, after: Number(after), limit: limit + 1 })
  const page = rows.slice(0, limit)
  return {
    rows: page.map(({ number: _, ...attendee }) => inEpochMs(attendee)),
    nextCursor: rows.length > limit ? encodeCursor([String(page.at(-1)!.number)]) : null,
  }
}
