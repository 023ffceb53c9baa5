import type { Loop, Step } from '../store/background.ts'

/** A thread that Bree starts from a file in jobs/, restarts after a failure and stops with the process. */
interface Common {
  name: string
  /** When Bree starts it first, in ms or as a text such as `20s`. */
  timeout: number | string
  /** Size of the thread's pool. */
  connections: number
  /** Its connections have the planner settings of queues. */
  queue: boolean
}

/** It runs as long as the process. `jobs` loads its jobs: only the thread needs their code. */
interface LongThread extends Common {
  interval: null
  jobs(): Promise<readonly Loop[]>
}

/** Bree starts it at each interval, unless it still runs. */
interface PeriodicThread extends Common {
  interval: string
  jobs(): Promise<readonly Step[]>
}

const jobsOf = async <Job extends Loop | Step>(...files: Promise<{ jobs: readonly Job[] }>[]): Promise<Job[]> =>
  (await Promise.all(files)).flatMap(({ jobs }) => jobs)

/**
 * The threads, each with the files that define its jobs. Jobs share a thread because each thread costs memory and connections. A job
 * that fails is reported and retried, and stops no other job of its thread. docs/architecture.md#scheduled-work lists them.
 */
export const threads = [
  {
    name: 'deliveries',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: true,
    jobs: () => jobsOf<Loop>(import('../deliveries/queue/queue.ts')),
  },
  {
    name: 'mail',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: true,
    jobs: () =>
      jobsOf<Loop>(
        import('../messages/outbox/outbox.run.ts'),
        import('../broadcasts/broadcasts.loop.ts'),
        import('../webinars/reminders/reminders.due.ts'),
        import('../bookings/bookings.remind.ts'),
        import('../bounces/mailboxes.read.ts'),
      ),
  },
  {
    name: 'journeys',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: false,
    jobs: () => jobsOf<Loop>(import('../journeys/engine/runs.loop.ts'), import('../results/fold.ts')),
  },
  {
    name: 'housekeeping',
    interval: '1m',
    timeout: '20s',
    connections: 2,
    queue: false,
    jobs: () =>
      jobsOf<Step>(
        import('../accounts/accounts.delete.ts'),
        import('../contacts/write/delete-list.ts'),
        import('../courses/courses.delete.ts'),
        import('../forms/forms.stats.ts'),
        import('../suppressions/topics.change.ts'),
        import('../contacts/verification/recheck.ts'),
        import('../deliveries/deliveries.purge.ts'),
        import('../journeys/journeys.cancel.ts'),
        import('../journeys/journeys.purge.ts'),
        import('../messages/messages.retention.ts'),
        import('../activity/activity.purge.ts'),
        import('../engagement/interactions/responses.ts'),
        import('../contacts/contacts.purge.ts'),
        import('../forms/forms.link.ts'),
        import('../bookings/bookings.busy.ts'),
        import('../accounts/accounts.admission.ts'),
        import('../store/tallies.ts'),
      ),
  },
] as const satisfies readonly (LongThread | PeriodicThread)[]

export type ThreadName = (typeof threads)[number]['name']

export const threadNames: readonly ThreadName[] = threads.map(({ name }) => name)

/** The schedulers for which heartbeats look (queue/looks.ts): those of loadLooks, and the queued messages. */
export const schedulers = ['journeys', 'results', 'broadcasts', 'reminders', 'booking reminders', 'messages'] as const
export type Scheduler = (typeof schedulers)[number]
