// Hands mail over to relays as it comes due, and reads the reports on it each minute. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runMail } from '../src/messages/mail.loop.ts'
import { runMailboxes } from '../src/messages/mailboxes.read.ts'

await runJob('mail', { connections: 4, queue: true }, async (app, signal, report) => {
  await Promise.all([runMail(app, signal, report), runMailboxes(app, signal, report)])
})
