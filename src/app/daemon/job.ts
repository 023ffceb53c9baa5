import { parentPort, workerData } from 'node:worker_threads'
import { createBeats } from '../../lib/beats.ts'
import { createCounters } from '../../lib/counters.ts'
import type { Report } from '../../store/work.ts'
import { type OpenApp, openApp } from '../app.ts'
import { type JobData, jobNames } from './jobs.states.ts'

/**
 * Runs a job in its thread: opens the app on the process's database, runs the job until it ends or is asked to stop, and
 * closes the app. `connections` is the size of the thread's pool; `queue` gives its connections the planner settings of queues.
 */
export const runJob = async (
  name: string,
  { connections, queue = false }: { connections: number; queue?: boolean },
  run: (app: OpenApp, signal: AbortSignal, report: Report) => Promise<void>,
): Promise<void> => {
  const { config, counters, beats } = workerData as JobData
  const { beat } = createBeats(jobNames, beats)
  const stop = new AbortController()
  parentPort?.once('message', () => stop.abort())
  const report: Report = (error, about) => {
    // Loaded at the first error, which keeps the thread small.
    import('./log.ts').then(({ createLogger }) =>
      createLogger(config).error({ err: error, job: name, ...about }, 'unexpected error; will retry'),
    )
  }
  const app = await openApp(config, {
    isThread: true,
    schema: 'ignore',
    connections,
    queue,
    name: `svc ${name}`,
    report,
    counters: createCounters(counters),
    beat: () => beat(name),
  })
  await run(app, stop.signal, report).finally(() => app.close())
  // Exits without a message to the parent: at a message Bree would terminate the thread and report a failure.
  process.exit()
}
