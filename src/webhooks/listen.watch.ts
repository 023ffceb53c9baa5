import { setTimeout as sleep } from 'node:timers/promises'
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

interface State {
  status: 'active' | 'disabled'
  disabledReason: string | null
  /** A delivery has been due for `silenceMs`, and no worker has claimed it. */
  overdue: boolean
}

const readState = async (app: App, { accountId, webhookId }: Watched): Promise<State | undefined> => {
  const [state] = await app.sql<State>(
    `select status, disabled_reason as "disabledReason", exists (
       select from pending_deliveries where account_id = $1 and target_id = $2 and due_at < $3 and worker is null
     ) as overdue
     from delivery_targets where account_id = $1 and id = $2 and status <> 'deleted'`,
    [accountId, webhookId, new Date(app.now().getTime() - silenceMs)],
  )
  return state
}

const ending = (state: State | undefined): string | null => {
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
  const { lock, notice, signal } = watched
  let reported: string | null = null
  const report = (problem: string | null) => {
    if (problem !== reported) notice(problem ?? 'Deliveries can arrive again.')
    reported = problem
  }
  while (!signal.aborted) {
    try {
      await lock.hold()
      const state = await readState(app, watched)
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
