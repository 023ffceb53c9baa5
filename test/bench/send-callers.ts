// Callers of POST /send in a separate process, like real clients: receives the calls to make and reports their duration.
import { Pool } from 'undici'

export interface Calls {
  port: number
  key: string
  /** The JSON body of each call; `{n}` is its number. */
  body: string
  count: number
  callers: number
}

process.on('message', async ({ port, key, body, count, callers }: Calls) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: callers })
  let next = 0
  const call = async () => {
    for (let n = next++; n < count; n = next++) {
      const answer = await pool.request({
        method: 'POST',
        path: '/api/v1/send',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        body: body.replaceAll('{n}', String(n)),
      })
      const { status } = (await answer.body.json()) as { status: string }
      if (status !== 'sent') throw new Error(`POST /send answered ${status}`)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: callers }, call))
  const ms = performance.now() - start
  await pool.close()
  process.send!(ms)
})
process.on('disconnect', () => process.exit())
