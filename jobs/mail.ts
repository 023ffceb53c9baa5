// Hands messages to relays when they are due, queues the messages of broadcasts and webinar reminders, and reads bounce
// mailboxes every minute. Runs as long as the daemon.
import { runJob } from '../src/app/daemon/job.ts'
import { runBroadcasts } from '../src/broadcasts/broadcasts.loop.ts'
import { runMailboxes } from '../src/messages/bounces/mailboxes.read.ts'
import { runMail } from '../src/messages/outbox/outbox.ts'
import { runReminders } from '../src/webinars/reminders/reminders.ts'

await runJob('mail', { connections: 4, queue: true }, async (...args) => {
  await Promise.all([runMail(...args), runMailboxes(...args), runBroadcasts(...args), runReminders(...args)])
})
