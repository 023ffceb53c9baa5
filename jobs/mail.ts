// Hands mail over to relays as it comes due. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runMail } from '../src/messages/mail.loop.ts'

await runJob('mail', { connections: 4, queue: true }, runMail)
