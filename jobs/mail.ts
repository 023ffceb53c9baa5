import { runJob } from '../src/app/daemon/job.ts'
import { runBookingReminders } from '../src/bookings/bookings.remind.ts'
import { runBroadcasts } from '../src/broadcasts/broadcasts.loop.ts'
import { runMailboxes } from '../src/messages/bounces/mailboxes.read.ts'
import { runMail } from '../src/messages/outbox/outbox.run.ts'
import { runReminders } from '../src/webinars/reminders/reminders.due.ts'

await runJob('mail', {
  messages: runMail,
  broadcasts: runBroadcasts,
  reminders: runReminders,
  'booking reminders': runBookingReminders,
  mailboxes: runMailboxes,
})
