// Hands mail over to relays as it comes due, queues that of broadcasts and the reminders of webinars, and reads the reports
// on it each minute. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runBroadcasts } from '../src/broadcasts/broadcasts.loop.ts'
import { runMail } from '../src/messages/mail.loop.ts'
import { runMailboxes } from '../src/messages/mailboxes.read.ts'
import { runReminders } from '../src/webinars/webinars.loop.ts'

await runJob('mail', { connections: 4, queue: true }, async (...given) => {
  await Promise.all([runMail(...given), runMailboxes(...given), runBroadcasts(...given), runReminders(...given)])
})
