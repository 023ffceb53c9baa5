import type { Config } from './config.ts'

/** The jobs, each a file in jobs/: a queue lives as long as the process, the rest comes round by its interval. */
export const schedule: readonly { name: string; timeout: number | string; interval?: string }[] = [
  { name: 'deliveries', timeout: 0 },
  { name: 'mail', timeout: 0 },
  { name: 'journeys', timeout: 0 },
  { name: 'housekeeping', timeout: '20s', interval: '1m' },
]

export const jobNames = schedule.map(({ name }) => name)

/** What a job's thread gets. Its database is one that this process has already opened. */
export interface JobData {
  config: Config
  /** Shared counters of the process (lib/tallies.ts). */
  tallies: SharedArrayBuffer
  /** Heartbeats of the jobs (lib/beats.ts). */
  beats: SharedArrayBuffer
}

/**
 * `down`: its last run failed, and the next one is too young to be trusted. `stalled`: its thread runs, but its worker has
 * completed no heartbeat and no poll for 15 s.
 */
export type JobState = 'ok' | 'down' | 'stalled'

/** How the jobs of this process are, by name. */
export type JobStates = Readonly<Record<string, JobState>>

/** Who has lived so long was well: what comes after is another fault, and waits as a first one. */
const settledMs = 10_000
/** A worker beats every 2 s; a thread that started less than this ago may still be connecting. */
const stalledMs = 15_000
const firstWaitMs = 1_000
const longestWaitMs = 30_000

interface Life {
  /** Faults in a row. */
  failures: number
  /** When its thread began; null: it has none just now. */
  startedAt: number | null
}

/** How long a job that has failed so often in a row waits for its next start, in ms: twice as long each time, at most 30 s. */
export const waitAfter = (failures: number): number => Math.min(firstWaitMs * 2 ** (failures - 1), longestWaitMs)

interface Watched {
  /** In ms; never goes back. */
  now?: () => number
  /** ms since the last heartbeat of the job's worker; 0 for jobs without one. */
  beatAgeMs?: (name: string) => number
}

/** Tracks the threads of jobs. */
export const watchJobs = (
  names: readonly string[],
  { now = () => performance.now(), beatAgeMs = () => 0 }: Watched = {},
) => {
  const lives = new Map<string, Life>(names.map((name) => [name, { failures: 0, startedAt: null }]))
  const isSettled = ({ startedAt }: Life): boolean => startedAt !== null && now() - startedAt >= settledMs
  const isStalled = (name: string, { startedAt }: Life): boolean =>
    startedAt !== null && Math.min(now() - startedAt, beatAgeMs(name)) >= stalledMs
  const stateOf = (name: string, life: Life): JobState => {
    if (isStalled(name, life)) return 'stalled'
    return life.failures === 0 || isSettled(life) ? 'ok' : 'down'
  }
  const lifeOf = (name: string): Life => lives.get(name)!
  return {
    started(name: string): void {
      lifeOf(name).startedAt = now()
    },
    /** It has done what it had to do. */
    ended(name: string): void {
      lives.set(name, { failures: 0, startedAt: null })
    },
    /** Gives how often it has failed in a row, this time included. */
    failed(name: string): number {
      const life = lifeOf(name)
      const failures = isSettled(life) ? 1 : life.failures + 1
      lives.set(name, { failures, startedAt: null })
      return failures
    },
    states: (): JobStates => Object.fromEntries([...lives].map(([name, life]) => [name, stateOf(name, life)])),
  }
}
