// API callers in a separate process, so that the measured process only pays for serving them.
import { Pool } from 'undici'

export interface ApiCall {
  key: string
  method: 'GET' | 'POST' | 'PATCH'
  path: string
  /** The request body as JSON. */
  body?: string
  /** Every response must be 2xx and contain this text. */
  expected: string
}

export interface Calls {
  port: number
  /** One sequential caller per entry. */
  callers: readonly (readonly ApiCall[])[]
}

process.on('message', async ({ port, callers }: Calls) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: callers.length })
  const run = async (calls: readonly ApiCall[]) => {
    for (const { key, method, path, body, expected } of calls) {
      const headers = { authorization: `Bearer ${key}`, ...(body && { 'content-type': 'application/json' }) }
      const answer = await pool.request({ method, path, headers, ...(body && { body }) })
      const text = await answer.body.text()
      if (answer.statusCode > 299 || !text.includes(expected))
        throw new Error(`${method} ${path} answered ${answer.statusCode} ${text}`)
    }
  }
  const start = performance.now()
  await Promise.all(callers.map(run))
  const ms = performance.now() - start
  await pool.close()
  process.send!(ms)
})
process.on('disconnect', () => process.exit())
