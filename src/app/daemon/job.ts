import { parentPort, workerData } from 'node:worker_threads'
import { createBeats } from '../../lib/beats.ts'
import { createCounters } from '../../lib/counters.ts'
import type { Report } from '../../store/work.ts'
import { type OpenApp, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { loadListeners } from '../features.ts'
import { type JobName, jobNames, type KindOf, schedule } from '../schedule.ts'

/** The data of a job's thread. The process has already opened its database. */
export interface JobData {
  config: Config
  /** Shared counters of the process (lib/counters.ts). */
  counters: SharedArrayBuffer
  /** Heartbeats of the jobs (lib/beats.ts). */
  beats: SharedArrayBuffer
}

type Run = (app: OpenApp, signal: AbortSignal, report: Report) => Promise<void>

/**
 * Runs a job in its thread: opens the app on the process's database, runs all its kinds of work at once until they end or are
 * asked to stop, and closes the app. Each kind reports and retries its own failures: one that rejects ends the thread.
 */
export const runJob = async <Name extends JobName>(
  name: Name,
  kinds: Record<KindOf<Name>, Run> | Run,
): Promise<void> => {
  const { connections, queue } = schedule.find((job) => job.name === name)!
  const runs = typeof kinds === 'function' ? [kinds] : Object.values<Run>(kinds)
  const { config, counters, beats } = workerData as JobData
  const { beat } = createBeats(jobNames, beats)
  const stop = new AbortController()
  parentPort?.once('message', () => stop.abort())
  const report: Report = (error, about) => {
    // Loaded at the first error, which keeps the thread small.
    void import('./log.ts').then(({ createLogger }) =>
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
    beforeWork: loadListeners,
  })
  await Promise.all(runs.map((run) => run(app, stop.signal, report))).finally(() => app.close())
  // Exits without a message to the parent: at a message Bree would terminate the thread and report a failure.
  process.exit()
}
