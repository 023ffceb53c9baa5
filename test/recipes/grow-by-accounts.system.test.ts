import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { ok, type TestApp, useApp } from '../support/app.ts'
import { spawnInTest } from '../support/children.ts'
import { svc } from '../support/cli.ts'
import { freePort, startDaemon } from '../support/daemon.ts'
import { needs, pathOf } from '../support/needs.ts'

/* Moves an account between two installations behind one HAProxy, with the configuration of docs/recipes/grow-by-accounts.md. */

const recipes = join(import.meta.dirname, '../../docs/recipes')
const env = { SVC_SECRET: 'one secret for both installations' }
const one = useApp({ env })
const two = useApp({ env })
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-grow-'))
})
afterAll(() => rm(folder, { recursive: true }))

const configIn = async (page: string): Promise<string> =>
  /```haproxy\n([\s\S]+?)```/.exec(await readFile(join(recipes, page), 'utf8'))![1]!

/** Starts HAProxy with the documented configuration: other addresses, and no certificate. */
const startProxy = async (port: number, daemons: readonly string[]) => {
  const [settings] = (await configIn('haproxy.md')).split('frontend svc')
  const config = `${settings}${await configIn('grow-by-accounts.md')}`
    .replace(/bind :443.*/, `bind 127.0.0.1:${port}`)
    .replace('10.0.0.11:4800', daemons[0]!)
    .replace('10.0.0.21:4800', daemons[1]!)
    .replaceAll('/etc/haproxy', folder)
  expect(config).not.toContain('10.0.0')
  const file = join(folder, 'haproxy.cfg')
  await writeFile(file, config)
  const proxy = spawnInTest(pathOf('haproxy')!, ['-db', '-f', file])
  proxy.stdout.resume()
  proxy.stderr.resume()
  return async () => {
    proxy.kill('SIGTERM')
    await once(proxy, 'exit')
  }
}

test(
  'an account moves to another installation behind HAProxy: its calls follow the map',
  needs('haproxy'),
  async () => {
    const moving = await one.account()
    const staying = await one.account()
    const [prefix] = await one.app.sql<{ prefix: string }>('select prefix from api_keys where id = $1', [moving.keyId])
    await one.app.work(moving.id, 'cli:test', (work) => createList(work, { name: 'Moved' }))
    const daemons = await Promise.all([one, two].map((target: TestApp) => startDaemon(target)))
    const addresses = daemons.map(({ url }) => new URL(url).host)
    const port = await freePort()
    const statusOf = (key: string | null, host = 'svc.example.com', path = '/api/v1/lists') =>
      new Promise<number>((resolve) => {
        const headers = { host, ...(key && { authorization: `Bearer ${key}` }) }
        request({ host: '127.0.0.1', port, path, headers }, (reply) => {
          reply.resume()
          resolve(reply.statusCode!)
        })
          .on('error', () => resolve(0))
          .end()
      })
    await writeFile(join(folder, 'hosts.map'), 'one.svc.example.com one\ntwo.svc.example.com two\n')
    await writeFile(join(folder, 'keys.map'), '')
    await writeFile(join(folder, 'passphrase'), 'a passphrase that only tests use')
    const files = [join(folder, 'shop.account'), '--secret-file', join(folder, 'passphrase')] as const

    let stop = await startProxy(port, addresses)
    await expect.poll(() => statusOf(moving.key)).toBe(200)
    const exported = await svc(one, ['accounts', 'export', moving.name, '--out', ...files])
    expect(exported.status).toBe(0)
    expect(await statusOf(moving.key)).toBe(410)
    await stop()
    await writeFile(join(folder, 'keys.map'), `${prefix!.prefix} two\n`)
    stop = await startProxy(port, addresses)
    await expect.poll(() => statusOf(moving.key)).toBe(401)
    expect((await svc(two, ['accounts', 'import', ...files])).status).toBe(0)
    expect(await statusOf(moving.key)).toBe(200)
    expect(await statusOf(staying.key)).toBe(200)
    expect(await statusOf(null)).toBe(401)

    const token = one.app.tokens.sign('unsubscribe', [moving.id, 'ada@people.example'], null)
    expect(await statusOf(null, 'one.svc.example.com', `/u/${token}`)).toBe(410)
    expect(await statusOf(null, 'two.svc.example.com', `/u/${token}`)).toBe(200)
    await ok(two.request('GET', '/pipelines', { key: moving.key }))
    await stop()
    for (const daemon of daemons) await daemon.stop()
  },
)
