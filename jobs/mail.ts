// Hands mail over to relays as it comes due, and queues that of broadcasts. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runBroadcasts } from '../src/broadcasts/broadcasts.loop.ts'
import { runMail } from '../src/messages/mail.loop.ts'

await runJob('mail', { connections: 4, queue: true }, async (...given) => {
  await Promise.all([runMail(...given), runBroadcasts(...given)])
})
