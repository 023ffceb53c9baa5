import { readProcesses } from '../../store/processes.ts'
import type { OpenApp } from '../app.ts'
import { schedule } from '../jobs.ts'
import { type QueueDepth, readQueues } from '../queues.ts'

/** A job, and the processes that have it just now, by its connections; `connectedAt` in epoch ms. */
export interface JobView {
  name: string
  /** How often it comes round; null: it always runs. One that comes round is connected while it works. */
  every: string | null
  processes: { process: string; connectedAt: number }[]
  /** The queue that it works off. */
  queue: QueueDepth | null
}

const queueOf: Readonly<Record<string, string>> = { deliveries: 'deliveries', journeys: 'journeys', mail: 'sends' }

/** Each job, by its name (`svc jobs status`). */
export const readJobs = async (app: OpenApp): Promise<JobView[]> => {
  const [processes, queues] = await Promise.all([readProcesses(app.sql), readQueues(app)])
  return schedule
    .map(({ name, interval = null }) => ({
      name,
      every: interval,
      processes: processes
        .filter(({ parts }) => parts.includes(name))
        .map(({ process, connectedAt }) => ({ process, connectedAt })),
      queue: queues.find(({ queue }) => queue === queueOf[name]) ?? null,
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
}
