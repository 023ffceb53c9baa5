import { parentPort, workerData } from 'node:worker_threads'
import { createBeats } from '../lib/beats.ts'
import { createTallies } from '../lib/tallies.ts'
import type { App, Report } from '../store/work.ts'
import { openApp } from './app.ts'
import { type JobData, jobNames } from './jobs.states.ts'

/**
 * The life of a job's thread: opens the app on the database that the process has opened, without MikroORM, runs until
 * it is done or told to stop, and closes. `connections` are those of its own pool, `queue` says that they run the
 * statements of a queue.
 */
export const runJob = async (
  name: string,
  { connections, queue = false }: { connections: number; queue?: boolean },
  run: (app: App, signal: AbortSignal, report: Report) => Promise<void>,
): Promise<void> => {
  const { config, tallies, beats } = workerData as JobData
  const { beat } = createBeats(jobNames, beats)
  const stop = new AbortController()
  parentPort?.once('message', () => stop.abort())
  const report: Report = (fault, about) => {
    // Loaded where there is something to say: a thread is small.
    import('./log.ts').then(({ createLogger }) =>
      createLogger(config).error({ err: fault, job: name, ...about }, 'a fault of ours, tried again'),
    )
  }
  const app = await openApp(config, {
    isThread: true,
    schema: 'ignore',
    connections,
    queue,
    name: `svc ${name}`,
    report,
    tallies: createTallies(tallies),
    beat: () => beat(name),
  })
  await run(app, stop.signal, report).finally(() => app.close())
  // Without a message to the parent, which would take that as leave to terminate the thread and report it as failed.
  process.exit()
}
