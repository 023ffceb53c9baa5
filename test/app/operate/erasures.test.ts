import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { appendFile, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { erasedSince, readErasures } from '../../../src/app/erasures.ts'
import { eraseContact } from '../../../src/contacts/contacts.ts'
import { lockKey } from '../../../src/lib/locks.ts'
import { secretFingerprint } from '../../../src/lib/secrets.ts'
import { openDatabase } from '../../../src/store/database.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../../support/app.ts'
import { startSvc, svc, svcProcess } from '../../support/cli.ts'
import { cloneDatabase, untilLocked } from '../../support/database.ts'
import { migratedDataFolder } from '../../support/folder.ts'

let t: TestApp
let account: TestAccount
let folder: string
let list: string
let backup: string
const ends: (() => Promise<unknown>)[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-erasures-'))
  list = join(folder, 'erasures')
  t = await startApp({ env: { SVC_ERASURES_FILE: list } })
  account = await t.account()
  await ok(
    run('lists', 'create', '--name', 'L').then(({ status, json }) => ({
      status: status === 0 ? 200 : 500,
      body: json,
    })),
  )
})
afterAll(async () => {
  for (const end of ends) await end()
  await t.close()
  await rm(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => svc(t, ['--account', account.id, ...args, '--json'])
const add = async (email: string) => {
  const ran = await run('contacts', 'upsert', '--list', 'L', '--email', email)
  expect(ran.status, ran.stderr).toBe(0)
}
const erase = async (email: string) => {
  const ran = await run('contacts', 'erase', email, '--yes')
  expect(ran.status, ran.stderr).toBe(0)
}

const restore = async (env: Record<string, string>, ...flags: string[]) => {
  const made = await cloneDatabase()
  ends.push(made.drop)
  const ran = await svc({ env: { ...t.env, DATABASE_URL: made.url, ...env } }, [
    'db',
    'restore',
    backup,
    '--json',
    ...flags,
  ])
  expect(ran.status, ran.stderr).toBe(0)
  const listed = await svc({ env: { ...t.env, DATABASE_URL: made.url } }, [
    'contacts',
    'list',
    '--list',
    'L',
    '--account',
    account.id,
    '--json',
  ])
  return { ran, emails: listed.json.contacts.map(({ email }: { email: string }) => email).toSorted() }
}

test('a restore repeats the erasures that the installation made after the backup, and no others', async () => {
  for (const email of ['before@example.com', 'since@example.com', 'kept@example.com']) await add(email)
  // Erased and added again before the backup: the person is back because they wanted to be.
  await erase('before@example.com')
  await add('before@example.com')
  backup = join(folder, 'svc.backup')
  expect((await run('db', 'backup', backup)).status).toBe(0)
  // The disk was full within a line of the list.
  await appendFile(list, '2026-11-30T10:')
  await erase('since@example.com')
  const text = await readFile(list, 'utf8')
  expect(text).not.toContain('example.com')
  expect((await stat(list)).mode & 0o777).toBe(0o600)
  const { ran, emails } = await restore({})
  expect(ran.json).toMatchObject({ erased: 1 })
  expect(emails).toEqual(['before@example.com', 'kept@example.com'])
})

test('--erasures names another list; without a list nobody is erased; another secret’s lines are reported', async () => {
  const copy = join(folder, 'copy')
  await writeFile(copy, await readFile(list, 'utf8'))
  const without = await restore({ SVC_ERASURES_FILE: join(folder, 'none') })
  expect(without.emails).toContain('since@example.com')
  const missing = 'There is no list of erasures: people who were erased after the backup are back'
  expect(without.ran.stderr).toContain(missing)
  expect((await restore({})).ran.stderr).not.toContain(missing)
  expect((await restore({ SVC_ERASURES_FILE: join(folder, 'none') }, '--erasures', copy)).emails).not.toContain(
    'since@example.com',
  )
  const others = join(folder, 'others')
  await writeFile(others, `${new Date(Date.now() + 1000).toISOString()} 0000000000000000 ${'0'.repeat(64)}\n`)
  const { ran, emails } = await restore({}, '--erasures', others)
  expect(ran.stderr).toContain('1 line of another SVC_SECRET')
  expect(emails).toContain('since@example.com')
  for (const absent of [join(folder, 'missing'), '-'])
    expect((await svc(t, ['db', 'restore', backup, '--erasures', absent])).status).toBe(3)
  const mistaken = await svc(t, ['db', 'restore', backup, '--erasures', backup])
  expect(mistaken).toMatchObject({ status: 2, stderr: expect.stringContaining(`${backup} is not a list of erasures`) })
})

test('a restore finds people in rejected rows of imports and in headers of emails to others', async () => {
  const [rejected, second, named] = ['Rejected@Example.com', 'second@example.com', 'named@example.com']
  await t.app.sql(
    `insert into import_rejects (account_id, import_id, line, email, reason)
     values ($1, 'imp_erasures', 1, $2, 'address with a fault'), ($1, 'imp_erasures', 2, $3, 'two email addresses')`,
    [account.id, ` ${rejected} `, `first@example.com, ${second}`],
  )
  await t.app.sql(
    `insert into messages (account_id, id, email, subject, type, status, source_kind, headers, created_at)
     values ($1, 'msg_erasures', 'other@example.com', 'S', 'transactional', 'sent', 'send', $2, now())`,
    [account.id, JSON.stringify({ 'X-About': `Named <${named}>.` })],
  )
  backup = join(folder, 'held.backup')
  expect((await run('db', 'backup', backup)).status).toBe(0)
  for (const email of [rejected, second, named]) await erase(email)
  expect((await restore({})).ran.json).toMatchObject({ erased: 3 })
})

test('a restore finds people who stand only in events, titles, filters and journeys', async () => {
  const [left, titled, filtered, awaited] = ['left', 'titled', 'filtered', 'awaited'].map(
    (name) => `${name}@example.com`,
  )
  const done = async (...args: string[]) => {
    const ran = await run(...args)
    expect(ran.status, ran.stderr).toBe(0)
  }
  // A contact that has left its list since: only its events are left.
  await t.app.sql(
    `insert into events (account_id, id, type, payload, created_at) values ($1, 'evt_left', 'contact.created', $2, now())`,
    [account.id, JSON.stringify({ id: 'evt_left', type: 'contact.created', createdAt: 1, data: { email: left } })],
  )
  await add('other@example.com')
  await done('deals', 'create', '--title', `Sent by ${titled}, in May`, '--email', 'other@example.com')
  await done('segments', 'create', '--name', 'One', '--list', 'L', '--where', `email = ${filtered}`)
  const file = join(folder, 'journey.yaml')
  const steps = `[{ kind: branch, where: email = ${awaited}, then: [{ kind: exit }], else: [] }]`
  await writeFile(file, `{ name: J, trigger: { kind: api }, steps: ${steps} }`)
  await done('journeys', 'apply', '--file', file)
  backup = join(folder, 'named.backup')
  await done('db', 'backup', backup)
  for (const email of [left, titled, filtered, awaited]) await erase(email!)
  expect((await restore({})).ran.json).toMatchObject({ erased: 4 })
})

test('an erasure before the backup is not repeated where the clock of a development database was advanced', async () => {
  const own = await startApp({ development: true, env: { SVC_ERASURES_FILE: join(folder, 'development') } })
  ends.push(() => own.close())
  const { id } = await own.account()
  const ran = async (...args: string[]) => {
    const result = await svc(own, [...args, '--account', id, '--json'])
    expect(result.status, result.stderr).toBe(0)
    return result
  }
  const again = ['contacts', 'upsert', '--list', 'L', '--email', 'again@example.com']
  expect(await svc(own, ['clock', 'advance', '30d', '--json'])).toMatchObject({ status: 0 })
  await ran('lists', 'create', '--name', 'L')
  await ran(...again)
  await ran('contacts', 'erase', 'again@example.com', '--yes')
  await ran(...again)
  const file = join(folder, 'development.backup')
  expect(await svc(own, ['db', 'backup', file])).toMatchObject({ status: 0 })
  const made = await cloneDatabase()
  ends.push(made.drop)
  const restored = await svc({ env: { ...own.env, DATABASE_URL: made.url } }, ['db', 'restore', file, '--json'])
  expect(restored).toMatchObject({ status: 0, json: { erased: 0 } })
})

test('an erasure that was under way while the backup was written is repeated, too', async () => {
  const email = 'under-way@example.com'
  await add(email)
  backup = join(folder, 'under-way.backup')
  const personalData = await t.app.personalData()
  await t.app.work(account.id, 'cli:test', async (work) => {
    await eraseContact(work, email, { dryRun: false, personalData })
    expect((await run('db', 'backup', backup)).status).toBe(0)
  })
  const { ran, emails } = await restore({})
  expect(ran.json).toMatchObject({ erased: 1 })
  expect(emails).not.toContain(email)
})

test('people of accounts that are being moved, or have moved, are reported; the others are erased', async () => {
  const moved = await t.account()
  const made = await svc(t, ['--account', moved.id, 'lists', 'create', '--name', 'L'])
  expect(made.status, made.stderr).toBe(0)
  for (const email of ['first@example.com', 'second@example.com']) await add(email)
  const there = ['contacts', 'upsert', '--list', 'L', '--email', 'moved@example.com', '--account', moved.id]
  expect((await svc(t, there)).status).toBe(0)
  for (const move of ['exporting', 'exported']) {
    await t.app.sql('update accounts set move = $2 where id = $1', [moved.id, move])
    backup = join(folder, `${move}.backup`)
    expect((await run('db', 'backup', backup)).status).toBe(0)
    await t.app.sql('update accounts set move = null where id = $1', [moved.id])
    const email = move === 'exporting' ? 'first@example.com' : 'second@example.com'
    await erase(email)
    const erased = await svc(t, ['contacts', 'erase', 'moved@example.com', '--yes', '--account', moved.id])
    expect(erased.status, erased.stderr).toBe(0)
    expect((await svc(t, there)).status).toBe(0)
    const { ran, emails } = await restore({})
    expect(ran.json).toMatchObject({ erased: 1 })
    expect(ran.stderr).toContain('1 person could not be erased again')
    expect(emails).not.toContain(email)
  }
})

test('a list that can’t be read is reported before anything is restored', async () => {
  const made = await cloneDatabase()
  ends.push(made.drop)
  const env = { ...t.env, DATABASE_URL: made.url }
  const byFlag = await svc({ env }, ['db', 'restore', backup, '--erasures', folder, '--json'])
  expect(byFlag).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/can't be read \(EISDIR\)/) })
  const bySetting = await svc({ env: { ...env, SVC_ERASURES_FILE: folder } }, ['db', 'restore', backup, '--json'])
  expect(bySetting).toMatchObject({ status: 4, stdout: '', stderr: expect.stringMatching(/can't be read \(EISDIR\)/) })
  expect(await svc({ env }, ['db', 'restore', backup, '--json'])).toMatchObject({ status: 0 })
})

test('a list whose lines end as those of Windows names the same erasures', async () => {
  const secret = 'a secret that only this test uses'
  const windows = join(folder, 'windows')
  const hash = 'a'.repeat(64)
  await writeFile(windows, `\r\n2026-11-20T08:00:00.000Z ${secretFingerprint(secret).slice(0, 16)} ${hash}\r\n`)
  expect(erasedSince(readErasures(windows, 'usage')!, secret, 0)).toEqual({ hashes: new Set([hash]), unreadable: 0 })
})

test('a restore that is killed before it has repeated all erasures continues; until then nothing else starts', async () => {
  const email = 'killed@example.com'
  await add(email)
  backup = join(folder, 'killed.backup')
  expect((await run('db', 'backup', backup)).status).toBe(0)
  await erase(email)
  const made = await cloneDatabase()
  ends.push(made.drop)
  const target = { env: { ...t.env, DATABASE_URL: made.url } }
  const database = openDatabase(made.url, { max: 2 })
  await database.transaction(async (sql) => {
    await sql(`select pg_advisory_xact_lock(${lockKey('account', '$1')})`, [account.id])
    const child = startSvc(target, ['db', 'restore', backup, '--hold', '--json'])
    const closed = once(child, 'close')
    await untilLocked(database, 1)
    child.kill('SIGKILL')
    await closed
  })
  for (const args of [
    ['contacts', 'list', '--account', account.id],
    ['jobs', 'run'],
  ]) {
    const refused = await svcProcess(target, [...args, ...(args[0] === 'jobs' ? [] : ['--json'])])
    expect(refused).toMatchObject({ status: 7, stdout: '', stderr: expect.stringContaining('svc db restore') })
  }
  const { checks } = (await svcProcess(target, ['doctor', '--json'])).json
  expect(checks).toContainEqual({ name: 'restore', status: 'fail', message: expect.stringContaining('svc db restore') })
  const continued = await svc(target, ['db', 'restore', backup, '--json'])
  expect(continued).toMatchObject({ status: 0, json: { rows: 0, erased: 1, tables: {} } })
  expect(continued.stderr).toContain('continued')
  const listed = await svc(target, ['contacts', 'list', '--account', account.id, '--json'])
  expect(listed.status, listed.stderr).toBe(0)
  expect(listed.json.contacts.map((contact: { email: string }) => contact.email)).not.toContain(email)
  const { queues } = (await svc(target, ['queues', '--json'])).json
  expect(queues.map(({ state }: { state: string }) => state)).toEqual(['paused', 'paused', 'paused'])
  expect(await svc(target, ['db', 'restore', backup, '--json'])).toMatchObject({ status: 6 })
  await database.close()
})

test('db reset keeps the list', async () => {
  const before = await readFile(list, 'utf8')
  const made = await cloneDatabase()
  ends.push(made.drop)
  expect((await svc({ env: { ...t.env, DATABASE_URL: made.url } }, ['db', 'reset', '--yes'])).status).toBe(0)
  expect(await readFile(list, 'utf8')).toBe(before)
})

test('an erasure that can’t be added to the list fails and erases nothing; a dry run adds nothing', async () => {
  await add('later@example.com')
  const before = await readFile(list, 'utf8')
  expect((await run('contacts', 'erase', 'later@example.com', '--dry-run')).status).toBe(0)
  expect(await readFile(list, 'utf8')).toBe(before)
  const env = { ...t.env, SVC_ERASURES_FILE: join(folder, 'no', 'folder') }
  const ran = await svc({ env }, ['contacts', 'erase', 'later@example.com', '--yes', '--account', account.id])
  expect(ran.status).toBe(4)
  expect(existsSync(join(folder, 'no'))).toBe(false)
  expect((await run('contacts', 'show', 'later@example.com')).status).toBe(0)
})

test('a daemon begins its list as it starts, and does not start if it can’t write it', async () => {
  const taken = createServer().listen(0, '127.0.0.1')
  await once(taken, 'listening')
  const SVC_PORT = String((taken.address() as AddressInfo).port)
  const serve = (SVC_ERASURES_FILE: string) => svcProcess({ env: { ...t.env, SVC_PORT, SVC_ERASURES_FILE } }, ['serve'])
  const begun = join(folder, 'begun')
  expect(await serve(begun)).toMatchObject({ status: 4, stderr: expect.stringContaining('is taken') })
  expect(await stat(begun)).toMatchObject({ size: 0, mode: 0o100600 })
  const refused = await serve(join(folder, 'nowhere/list'))
  expect([refused.status, refused.stderr]).toEqual([
    4,
    expect.stringMatching(/nowhere\/list can't be written \(ENOENT\)/),
  ])
  const embedded = { SVC_DATA_DIR: await migratedDataFolder(), SVC_PORT, SVC_LOG_LEVEL: 'silent' }
  const SVC_ERASURES_FILE = join(folder, 'nowhere/list')
  expect(await svcProcess({ env: { ...embedded, SVC_ERASURES_FILE } }, ['serve'])).toMatchObject({
    status: 4,
    stderr: expect.stringContaining("nowhere/list can't be written (ENOENT)"),
  })
  taken.close()
})
