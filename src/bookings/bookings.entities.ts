import { defineEntity, p } from '@mikro-orm/postgresql'
import { tenantFilter } from '../store/owned.ts'

/** A time that a recipient chose in a mail. Moved, it stays the same booking; booked anew after its end, it is another. */
const BookingSchema = defineEntity({
  name: 'Booking',
  tableName: 'bookings',
  filters: tenantFilter,
  indexes: [
    {
      name: 'bookings_answer_index',
      expression: `create unique index "bookings_answer_index" on "bookings" ("account_id", "message_id", "block_id") where "status" = 'confirmed'`,
    },
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
    /** As the mail had it, its merge tags filled. */
    title: p.text(),
    startAt: p.datetime(),
    endAt: p.datetime(),
    timezone: p.text(),
    name: p.text(),
    /** Empty once the attendee was erased. */
    email: p.text().collation('C'),
    /** Of its calendar entry: one up with every change that the attendee is told. */
    sequence: p.integer(),
    /** null: it is not cancelled, or its attendee was erased. */
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
 * The starts that are taken, of each calendar: a block of a project, over all its versions. The key lets one attendee have a
 * start. A row of its own, so that who moves inserts before deleting and never waits while others wait for it.
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
    bookingId: p.text().collation('C'),
  },
})
export class BookingSlot extends BookingSlotSchema.class {}
BookingSlotSchema.setClass(BookingSlot)
