// Reminds of webinars a day and an hour before. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runReminders } from '../src/webinars/webinars.loop.ts'

await runJob('webinars', { connections: 2 }, runReminders)
