import { parentPort, workerData } from 'node:worker_threads'
import type { Config } from '../../src/app/config.ts'
import { startDaemon } from '../../src/app/daemon/daemon.ts'

// `svc serve --no-jobs` in a thread.
const daemon = await startDaemon((workerData as { config: Config }).config, { api: true, jobs: false })
parentPort!.postMessage(daemon.url)
parentPort!.once('message', async () => {
  await daemon.stop()
  process.exit()
})
