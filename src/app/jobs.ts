import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Bree from 'bree'
import type { Logger } from 'pino'
import type { Config } from './config.ts'

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

const restartDelayMs = 1000

/**
 * Starts the jobs, each in a thread of its own. A queue's thread that dies is started again. `stop` asks every thread
 * to finish what is in flight and ends those that have not after `deadlineMs`: Bree itself would wait for ever.
 */
export const startJobs = async (
  data: JobData,
  logger: Logger,
): Promise<{ stop(deadlineMs: number): Promise<void> }> => {
  const extension = extname(import.meta.filename).slice(1)
  let stopping = false
  const bree = new Bree({
    root: join(import.meta.dirname, '../../jobs'),
    defaultExtension: extension,
    acceptedExtensions: [`.${extension}`],
    logger: false,
    doRootCheck: false,
    worker: { workerData: data },
    jobs: schedule.map((job) => ({ ...job })),
    // Called for the error, and once more for the exit status that follows it.
    errorHandler: (error, { name }) => logger.error({ err: error, job: name }, 'job failed'),
    workerMessageHandler: () => {},
  })
  bree.on('worker deleted', async (name: string) => {
    if (stopping || schedule.find((job) => job.name === name && 'interval' in job)) return
    await sleep(restartDelayMs)
    if (!stopping && !bree.workers.has(name)) await bree.run(name)
  })
  await bree.start()
  return {
    async stop(deadlineMs) {
      stopping = true
      await Promise.race([bree.stop(), sleep(deadlineMs, undefined, { ref: false })])
      await Promise.all([...bree.workers.values()].map((worker) => worker.terminate()))
    },
  }
}
