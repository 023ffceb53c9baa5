import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../store/work.ts'
import { type Result, recordResults } from './delivery.record.ts'

const gatherMs = 10
const batchSize = 500
const firstRetryMs = 100
const longestRetryMs = 2000

export interface Recorder {
  add(result: Result): void
  /** The database takes no results at the moment: claiming more would only repeat what is posted already. */
  readonly isStuck: boolean
  /** All is written when this resolves, or `deadlineMs` is over: then the leases end and the rest is posted again. */
  close(deadlineMs: number): Promise<void>
}

/**
 * Gathers results for a few ms and writes them together. While the database is away they are kept and tried again;
 * `isPassing` tells such a fault, any other one goes to `onFault`.
 */
export const createRecorder = (
  { database, now, work }: Pick<App, 'database' | 'now' | 'work'>,
  isPassing: (error: unknown) => boolean,
  onFault: (error: unknown) => void,
): Recorder => {
  const results: Result[] = []
  let writing: Promise<void> | undefined
  let retryMs = 0
  let isClosed = false

  const writeBatch = async () => {
    const batch = results.slice(0, batchSize)
    try {
      await recordResults(database, batch, now())
      for (const { accountId, id, webhookId, status, tries, attempt } of batch) {
        if (status === 'pending' || !webhookId.startsWith('whk_jrn_')) continue
        const ended = { id, status, attempts: tries, lastStatus: attempt.status, lastError: attempt.error }
        await work(accountId, 'job:deliveries', async (w) => {
          for (const listener of w.listeners) await listener.deliveriesEnded?.(w, [ended])
        })
      }
      results.splice(0, batch.length)
      retryMs = 0
    } catch (error) {
      if (!isPassing(error)) throw error
      retryMs = Math.min(Math.max(retryMs * 2, firstRetryMs), longestRetryMs)
    }
  }

  const writeAll = async () => {
    try {
      while (results.length > 0) {
        if (results.length < batchSize || retryMs > 0) await sleep(isClosed ? gatherMs : Math.max(retryMs, gatherMs))
        await writeBatch()
      }
    } catch (error) {
      results.length = 0
      onFault(error)
    } finally {
      writing = undefined
    }
  }

  return {
    add(result) {
      results.push(result)
      writing ??= writeAll()
    },
    get isStuck() {
      return retryMs > 0
    },
    async close(deadlineMs) {
      isClosed = true
      await Promise.race([writing, sleep(deadlineMs, undefined, { ref: false })])
      results.length = 0
    },
  }
}
