import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './command.ts'

/** What nobody is told of is looked for this often. */
const slowMs = 1000
/** However many notices come, looks begin this far apart. */
const leastMs = 50

/**
 * Calls `look` at each notice on a channel, and every second: what happens is shown as it happens, until somebody stops it,
 * which is how it ends. A database that goes away is waited for.
 */
export const follow = async (
  { app, exit, out, signal }: Context,
  channel: string,
  look: () => Promise<void>,
): Promise<void> => {
  const [{ listen }, { isUnavailable }] = await Promise.all([
    import('../store/wakeup.ts'),
    import('../store/database.ts'),
  ])
  exit(0)
  if (out.format === 'table') out.note('Following: Ctrl-C ends it.')
  let wake = () => {}
  let isAway = false
  const tell = (away: boolean) => {
    if (away !== isAway) out.note(away ? 'The database is away: waiting for it.' : 'The database is back.')
    isAway = away
  }
  const notices = listen(app.database, channel, () => wake())
  try {
    while (!signal.aborted) {
      const lookedAt = performance.now()
      const told = new Promise<void>((resolve) => {
        wake = resolve
      })
      await look().then(
        () => tell(false),
        (error) => {
          if (!isUnavailable(error)) throw error
          tell(true)
        },
      )
      await Promise.race([told, sleep(slowMs, undefined, { signal })]).catch(() => {})
      const early = lookedAt + leastMs - performance.now()
      if (early > 0) await sleep(early, undefined, { signal }).catch(() => {})
    }
  } finally {
    await notices.close()
  }
}
