import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable, Writable } from 'node:stream'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockExclusively } from '../../../src/embedded/embedded.ts'
import { secretFingerprint } from '../../../src/lib/secrets.ts'
import { readHeld } from '../../../src/queue/holds.ts'
import { readBackup } from '../../../src/store/backup/backup.read.ts'
import { writeBackup } from '../../../src/store/backup/backup.write.ts'
import { encodeJson, readFrames } from '../../../src/store/backup/format.ts'
import { type Database, openDatabase } from '../../../src/store/database.ts'
import { resetSchema } from '../../../src/store/schema.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { svc, svcProcess } from '../../support/cli.ts'
import { cloneDatabase, untilLocked } from '../../support/database.ts'
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
/** The files and all rows after the backup. */
let files: string[]
let content: Awaited<ReturnType<typeof contentBy>>
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
  for (let i = 0; i < 20; i++) await ok(upsert(`a${i}@example.com`, { first_name: `Zoë\t"${i}"\n\\N` }))
  await ok(t.request('POST', '/deals', { key: account.key, body: { title: 'A deal', email: 'a1@example.com' } }))
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 3)
  // The claim of a worker that no longer exists: the backup must include the delivery.
  await t.app.sql(`insert into workers (id, job, seen_at) values (nextval('workers_id_seq'), 'deliveries', now())`)
  await t.app.sql('update pending_deliveries set worker = (select max(id) from workers)')
  file = join(folder, 'svc.backup')
  const ran = await svc(t, ['db', 'backup', file, '--json'])
  expect(ran.status, ran.stderr).toBe(0)
  expect(ran.json).toEqual({ file, rows: expect.any(Number), bytes: (await stat(file)).size })
  files = await readdir(folder)
  content = await contentOf(t.url)
})
afterAll(async () => {
  for (const end of ends) await end()
  await t.close()
  await receiver.close()
  await rm(folder, { recursive: true, force: true })
})

/** Creates an empty migrated database; returns its URL and the environment of a command that uses it. */
const emptyDatabase = async () => {
  const made = await cloneDatabase()
  ends.push(made.drop)
  return { url: made.url, env: { ...t.env, DATABASE_URL: made.url } }
}

const withDatabase = async <T>(url: string, run: (database: Database) => Promise<T>): Promise<T> => {
  const database = openDatabase(url, { max: 2 })
  return run(database).finally(() => database.close())
}

/** Returns every row of every table, except the list of migrations and unlogged tables. */
const contentBy = async (client: pg.Client) => {
  // One statement: a separate one for each table takes twice the CPU time.
  const { rows: content } = await client.query(
    `select relname::text as name, query_to_xml(format('select r::text as row from %I r order by 1', relname), true, true, '')::text as rows
     from pg_class where relnamespace = current_schema()::regnamespace
     and relkind = 'r' and relpersistence = 'p' and relname <> 'mikro_orm_migrations' order by 1`,
  )
  const used = await client.query('select last_value as last from workers_id_seq')
  return { content, used: used.rows }
}

const contentOf = async (url: string) => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return contentBy(client).finally(() => client.end())
}

const restore = (env: Record<string, string>, from = file) => svc({ env }, ['db', 'restore', from, '--json'])

test('a backup is one compressed file that only its owner can read, without its SVC_SECRET', async () => {
  expect((await stat(file)).mode & 0o777).toBe(0o600)
  expect(files).toEqual(['svc.backup'])
  const plain = zstdDecompressSync(await readFile(file)).toString('latin1')
  expect(plain).toContain('a19@example.com')
  expect(plain).not.toContain(t.env.SVC_SECRET)
  expect(plain.length).toBeGreaterThan((await stat(file)).size)
})

test('a restored database has all rows and sequences, and a daemon on it delivers the pending deliveries', async () => {
  const { url, env } = await emptyDatabase()
  const ran = await restore(env)
  expect(ran.status, ran.stderr).toBe(0)
  expect(ran.json).toMatchObject({ createdAt: expect.any(Number), tables: { contacts: 20, accounts: 1, deals: 1 } })
  expect(await contentOf(url)).toEqual(content)
  const { openApp } = await import('../../../src/app/app.ts')
  const { readConfig } = await import('../../../src/app/config.ts')
  const app = await openApp(readConfig(env))
  const loop = startDeliveries(app)
  try {
    await receiver.arrived(3)
    await expect.poll(() => tally(app, account.id)).toMatchObject({ delivered: 3 })
  } finally {
    await loop.stop()
    await app.close()
  }
})

test('--hold pauses all queues: nothing that was pending leaves until they are resumed', async () => {
  const { env } = await emptyDatabase()
  const dry = await svc({ env }, ['db', 'restore', file, '--hold', '--dry-run', '--json'])
  expect(dry.status, dry.stderr).toBe(0)
  const ran = await svc({ env }, ['db', 'restore', file, '--hold', '--json'])
  expect([ran.status, ran.stderr]).toEqual([0, expect.stringContaining('svc queues resume')])
  expect((await svc({ env }, ['queues', '--json'])).json.queues).toMatchObject([
    { queue: 'deliveries', state: 'paused', pending: 3 },
    { queue: 'journeys', state: 'paused', pending: 0 },
    { queue: 'sends', state: 'paused', pending: 0 },
  ])
  const { openApp } = await import('../../../src/app/app.ts')
  const { readConfig } = await import('../../../src/app/config.ts')
  const app = await openApp(readConfig(env))
  const loop = startDeliveries(app)
  const before = receiver.requests.length
  try {
    // The worker frees the claims of a dead one, but claims nothing itself.
    await expect.poll(() => app.sql('select from pending_deliveries where worker is null')).toHaveLength(3)
    expect(receiver.requests).toHaveLength(before)
    const resumed = await svc({ env }, ['queues', 'resume', '--yes'])
    expect(resumed.status, resumed.stderr).toBe(0)
    await receiver.arrived(before + 3)
    await expect.poll(() => tally(app, account.id)).toMatchObject({ delivered: 3 })
    expect(receiver.requests).toHaveLength(before + 3)
  } finally {
    await loop.stop()
    await app.close()
  }
})

test('--hold pauses the queues of a backup from before there were pauses, in the transaction of its rows', async () => {
  const [old, target] = [await emptyDatabase(), await emptyDatabase()]
  const chunks: Buffer[] = []
  await withDatabase(old.url, async (database) => {
    await database.sql('drop table queue_holds')
    await database.sql(`delete from mikro_orm_migrations where name like '%_queue_holds'`)
    const target = new Writable({
      write(chunk, _, done) {
        chunks.push(chunk)
        done()
      },
    })
    await writeBackup(database, target, '1.0.0', { signal, onRows })
  })
  const held = () => withDatabase(target.url, ({ sql }) => readHeld(sql))
  const ran = await svc({ env: target.env }, ['db', 'restore', '-', '--hold', '--json'], {
    stdin: Buffer.concat(chunks),
  })
  expect(ran.status, ran.stderr).toBe(0)
  expect(await held()).toEqual(['deliveries', 'journeys', 'sends'])
})

test('a database without migrations is restored, too, from standard input', async () => {
  const { url, env } = await emptyDatabase()
  await withDatabase(url, ({ sql }) => sql('drop schema public cascade'))
  await withDatabase(url, ({ sql }) => sql('create schema public'))
  const ran = await svc({ env }, ['db', 'restore', '-', '--json'], { stdin: await readFile(file) })
  expect(ran.status, ran.stderr).toBe(0)
  expect(await contentOf(url)).toEqual(content)
})

test('a row that is longer than a frame, such as one with an attachment, is backed up and restored', async () => {
  const { url } = await emptyDatabase()
  const other = await emptyDatabase()
  const chunks: Buffer[] = []
  const sizes = await withDatabase(url, async (database) => {
    await database.sql(
      `insert into message_attachments (account_id, message_id, position, filename, content_type, size, content)
       values ('acc_1', 'msg_1', 0, 'a', 'text/plain', 3000000, decode(repeat('0a005cff', 750000), 'hex'))`,
    )
    const target = new Writable({
      write(chunk, _, done) {
        chunks.push(chunk)
        done()
      },
    })
    await writeBackup(database, target, '1.0.0', { signal, onRows })
    return database.sql('select length(content), sha256(content)::text from message_attachments')
  })
  await withDatabase(other.url, async (database) => {
    const fingerprint = secretFingerprint(t.env.SVC_SECRET!)
    await readBackup(database, other.url, Readable.from(chunks), fingerprint, { dryRun: false, signal, onRows })
    expect(await database.sql('select length(content), sha256(content)::text from message_attachments')).toEqual(sizes)
  })
  expect(sizes).toMatchObject([{ length: 3_000_000 }])
})

test('a backup is a snapshot of one moment, whatever is written meanwhile', async () => {
  const parts: Buffer[] = []
  let isWritten = false
  const target = new Writable({
    async write(chunk, _, done) {
      parts.push(chunk)
      done()
    },
  })
  const busy = (async () => {
    for (let i = 0; !isWritten; i++) await ok(upsert(`later${i}@example.com`))
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

describe('a restore or backup that is refused changes nothing', () => {
  let target: Awaited<ReturnType<typeof emptyDatabase>>
  let reader: pg.Client
  let before: unknown
  beforeAll(async () => {
    target = await emptyDatabase()
    reader = new pg.Client({ connectionString: target.url })
    await reader.connect()
    before = await contentBy(reader)
  })
  afterAll(() => reader.end())

  const refused = async (ran: Awaited<ReturnType<typeof svc>>, status: number, error: RegExp) => {
    expect(ran).toMatchObject({ status, stdout: '' })
    expect(ran.stderr).toMatch(error)
    expect(await contentBy(reader)).toEqual(before)
  }
  const altered = async (name: string, change: (plain: Buffer) => Buffer) => {
    const path = join(folder, name)
    await writeFile(path, zstdCompressSync(change(zstdDecompressSync(await readFile(file)))))
    return path
  }

  test('a file that is cut off at any place is refused', async () => {
    const whole = await readFile(file)
    for (const bytes of [0, 10, Math.floor(whole.length / 2), whole.length - 1]) {
      await writeFile(join(folder, 'cut'), whole.subarray(0, bytes))
      await refused(await restore(target.env, join(folder, 'cut')), 2, /not a backup, or damaged/)
    }
    const tail = await altered('tail', (plain) => plain.subarray(0, plain.lastIndexOf('{"rows"') - 5))
    await refused(await restore(target.env, tail), 2, /not a backup, or damaged/)
  })

  test('a database without tables has those of this version, without rows, after a damaged file', async () => {
    const { url, env } = await emptyDatabase()
    await withDatabase(url, resetSchema)
    await writeFile(join(folder, 'short'), (await readFile(file)).subarray(0, -1))
    expect(await restore(env, join(folder, 'short'))).toMatchObject({ status: 2, stdout: '' })
    expect(await contentOf(url)).toEqual(before)
  })

  test('an altered file (a byte, a row, data after its end) and a file that is not a backup are refused', async () => {
    const whole = Buffer.from(await readFile(file))
    whole[Math.floor(whole.length / 2)]! ^= 1
    await writeFile(join(folder, 'flipped'), whole)
    await refused(await restore(target.env, join(folder, 'flipped')), 2, /not a backup, or damaged/)
    const swapped = await altered('row', (plain) =>
      Buffer.from(plain.toString('latin1').replace('a19@', 'b19@'), 'latin1'),
    )
    await refused(await restore(target.env, swapped), 2, /not a backup, or damaged/)
    await refused(
      await svc({ env: target.env }, ['db', 'restore', swapped, '--dry-run']),
      2,
      /not a backup, or damaged/,
    )
    for (const more of ['D\0\0\0\0', 'D']) {
      const longer = await altered('longer', (plain) => Buffer.concat([plain, Buffer.from(more)]))
      await refused(await restore(target.env, longer), 2, /not a backup, or damaged/)
    }
    await writeFile(join(folder, 'text'), 'no backup at all')
    await refused(await restore(target.env, join(folder, 'text')), 2, /not a backup/)
    await refused(await restore(target.env, join(folder, 'nowhere')), 3, /There is no file/)
    await refused(await restore(target.env, folder), 2, /can't be read \(EISDIR\)/)
  })

  /** Returns the backup with other frames and a matching end, as only its author or an attacker can create it. */
  const rewritten = async (name: string, change: (frames: Made[], end: End) => void) => {
    const plain = zstdDecompressSync(await readFile(file))
    const frames: Made[] = []
    for (let at = 0; at < plain.length; ) {
      const length = plain.readUInt32BE(at + 1)
      frames.push({ kind: plain.toString('latin1', at, at + 1), content: plain.subarray(at + 5, at + 5 + length) })
      at += 5 + length
    }
    const end: End = JSON.parse(frames.pop()!.content.toString())
    change(frames, end)
    const body = Buffer.concat(frames.map(encode))
    end.sha256 = createHash('sha256').update(body).digest('hex')
    const path = join(folder, name)
    await writeFile(path, zstdCompressSync(Buffer.concat([body, encode(json('E', end))])))
    return path
  }
  interface Made {
    kind: string
    content: Buffer
  }
  interface End {
    rows: Record<string, number>
    sequences: Record<string, number>
    sha256: string
  }
  const json = (kind: string, value: object): Made => ({ kind, content: Buffer.from(JSON.stringify(value)) })
  const encode = ({ kind, content }: Made) => {
    const head = Buffer.alloc(5)
    head.write(kind, 0, 'latin1')
    head.writeUInt32BE(content.length, 1)
    return Buffer.concat([head, content])
  }
  const headOf = (frames: Made[], table: string) =>
    frames.findIndex(({ kind, content }) => kind === 'T' && JSON.parse(content.toString()).table === table)
  const rename = (frames: Made[], table: string, value: object) => {
    const at = headOf(frames, table)
    frames[at] = json('T', { ...JSON.parse(frames[at]!.content.toString()), ...value })
  }
  const roles = () => t.app.sql<{ name: string }>('select rolname::text as name from pg_roles order by 1')

  test.each<[string, (frames: Made[], end: End) => void]>([
    [
      'a table of the system',
      (frames, end) => {
        const row = ['99999', 'intruder', 't', 't', 't', 't', 't', 't', 't', '-1', '\\N', '\\N'].join('\t')
        const columns =
          'oid rolname rolsuper rolinherit rolcreaterole rolcreatedb rolcanlogin rolreplication rolbypassrls rolconnlimit rolpassword rolvaliduntil'
        frames.push(json('T', { table: 'pg_authid', columns: columns.split(' ') }))
        frames.push({ kind: 'D', content: Buffer.from(`${row}\n`) })
        end.rows.pg_authid = 1
      },
    ],
    ['a table of another schema', (frames) => rename(frames, 'accounts', { table: 'pg_catalog"."pg_authid' })],
    [
      'the list of migrations',
      (frames) => frames.push(json('T', { table: 'mikro_orm_migrations', columns: ['name'] })),
    ],
    ['a table twice', (frames) => frames.push(frames[headOf(frames, 'accounts')]!)],
    [
      'a table less',
      (frames, end) => {
        const at = headOf(frames, 'deals')
        frames.splice(at, frames.findIndex(({ kind }, i) => i > at && kind === 'T') - at)
        delete end.rows.deals
      },
    ],
    ['a column that the table has not', (frames) => rename(frames, 'accounts', { columns: ['id', 'ctid'] })],
    ['a column less', (frames) => rename(frames, 'accounts', { columns: ['id'] })],
    [
      'rows that are none',
      (frames) => {
        frames[headOf(frames, 'accounts') + 1] = { kind: 'D', content: Buffer.from('one\ttwo\n') }
      },
    ],
    [
      'another count',
      (_, end) => {
        end.rows.contacts = 19
      },
    ],
    [
      'a count of a table that is not there',
      (_, end) => {
        end.rows.nothing = 0
      },
    ],
    [
      'a count less',
      (_, end) => {
        delete end.rows.contacts
      },
    ],
    [
      'another sequence',
      (_, end) => {
        end.sequences = { 'pg_catalog.pg_class': 1 }
      },
    ],
    [
      'a sequence without a value',
      (_, end) => {
        end.sequences = { workers_id_seq: -1 }
      },
    ],
    [
      'a head that is no JSON',
      (frames) => {
        frames[headOf(frames, 'accounts')] = { kind: 'T', content: Buffer.from('{') }
      },
    ],
    [
      'a head of another shape',
      (frames) => {
        frames[headOf(frames, 'accounts')] = json('T', { table: ['accounts'] })
      },
    ],
    [
      'a header of another shape',
      (frames) => {
        frames[0] = json('H', { format: 'svc backup 1', migrations: 'all' })
      },
    ],
    [
      'a header of another format',
      (frames) => {
        frames[0] = json('H', { ...JSON.parse(frames[0]!.content.toString()), format: 'x' })
      },
    ],
  ])('a file that was forged to contain %s is refused, although its hash is valid', async (name, change) => {
    const before = await roles()
    const path = await rewritten(`made-${name.replaceAll(' ', '-')}`, change)
    for (const flags of [['--dry-run'], []]) {
      const ran = await svc({ env: target.env }, ['db', 'restore', path, ...flags])
      // A dry run does not detect what only the database can check.
      if (flags.length === 0 || !/rows that|sequence/.test(name)) await refused(ran, 2, /not a backup, or damaged/)
    }
    expect(await roles()).toEqual(before)
  })

  test('the same file, rebuilt without a change, is accepted', async () => {
    const other = await emptyDatabase()
    const ran = await restore(other.env, await rewritten('same', () => {}))
    expect(ran.status, ran.stderr).toBe(0)
    expect(ran.json.tables).toMatchObject({ contacts: 20, accounts: 1, deals: 1 })
  })

  test('a database that does not keep every row is noticed: the rows in its tables are counted, too', async () => {
    const { url, env } = await emptyDatabase()
    await withDatabase(url, async ({ sql }) => {
      await sql(`create function lose_row() returns trigger language plpgsql as $$ begin
        delete from contacts where ctid = (select min(ctid) from contacts);
        return null;
      end $$`)
      await sql('create trigger lose after insert on contacts execute function lose_row()')
    })
    expect(await restore(env)).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringMatching(/not a backup, or damaged/),
    })
    expect(await contentOf(url)).toEqual(before)
  })

  test('a file with any flipped byte or with data after its end is refused', async () => {
    const whole = await readFile(file)
    const fingerprint = secretFingerprint(t.env.SVC_SECRET!)
    const outcome = (bytes: Buffer, dryRun: boolean) =>
      withDatabase(target.url, (database) =>
        readBackup(database, target.url, Readable.from([bytes]), fingerprint, { dryRun, signal, onRows }).then(
          () => 'restored',
          (error) => `${error.kind ?? error.message}`,
        ),
      )
    for (let i = 0; i < 12; i++) {
      // From the byte after the header of the compression to the end of the data.
      const at = 20 + Math.floor(((whole.length - 25) * i) / 12)
      const flipped = Buffer.from(whole)
      flipped[at]! ^= 1 << (i % 8)
      expect(await outcome(flipped, false), `byte ${at}`).toBe('invalid')
    }
    for (const junk of ['x', '\0'.repeat(100), 'more than that'])
      expect(await outcome(Buffer.concat([whole, Buffer.from(junk)]), true), junk).toBe('invalid')
    const junk = join(folder, 'junk')
    await writeFile(junk, Buffer.concat([whole, Buffer.from('junk')]))
    await refused(await restore(target.env, junk), 2, /not a backup, or damaged/)
  })

  test('a frame that claims a gigabyte is refused before it is read', async () => {
    let read = 0
    const source = async function* () {
      yield Buffer.from('H\x3f\xff\xff\xff', 'latin1')
      for (; read < 100; read++) yield Buffer.alloc(2 ** 16)
    }
    await expect(readFrames(source()).frames.next()).rejects.toMatchObject({ kind: 'invalid' })
    expect(read).toBe(0)
  })

  test('a schema that this version does not know is refused', async () => {
    const newer = await altered('newer', (plain) => {
      const header = JSON.parse(plain.subarray(5, 5 + plain.readUInt32BE(1)).toString())
      const migrations = [...header.migrations, 'Migration20990101000000_later']
      const endAt = plain.lastIndexOf('{"rows"') - 5
      const tables = plain.subarray(5 + plain.readUInt32BE(1), endAt)
      const before = Buffer.concat([encodeJson('H', { ...header, migrations }), tables])
      const end = JSON.parse(plain.subarray(endAt + 5).toString())
      const sha256 = createHash('sha256').update(before).digest('hex')
      return Buffer.concat([before, encodeJson('E', { ...end, sha256 })])
    })
    await refused(await restore(target.env, newer), 6, /does not know.*20990101000000_later/)
  })

  test('another SVC_SECRET is refused before anything is written', async () => {
    const env = { ...target.env, SVC_SECRET: 'not the one that sealed it' }
    await refused(await restore(env), 4, /SVC_SECRET is not the secret/)
  })

  test('a database with data, with other tables, or in use is refused', async () => {
    const own = await contentOf(t.url)
    const ran = await restore(t.env)
    expect(ran).toMatchObject({ status: 6, stdout: '' })
    expect(ran.stderr).toMatch(/A process of svc uses the database/)
    expect(await contentOf(t.url)).toEqual(own)
    const other = await emptyDatabase()
    await withDatabase(other.url, ({ sql }) =>
      sql(`insert into accounts values ('acc_1', 'One', null, 'free', 0, now())`),
    )
    const full = await restore(other.env)
    expect(full).toMatchObject({ status: 6, stdout: '' })
    expect(full.stderr).toMatch(/already has data \(accounts\)/)
    const strange = await emptyDatabase()
    await withDatabase(strange.url, ({ sql }) =>
      sql('drop schema public cascade; create schema public; create table mine (id int)'),
    )
    const strangers = await restore(strange.env)
    expect(strangers).toMatchObject({ status: 6, stdout: '' })
    expect(strangers.stderr).toMatch(/tables of another program/)
    await withDatabase(strange.url, ({ sql }) => sql('select from mine'))
  })

  test('an account that is created while a restore begins stays: the restore is refused', async () => {
    const { url } = await emptyDatabase()
    await withDatabase(url, async (database) => {
      const writer = await database.connect()
      await writer.query(`begin; insert into accounts values ('acc_1', 'One', null, 'free', 0, now())`)
      const fingerprint = secretFingerprint(t.env.SVC_SECRET!)
      const outcome = readBackup(database, url, createReadStream(file), fingerprint, { signal, onRows }).catch(
        (error) => error.message,
      )
      await untilLocked(database, 1)
      await writer.query('commit')
      await writer.end()
      expect(await outcome).toBe('The database already has data (accounts)')
      expect(await database.sql('select id from accounts')).toEqual([{ id: 'acc_1' }])
    })
  })

  test('--dry-run reads the whole file and changes nothing', async () => {
    const ran = await svc({ env: target.env }, ['db', 'restore', file, '--dry-run', '--json'])
    expect(ran.status, ran.stderr).toBe(0)
    expect(ran.json.tables).toMatchObject({ contacts: 20 })
    expect(await contentBy(reader)).toEqual(before)
  })

  test('a backup to an existing file or to a missing folder is refused', async () => {
    const whole = await readFile(file)
    await refused(await svc(t, ['db', 'backup', file, '--json']), 6, /already exists/)
    expect(await readFile(file)).toEqual(whole)
    await refused(await svc(t, ['db', 'backup', join(folder, 'no', 'such', 'folder')]), 2, /can't be written/)
  })

  test('a backup deletes what a killed one to the same file has left, and nothing that is in use', async () => {
    const again = join(folder, 'again.backup')
    const used = await lockExclusively(`${again}.0000aaaa.part`)
    for (const left of ['.0123abcd.part', '.notes.part', '.0123abcd.part.txt']) await writeFile(again + left, 'left')
    expect((await svc(t, ['db', 'backup', again])).status).toBe(0)
    const names = (await readdir(folder)).filter((name) => name.startsWith('again')).sort()
    const kept = ['.0000aaaa.part', '.0123abcd.part.txt', '.notes.part'].map((rest) => `again.backup${rest}`)
    expect(names).toEqual(['again.backup', ...kept])
    await used!.close()
  })

  test('of two backups to one file at once, one succeeds, and its file is whole', async () => {
    const twice = join(folder, 'twice.backup')
    const ran = await Promise.all([1, 2].map(() => svcProcess(t, ['db', 'backup', twice, '--json'])))
    const written = ran.find(({ status }) => status === 0)!
    expect(written.json).toEqual({ file: twice, rows: expect.any(Number), bytes: (await stat(twice)).size })
    const other = ran.find((one) => one !== written)!
    expect(other).toMatchObject({ status: 6, stdout: '', stderr: expect.stringContaining('already exists') })
    expect(await svc({ env: target.env }, ['db', 'restore', twice, '--dry-run'])).toMatchObject({ status: 0 })
    expect((await readdir(folder)).filter((name) => name.startsWith('twice'))).toEqual(['twice.backup'])
  })
})
