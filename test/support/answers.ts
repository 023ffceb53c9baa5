import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { placeOf } from './proxy.ts'

export interface AnswerThief {
  url: string
  /**
   * PostgreSQL executes the next message that contains `text`, on a connection that has sent `after` before; the connection
   * is closed before the response arrives.
   */
  steal(text: string, after?: string): void
  /** The number of dropped responses. */
  readonly stolen: number
  close(): Promise<void>
}

/** Time for the server to execute the message before the connection is closed. */
const executionMs = 300

/** A proxy in front of the PostgreSQL of `target` that drops responses to statements that the server has executed. */
export const openAnswerThief = async (target: string): Promise<AnswerThief> => {
  const sockets = new Set<Socket>()
  let wanted: { text: string; after: string } | null = null
  let stolen = 0
  const server = createServer((client) => {
    const upstream = connect(placeOf(target))
    let hasBegun = false
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        client.destroy()
        upstream.destroy()
      })
    }
    client.on('data', (chunk) => {
      upstream.write(chunk)
      if (wanted === null) return
      const isNext = hasBegun || wanted.after === ''
      hasBegun ||= wanted.after !== '' && chunk.includes(wanted.after)
      if (!isNext || !chunk.includes(wanted.text)) return
      wanted = null
      stolen++
      upstream.off('data', back).resume()
      setTimeout(() => client.destroy(), executionMs)
    })
    const back = (chunk: Buffer) => void client.write(chunk)
    upstream.on('data', back)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = new URL(target)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    steal: (text, after = '') => {
      wanted = { text, after }
    },
    get stolen() {
      return stolen
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        for (const socket of sockets) socket.destroy()
      }),
  }
}
