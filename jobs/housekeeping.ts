// Every minute: retention, verdicts to look at again, spent windows. One run, then the thread ends.
import { parentPort, workerData } from 'node:worker_threads'
import { openApp } from '../src/app/app.ts'
import { keepHouse } from '../src/app/housekeeping.ts'
import type { JobData } from '../src/app/jobs.ts'

const { config, databaseUrl } = workerData as JobData
const stop = new AbortController()
parentPort?.once('message', () => stop.abort())

const app = await openApp(config, {
  databaseUrl,
  orm: false,
  schema: 'ignore',
  connections: 2,
  name: 'svc housekeeping',
})
await keepHouse(app, stop.signal).finally(() => app.close())
parentPort?.postMessage(stop.signal.aborted ? 'cancelled' : 'done')
