import { setTimeout as sleep } from 'node:timers/promises'
import type { Context } from './command.ts'

/** What nobody is told of is looked for this often. */
const slowMs = 1000
/** Who has heard nothing of the database for so long gives up. */
const patienceMs = 10_000
/** However many notices come, looks begin this far apart. */
const leastMs = 50

/**
 * Calls `look` at each notice on a channel, and every second: what happens is shown as it happens, until somebody stops it,
 * which is how it ends. A database that goes away, or is silent, is waited for up to `patience` ms; then it
 * throws Problem `unavailable`.
 */
export const follow = async (
  { app, exit, out, signal }: Context,
  channel: string,
  look: () => Promise<void>,
  patience = patienceMs,
): Promise<void> => {
  const [{ listen }, { isUnavailable, unavailable }] = await Promise.all([
    import('../store/wakeup.ts'),
    import('../store/database.ts'),
  ])
  exit(0)
  if (out.format === 'table') out.note('Following: Ctrl-C ends it.')
  let wake = () => {}
  let isAway = false
  let isOver = false
  const tell = (away: boolean) => {
    if (isOver) return
    if (away !== isAway) out.note(away ? 'The database is away: waiting for it.' : 'The database is back.')
    isAway = away
  }
  const notices = listen(app.database, channel, () => wake())
  let awaySince: number | undefined
  const lookInTime = async () => {
    const since = awaySince ?? performance.now()
    const looked = look().then(
      () => {
        awaySince = undefined
        tell(false)
      },
      (error) => {
        if (!isUnavailable(error)) throw error
        awaySince = since
        tell(true)
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
      const told = new Promise<void>((resolve) => {
        wake = resolve
      })
      await lookInTime()
      await Promise.race([told, sleep(slowMs, undefined, { signal })]).catch(() => {})
      const early = lookedAt + leastMs - performance.now()
      if (early > 0) await sleep(early, undefined, { signal }).catch(() => {})
    }
  } finally {
    isOver = true
    await notices.close()
  }
}
