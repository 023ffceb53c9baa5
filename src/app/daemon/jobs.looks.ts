import { isBookingReminderDue } from '../../bookings/bookings.remind.ts'
import { isAnyOpen } from '../../broadcasts/broadcasts.loop.ts'
import { isRunDue } from '../../journeys/engine/runs.rows.ts'
import { hasChanges } from '../../messages/results/fold.rows.ts'
import type { Looks } from '../../queue/looks.ts'
import { isReminderDue } from '../../webinars/reminders/reminders.rows.ts'
import type { ThreadName } from '../schedule.ts'

/** What the heartbeats of the worker of a thread look for, for the schedulers of the process. */
export const looks: Partial<Record<ThreadName, Looks>> = {
  deliveries: { journeys: isRunDue, results: hasChanges },
  mail: { broadcasts: isAnyOpen, reminders: isReminderDue, 'booking reminders': isBookingReminderDue },
}
