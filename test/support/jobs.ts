import { once } from 'node:events'
import { join } from 'node:path'
import { MessageChannel, Worker } from 'node:worker_threads'
import { readConfig } from '../../src/app/config.ts'
import { schedulers, type ThreadName, threadNames } from '../../src/app/schedule.ts'
import { createBeats } from '../../src/lib/beats.ts'
import { createCounters } from '../../src/lib/counters.ts'
import { eventually } from './eventually.ts'
import type { ThreadData } from './jobs.worker.ts'
import { atEnd, inTest } from './scope.ts'

/*
 * Parts of a daemon in threads of this process, which cost less than a daemon. To the database, to receivers and to relays the
 * death of a thread is that of a process: its connections are closed, and none of its code runs any more.
 */

export interface Thread {
  /** Ends it in the middle of its work, as kill -9 ends a process. */
  kill(): Promise<void>
  /** Asks it to finish its work, as SIGTERM does. */
  stop(): Promise<void>
  /** Lets none of its code run until `thaw`, as SIGSTOP does. */
  freeze(): Promise<void>
  thaw(): void
}

interface Options {
  env?: Record<string, string>
  /** Its clock is ahead of this machine's. */
  skewMs?: number
}

const support = (name: string) => join(import.meta.dirname, name)

const startThread = (file: string, data: object, skewMs = 0): { worker: Worker; thread: Thread } => {
  const gate = new Int32Array(new SharedArrayBuffer(4))
  const { port1, port2 } = new MessageChannel()
  const own: ThreadData = { file, skewMs, gate, freezes: port2 }
  const worker = new Worker(support('jobs.worker.ts'), { workerData: { ...data, ...own }, transferList: [port2] })
  const exited = once(worker, 'exit')
  exited.catch(() => {})
  const thaw = () => {
    Atomics.store(gate, 0, 0)
    Atomics.notify(gate, 0)
  }
  const kill = async () => {
    await worker.terminate()
  }
  atEnd(kill)
  const thread = {
    kill,
    async stop() {
      worker.postMessage('stop')
      await inTest(exited)
    },
    async freeze() {
      port1.postMessage('freeze')
      await Atomics.waitAsync(gate, 0, 0).value
    },
    thaw,
  }
  return { worker, thread }
}

/** Starts the thread of a job as a daemon does; resolves when it works. It ends with the test. */
export const startJob = async (
  target: { env: Record<string, string> },
  job: ThreadName,
  { env = {}, skewMs }: Options = {},
): Promise<Thread> => {
  const beats = createBeats(threadNames)
  const config = readConfig({ ...target.env, ...env })
  const data = { config, counters: createCounters().memory, beats: beats.memory, looks: createBeats(schedulers).memory }
  const { worker, thread } = startThread(support(`../../jobs/${job}.ts`), data, skewMs)
  const failed = once(worker, 'exit').then(() => {
    throw new Error(`The thread of the job ${job} ended`)
  })
  failed.catch(() => {})
  const works = eventually(() => new BigInt64Array(beats.memory).some((beat) => beat !== 0n))
  await Promise.race([works, failed])
  return thread
}

const startServer = async (file: string, { env }: { env: Record<string, string> }, options: Options) => {
  const config = readConfig({ ...env, SVC_PORT: '0', ...options.env })
  const { worker, thread } = startThread(support(file), { config }, options.skewMs)
  const [url] = await inTest(once(worker, 'message'))
  return { ...thread, url: url as string }
}

/** Starts the API of a daemon without jobs; resolves when it is ready. It ends with the test. */
export const startApi = (
  target: { env: Record<string, string> },
  options: Options = {},
): Promise<Thread & { url: string }> => startServer('api.worker.ts', target, options)

/**
 * Starts POST /send of a daemon without jobs, to be killed; resolves when it is ready. It takes 0.4 s of CPU time, and the whole API,
 * with the modules of all features, 0.65.
 */
export const startSend = (
  target: { env: Record<string, string> },
  options: Options = {},
): Promise<Pick<Thread, 'kill'> & { url: string }> => startServer('send.worker.ts', target, options)
