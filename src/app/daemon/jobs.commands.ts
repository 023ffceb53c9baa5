import { type CommandList, command } from '../../cli/define.ts'
import { type Column, properties } from '../../cli/output.ts'
import type { JobView } from './jobs.status.ts'

type Row = Omit<JobView, 'processes'> & { process: string; connectedAt: number | null }

const columns: Column<Row>[] = [
  ['JOB', (job) => job.name],
  ...properties<Row>('process', 'connectedAt'),
  ['QUEUE', (job) => job.queue?.queue],
  ['DUE', (job) => job.queue?.depth],
  ['OLDEST', (job) => (job.queue ? `${Math.round(job.queue.oldestSeconds)} s` : null)],
]

const idle = ({ every }: JobView): string => (every === null ? 'none' : `each ${every}`)

const rowsOf = (job: JobView): Row[] =>
  job.processes.length === 0
    ? [{ ...job, process: idle(job), connectedAt: null }]
    : job.processes.map((process) => ({ ...job, ...process }))

/** The command `svc jobs status` (docs/reference/cli.md#running). */
export const commands: CommandList = [
  command({
    path: 'jobs status',
    isDefault: true,
    summary: 'Show which processes run each job, and what is due in its queue',
    examples: ['svc jobs status', 'svc jobs status --json'],
    app: 'none',
    run: async ({ out }) => {
      const { openForInspection } = await import('../open.ts')
      const { readJobs } = await import('./jobs.status.ts')
      const app = await openForInspection('require')
      try {
        const jobs = await readJobs(app)
        if (out.format === 'plain' || out.format === 'table') await out.list('jobs', jobs.flatMap(rowsOf), columns)
        else await out.list('jobs', jobs, [])
      } finally {
        await app.close()
      }
    },
  }),
]
