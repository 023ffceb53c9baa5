import type pg from 'pg'
import type { Database } from './database.ts'

const firstDelayMs = 100
const longestDelayMs = 5000

/**
 * Calls `onNotice` for each notice on a channel. Those of other processes arrive on a connection of its own that is replaced when it ends or goes silent. Notices
 * that are sent while there is no connection are lost, so `onNotice` also runs after each connect.
 */
export const listen = (database: Database, channel: string, onNotice: () => void): { close(): Promise<void> } => {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  let delayMs = firstDelayMs

  const retry = () => {
    client = undefined
    if (isClosed) return
    timer = setTimeout(connect, delayMs)
    delayMs = Math.min(delayMs * 2, longestDelayMs)
  }

  const connect = async () => {
    let opened: pg.Client | undefined
    try {
      opened = await database.connect({ deadlineMs: 5_000 })
      if (isClosed) return void opened.end().catch(() => {})
      client = opened
      opened.once('end', retry)
      opened.on('notification', ({ payload = '' }) => {
        if (database.notices.fromElsewhere(payload) !== null) onNotice()
      })
      await opened.query(`listen ${channel}`)
      delayMs = firstDelayMs
      onNotice()
    } catch {
      // The `end` event of the connection follows, and its listener tries again.
      if (opened) opened.end().catch(() => {})
      else retry()
    }
  }

  void connect()
  const deafen = database.notices.hear([channel], onNotice)
  return {
    async close() {
      isClosed = true
      deafen()
      clearTimeout(timer)
      await client?.end()
    },
  }
}
