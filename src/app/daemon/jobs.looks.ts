import type { Looks } from '../../queue/looks.ts'
import type { Scheduler, ThreadName } from '../schedule.ts'

type OwnLooks = Partial<Record<Scheduler, string>>

const ofDeliveries = async (): Promise<OwnLooks> => {
  const { isRunDue } = await import('../../journeys/engine/runs.rows.ts')
  const { hasChanges } = await import('../../results/fold.rows.ts')
  return { journeys: isRunDue, results: hasChanges }
}

const ofMail = async (): Promise<OwnLooks> => {
  const { isAnyOpen } = await import('../../broadcasts/broadcasts.loop.ts')
  const { isReminderDue } = await import('../../webinars/reminders/reminders.rows.ts')
  const { isBookingReminderDue } = await import('../../bookings/bookings.remind.ts')
  return { broadcasts: isAnyOpen, reminders: isReminderDue, 'booking reminders': isBookingReminderDue }
}

/** Loads what the heartbeats of the worker of a thread look for, for the schedulers of the process. Only that thread loads it. */
export const loadLooks = async (thread: ThreadName): Promise<Looks> => {
  if (thread === 'deliveries') return ofDeliveries()
  return thread === 'mail' ? ofMail() : {}
}
