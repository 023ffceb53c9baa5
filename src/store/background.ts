/*
 * Retention finds rows by an index. Housekeeping drops the content of old messages and purges ended deliveries and
 * runs. Without an index, each batch reads everything that is still wanted. An index on the time of the end is written
 * at each end. Purges have an index on what they look for, whose new entries are at its end. Content is found by the
 * time when the message was created, among messages that still have content: that index is not written when a message
 * ends. Merge fields that stay are read from the version's content. Messages that end late stand at the beginning of
 * the index and are passed by once a minute. Writes pay for the entries. Figure (2026-11-22): 3.5 µs of the server for
 * each message (7 % of its part, 0.3 % of a call); 0.5 µs for a delivery; 2 µs for a step of a run.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Statement } from './statement.ts'
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
  /** `looks` is what the heartbeats of its worker look for, for the schedulers of the process (queue/looks.ts). */
  run(app: App, signal: AbortSignal, report: Report, looks: Readonly<Record<string, string>>): Promise<unknown>
}

/** A job that its thread runs at each interval. */
interface Once extends Described {
  runOnce(app: App, signal: AbortSignal): Promise<unknown>
}

/** A job that its thread runs at each interval, for the rows of all accounts (null) or only for those of one. */
export interface ForAccount extends Described {
  runFor(app: App, sweep: { signal: AbortSignal; only: string | null }): Promise<unknown>
}

/** How a job changes or deletes many rows: in batches with pauses. */
export interface Sweep {
  /** When aborted, it stops after the current batch. */
  signal?: AbortSignal | undefined
  /** The only account whose rows it changes. If it is null or left out, those of all accounts. */
  only?: string | null
  batchSize?: number
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

/** Who deletes in batches, how it is stopped, and how it reports progress. */
export interface Deletion {
  actor: string
  /** When aborted, the deletion stops after the current batch. */
  signal?: AbortSignal | undefined
  /** Called after each batch with the number of items that this run has deleted or cancelled: contacts, active keys, runs, or rows. */
  onBatch?(rows: number): void
}

/** Returns what continues interrupted deletions: `unfinished` finds them, `finish` finishes one. */
export const continueDeletions =
  <Row extends object>(
    unfinished: Statement<Row, { only: string | null }>,
    finish: (app: Pick<App, 'sql' | 'work'>, row: Row, deletion: Deletion) => Promise<unknown>,
  ) =>
  async (app: Pick<App, 'sql' | 'work'>, { signal, only = null }: Sweep): Promise<void> => {
    for (const row of await app.sql(unfinished, { only })) {
      if (signal?.aborted) return
      await finish(app, row, { actor: 'job:housekeeping', signal })
    }
  }
