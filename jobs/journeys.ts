// Moves journey runs as their steps come due. Lives as long as the daemon.
import { parentPort, workerData } from 'node:worker_threads'
import { openApp } from '../src/app/app.ts'
import type { JobData } from '../src/app/jobs.ts'
import { runJourneys } from '../src/journeys/run.loop.ts'

const { config, databaseUrl } = workerData as JobData
const stop = new AbortController()
parentPort?.once('message', () => stop.abort())

const app = await openApp(config, {
  databaseUrl,
  orm: false,
  schema: 'ignore',
  connections: 4,
  name: 'svc journeys',
})
await runJourneys(app, stop.signal).finally(() => app.close())
parentPort?.postMessage('cancelled')
