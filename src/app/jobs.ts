import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Bree from 'bree'
import type { Logger } from 'pino'
import type { Config } from './config.ts'
import { type JobStates, waitAfter, watchJobs } from './jobs.states.ts'

/** The jobs, each a file in jobs/: a queue lives as long as the process, the rest comes round by its interval. */
export const schedule: readonly { name: string; timeout: number | string; interval?: string }[] = [
  { name: 'deliveries', timeout: 0 },
  { name: 'mail', timeout: 0 },
  { name: 'journeys', timeout: 0 },
  { name: 'housekeeping', timeout: '20s', interval: '1m' },
]

/** What a job's thread is given. Its database is one that this process has already opened. */
export interface JobData {
  config: Config
  /** What the threads of the process count in together. */
  tallies: SharedArrayBuffer
}

export interface Jobs {
  states(): JobStates
  /** Asks every thread to finish what is in flight, and ends those that have not after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}

/**
 * Starts the jobs, each in a thread of its own. A queue's thread that dies is started again, after waits that grow while it
 * goes on dying; what comes round waits for its next turn.
 */
export const startJobs = async (data: JobData, logger: Logger): Promise<Jobs> => {
  const extension = extname(import.meta.filename).slice(1)
  const watch = watchJobs(schedule.map(({ name }) => name))
  const faults = new Map<string, unknown>()
  const stopping = new AbortController()
  const { signal } = stopping
  const bree = new Bree({
    root: join(import.meta.dirname, '../../jobs'),
    defaultExtension: extension,
    acceptedExtensions: [`.${extension}`],
    logger: false,
    doRootCheck: false,
    worker: { workerData: data },
    jobs: schedule.map((job) => ({ ...job })),
    // Called for the error, and once more for the exit status that follows it.
    errorHandler: (error, { name }) => faults.has(name) || faults.set(name, error),
    workerMessageHandler: () => {},
  })
  bree.on('worker created', (name: string) => watch.started(name))
  bree.on('worker deleted', async (name: string) => {
    const comesRound = schedule.some((job) => job.name === name && 'interval' in job)
    const fault = faults.get(name)
    faults.delete(name)
    if (!fault && (comesRound || signal.aborted)) return watch.ended(name)
    const failures = watch.failed(name)
    const waitMs = comesRound || signal.aborted ? undefined : waitAfter(failures)
    logger.error(
      { err: fault ?? new Error('It ended by itself'), job: name, failures, restartInMs: waitMs },
      'job failed',
    )
    if (waitMs === undefined) return
    await sleep(waitMs, undefined, { signal }).catch(() => {})
    if (!signal.aborted && !bree.workers.has(name)) await bree.run(name)
  })
  await bree.start()
  return {
    states: watch.states,
    async stop(deadlineMs) {
      stopping.abort()
      // Bree itself would wait for ever.
      await Promise.race([bree.stop(), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all([...bree.workers.values()].map((worker) => worker.terminate()))
    },
  }
}
