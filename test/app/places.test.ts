import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { isDevelopment } from '../../src/store/clock.ts'
import { requireServer } from '../../src/store/schema.ts'
import { startApp, type TestApp, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'

let folder: string

const t = useApp()
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-places-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

describe('commands that only read create no folder, no secret and no database', () => {
  const look = async (...args: string[]) => {
    const ran = await svc({ env: {} }, args, { cwd: folder })
    expect(await readdir(folder)).toEqual([])
    return ran
  }

  test('svc openapi prints the document of the daemon', async () => {
    const ran = await look('openapi')
    expect(ran.status).toBe(0)
    const { servers, ...document } = (await t.request('GET', '/openapi.json')).body
    expect({ ...ran.json, servers }).toEqual({ ...document, servers })
    expect(ran.json.servers).toEqual([{ url: 'http://127.0.0.1:4800' }])
  })

  test('svc db status reports that there is no database yet: exit 7', async () => {
    const ran = await look('db', 'status', '--json')
    expect(ran.status).toBe(7)
    expect(ran.json).toMatchObject({ version: null, applied: 0, pending: [], unknown: [] })
    expect(ran.json.database).toContain(folder)
    expect(ran.stderr).toContain('There is no database yet')
  })

  test.each([
    ['accounts list'],
    ['accounts create --name Acme'],
    ['contacts list'],
    ['status'],
    ['jobs status'],
    ['jobs run'],
    ['db migrate --dry-run'],
    ['db reset --yes'],
    ['db backup -'],
    ['db restore package.json'],
    ['db restore package.json --dry-run'],
    ['secret rotate --yes'],
  ])('svc %s is refused with one line: exit 7', async (args) => {
    const given = args.replace('package.json', join(process.cwd(), 'package.json')).split(' ')
    const ran = await look(...given, '--json')
    expect(ran).toMatchObject({ status: 7, stdout: '' })
    expect(JSON.parse(ran.stderr)).toEqual({
      error: `There is no database here yet: no ${folder}/.svc, and no .svc of this user in a folder above it`,
      hint: expect.stringContaining('svc dev or svc db migrate'),
    })
    if (args === 'db restore package.json') return
    const named = await svc({ env: { SVC_DATA_DIR: 'data' } }, given, { cwd: folder })
    expect(named).toMatchObject({ status: 7, stdout: '' })
    expect(named.stderr).toContain(`error: There is no database yet in SVC_DATA_DIR, ${folder}/data\n`)
    expect(await readdir(folder)).toEqual([])
  })

  test('svc db stop finds nothing to stop', async () => {
    expect(await look('db', 'stop', '--json')).toMatchObject({ status: 0, json: { database: 'not running' } })
  })

  test.each([
    ['lists create', '--name'],
    ['webhooks create', '--url, --events'],
    ['deals move dea_1', '--to'],
  ])('svc %s without its flags names them: exit 2', async (args, flags) => {
    expect(await look(...args.split(' '))).toMatchObject({
      ...{ status: 2, stdout: '' },
      stderr: expect.stringMatching(new RegExp(`^error: Missing ${flags}\n`)),
    })
  })

  test('svc --help and the help of a command work', async () => {
    expect((await look('--help')).status).toBe(0)
    expect((await look('contacts', 'import', '--help')).status).toBe(0)
  })
})

test('without SVC_DATA_DIR a file named .svc above is not a data folder', async () => {
  await writeFile(join(folder, '.svc'), '')
  await mkdir(join(folder, 'below'))
  const ran = await svc({ env: {} }, ['accounts', 'list'], { cwd: join(folder, 'below') })
  expect(ran).toMatchObject({ status: 7, stderr: expect.stringContaining('There is no database here yet') })
})

describe('a schema that is newer than the program', () => {
  let newer: TestApp

  beforeAll(async () => {
    newer = await startApp()
    await newer.app.sql(
      `insert into mikro_orm_migrations (name, executed_at) values ('Migration29990101000000_later', now())`,
    )
  })
  afterAll(() => newer.close())

  test.each([['serve'], ['jobs run'], ['accounts list'], ['db migrate'], ['dev']])(
    'is refused by svc %s: exit 7, in one line',
    async (args) => {
      const ran = await svc(newer, args.split(' '), { env: { SVC_DATA_DIR: folder, SVC_PORT: '0' } })
      expect(ran.status).toBe(7)
      expect(ran.stdout).toBe('')
      expect(ran.stderr).toMatch(/^error: The database schema is newer than this version of svc\n {2}next: .*\n$/)
    },
  )

  test('is not ready, and svc db status shows it', async () => {
    const reply = await newer.request('GET', '/readyz')
    expect(reply.status).toBe(503)
    expect(reply.body).toEqual({ error: 'The database schema is newer than this version of svc' })
    const ran = await svc(newer, ['db', 'status', '--json'])
    expect(ran).toMatchObject({ status: 7, json: { pending: [], unknown: ['Migration29990101000000_later'] } })
  })

  test('fails in svc doctor, and is exit 7 in svc status', async () => {
    const { status, json } = await svc(newer, ['doctor', '--json'])
    expect(status).toBe(1)
    expect(json.checks.find(({ name }: { name: string }) => name === 'schema')).toMatchObject({
      status: 'fail',
      message: expect.stringContaining('newer than this version of svc'),
    })
    expect(await svc(newer, ['status', '--json'])).toMatchObject({
      status: 7,
      json: { schema: { pending: [], unknown: ['Migration29990101000000_later'] }, queues: null },
    })
    expect((await svc(newer, ['status'])).stdout).toMatch(/schema\s+newer than this version of svc/)
  })
})

describe('a schema that is newer by additive migrations', () => {
  let newer: TestApp
  const later = 'Migration29990101000000_later'

  beforeAll(async () => {
    newer = await startApp()
    await newer.app.sql('alter table mikro_orm_migrations add column if not exists change text')
    await newer.app.sql(`insert into mikro_orm_migrations (name, executed_at, change) values ($1, now(), 'expand')`, [
      later,
    ])
  })
  afterAll(() => newer.close())

  test('is ready, and commands work', async () => {
    expect((await newer.request('GET', '/readyz')).status).toBe(200)
    expect((await svc(newer, ['accounts', 'list'])).status).toBe(0)
    expect(await svc(newer, ['db', 'status', '--json'])).toMatchObject({ status: 0, json: { unknown: [later] } })
    expect(await svc(newer, ['db', 'migrate', '--json'])).toMatchObject({ status: 0, json: { applied: [] } })
  })

  test('is not migrated by a program that lacks one of its migrations', async () => {
    await newer.app.sql(`update mikro_orm_migrations set name = name || '_' where name like '%_due_by_account'`)
    expect((await svc(newer, ['db', 'migrate'])).status).toBe(7)
    await newer.app.sql(`update mikro_orm_migrations set name = rtrim(name, '_') where name like '%_due_by_account_'`)
  })

  test('is refused after a contracting one', async () => {
    await newer.app.sql(
      `insert into mikro_orm_migrations (name, executed_at, change) values ('Migration29990102000000_last', now(), 'contract')`,
    )
    expect((await newer.request('GET', '/readyz')).status).toBe(503)
    expect((await svc(newer, ['accounts', 'list'])).status).toBe(7)
  })
})

test.each([
  [140_011, false],
  [149_999, false],
  [150_000, true],
  [180_001, true],
])('a server of version number %i is accepted: %s', (version, isTaken) => {
  if (isTaken) return requireServer(version)
  expect(() => requireServer(version)).toThrow(
    expect.objectContaining({
      kind: 'configuration',
      message: 'The database is PostgreSQL 14; svc needs PostgreSQL 15 or newer',
    }),
  )
})

describe('svc dev', () => {
  const dev = async (target: TestApp) =>
    svc(target, ['dev'], { env: { SVC_DATA_DIR: folder, SVC_PORT: String(await freePort()) } })

  test('refuses a DATABASE_URL with accounts that it did not create, and changes nothing there', async () => {
    await t.account()
    const ran = await dev(t)
    expect(ran.status).toBe(4)
    expect(ran.stderr).toMatch(/^error: DATABASE_URL names a database that has data.*\n {2}next: svc serve/)
    expect(await isDevelopment(t.app.sql)).toBe(false)
    expect(await t.app.sql(`select from accounts where name = 'demo'`)).toEqual([])
  })

  test('refuses a DATABASE_URL with tables of another program', async () => {
    const other = await startApp()
    try {
      await other.app.sql('drop schema public cascade')
      await other.app.sql('create schema public')
      await other.app.sql('create table orders (id int)')
      expect((await dev(other)).status).toBe(4)
      expect(await other.app.sql(`select tablename from pg_tables where schemaname = 'public'`)).toHaveLength(1)
    } finally {
      await other.close()
    }
  })
})
