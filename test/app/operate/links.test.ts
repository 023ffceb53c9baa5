import { afterAll, beforeAll, expect, test } from 'vitest'
import { readConfig } from '../../../src/app/config.ts'
import { type Daemon, startDaemon } from '../../../src/app/daemon/daemon.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freePort } from '../../support/daemon.ts'

const publicUrl = 'https://svc.example.com'

let t: TestApp
let other: TestApp
let daemon: Daemon
let port: string

beforeAll(async () => {
  ;[t, other] = await Promise.all([startApp(), startApp()])
  await t.account()
  port = String(await freePort())
  const config = readConfig({ ...t.env, SVC_PUBLIC_URL: publicUrl, SVC_PORT: port })
  daemon = await startDaemon(config, { api: true, jobs: false })
})
afterAll(async () => {
  await daemon.stop()
  await Promise.all([t.close(), other.close()])
})

const makeForm = (name: string, env: Record<string, string> = {}) =>
  svc(t, ['forms', 'create', '--name', name, '--list', name, '--json'], { env })
const makeList = (name: string) => svc(t, ['lists', 'create', '--name', name])

test('a command creates the links of the daemon, whatever port is in its own settings', async () => {
  await makeList('News')
  const made = await makeForm('News')
  expect(made).toMatchObject({ status: 0, json: { url: expect.stringMatching(/^https:\/\/svc\.example\.com\/f\//) } })
})

test('a command that creates links under another SVC_PUBLIC_URL is refused and changes nothing; others work', async () => {
  await makeList('Offers')
  const refused = await makeForm('Offers', { SVC_PUBLIC_URL: 'https://elsewhere.example.com' })
  expect(refused).toMatchObject({ status: 4, stdout: '' })
  expect(JSON.parse(refused.stderr)).toEqual({
    error: `SVC_PUBLIC_URL is https://elsewhere.example.com, and the daemon's is ${publicUrl}`,
    hint: expect.any(String),
  })
  expect((await svc(t, ['forms', 'list', '-q'])).stdout.split('\n')).toHaveLength(2)
  const lists = await svc(t, ['lists', 'list'], { env: { SVC_PUBLIC_URL: 'https://elsewhere.example.com' } })
  expect(lists.status).toBe(0)
  expect((await makeForm('Offers', { SVC_PUBLIC_URL: `${publicUrl}/` })).status).toBe(0)
})

test('a terminal gets no link under another SVC_PUBLIC_URL either, and nothing changes', async () => {
  const create = ['webinars', 'create', '--title', 'Launch']
  const env = { SVC_PUBLIC_URL: 'https://elsewhere.example.com' }
  expect(await svc(t, create, { env, tty: { columns: 80, rows: 24 } })).toMatchObject({ status: 4 })
  expect((await svc(t, ['webinars', 'list', '-q'])).stdout).toBe('')
  expect((await svc(t, create, { env })).status).toBe(0)
})

const lookFrom = async (target: TestApp, env: Record<string, string> = {}) => {
  const { json } = await svc(target, ['doctor', '--json'], { env: { SVC_PORT: port, ...env } })
  const of = (wanted: string) => json.checks.find(({ name }: { name: string }) => name === wanted)
  return { database: of('database'), url: of('public url'), port: of('port'), settings: of('settings') }
}

test('svc doctor checks the public URL of the daemon, and names the database and whether the daemon serves it', async () => {
  const own = await lookFrom(t)
  expect(own.url.message).toContain(publicUrl)
  expect(own.port).toMatchObject({ status: 'ok', message: expect.stringContaining('which serves this database') })
  expect(own.database.message).toContain(new URL(t.env.DATABASE_URL!).host)
  const differing = await lookFrom(t, { SVC_PUBLIC_URL: 'https://elsewhere.example.com' })
  expect(differing.url).toMatchObject({ status: 'fail', message: expect.stringContaining(publicUrl) })
  const foreign = await lookFrom(other)
  expect(foreign.port).toMatchObject({ status: 'fail', message: expect.stringContaining('of another database') })
})

test('svc doctor names each setting that differs from the daemon’s, and no secret', async () => {
  expect((await lookFrom(t)).settings).toEqual({
    name: 'settings',
    status: 'ok',
    message: 'the same as those of the daemon that started last',
  })
  const env = {
    SVC_SMTP_URL: 'smtp://me:sesame@relay.example:2525',
    SVC_DNS_SERVERS: '127.0.0.1:9',
    SVC_ALLOW_PRIVATE_WEBHOOKS: '10.0.0.0/8',
  }
  const { settings } = await lookFrom(t, env)
  expect(settings.status).toBe('warn')
  expect(settings.message).toContain('SVC_SMTP_URL is smtp://relay.example:2525 here and ')
  expect(settings.message).toContain('SVC_DNS_SERVERS is 127.0.0.1:9 here and ')
  expect(settings.message).toContain('SVC_ALLOW_PRIVATE_WEBHOOKS is 10.0.0.0/8 here and ')
  expect(JSON.stringify(settings)).not.toContain('sesame')
  const [kept] = await t.app.sql<{ kept: string }>('select daemon_settings::text as kept from installation')
  expect(kept!.kept).not.toContain('@')
  // No daemon serves the database of the other app.
  expect((await lookFrom(other)).settings).toBe(undefined)
})
