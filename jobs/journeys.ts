// Moves journey runs as their steps come due. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { journeyMails } from '../src/app/journeys.mail.ts'
import { runJourneys } from '../src/journeys/run.loop.ts'

await runJob('journeys', { connections: 4 }, (app, signal, report) =>
  runJourneys(app, signal, { report, sendMails: journeyMails(app) }),
)
