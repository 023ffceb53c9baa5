/** `down`: its last run ended by a fault, and it has not lived long enough since to be trusted. */
export type JobState = 'ok' | 'down'

/** How the jobs of this process are, by name. */
export type JobStates = Readonly<Record<string, JobState>>

/** Who has lived so long was well: what comes after is another fault, and waits as a first one. */
const settledMs = 10_000
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

/** Keeps account of the threads of jobs. `now` is in ms and never goes back. */
export const watchJobs = (names: readonly string[], now: () => number = () => performance.now()) => {
  const lives = new Map<string, Life>(names.map((name) => [name, { failures: 0, startedAt: null }]))
  const isSettled = ({ startedAt }: Life): boolean => startedAt !== null && now() - startedAt >= settledMs
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
    states: (): JobStates =>
      Object.fromEntries(
        [...lives].map(([name, life]) => [name, life.failures === 0 || isSettled(life) ? 'ok' : 'down']),
      ),
  }
}
