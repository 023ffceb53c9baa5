/*
 * When attendees are reminded. Each booking stores the time of its next reminder. A daemon writes the email and the next time in one
 * transaction, so each reminder is sent once, with any number of daemons and after a downtime.
 */

const hourMs = 3_600_000
const reminders = [
  { kind: '24h', beforeMs: 24 * hourMs },
  { kind: '1h', beforeMs: hourMs },
] as const

export type ReminderKind = (typeof reminders)[number]['kind']

/** Returns when the attendee of a booking is reminded next, after `nowMs`, or null for never. Bookings made later than that get no reminder. */
export const nextReminderAt = (startMs: number, nowMs: number): Date | null => {
  const next = reminders.find(({ beforeMs }) => startMs - beforeMs > nowMs)
  return next ? new Date(startMs - next.beforeMs) : null
}

/** Returns which reminder is due, or null if the booking has begun. If both are overdue, only the later one is sent. */
export const dueReminder = (startMs: number, nowMs: number): ReminderKind | null => {
  if (nowMs >= startMs) return null
  return reminders.findLast(({ beforeMs }) => startMs - beforeMs <= nowMs)?.kind ?? null
}

/** Returns the key of the email of a reminder. A booking that was moved has new reminders. */
export const reminderKey = ({ id, sequence }: { id: string; sequence: number }, kind: ReminderKind): string =>
  `booking-reminder:${id}:${sequence}:${kind}`

/** Returns the keys of reminders that may have been queued by now. */
export const queuedReminders = (booking: { id: string; sequence: number; startAt: number }, nowMs: number): string[] =>
  reminders.filter(({ beforeMs }) => booking.startAt - beforeMs <= nowMs).map(({ kind }) => reminderKey(booking, kind))
