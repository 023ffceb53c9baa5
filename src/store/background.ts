import { setTimeout as sleep } from 'node:timers/promises'
import type { App, Report } from './work.ts'

interface Described {
  /** Unique in its thread. */
  readonly name: string
  /** What it does, in one sentence. */
  readonly does: string
}

/** A job that runs as long as its thread. It waits for work itself, and retries its own failures. */
export interface Loop extends Described {
  /** What it waits for. */
  readonly every: string
  /** `looks`: what the heartbeats of its worker look for, for the schedulers of the process (queue/looks.ts). */
  run(app: App, signal: AbortSignal, report: Report, looks: Readonly<Record<string, string>>): Promise<unknown>
}

/** A job that its thread runs at each interval. */
interface Once extends Described {
  runOnce(app: App, signal: AbortSignal): Promise<unknown>
}

/** A job that its thread runs at each interval, for the rows of all accounts (null) or only for those of one. */
interface ForAccount extends Described {
  runFor(app: App, signal: AbortSignal, only: string | null): Promise<unknown>
}

export type Step = Once | ForAccount

/**
 * Defines a job. Its file exports its jobs as `jobs`, and app/schedule.ts lists the file in a thread.
 * docs/architecture.md#scheduled-work follows (`npm run reference`).
 */
export const defineJob = <Definition extends Omit<Loop, 'name'> | Omit<Once, 'name'> | Omit<ForAccount, 'name'>>(
  name: string,
  definition: Definition,
): Definition & { name: string } => ({ name, ...definition })

/** The pause after a batch, as a multiple of the batch's duration: the database is free for other work meanwhile. */
const restFactor = 2

/**
 * Runs `batch`, which returns the number of rows it changed, until a batch changes fewer than `size` rows or `signal` is
 * aborted, with a pause between batches. Returns the total number of rows.
 */
export const inBatches = async (size: number, batch: () => Promise<number>, signal?: AbortSignal): Promise<number> => {
  let total = 0
  while (!signal?.aborted) {
    const startedAt = performance.now()
    const count = await batch()
    total += count
    if (count < size) break
    await sleep(restFactor * (performance.now() - startedAt), undefined, signal && { signal }).catch(() => {})
  }
  return total
}
