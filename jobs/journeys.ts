// Advances journey runs when their steps are due. Runs as long as the daemon.
import { runJob } from '../src/app/daemon/job.ts'
import { journeyMails } from '../src/app/journeys.mail.ts'
import { runJourneys } from '../src/journeys/engine/engine.ts'

await runJob('journeys', { connections: 4 }, (app, signal, report) =>
  runJourneys(app, signal, { report, sendMails: journeyMails(app) }),
)
