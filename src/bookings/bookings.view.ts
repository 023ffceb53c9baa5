import type { EventData } from '../events/shapes.ts'
import { formatOf } from '../lib/dates.ts'
import type { RowOf } from '../store/column-types.ts'
import { epochMs } from '../store/epoch-ms.ts'
import { columns } from '../store/tables.ts'
import { bookings } from './bookings.columns.ts'
import type { Booking as Entity } from './bookings.entities.ts'

/** A booking as the terminal shows it; times in epoch ms. */
export interface BookingView {
  id: string
  status: Entity['status']
  title: string
  startAt: number
  endAt: number
  timezone: string
  attendee: { name: string; email: string }
  cancelledBy: Entity['cancelledBy']
  reason: string | null
  /** The email in which the time was booked; `blockId` is the booking block in it. */
  sendId: string
  projectId: string
  blockId: string
  createdAt: number
  updatedAt: number
  cancelledAt: number | null
}

const plain = columns(bookings, [
  'id',
  'projectId',
  'messageId',
  'blockId',
  'status',
  'title',
  'timezone',
  'name',
  'email',
  'sequence',
  'cancelledBy',
  'reason',
])

export const bookingColumns = `${plain.list}, ${epochMs('start_at')} as "startAt", ${epochMs('end_at')} as "endAt",
  ${epochMs('cancelled_at')} as "cancelledAt", ${epochMs('created_at')} as "createdAt", ${epochMs('updated_at')} as "updatedAt"`

export const bookingTypes = {
  ...plain.types,
  startAt: 'int8',
  endAt: 'int8',
  cancelledAt: 'int8?',
  createdAt: 'int8',
  updatedAt: 'int8',
} as const

/** A row of `bookings`, with times in epoch ms. `messageId` names the email in which the time was booked. */
export type BookingRow = RowOf<typeof bookingTypes>

export const viewBooking = ({ name, email, messageId, ...row }: BookingRow): BookingView => ({
  id: row.id,
  status: row.status,
  title: row.title,
  startAt: row.startAt,
  endAt: row.endAt,
  timezone: row.timezone,
  attendee: { name, email },
  cancelledBy: row.cancelledBy ?? null,
  reason: row.reason ?? null,
  sendId: messageId,
  projectId: row.projectId,
  blockId: row.blockId,
  createdAt: row.createdAt,
  updatedAt: row.updatedAt,
  cancelledAt: row.cancelledAt,
})

/** Returns a booking as its events contain it (docs/reference/events.md). */
export const bookingData = (row: BookingRow): EventData<'booking.created'>['booking'] => ({
  id: row.id,
  title: row.title,
  startAt: row.startAt,
  endAt: row.endAt,
  timezone: row.timezone,
  attendee: { name: row.name, email: row.email },
})

/** `startAt` and `endAt` in epoch ms. */
interface Span {
  startAt: number
  endAt: number
  timezone: string
}

/** Returns a date such as `Monday, 23 November 2026` in a time zone. `at` in epoch ms. */
export const dayOf = (at: number, timezone: string, lang: string | null = null): string =>
  formatOf({ lang, timezone }, { weekday: 'long', day: 'numeric', month: 'long', year: 'numeric' }).format(at)

/** Returns a time such as `09:30` in a time zone. `at` in epoch ms. */
export const clockOf = (at: number, timezone: string, lang: string | null = null): string =>
  formatOf({ lang, timezone }, { hour: '2-digit', minute: '2-digit', hourCycle: 'h23' }).format(at)

/** Returns a date such as `Monday, 23 November 2026`, and times such as `09:00–09:30 (Europe/Berlin)`. */
export const spanLines = ({ startAt, endAt, timezone }: Span, lang?: string | null): [day: string, times: string] => [
  dayOf(startAt, timezone, lang),
  `${clockOf(startAt, timezone, lang)}–${clockOf(endAt, timezone, lang)} (${timezone})`,
]

/** Returns a text such as `Monday, 23 November 2026, 09:00–09:30 (Europe/Berlin)`. */
export const spanText = (span: Span, lang?: string | null): string => spanLines(span, lang).join(', ')
