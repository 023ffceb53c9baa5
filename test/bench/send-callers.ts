// Callers of POST /send in a separate process, like real clients: receives the calls to make and reports their durations.
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

export interface Calls {
  port: number
  /** The callers use them in turn. */
  keys: readonly string[]
  /** The JSON body of each call; `{n}` is its number. */
  body: string
  count: number
  callers: number
  /** Each caller waits until this long after the beginning of its last call. Default: it calls again at once. */
  everyMs?: number
  /** Whether a call that is refused with 503 is made again a second later. */
  mayWait?: boolean
}

export interface Called {
  ms: number
  /** How long each call took. */
  waits: number[]
  /** Calls that were refused with 503. */
  refused: number
}

process.on('message', async ({ port, keys, body, count, callers, everyMs = 0, mayWait = false }: Calls) => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: callers })
  const waits: number[] = []
  let refused = 0
  let next = 0
  const call = async (key: string) => {
    for (let n = next++; n < count; n = next++) {
      const begun = performance.now()
      const answer = await pool
        .request({
          method: 'POST',
          path: '/api/v1/send',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: body.replaceAll('{n}', String(n)),
        })
        .catch((error) => {
          // The server refused the body and closed the connection before it was sent completely.
          if (!mayWait) throw error
        })
      const { status } = ((await answer?.body.json()) ?? {}) as { status?: string }
      if (mayWait && answer?.statusCode !== 200) {
        refused++
        next--
        await sleep(1000)
        continue
      }
      if (status !== 'sent') throw new Error(`POST /send answered ${status}`)
      const took = performance.now() - begun
      waits.push(took)
      if (took < everyMs) await sleep(everyMs - took)
    }
  }
  const start = performance.now()
  await Promise.all(Array.from({ length: callers }, (_, caller) => call(keys[caller % keys.length]!)))
  const ms = performance.now() - start
  await pool.close()
  process.send!({ ms, waits, refused } satisfies Called)
})
process.on('disconnect', () => process.exit())
