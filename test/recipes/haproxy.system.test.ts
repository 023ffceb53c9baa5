import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createClient } from '../../src/client/client.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { upsertContact } from '../../src/contacts/write/upsert.ts'
import { useApp } from '../support/app.ts'
import { spawnInTest } from '../support/children.ts'
import { type Daemon, freePort } from '../support/daemon.ts'
import { useDaemons } from '../support/daemons.ts'
import { needs, pathOf } from '../support/needs.ts'

/* Runs HAProxy with the configuration of docs/recipes/haproxy.md in front of two daemons. */

const page = join(import.meta.dirname, '../../docs/recipes/haproxy.md')

const t = useApp({ development: true })
const { start } = useDaemons(t)
let folder: string | undefined
afterAll(async () => {
  if (folder) await rm(folder, { recursive: true })
})

/** Starts HAProxy with the documented configuration: other addresses, and no certificate. */
const startProxy = async (port: number, daemons: readonly number[]) => {
  const [, documented] = /```haproxy\n([\s\S]+?)```/.exec(await readFile(page, 'utf8'))!
  const config = documented!
    .replace(/bind :443.*/, `bind 127.0.0.1:${port}`)
    .replace('10.0.0.11:4800', `127.0.0.1:${daemons[0]}`)
    .replace('10.0.0.12:4800', `127.0.0.1:${daemons[1]}`)
  expect(config).not.toContain('10.0.0')
  folder = await mkdtemp(join(tmpdir(), 'svc-haproxy-'))
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  const proxy = spawnInTest(pathOf('haproxy')!, ['-db', '-f', file])
  let log = ''
  proxy.stdout.resume()
  proxy.stderr.setEncoding('utf8').on('data', (text) => {
    log += text
  })
  return { url: `http://127.0.0.1:${port}`, log: () => log, proxy }
}

test('daemons restart behind HAProxy without a failed call', needs('haproxy'), async () => {
  const [first, second, port] = [await freePort(), await freePort(), await freePort()]
  const env = { SVC_TRUST_PROXY: '127.0.0.1', SVC_PUBLIC_URL: 'https://svc.example.com', SVC_LOG_LEVEL: 'info' }
  const serve = (port: number) => start(['serve'], { ...env, SVC_PORT: String(port) })
  const [a, b] = await Promise.all([serve(first), serve(second)])
  const { id, key } = await t.account()
  const list = await t.app.work(id, 'cli:test', (work) => createList(work, { name: 'Customers' }))
  const email = 'ada@example.org'
  await upsertContact(t.app, id, 'cli:test', { listId: list.id, email, fields: {} })

  const { url, log, proxy } = await startProxy(port, [first, second])
  const get = (path: string) => fetch(`${url}${path}`, { headers: { authorization: `Bearer ${key}` } })
  await expect
    .poll(() =>
      get('/readyz').then(
        ({ status }) => status,
        () => 0,
      ),
    )
    .toBe(200)
  expect(log()).not.toMatch(/warning|alert/i)
  expect((await get('/metrics')).status).toBe(404)

  const statuses: number[] = []
  const client = createClient({ baseUrl: url, key })
  let deals = 0
  let isOver = false
  /** Reads without a client that repeats, and writes as programs do. */
  const traffic = (async () => {
    while (!isOver) {
      statuses.push((await get('/api/v1/lists')).status)
      const { created } = await client.post('/deals', { body: { title: `Deal ${deals}`, email } })
      expect(created).toBe(true)
      deals += 1
    }
  })()
  const served = (daemon: Daemon) => (daemon.log().match(/\/api\/v1\/(lists|deals)/g) ?? []).length
  try {
    await expect.poll(() => served(a) > 5 && served(b) > 5).toBe(true)
    expect(await a.stop()).toBe(0)
    const again = await serve(first)
    await expect.poll(() => served(again) > 5).toBe(true)
    const before = deals
    expect(await b.stop()).toBe(0)
    await expect.poll(() => deals > before + 5).toBe(true)
  } finally {
    isOver = true
    await traffic
  }
  expect(new Set(statuses)).toEqual(new Set([200]))
  const [row] = await t.app.sql<{ count: number }>('select count(*)::int from deals where account_id = $1', [id])
  expect(row!.count).toBe(deals)

  proxy.kill('SIGTERM')
  await once(proxy, 'exit')
})
