/** A kind of scheduled work: when a long-running job looks for it (a periodic one: at each interval), and what it does. */
type Kind = readonly [when: string, does: string]

/** A file in jobs/: a thread that Bree starts, restarts after a failure and stops with the process. */
interface Job {
  name: string
  /** Bree starts it at each interval, unless it still runs. null: it runs as long as the process. */
  interval: string | null
  /** When Bree starts it first: ms, or a text such as `20s`. */
  timeout: number | string
  /** Size of the thread's pool. */
  connections: number
  /** Its connections have the planner settings of queues. */
  queue: boolean
  kinds: Readonly<Record<string, Kind>>
}

/**
 * All scheduled work. Kinds share a thread because each thread costs memory and connections. A kind that fails is reported and
 * retried, and stops no other kind of its thread. docs/architecture.md#scheduled-work repeats this table, with what each thread
 * costs; a test compares them.
 */
export const schedule = [
  {
    name: 'deliveries',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: true,
    kinds: {
      deliveries: ['a notice, a due time', 'Posts webhook deliveries and retries them'],
    },
  },
  {
    name: 'mail',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: true,
    kinds: {
      messages: ['a notice, a due time', 'Hands messages to relays and retries them'],
      broadcasts: ['a notice, 2 s; idle 10 s', 'Queues the messages of broadcasts at their time and pace'],
      reminders: ['10 s', 'Queues reminders of webinar sessions, and decides who attended one that has ended'],
      'booking reminders': ['10 s', 'Queues reminders of bookings'],
      mailboxes: ['1 min', 'Reads reports from bounce mailboxes'],
    },
  },
  {
    name: 'journeys',
    interval: null,
    timeout: 0,
    connections: 4,
    queue: false,
    kinds: {
      journeys: ['a notice, 2 s', 'Walks journey runs whose step is due'],
      results: ['10 s', 'Adds up the changes of the results of email, to one row for each day and number'],
    },
  },
  {
    name: 'housekeeping',
    interval: '1m',
    timeout: '20s',
    connections: 2,
    queue: false,
    kinds: {
      'account deletions': ['1 min', 'Continues interrupted deletions of accounts'],
      'list deletions': ['1 min', 'Continues interrupted deletions of lists'],
      'course deletions': ['1 min', 'Continues interrupted deletions of courses'],
      'form deletions': ['1 min', 'Continues interrupted deletions of forms'],
      'topic deletions': ['1 min', 'Deletes the records of who left a topic, an hour after its deletion'],
      'domain checks': ['1 min', 'Looks up domains that gave no answer again, and verifies their addresses'],
      deliveries: ['1 min', 'Deletes deliveries, their events and their calls 30 days after they ended'],
      'delivery targets': ['1 min', 'Deletes targets of deleted subscriptions after 30 days'],
      'journey deletions': ['1 min', 'Continues interrupted deletions of journeys'],
      'journey runs': ['1 min', 'Deletes ended runs after SVC_JOURNEY_RETENTION_DAYS'],
      'journey versions': ['1 min', 'Deletes replaced versions without open runs'],
      'message contents': ['1 min', 'Deletes the content of ended messages after SVC_MESSAGE_RETENTION_DAYS'],
      'reported events': ['1 min', 'Deletes events of POST /events after SVC_MESSAGE_RETENTION_DAYS'],
      'response texts': ['1 min', 'Deletes texts of form answers after SVC_RESPONSE_RETENTION_DAYS'],
      'access log': ['1 min', 'Deletes entries after SVC_ACCESS_LOG_RETENTION_MONTHS'],
      imports: ['1 min', 'Deletes imports and their rejected rows after SVC_{IMPORT,REJECT}_RETENTION_DAYS'],
      'signup links': ['1 min', 'Sends confirmation links again whose email failed'],
      signups: ['1 min', 'Deletes signups whose link has expired'],
      'busy times': ['1 min', 'Deletes busy times of hosts that no booking block has needed for 30 days'],
      'mail domains': ['1 min', 'Deletes DNS answers about domains a day after they expired'],
      'rate windows': ['1 min', 'Deletes windows of rate limits after an hour'],
      tallies: ['1 min', 'Adds up counts (store/tallies.ts), to one row for each day'],
    },
  },
] as const satisfies readonly Job[]

export type JobName = (typeof schedule)[number]['name']
/** The kinds of work of a job. */
export type KindOf<Name extends JobName> = keyof Extract<(typeof schedule)[number], { name: Name }>['kinds']

export const jobNames: readonly JobName[] = schedule.map(({ name }) => name)
