import type { Socket } from 'node:net'
import type pg from 'pg'
import type { Database } from './database.ts'

const firstDelayMs = 100
const longestDelayMs = 5000
const closeMs = 1000

/**
 * Calls `onNotice` for each notice on a channel, from a connection of its own that comes back by itself. A notice is a
 * hint: those of a time without connection are lost, so `onNotice` is also called when it is there again.
 */
export const listen = (database: Database, channel: string, onNotice: () => void): { close(): Promise<void> } => {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let closed = false
  let delayMs = firstDelayMs

  const retry = () => {
    client = undefined
    if (closed) return
    timer = setTimeout(() => {
      connecting = connect()
    }, delayMs)
    delayMs = Math.min(delayMs * 2, longestDelayMs)
  }

  const connect = async () => {
    try {
      client = await database.connect()
      client.once('end', retry)
      client.on('notification', onNotice)
      await client.query(`listen ${channel}`)
      delayMs = firstDelayMs
      onNotice()
    } catch {
      // With a connection its end, which follows, tries again.
      if (client) await client.end().catch(() => {})
      else retry()
    }
  }

  let connecting = connect()
  return {
    async close() {
      closed = true
      clearTimeout(timer)
      await connecting
      if (!client) return
      const { stream } = (client as unknown as { connection: { stream: Socket } }).connection
      // A server that is silent does not answer to a farewell: its socket would hold the process for minutes.
      const cut = setTimeout(() => stream.destroy(), closeMs)
      await client.end().finally(() => clearTimeout(cut))
    },
  }
}
