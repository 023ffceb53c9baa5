/*
 * A dead job does not make a daemon unready. An orchestrator that stops the API because a job died adds to the damage.
 * `/readyz` names jobs that are `down` or `stalled` and stays 200. The log says when a job is started again. Completed
 * heartbeats are noted in memory that the threads share (`lib/beats.ts`).
 */

/**
 * A job is `down` if its last run failed, and no run since has lasted 10 s. It is `stalled` if its thread runs, but
 * its worker has completed neither a heartbeat nor a poll for 15 s.
 */
type JobState = 'ok' | 'down' | 'stalled'

/** The states of this process's jobs, by name. */
export type JobStates = Readonly<Record<string, JobState>>

/** A job that ran this long is healthy; its next failure restarts the back-off. */
const settledMs = 10_000
/** A worker beats every 2 s; a thread that started less than this ago may still be connecting. */
const stalledMs = 15_000
const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface JobRecord {
  failures: number
  /** When its thread started. It is null if none runs. */
  startedAt: number | null
}

/** Returns the wait (ms) before a restart. It doubles with each consecutive failure, up to 30 s. */
export const waitAfter = (failures: number): number => Math.min(firstWaitMs * 2 ** (failures - 1), longestWaitMs)

interface Watched {
  /** Returns a monotonic time in ms. */
  now?: () => number
  /** Returns the ms since the last heartbeat of the job's worker, or 0 for jobs without one. */
  beatAgeMs?: (name: string) => number
}

/** Tracks the states of jobs by the starts and ends of their threads. */
export const watchJobs = (
  names: readonly string[],
  { now = () => performance.now(), beatAgeMs = () => 0 }: Watched = {},
) => {
  const records = new Map<string, JobRecord>(names.map((name) => [name, { failures: 0, startedAt: null }]))
  const isSettled = ({ startedAt }: JobRecord): boolean => startedAt !== null && now() - startedAt >= settledMs
  const isStalled = (name: string, { startedAt }: JobRecord): boolean =>
    startedAt !== null && Math.min(now() - startedAt, beatAgeMs(name)) >= stalledMs
  const stateOf = (name: string, record: JobRecord): JobState => {
    if (isStalled(name, record)) return 'stalled'
    return record.failures === 0 || isSettled(record) ? 'ok' : 'down'
  }
  const recordOf = (name: string): JobRecord => records.get(name)!
  return {
    /** Notes that the thread of a job started. */
    started(name: string): void {
      recordOf(name).startedAt = now()
    },
    /** Notes that the run of a job completed. */
    ended(name: string): void {
      records.set(name, { failures: 0, startedAt: null })
    },
    /** Notes that the run of a job failed, and returns the number of consecutive failures. */
    failed(name: string): number {
      const record = recordOf(name)
      const failures = isSettled(record) ? 1 : record.failures + 1
      records.set(name, { failures, startedAt: null })
      return failures
    },
    states: (): JobStates => Object.fromEntries([...records].map(([name, record]) => [name, stateOf(name, record)])),
  }
}
