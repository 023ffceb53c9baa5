import { setTimeout as sleep } from 'node:timers/promises'
import type { App } from '../store/work.ts'
import { type Result, recordResults, write } from './delivery.record.ts'

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
      const isCall = ({ webhookId }: Result) => webhookId.startsWith('whk_jrn_')
      const others = batch.filter((result) => !isCall(result))
      if (others.length > 0) await recordResults(database, others, now())
      for (const [accountId, own] of Map.groupBy(batch.filter(isCall), (result) => result.accountId)) {
        await work(accountId, 'job:deliveries', async (w) => {
          await write(w.sql, own)
          const ended = own.flatMap(({ id, status, tries, attempt: { status: lastStatus, error: lastError } }) =>
            status === 'pending' ? [] : [{ id, status, attempts: tries, lastStatus, lastError }],
          )
          if (ended.length > 0) for (const listener of w.listeners) await listener.deliveriesEnded?.(w, ended)
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
