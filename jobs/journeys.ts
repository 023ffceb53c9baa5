// Moves journey runs as their steps come due. Lives as long as the daemon.
import { workerData } from 'node:worker_threads'
import { runJob } from '../src/app/job.ts'
import type { JobData } from '../src/app/jobs.ts'
import { createLogger } from '../src/app/log.ts'
import { runJourneys } from '../src/journeys/run.loop.ts'

const logger = createLogger((workerData as JobData).config.logLevel)
const report = (err: unknown, at: object) =>
  logger.error({ err, job: 'journeys', ...at }, 'a journey met a fault; it is tried again')

await runJob('journeys', 4, (app, signal) => runJourneys(app, signal, { report }))
