/* Settings of connections, by their PostgreSQL names. */

export type Settings = Readonly<Record<string, string>>

/**
 * Lets the server notice a client that is gone, so that its locks are free within half a minute. It also stops the
 * statements of a client that died.
 */
const noticeLoss = {
  tcp_keepalives_idle: '10',
  tcp_keepalives_interval: '5',
  tcp_keepalives_count: '3',
  client_connection_check_interval: '5s',
} as const

/** The same for an answer that the client does not acknowledge. Not for COPY: its reader may pause without a limit. */
const noticeUnread = { tcp_user_timeout: '25s' } as const

/**
 * A transaction of the pool waits at most 5 s for a lock, and loses its connection if its process pauses for 30 s.
 * Sessions outside the pool have no such limits: they wait for session locks on purpose.
 */
const limits = { lock_timeout: '5s', idle_in_transaction_session_timeout: '30s' } as const

/**
 * A prepared statement keeps its plan until the next analyze, while its table may grow from nothing to millions of
 * rows. A plan made for one page of rows would then scan the whole table each time, so sequential scans are disabled
 * where an index exists. jit is off because servers before 18 would compile every statement that has no index. Parallel
 * workers are off because starting them takes ten times as long as reading a page of a list of millions: the
 * parallelism here comes from concurrent callers.
 */
const planner = { enable_seqscan: 'off', jit: 'off', max_parallel_workers_per_gather: '0' } as const

export const poolSettings: Settings = { ...noticeLoss, ...noticeUnread, ...limits, ...planner }

/** The settings of a connection outside the pool. */
export const sessionSettings: Settings = noticeLoss

/** The settings of a connection outside the pool whose statements have a deadline: none of them is a COPY. */
export const deadlineSettings: Settings = { ...noticeLoss, ...noticeUnread }

/**
 * The settings of pools that run only the statements of a queue. The planner's statistics describe a moment at which the queue
 * was empty or full. These settings leave it only the indexes that the statements are written for, and one plan for each
 * statement.
 */
export const queueSettings = {
  enable_seqscan: 'off',
  enable_bitmapscan: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
} as const

export const optionOf = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')
