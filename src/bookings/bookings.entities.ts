import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'
import type { BusySpan } from './bookings.ics.ts'

/** A time that a recipient booked from an email. A move keeps the booking; a booking after its end is a new row. */
const BookingSchema = defineEntity({
  name: 'Booking',
  tableName: 'bookings',
  filters: tenantFilter,
  indexes: [
    {
      name: 'bookings_answer_index',
      expression: `create unique index "bookings_answer_index" on "bookings" ("account_id", "message_id", "block_id") where "status" = 'confirmed' and not "is_replaced"`,
    },
    { name: 'bookings_block_index', properties: ['accountId', 'messageId', 'blockId', 'createdAt'] },
    { name: 'bookings_start_index', properties: ['accountId', 'startAt', 'id'] },
    { name: 'bookings_email_index', properties: ['accountId', 'email', 'id'] },
    {
      name: 'bookings_due_index',
      expression: `create index "bookings_due_index" on "bookings" ("account_id", "remind_at") where "remind_at" is not null`,
    },
    {
      name: 'bookings_remind_index',
      expression: `create index "bookings_remind_index" on "bookings" ("remind_at") where "remind_at" is not null`,
    },
  ],
  properties: {
    accountId: p.text().collation('C').primary(),
    id: p.text().collation('C').primary(),
    projectId: p.text().collation('C'),
    messageId: p.text().collation('C'),
    blockId: p.text().collation('C'),
    status: p.enum(['confirmed', 'cancelled'] as const),
    /** The booking has ended, and the recipient has booked again since. */
    isReplaced: p.boolean().default(false),
    /** The block's title at the time of booking, with merge tags filled. */
    title: p.text(),
    startAt: p.datetime(),
    endAt: p.datetime(),
    timezone: p.text(),
    name: p.text(),
    /** Empty once the attendee was erased. */
    email: p.text().collation('C'),
    /** SEQUENCE of the calendar entry: increased by each move and by the cancellation. */
    sequence: p.integer(),
    /** It is null if the booking is not cancelled, or was cancelled because the attendee was erased. */
    cancelledBy: p.enum(['attendee', 'host'] as const).nullable(),
    reason: p.text().nullable(),
    cancelledAt: p.datetime().nullable(),
    /** The time of the next reminder. It is null if there is none. */
    remindAt: p.datetime().nullable(),
    createdAt: p.datetime(),
    updatedAt: p.datetime(),
  },
})
export class Booking extends BookingSchema.class {}
BookingSchema.setClass(Booking)

/**
 * The taken times of each calendar. A calendar is a block of a project, across all versions. Slots of a calendar never overlap:
 * they are written under the calendar's lock (bookings.book.ts).
 */
const BookingSlotSchema = defineEntity({
  name: 'BookingSlot',
  tableName: 'booking_slots',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    projectId: p.text().collation('C').primary(),
    blockId: p.text().collation('C').primary(),
    startAt: p.datetime().primary(),
    endAt: p.datetime(),
    bookingId: p.text().collation('C'),
  },
})
export class BookingSlot extends BookingSlotSchema.class {}
BookingSlotSchema.setClass(BookingSlot)

/** What the .ics file behind a block's `busyUrl` said when it was last read. The URL may be secret: only its hash is stored. */
const BusyCalendarSchema = defineEntity({
  name: 'BusyCalendar',
  tableName: 'busy_calendars',
  filters: tenantFilter,
  properties: {
    accountId: p.text().collation('C').primary(),
    /** Hash of the URL and the time zone in which it is read. */
    key: p.text().collation('C').primary(),
    /** The block for which it was read last. */
    projectId: p.text().collation('C'),
    blockId: p.text().collation('C'),
    /** It is null until the file was read. */
    readAt: p.datetime().nullable(),
    /** The error of the last read. It is null if the file was read. */
    fault: p.text().nullable(),
    busy: p.json<BusySpan[]>(),
    /** When `busy` was read: before `readAt` if the file could not be read since. */
    knownAt: p.datetime().nullable(),
    /** A process reads it until then at the latest. */
    claimedUntil: p.datetime().nullable(),
  },
})
export class BusyCalendar extends BusyCalendarSchema.class {}
BusyCalendarSchema.setClass(BusyCalendar)
