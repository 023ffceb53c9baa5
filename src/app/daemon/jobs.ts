import { extname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { setEnvironmentData } from 'node:worker_threads'
import Bree from 'bree'
import type { Logger } from 'pino'
import { createBeats } from '../../lib/beats.ts'
import { jobsKey } from '../../store/notices.ts'
import { schedulers, threadNames, threads } from '../schedule.ts'
import { type JobStates, waitAfter, watchJobs } from './jobs.states.ts'
import type { ThreadData } from './thread.ts'

export interface Jobs {
  states(): JobStates
  /** Asks every thread to finish its items in flight, and terminates the rest after `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>
}

const isPeriodic = (name: string): boolean => threads.some((thread) => thread.name === name && thread.interval !== null)

/**
 * Starts the jobs, each in its own thread. A long-running thread that dies is restarted with a growing back-off; a job with
 * an interval waits for its next run.
 */
export const startJobs = async (data: Omit<ThreadData, 'beats' | 'looks'>, logger: Logger): Promise<Jobs> => {
  setEnvironmentData(jobsKey, true)
  const extension = extname(import.meta.filename).slice(1)
  const beats = createBeats(threadNames)
  const looks = createBeats(schedulers)
  const watch = watchJobs(threadNames, { beatAgeMs: (name) => (isPeriodic(name) ? 0 : beats.ageMs(name)) })
  const faults = new Map<string, unknown>()
  const stopping = new AbortController()
  const { signal } = stopping
  let isOverdue = false
  const bree = new Bree({
    root: join(import.meta.dirname, '../../../jobs'),
    defaultExtension: extension,
    acceptedExtensions: [`.${extension}`],
    logger: false,
    doRootCheck: false,
    worker: { workerData: { ...data, beats: beats.memory, looks: looks.memory } satisfies ThreadData },
    jobs: threads.map(({ name, timeout, interval }) => ({ name, timeout, ...(interval && { interval }) })),
    // Bree calls this for the error, and again for the exit status; only the error counts.
    errorHandler: (error, { name }) => faults.has(name) || faults.set(name, error),
    workerMessageHandler: () => {},
  })
  bree.on('worker created', (name: string) => watch.started(name))
  bree.on('worker deleted', async (name: string) => {
    const fault = faults.get(name)
    faults.delete(name)
    if (isOverdue) {
      logger.warn({ job: name }, 'job was ended: it had not finished at the deadline of the shutdown')
      return watch.ended(name)
    }
    if (!fault && (isPeriodic(name) || signal.aborted)) return watch.ended(name)
    const failures = watch.failed(name)
    const waitMs = isPeriodic(name) || signal.aborted ? undefined : waitAfter(failures)
    logger.error(
      { err: fault ?? new Error('The thread ended without an error'), job: name, failures, restartInMs: waitMs },
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
      // Bree has no deadline for this.
      await Promise.race([bree.stop(), sleep(deadlineMs, undefined, { ref: false })])
      isOverdue = true
      await Promise.all([...bree.workers.values()].map((worker) => worker.terminate()))
    },
  }
}
