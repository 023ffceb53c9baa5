import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/tenant.ts'

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
    /** null: not cancelled, or cancelled because the attendee was erased. */
    cancelledBy: p.enum(['attendee', 'host'] as const).nullable(),
    reason: p.text().nullable(),
    cancelledAt: p.datetime().nullable(),
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
