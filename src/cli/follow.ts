/*
 * Following polls the database. `--follow` prints events and deliveries as they happen. A follower looks at the newest
 * 5,000 at each notice and each second. Nothing is written for followers. Ten seconds without the database end it (exit
 * 7). A delivery that is replayed and ends between two looks is not printed.
 */

import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './command.ts'

/** Without a notice, changes are looked for this often. */
const slowMs = 1000
/** Gives up after the database has been unavailable for this long. */
const patienceMs = 10_000
/** The minimum time between two looks, however many notices arrive. */
const leastMs = 50

/**
 * Calls `look` at each notice on a channel and every second, until the user interrupts it (exit 0). Waits up to `patience`
 * ms for a database that is unavailable or does not answer; then throws Problem `unavailable`.
 */
export const follow = async (
  { app, exit, out, signal }: Context,
  channel: string,
  look: () => Promise<void>,
  patience = patienceMs,
): Promise<void> => {
  const { listen } = await import('../store/wakeup.ts')
  const { isUnavailable, unavailable } = await import('../store/database.ts')
  exit(0)
  if (out.format === 'table') out.note('Following; press Ctrl-C to stop.')
  let wake = () => {}
  let isAway = false
  let isOver = false
  const setAway = (away: boolean) => {
    if (isOver) return
    if (away !== isAway)
      out.note(away ? 'The database is unavailable: waiting for it.' : 'The database is available again.')
    isAway = away
  }
  const notices = listen(app.database, channel, () => wake())
  let awaySince: number | undefined
  const lookInTime = async () => {
    const since = awaySince ?? performance.now()
    const looked = look().then(
      () => {
        awaySince = undefined
        setAway(false)
      },
      (error) => {
        if (!isUnavailable(error)) throw error
        awaySince = since
        setAway(true)
      },
    )
    const ended = new AbortController()
    const leftMs = Math.max(0, since + patience - performance.now())
    const limit = sleep(leftMs, true, { signal: AbortSignal.any([ended.signal, signal]) }).catch(() => false)
    const isSilent = await Promise.race([looked.then(() => false), limit]).finally(() => ended.abort())
    if (isSilent || (awaySince !== undefined && leftMs === 0)) throw unavailable()
  }
  try {
    while (!signal.aborted) {
      const lookedAt = performance.now()
      const notified = new Promise<void>((resolve) => {
        wake = resolve
      })
      await lookInTime()
      await Promise.race([notified, sleep(slowMs, undefined, { signal })]).catch(() => {})
      const early = lookedAt + leastMs - performance.now()
      if (early > 0) await sleep(early, undefined, { signal }).catch(() => {})
    }
  } finally {
    isOver = true
    await notices.close()
  }
}
