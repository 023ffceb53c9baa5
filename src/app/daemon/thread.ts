import { parentPort, workerData } from 'node:worker_threads'
import { createBeats } from '../../lib/beats.ts'
import { createCounters } from '../../lib/counters.ts'
import type { Loop } from '../../store/background.ts'
import type { Report } from '../../store/work.ts'
import { type OpenApp, openApp } from '../app.ts'
import type { Config } from '../config.ts'
import { loadListeners } from '../features.ts'
import { schedulers, type ThreadName, threadNames, threads } from '../schedule.ts'
import { loadLooks } from './jobs.looks.ts'

/** The data of a thread. The process has already opened its database. */
export interface ThreadData {
  config: Config
  /** Shared counters of the process (lib/counters.ts). */
  counters: SharedArrayBuffer
  /** Heartbeats of the threads (lib/beats.ts). */
  beats: SharedArrayBuffer
  /** What heartbeats found for the schedulers (queue/looks.ts). */
  looks: SharedArrayBuffer
}

type Run = (app: OpenApp, signal: AbortSignal, report: Report) => Promise<unknown>

/** Loads the jobs of a thread. Each job reports and retries its own failures: one that rejects ends the thread. */
const loadRun = async (name: ThreadName): Promise<Run> => {
  const thread = threads.find((one) => one.name === name)!
  if (thread.interval !== null) return (await import('./housekeeping.ts')).runHousekeeping
  const jobs: readonly Loop[] = await thread.jobs()
  const looks = await loadLooks(name)
  return (...of) => Promise.all(jobs.map(({ run }) => run(...of, looks)))
}

/**
 * Runs a thread of jobs/: opens the app on the process's database, runs the jobs of the thread until they end or are asked to stop,
 * and closes the app.
 */
export const runThread = async (name: ThreadName): Promise<void> => {
  const { connections, queue } = threads.find((thread) => thread.name === name)!
  const run = await loadRun(name)
  const { config, counters, beats, looks } = workerData as ThreadData
  const { beat } = createBeats(threadNames, beats)
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
    looks: createBeats(schedulers, looks),
    beat: () => beat(name),
    beforeWork: loadListeners,
  })
  await run(app, stop.signal, report).finally(() => app.close())
  // Exits without a message to the parent: at a message Bree would terminate the thread and report a failure.
  process.exit()
}
