// Generated from bookings.entities.ts by `npm run columns`: do not edit.
import { typed } from '../store/column-types.ts'
import { table } from '../store/tables.ts'
import type * as entities from './bookings.entities.ts'

export const bookings = table('bookings', {
  accountId: 'text',
  id: 'text',
  projectId: 'text',
  messageId: 'text',
  blockId: 'text',
  status: typed<entities.Booking['status']>('text'),
  isReplaced: 'bool',
  title: 'text',
  startAt: 'timestamptz',
  endAt: 'timestamptz',
  timezone: 'text',
  name: 'text',
  email: 'text',
  sequence: 'int4',
  cancelledBy: typed<entities.Booking['cancelledBy']>('text'),
  reason: 'text?',
  cancelledAt: 'timestamptz?',
  remindAt: 'timestamptz?',
  createdAt: 'timestamptz',
  updatedAt: 'timestamptz',
})

export const bookingSlots = table('booking_slots', {
  accountId: 'text',
  projectId: 'text',
  blockId: 'text',
  startAt: 'timestamptz',
  endAt: 'timestamptz',
  bookingId: 'text',
})

export const busyCalendars = table('busy_calendars', {
  accountId: 'text',
  key: 'text',
  projectId: 'text',
  blockId: 'text',
  readAt: 'timestamptz?',
  fault: 'text?',
  busy: typed<entities.BusyCalendar['busy']>('jsonb'),
  knownAt: 'timestamptz?',
  claimedUntil: 'timestamptz?',
})
