// Posts webhook deliveries as they come due. Lives as long as the daemon.
import { parentPort, workerData } from 'node:worker_threads'
import { openApp } from '../src/app/app.ts'
import type { JobData } from '../src/app/jobs.ts'
import { runDeliveries } from '../src/webhooks/delivery.loop.ts'

const { config, databaseUrl } = workerData as JobData
const stop = new AbortController()
parentPort?.once('message', () => stop.abort())

const app = await openApp(config, {
  databaseUrl,
  orm: false,
  schema: 'ignore',
  connections: 4,
  name: 'svc deliveries',
})
await runDeliveries(app, stop.signal).finally(() => app.close())
// Without a message to its parent, which would take that as leave to terminate the thread and report it as failed.
process.exit()
