import { readProcesses } from '../../store/processes.ts'
import type { OpenApp } from '../app.ts'
import { type QueueDepth, readQueues } from '../queue-depths.ts'
import { threads } from '../schedule.ts'

/** A job, and the processes that currently run it, found by their connections; `connectedAt` in epoch ms. */
export interface JobView {
  name: string
  /** Its interval. It is null if it runs all the time. A job with an interval is connected only while it works. */
  every: string | null
  processes: { process: string; connectedAt: number }[]
  /** The queue that it processes. */
  queue: QueueDepth | null
}

const queueOf: Readonly<Record<string, string>> = { deliveries: 'deliveries', journeys: 'journeys', mail: 'sends' }

/** Returns the jobs by name (`svc jobs status`). */
export const readJobs = async (app: OpenApp): Promise<JobView[]> => {
  const [processes, queues] = await Promise.all([readProcesses(app.sql), readQueues(app)])
  return threads
    .map(({ name, interval }) => ({
      name,
      every: interval,
      processes: processes
        .filter(({ parts }) => parts.includes(name))
        .map(({ process, connectedAt }) => ({ process, connectedAt })),
      queue: queues.find(({ queue }) => queue === queueOf[name]) ?? null,
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
