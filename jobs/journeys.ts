import { runJob } from '../src/app/daemon/job.ts'
import { journeyMails } from '../src/app/journeys.mail.ts'
import { runJourneys } from '../src/journeys/engine/engine.ts'
import { runResults } from '../src/messages/results/results.ts'

await runJob('journeys', {
  journeys: (app, signal, report) => runJourneys(app, signal, { report, sendMails: journeyMails(app) }),
  results: runResults,
})
