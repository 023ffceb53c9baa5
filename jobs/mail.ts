import { runJob } from '../src/app/daemon/job.ts'
import { runBookingReminders } from '../src/bookings/bookings.remind.ts'
import { runBroadcasts } from '../src/broadcasts/broadcasts.loop.ts'
import { runMailboxes } from '../src/messages/bounces/bounces.ts'
import { runMail } from '../src/messages/outbox/outbox.ts'
import { runReminders } from '../src/webinars/reminders/reminders.ts'

await runJob('mail', {
  messages: runMail,
  broadcasts: runBroadcasts,
  reminders: runReminders,
  'booking reminders': runBookingReminders,
  mailboxes: runMailboxes,
})
