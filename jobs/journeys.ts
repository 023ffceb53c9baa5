// Moves journey runs as their steps come due. Lives as long as the daemon.
import { runJob } from '../src/app/job.ts'
import { runJourneys } from '../src/journeys/run.loop.ts'

await runJob('journeys', { connections: 4 }, (app, signal, report) => runJourneys(app, signal, { report }))
