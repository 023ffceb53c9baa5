import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkDatabase } from '../../../src/app/operate/doctor.database.ts'
import { sealedColumns } from '../../../src/app/operate/rotate.ts'
import { holdQueues } from '../../../src/queue/holds.ts'
import { setRelay } from '../../../src/senders/relays.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { connectionName } from '../../../src/store/processes.ts'
import { startApp, type TestApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freePort } from '../../support/daemon.ts'
import { subscribe } from '../../support/deliveries.ts'
import { type DnsServer, openDnsServer } from '../../support/dns.ts'
import { openSink, type Sink } from '../../support/smtp.ts'

let t: TestApp
let dns: DnsServer
let sink: Sink
let folder: string
let port: number
let daemon: Database

interface Check {
  name: string
  status: 'ok' | 'warn' | 'fail'
  message: string
}

beforeAll(async () => {
  port = await freePort()
  ;[t, dns, sink, folder] = await Promise.all([
    startApp(),
    openDnsServer(),
    openSink(),
    mkdtemp(join(tmpdir(), 'svc-doctor-')),
  ])
  dns.set('example.com', { MX: [[10, 'mail.example.com']] })
  await t.server.fastify.listen({ host: '127.0.0.1', port })
  // The connection of a daemon in a process of its own.
  daemon = openDatabase(t.env.DATABASE_URL!, { max: 1, name: connectionName('svc daemon') })
  await daemon.sql('select 1')
})
afterAll(async () => {
  await daemon.close()
  await t.close()
  await Promise.all([dns.close(), sink.close(), rm(folder, { recursive: true, force: true })])
})

const examine = async (env: Record<string, string> = {}) => {
  const base = { SVC_PORT: String(port), SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: sink.url }
  const ran = await svc({ env: { ...t.env, ...base, ...env } }, ['doctor', '--json'])
  expect(Object.keys(ran.json)).toEqual(['checks'])
  const checks: Check[] = ran.json.checks
  for (const check of checks) expect(Object.keys(check)).toEqual(['name', 'status', 'message'])
  expect(ran.status).toBe(checks.some(({ status }) => status === 'fail') ? 1 : 0)
  return { status: ran.status, of: (name: string) => checks.find((check) => check.name === name), checks }
}

test('every check of a healthy daemon is ok, except a warning for a local public URL', async () => {
  await t.app.sql('delete from delivery_targets')
  const account = await t.account()
  await subscribe(t.app, account.id, 'https://hooks.example.com/x')
  const { status, checks, of } = await examine()
  expect(status).toBe(0)
  expect(checks.map(({ name, status }) => [name, status])).toEqual([
    ['node', 'ok'],
    ['data folder', 'ok'],
    ['disk', 'ok'],
    ['database', 'ok'],
    ['schema', 'ok'],
    ['clock', 'ok'],
    ['secret', 'ok'],
    [`relay 127.0.0.1:${sink.port}`, 'ok'],
    ['dns', 'ok'],
    ['public url', 'warn'],
    ['port', 'ok'],
  ])
  expect(of('secret')!.message).toBe('opens the stored credentials (1 checked)')
  expect(of('port')!.message).toContain('is used by a running daemon')
})

test('a paused queue is a warning, with the command that resumes it', async () => {
  await holdQueues(t.app.sql, ['sends'])
  const { of } = await examine()
  expect(of('queue sends')).toMatchObject({
    status: 'warn',
    message: expect.stringContaining('svc queues resume sends'),
  })
  expect(of('queue deliveries')).toBeUndefined()
  await t.app.sql('delete from queue_holds')
})

test('a silent relay, a failing name server and another program at the port fail, with what to do: exit 1', async () => {
  const stranger = createServer((socket) => void socket.on('error', () => {}).end('hello\n', () => socket.destroy()))
  const taken = await freePort()
  await new Promise<void>((resolve) => stranger.listen(taken, '127.0.0.1', resolve))
  dns.set('example.com', { mode: 'servfail' })
  const account = await t.account({ name: 'Relayed' })
  await t.app.work(account.id, 'cli:test', (work) =>
    setRelay(t.app, work, { url: 'smtp://me@127.0.0.1:9', password: 'open sesame', bounceAddress: null }),
  )
  const { status, of, checks } = await examine({ SVC_PORT: String(taken) })
  await new Promise((resolve) => stranger.close(resolve))
  dns.set('example.com', { MX: [[10, 'mail.example.com']] })
  await t.app.sql('delete from relays')
  expect(status).toBe(1)
  expect(of('relay 127.0.0.1:9')).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(/connection refused.*of Relayed/),
  })
  expect(of(`relay 127.0.0.1:${sink.port}`)).toMatchObject({ status: 'ok' })
  expect(of('dns')).toMatchObject({ status: 'fail', message: expect.stringMatching(/SVC_DNS_SERVERS/) })
  expect(of('port')).toMatchObject({
    status: 'fail',
    message: expect.stringMatching(/is used by another program: set SVC_PORT/),
  })
  expect(of('public url')!.status).not.toBe('ok')
  expect(JSON.stringify(checks)).not.toContain('sesame')
})

test('a running daemon that can not be reached by its public URL fails; without a daemon it is a warning', async () => {
  const silent = { SVC_PUBLIC_URL: `http://127.0.0.1:${await freePort()}` }
  expect((await examine(silent)).of('public url')).toMatchObject({ status: 'fail' })
  const { of } = await examine({ ...silent, SVC_PORT: String(await freePort()) })
  expect(of('public url')).toMatchObject({ status: 'warn', message: expect.stringContaining('no daemon runs here') })
  expect(of('port')).toMatchObject({ status: 'ok', message: expect.stringContaining('free') })
})

test('another secret fails, whether the fingerprint or a stored value shows it', async () => {
  await subscribe(t.app, (await t.account()).id, 'https://hooks.example.com/x')
  const other = { SVC_SECRET: 'quite another secret than that' }
  expect((await examine(other)).of('secret')).toMatchObject({ status: 'fail' })
  const [kept] = await t.app.sql<{ secret_fingerprint: string }>('delete from installation returning *')
  expect((await examine(other)).of('secret')).toMatchObject({
    status: 'fail',
    message: expect.stringContaining('delivery_targets'),
  })
  await t.app.sql('insert into installation values (1, $1)', [kept!.secret_fingerprint])
  expect((await examine()).of('secret')).toMatchObject({ status: 'ok' })
})

test('every column with a sealed text is known', async () => {
  const rows = await t.app.sql<{ name: string }>(
    `select table_name || '.' || column_name as name from information_schema.columns
     where column_name like '%sealed%' and table_schema = current_schema() order by 1`,
  )
  expect(sealedColumns.map(({ table, column }) => `${table}.${column}`).toSorted()).toEqual(
    rows.map(({ name }) => name),
  )
})

test('an outdated schema fails, and so does a clock that is two minutes off', async () => {
  await t.app.sql(`update mikro_orm_migrations set name = name || '_' where name like '%_checkout'`)
  const { of } = await examine()
  await t.app.sql(`update mikro_orm_migrations set name = rtrim(name, '_') where name like '%_checkout_'`)
  expect(of('schema')).toMatchObject({ status: 'fail', message: expect.stringContaining('svc db migrate') })
  expect(of('relay')).toMatchObject({ status: 'warn' })
  const ahead = { ...t.app, systemNow: () => new Date(Date.now() + 120_000) }
  const clock = (await checkDatabase(ahead)).find(({ name }) => name === 'clock')
  expect(clock).toMatchObject({ status: 'fail', message: expect.stringContaining('ahead of') })
})

test('a server that accepts no writes fails', async () => {
  const database = new URL(t.url).pathname.slice(1)
  await t.app.sql(`alter database ${database} set default_transaction_read_only = on`)
  const { of } = await examine()
  await t.app.sql(`alter database ${database} reset default_transaction_read_only`)
  expect(of('database')).toMatchObject({ status: 'fail', message: expect.stringContaining('accepts no writes') })
  expect(of('schema')).toMatchObject({ status: 'ok' })
})

test('time limits of statements and transactions that the server sets are warnings', async () => {
  const database = new URL(t.url).pathname.slice(1)
  await t.app.sql(`alter database ${database} set statement_timeout = '90s'`)
  const { of } = await examine()
  await t.app.sql(`alter database ${database} reset statement_timeout`)
  expect(of('statement_timeout')).toMatchObject({ status: 'warn', message: expect.stringContaining('90s') })
  expect(of('transaction_timeout')).toBeUndefined()
})

test('an unavailable database fails, and its URL is not shown', async () => {
  const { of, checks } = await examine({ DATABASE_URL: 'postgres://svc:hunter22@127.0.0.1:9/none' })
  expect(of('database')).toMatchObject({ status: 'fail', message: expect.stringContaining('DATABASE_URL') })
  expect(JSON.stringify(checks)).not.toContain('hunter22')
})

test('a missing data folder is a warning and is not created; a secret that other users can read fails', async () => {
  const env = { SVC_LOG_LEVEL: 'silent', SVC_PORT: String(port), SVC_DNS_SERVERS: dns.address }
  const look = async (dataDir: string) => {
    const ran = await svc({ env: { ...env, SVC_DATA_DIR: dataDir } }, ['doctor', '--json'])
    return { status: ran.status, folder: ran.json.checks.find(({ name }: Check) => name === 'data folder') }
  }
  const none = join(folder, 'none')
  expect(await look(none)).toMatchObject({ status: 0, folder: { status: 'warn' } })
  expect(existsSync(none)).toBe(false)
  const open = join(folder, 'open')
  await mkdir(open)
  await writeFile(join(open, 'secret'), 'a secret for everybody to read')
  await chmod(join(open, 'secret'), 0o644)
  expect(await look(open)).toMatchObject({
    status: 1,
    folder: { status: 'fail', message: expect.stringContaining('chmod 600') },
  })
})

test('a database without a secret in the folder and the environment fails, and no secret is created', async () => {
  const dataDir = join(folder, 'of-a-service')
  await mkdir(join(dataDir, 'pgdata'), { recursive: true })
  const env = { SVC_LOG_LEVEL: 'silent', SVC_PORT: String(port), SVC_DATA_DIR: dataDir }
  const ran = await svc({ env }, ['doctor', '--json'])
  const message = `SVC_SECRET is not set, and ${dataDir} has no file secret`
  expect(ran.status).toBe(1)
  expect(ran.json.checks.at(-1)).toMatchObject({ status: 'fail', message: expect.stringContaining(message) })
  for (const args of [['lists', 'list'], ['serve'], ['dev'], ['db', 'migrate']])
    expect(await svc({ env }, args)).toMatchObject({ status: 4, stderr: expect.stringContaining(message) })
  expect(existsSync(join(dataDir, 'secret'))).toBe(false)
})

test('a list of erasures that can not be written fails, and none is created', async () => {
  const list = join(folder, 'erasures')
  expect((await examine({ SVC_ERASURES_FILE: list })).of('erasures')).toMatchObject({ status: 'ok', message: list })
  expect(existsSync(list)).toBe(false)
  for (const [file, code] of [
    [join(folder, 'no', 'list'), 'ENOENT'],
    [folder, 'EISDIR'],
  ] as const)
    expect((await examine({ SVC_ERASURES_FILE: file })).of('erasures')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining(`can't write ${file} (${code})`),
    })
})

test('invalid settings are one failure', async () => {
  const ran = await svc({ env: { SVC_PORT: 'x' } }, ['doctor', '--json'])
  expect(ran.status).toBe(1)
  expect(ran.json.checks).toEqual([
    expect.objectContaining({ name: 'node' }),
    { name: 'configuration', status: 'fail', message: 'SVC_PORT must be a whole number from 0 to 65535' },
  ])
})
