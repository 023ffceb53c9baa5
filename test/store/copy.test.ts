import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { from as copyFrom, to as copyTo } from 'pg-copy-streams'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Embedded } from '../../src/embedded/embedded.ts'
import { isUnavailable, openDatabase } from '../../src/store/database.ts'
import { openProxy } from '../support/proxy.ts'
import { openServer } from '../support/server.ts'

/*
 * These tests have a server of their own. While a session waits for its client during COPY, no database of the server can be created
 * or dropped (ProcSignalBarrier), so the other workers of the run would stand still for half a minute.
 */

let folder: string
let server: Embedded
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'copy-'))
  // Root's server runs as another user. It would keep its data elsewhere if that user could not enter the folder.
  await chmod(folder, 0o755)
  server = await openServer(join(folder, 'server'), 'svc_copy')
})
afterAll(async () => {
  await server?.close()
  await rm(folder, { recursive: true })
})

test.for([
  ['still sends', 60_000],
  ['has sent everything', 1000],
] as const)(
  'COPY waits for a reader that pauses while the server %s',
  { concurrent: true },
  async ([, rows], context) => {
    const database = openDatabase(server.url)
    context.onTestFinished(() => database.close())
    const session = await database.connect()
    const stream = session.query(copyTo(`copy (select repeat('x', 1000) from generate_series(1, ${rows})) to stdout`))
    let bytes = 0
    for await (const chunk of stream) {
      if (bytes === 0) await sleep(32_000)
      bytes += chunk.length
    }
    expect(bytes).toBe(rows * 1001)
    await session.end()
  },
)

test('COPY waits for a source that pauses, and fails as unavailable if the connection goes silent', {
  concurrent: true,
}, async (context) => {
  const proxy = await openProxy(server.url)
  const database = openDatabase(proxy.through(server.url))
  context.onTestFinished(async () => {
    proxy.pass()
    await database.close()
    await proxy.close()
  })
  const session = await database.connect()
  await session.query('create temporary table things (id int)')
  const sink = session.query(copyFrom('copy things from stdin'))
  const failed = new Promise<Error>((resolve) => sink.on('error', resolve))
  sink.write('100\n')
  await sleep(13_000)
  sink.write('101\n')
  await sleep(500)
  proxy.silence()
  const more = setInterval(() => sink.write('9\n'.repeat(1_000_000)), 1000)
  const error = await failed.finally(() => clearInterval(more))
  expect(isUnavailable(error)).toBe(true)
})
