import { runJob } from '../src/app/daemon/job.ts'
import { runJourneys } from '../src/journeys/engine/runs.loop.ts'
import { runResults } from '../src/messages/results/fold.ts'

await runJob('journeys', {
  journeys: (app, signal, report) =>
    runJourneys(app, signal, { report, sendMails: async (...of) => (await app.journeyMails())(...of) }),
  results: runResults,
})
