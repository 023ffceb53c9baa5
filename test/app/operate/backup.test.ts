import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { secretFingerprint } from '../../../src/lib/secrets.ts'
import { readBackup } from '../../../src/store/backup.read.ts'
import { writeBackup } from '../../../src/store/backup.write.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { svc, svcProcess } from '../../support/cli.ts'
import { cloneDatabase } from '../../support/database.ts'
import { emitEvents, startDeliveries, subscribe, tally } from '../../support/deliveries.ts'
import { openReceiver } from '../../support/receiver.ts'

const allow = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }
const signal = new AbortController().signal
const onRows = () => {}

let t: TestApp
let account: TestAccount
let folder: string
let file: string
let receiver: Awaited<ReturnType<typeof openReceiver>>
const ends: (() => Promise<unknown>)[] = []

const upsert = (email: string, fields: Record<string, string> = {}) =>
  t.request('POST', '/contacts', { key: account.key, body: { listId, email, fields } })
let listId: string

beforeAll(async () => {
  ;[t, folder, receiver] = await Promise.all([
    startApp({ env: allow }),
    mkdtemp(join(tmpdir(), 'svc-backup-')),
    openReceiver(),
  ])
  account = await t.account({ name: 'Kept' })
  const made = await svc(t, ['lists', 'create', '--name', 'Leads', '--account', account.id, '--json'])
  listId = made.json.id
  for (let i = 0; i < 20; i++) await upsert(`a${i}@example.com`, { first_name: `Zoë\t"${i}"\n\\N` })
  await t.request('POST', '/deals', { key: account.key, body: { title: 'A deal', email: 'a1@example.com' } })
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 3)
  // What a worker that is no more had claimed: it must not be lost with the backup.
  await t.app.sql(`insert into workers (id, job, seen_at) values (nextval('workers_id_seq'), 'deliveries', now())`)
  await t.app.sql('update pending_deliveries set worker = (select max(id) from workers)')
  file = join(folder, 'svc.backup')
  const ran = await svc(t, ['db', 'backup', file, '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  expect(ran.json).toEqual({ file, rows: expect.any(Number), bytes: (await stat(file)).size })
})
afterAll(async () => {
  for (const end of ends) await end()
  await t.close()
  await receiver.close()
  await rm(folder, { recursive: true, force: true })
})

/** A migrated database with nothing in it, and the environment of a command on it. */
const emptyDatabase = async () => {
  const made = await cloneDatabase()
  ends.push(made.drop)
  return { url: made.url, env: { ...t.env, DATABASE_URL: made.url } }
}

const withDatabase = async <T>(url: string, run: (database: Database) => Promise<T>): Promise<T> => {
  const database = openDatabase(url, { max: 2 })
  return run(database).finally(() => database.close())
}

/** Every row of every table, but for the list of migrations and what no crash keeps. */
const contentOf = (url: string) =>
  withDatabase(url, async ({ sql }) => {
    const tables = await sql<{ name: string }>(
      `select relname::text as name from pg_class where relnamespace = current_schema()::regnamespace
       and relkind = 'r' and relpersistence = 'p' and relname <> 'mikro_orm_migrations' order by 1`,
    )
    const content: Record<string, unknown> = {}
    for (const { name } of tables) content[name] = await sql(`select r::text as row from ${name} r order by 1`)
    const [used] = await sql<{ last: number }>('select last_value as last from workers_id_seq')
    return { ...content, used }
  })

const restore = (env: Record<string, string>, from = file) => svc({ env }, ['db', 'restore', from, '--json'])

test('a backup is one file for its owner alone, compressed, without its SVC_SECRET', async () => {
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(await readdir(folder)).toEqual(['svc.backup'])
  const plain = zstdDecompressSync(await readFile(file)).toString('latin1')
  expect(plain).toContain('a19@example.com')
  expect(plain).not.toContain(t.env.SVC_SECRET)
  expect(plain.length).toBeGreaterThan((await stat(file)).size)
})

test('a restored database has every row and sequence of the other, and a daemon on it delivers what was on its way', async () => {
  const { url, env } = await emptyDatabase()
  const ran = await restore(env)
  expect(ran.status, ran.stderr).toBe(0)
  expect(ran.json).toMatchObject({ createdAt: expect.any(Number), tables: { contacts: 20, accounts: 1, deals: 1 } })
  expect(await contentOf(url)).toEqual(await contentOf(t.url))
  const { openApp } = await import('../../../src/app/app.ts')
  const { readConfig } = await import('../../../src/app/config.ts')
  const app = await openApp(readConfig(env))
  const loop = startDeliveries(app)
  try {
    await receiver.arrived(3, 20_000)
    await expect.poll(() => tally(app, account.id)).toMatchObject({ delivered: 3 })
  } finally {
    await loop.stop()
    await app.close()
  }
})

test('a database that nobody has migrated yet is filled as well, by what standard input gives', async () => {
  const { url, env } = await emptyDatabase()
  await withDatabase(url, ({ sql }) => sql('drop schema public cascade'))
  await withDatabase(url, ({ sql }) => sql('create schema public'))
  const ran = await svc({ env }, ['db', 'restore', '-', '--json'], { stdin: await readFile(file) })
  expect(ran.status, ran.stderr).toBe(0)
  expect(await contentOf(url)).toEqual(await contentOf(t.url))
})

test('a backup is of one moment, whatever is written meanwhile', async () => {
  const parts: Buffer[] = []
  let isWritten = false
  const target = new Writable({
    async write(chunk, _, done) {
      parts.push(chunk)
      done()
    },
  })
  const busy = (async () => {
    for (let i = 0; !isWritten; i++) await upsert(`later${i}@example.com`)
  })()
  await writeBackup(t.app.database, target, '0', { signal, onRows }).finally(() => {
    isWritten = true
  })
  await busy
  const { url } = await emptyDatabase()
  await withDatabase(url, async (database) => {
    const given = readBackup(database, url, Readable.from(parts), secretFingerprint(t.env.SVC_SECRET!), {
      signal,
      onRows,
    })
    const { rows } = await given
    const [counts] = await database.sql<{ contacts: number; counted: number; addresses: number }>(
      `select (select count(*) from contacts) as contacts, (select row_count from contact_lists) as counted,
         (select count(*) from addresses) as addresses`,
    )
    expect(counts).toEqual({ contacts: rows.contacts, counted: rows.contacts, addresses: rows.contacts })
  })
})

describe('refused, and nothing is changed', () => {
  let target: Awaited<ReturnType<typeof emptyDatabase>>
  let before: unknown
  beforeAll(async () => {
    target = await emptyDatabase()
    before = await contentOf(target.url)
  })

  const refused = async (ran: Awaited<ReturnType<typeof svc>>, status: number, error: RegExp) => {
    expect(ran).toMatchObject({ status, stdout: '' })
    expect(ran.stderr).toMatch(error)
    expect(await contentOf(target.url)).toEqual(before)
  }
  const altered = async (name: string, change: (plain: Buffer) => Buffer) => {
    const path = join(folder, name)
    await writeFile(path, zstdCompressSync(change(zstdDecompressSync(await readFile(file)))))
    return path
  }

  test('a file cut off, at any place', async () => {
    const whole = await readFile(file)
    for (const bytes of [0, 10, Math.floor(whole.length / 2), whole.length - 1]) {
      await writeFile(join(folder, 'cut'), whole.subarray(0, bytes))
      await refused(await restore(target.env, join(folder, 'cut')), 2, /cut off or altered/)
    }
    const tail = await altered('tail', (plain) => plain.subarray(0, plain.lastIndexOf('{"rows"') - 5))
    await refused(await restore(target.env, tail), 2, /cut off or altered/)
  })

  test('a file that was altered: a byte of it, a row, what comes behind its end; a file that is none', async () => {
    const whole = Buffer.from(await readFile(file))
    whole[Math.floor(whole.length / 2)]! ^= 1
    await writeFile(join(folder, 'flipped'), whole)
    await refused(await restore(target.env, join(folder, 'flipped')), 2, /cut off or altered/)
    const swapped = await altered('row', (plain) =>
      Buffer.from(plain.toString('latin1').replace('a19@', 'b19@'), 'latin1'),
    )
    await refused(await restore(target.env, swapped), 2, /cut off or altered/)
    await refused(await svc({ env: target.env }, ['db', 'restore', swapped, '--dry-run']), 2, /cut off or altered/)
    const longer = await altered('longer', (plain) => Buffer.concat([plain, Buffer.from('D\0\0\0\0')]))
    await refused(await restore(target.env, longer), 2, /cut off or altered/)
    await writeFile(join(folder, 'text'), 'no backup at all')
    await refused(await restore(target.env, join(folder, 'text')), 2, /no backup/)
    await refused(await restore(target.env, join(folder, 'nowhere')), 3, /There is no file/)
  })

  test('a schema that this version does not know', async () => {
    const newer = await altered('newer', (plain) => {
      const header = JSON.parse(plain.subarray(5, 5 + plain.readUInt32BE(1)).toString())
      const text = JSON.stringify({ ...header, migrations: [...header.migrations, 'Migration20990101000000_later'] })
      const head = Buffer.from('H\0\0\0\0')
      head.writeUInt32BE(Buffer.byteLength(text), 1)
      return Buffer.concat([head, Buffer.from(text), plain.subarray(5 + plain.readUInt32BE(1))])
    })
    await refused(await restore(target.env, newer), 6, /does not know.*20990101000000_later/)
  })

  test('another SVC_SECRET, told before anything is written', async () => {
    const env = { ...target.env, SVC_SECRET: 'not the one that sealed it' }
    await refused(await restore(env), 4, /SVC_SECRET is not the secret/)
  })

  test('a database with data, one with other tables, one that is in use', async () => {
    const own = await contentOf(t.url)
    const ran = await restore(t.env)
    expect(ran).toMatchObject({ status: 6, stdout: '' })
    expect(ran.stderr).toMatch(/A process of svc works on the database/)
    expect(await contentOf(t.url)).toEqual(own)
    const other = await emptyDatabase()
    await withDatabase(other.url, ({ sql }) =>
      sql(`insert into accounts values ('acc_1', 'One', null, 'free', 0, now())`),
    )
    const full = await restore(other.env)
    expect(full).toMatchObject({ status: 6, stdout: '' })
    expect(full.stderr).toMatch(/holds data already \(accounts\)/)
    const strange = await emptyDatabase()
    await withDatabase(strange.url, ({ sql }) =>
      sql('drop schema public cascade; create schema public; create table mine (id int)'),
    )
    const strangers = await restore(strange.env)
    expect(strangers).toMatchObject({ status: 6, stdout: '' })
    expect(strangers.stderr).toMatch(/tables of something else/)
    await withDatabase(strange.url, ({ sql }) => sql('select from mine'))
  })

  test('--dry-run reads it all and changes nothing', async () => {
    const ran = await svc({ env: target.env }, ['db', 'restore', file, '--dry-run', '--json'])
    expect(ran.status, ran.stderr).toBe(0)
    expect(ran.json.tables).toMatchObject({ contacts: 20 })
    expect(await contentOf(target.url)).toEqual(before)
  })

  test('a backup over a file that is there, or to where nobody can write', async () => {
    const whole = await readFile(file)
    await refused(await svc(t, ['db', 'backup', file, '--json']), 6, /is there already/)
    expect(await readFile(file)).toEqual(whole)
    await refused(await svc(t, ['db', 'backup', join(folder, 'no', 'such', 'folder')]), 2, /can't be written/)
  })
})

test('standard output gives the file alone; a reader that goes away leaves no failure behind', async () => {
  const parts: Buffer[] = []
  const { startSvc } = await import('../../support/cli.ts')
  const child = startSvc(t, ['db', 'backup', '-'])
  child.stdout.on('data', (part) => parts.push(part))
  const status = await new Promise((resolve) => child.once('close', resolve))
  expect(status).toBe(0)
  expect(zstdDecompressSync(Buffer.concat(parts)).toString('latin1', 5, 30)).toContain('svc backup 1')
  expect((await svcProcess(t, ['db', 'status', '--json'])).status).toBe(0)
})
