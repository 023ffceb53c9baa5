import { setTimeout as sleep } from 'node:timers/promises'
import { readTargetState, type TargetState } from '../deliveries/deliveries.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import type { ListenerLock } from './listen.lock.ts'

const pollMs = 2000
const silenceMs = 10_000

interface Watched {
  accountId: string
  webhookId: string
  lock: ListenerLock
  /** The `performance.now()` of the latest delivery. */
  lastArrival(): number
  notice(text: string): void
  signal: AbortSignal
}

const ending = (state: TargetState | null): string | null => {
  if (!state) return 'The subscription was deleted'
  if (state.status === 'active') return null
  return state.disabledReason === 'gone'
    ? 'The subscription was disabled: a delivery was answered with 410'
    : 'The subscription was disabled'
}

/**
 * Checks every 2 s whether deliveries can still arrive, and reports when the database is unavailable or no daemon claims due
 * deliveries. Returns why the subscription ended, or null once `signal` is aborted.
 */
export const watch = async (app: App, watched: Watched): Promise<string | null> => {
  const { accountId, webhookId, lock, notice, signal } = watched
  const overdueSince = () => new Date(app.now().getTime() - silenceMs)
  let reported: string | null = null
  const report = (problem: string | null) => {
    if (problem !== reported) notice(problem ?? 'Deliveries can arrive again.')
    reported = problem
  }
  while (!signal.aborted) {
    try {
      await lock.hold()
      const state = await readTargetState({ sql: app.sql, accountId }, webhookId, overdueSince())
      const end = ending(state)
      if (end) return end
      const silent = performance.now() - watched.lastArrival() > silenceMs
      report(
        state?.overdue && silent
          ? 'Deliveries are due, but no daemon sends them. Is svc dev or svc serve running?'
          : null,
      )
    } catch (error) {
      if (!isUnavailable(error)) throw error
      report('The database is not available. Still listening: deliveries arrive when it is available again.')
    }
    await sleep(pollMs, undefined, { signal }).catch(() => {})
  }
  return null
}
