import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { exportAccount, importAccount } from '../../../src/app/move/move.ts'
import { sealedColumns } from '../../../src/app/operate/rotate.ts'
import { accountTables } from '../../../src/store/backup/backup.ts'
import { accountOf, contentOf, equalContent, fill, type Row, readTables } from '../../store/tenancy/content.ts'
import { svc } from '../../support/cli.ts'
import { cloneDatabase } from '../../support/database.ts'
import { opened } from '../../support/fixture.ts'

const passphrase = 'a passphrase that only tests use'
const folder = mkdtempSync(join(tmpdir(), 'svc-move-'))
const secretFile = join(folder, 'passphrase')
writeFileSync(secretFile, `${passphrase}\n`)
afterAll(() => rmSync(folder, { recursive: true }))

const useInstallation = (secret: string) =>
  opened(async () => {
    const database = await cloneDatabase()
    const env = { DATABASE_URL: database.url, SVC_SECRET: secret, SVC_LOG_LEVEL: 'silent' }
    const app = await openApp(readConfig(env))
    await app.sql(`insert into plans (name, position, webinar_courses) values ('tenancy', 99, true)`)
    const close = async () => {
      await app.close()
      await database.drop()
    }
    return { app, env, url: database.url, close }
  })

const source = useInstallation('the secret of the source, for tests')
const target = useInstallation('the secret of the target, for tests')
const ownSealed = sealedColumns.filter(({ table }) => table !== 'installation')
const id = accountOf('m')

const withClient = async <T>(url: string, run: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return run(client).finally(() => client.end())
}

/** Fills the source with account m, and with t, which has mostly the same ids; every table has rows of both. */
beforeAll(() =>
  withClient(source.url, async (client) => {
    const tables = await readTables(client)
    const content = contentOf(tables)
    content.delete('rate_windows')
    await fill(client, content)
    await fill(client, equalContent(content, tables, 't'))
    for (const { table, column, context } of ownSealed)
      for (const row of (await client.query(`select ${context} as context from ${table}`)).rows) {
        const sealed = source.app.box.seal(`${column} of ${row.context}`, row.context)
        await client.query(`update ${table} set ${column} = $1 where ${context} = $2`, [sealed, row.context])
      }
  }),
)

/** Columns that say what the jobs of an installation do at the moment. */
const ofJobs: Record<string, string[]> = { delivery_targets: ['next_due_at', 'quiet_until', 'version'] }

/** The account's rows by table, with sealed texts opened, and without claims. */
const rowsIn = async ({ app }: typeof source, owner = id): Promise<Record<string, Row[]>> => {
  const rows: Record<string, Row[]> = {}
  for (const { table } of await accountTables(app.sql)) {
    const read = await app.sql<{ row: Row }>(`select to_jsonb(t) as row from ${table} t where account_id = $1`, [owner])
    const texts = ownSealed.filter((one) => one.table === table)
    const opened = texts.map(async ({ column, context }) =>
      app.sql<{ context: string; sealed: string }>(
        `select ${context} as context, ${column} as sealed from ${table} where account_id = $1 and ${column} is not null`,
        [owner],
      ),
    )
    const plain = new Map(
      (await Promise.all(opened)).flat().map(({ sealed, context }) => [sealed, app.box.open(sealed, context)]),
    )
    rows[table] = read
      .map(({ row }) =>
        Object.fromEntries(
          Object.entries(row).flatMap(([name, value]) => {
            if (ofJobs[table]?.includes(name)) return []
            if (name === 'worker' && 'claim' in row) return [[name, value === null ? null : 'claimed']]
            return [[name, plain.get(value as string) ?? value]]
          }),
        ),
      )
      .toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1))
  }
  return rows
}

const run = () => ({ actor: 'cli:test', passphrase, signal: new AbortController().signal, onRows: () => {} })
const file = join(folder, 'm.account')
const accountRow = async ({ app }: typeof source) =>
  (await app.sql<{ row: Row }>('select to_jsonb(a) as row from accounts a where id = $1', [id])).map(({ row }) => row)

test('every table that has an account moves; the others are of the installation', async () => {
  const moved = (await accountTables(source.app.sql)).map(({ table }) => table)
  const all = await source.app.sql<{ name: string; hasAccount: boolean }>(
    `select c.relname::text as name, exists (
       select from pg_attribute where attrelid = c.oid and attname = 'account_id'
     ) as "hasAccount" from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r'`,
  )
  expect(moved.toSorted()).toEqual(all.flatMap(({ name, hasAccount }) => (hasAccount ? name : [])).toSorted())
  // A table without an account is either of the installation, or one that has to move in another way: accounts has its own.
  expect(all.flatMap(({ name }) => (moved.includes(name) ? [] : name)).toSorted()).toEqual(
    'accounts development_clock installation mail_domains mikro_orm_migrations plans queue_holds rate_windows workers'.split(
      ' ',
    ),
  )
})

test('no id of a row of an account is a number that another installation also gives', async () => {
  const numbered = await source.app.sql(
    `select c.relname as table, a.attname as column from pg_class c join pg_attribute a on a.attrelid = c.oid
     left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
     where c.relname = any($1) and (a.attidentity <> '' or pg_get_expr(d.adbin, d.adrelid) like 'nextval%')`,
    [(await accountTables(source.app.sql)).map(({ table }) => table)],
  )
  expect(numbered).toEqual([])
})

test('an exported account has the same rows in the other installation, with its secrets sealed by that one', async () => {
  const before = await rowsIn(source)
  expect(Object.entries(before).flatMap(([table, rows]) => (rows.length === 0 ? table : []))).toEqual([])
  const [account] = await accountRow(source)
  const others = await rowsIn(source, accountOf('t'))
  const { rows } = await exportAccount(source.app, id, file, '1.0', run())
  const counted = Object.values(before).reduce((sum, { length }) => sum + length, 0)
  expect(rows).toBe(counted)
  const content = readFileSync(file)
  for (const text of ['@m.example', 'account of m']) expect(content.includes(text)).toBe(false)

  const imported = await importAccount(target.app, file, { ...run(), dryRun: false })
  expect(imported).toMatchObject({ id, name: 'account of m' })
  expect(await rowsIn(target)).toEqual(before)
  const [arrived] = await accountRow(target)
  expect(arrived).toEqual({ ...account, move_id: expect.any(String) })
  // The workers of the source have the same numbers as others here.
  const claims = await target.app.sql('select distinct worker from pending_deliveries where worker is not null')
  expect(claims).toEqual([{ worker: 0 }])
  expect(await rowsIn(source, accountOf('t'))).toEqual(others)
  expect(await rowsIn(target, accountOf('t'))).toMatchObject({ contacts: [], deals: [] })

  await expect(source.app.work(id, 'cli:test', async () => {})).rejects.toMatchObject({ kind: 'gone' })
  expect(await target.app.work(id, 'cli:test', async () => 'works')).toBe('works')
})

test('the same file again changes nothing; another account of that id or name is refused', async () => {
  const again = await importAccount(target.app, file, { ...run(), dryRun: false })
  expect(again.rows).toBeNull()
  await expect(importAccount(source.app, file, { ...run(), dryRun: false })).rejects.toMatchObject({ kind: 'conflict' })
})

test('the commands: a dry run, refusals with their exit codes, and an import', async () => {
  const third = await cloneDatabase()
  const env = { DATABASE_URL: third.url, SVC_SECRET: 'the secret of the third, for tests' }
  const importing = (path: string, secret = secretFile, ...flags: string[]) =>
    svc({ env }, ['accounts', 'import', path, '--secret-file', secret, '--json', ...flags])
  try {
    expect(await importing(file)).toMatchObject({ status: 3 })
    await withClient(third.url, (client) =>
      client.query(`insert into plans (name, position, webinar_courses) values ('tenancy', 99, true)`),
    )
    const other = join(folder, 'other')
    writeFileSync(other, 'another passphrase')
    expect(await importing(file, other)).toMatchObject({ status: 2, stderr: expect.stringContaining('passphrase') })
    const content = readFileSync(file)
    const damaged = join(folder, 'damaged')
    const altered = Buffer.from(content)
    altered[content.length - 100]! ^= 1
    for (const bytes of [content.subarray(0, -1), content.subarray(0, 1000), altered]) {
      writeFileSync(damaged, bytes)
      expect(await importing(damaged)).toMatchObject({ status: 2, stderr: expect.stringContaining('damaged') })
    }
    expect(await importing(join(folder, 'none'))).toMatchObject({ status: 3 })
    expect(await svc({ env }, ['accounts', 'import', file])).toMatchObject({ status: 2 })
    const tried = await importing(file, secretFile, '--dry-run')
    expect(tried).toMatchObject({ status: 0, json: { dryRun: true, id } })
    expect((await svc({ env }, ['accounts', 'list', '--json'])).json.accounts).toEqual([])
    expect(await importing(file)).toMatchObject({ status: 0, json: { id, rows: tried.json.rows } })
    expect((await svc({ env }, ['accounts', 'list', '--json'])).json.accounts).toMatchObject([{ id }])
    await withClient(third.url, async (client) => {
      await client.query(`update accounts set move_id = 'another'`)
    })
    expect(await importing(file)).toMatchObject({ status: 6, stderr: expect.stringContaining('already exists') })
    await withClient(third.url, (client) =>
      client.query(`delete from mikro_orm_migrations where name = (select max(name) from mikro_orm_migrations)`),
    )
    expect((await importing(file)).status).toBe(7)
  } finally {
    await third.drop()
  }
})

test('a file of another schema is refused', async () => {
  const third = await cloneDatabase()
  const app = await openApp(readConfig({ DATABASE_URL: third.url, SVC_SECRET: 'the secret of the third, for tests' }))
  await app.sql(`delete from mikro_orm_migrations where name = (select max(name) from mikro_orm_migrations)`)
  await expect(importAccount(app, file, { ...run(), dryRun: false })).rejects.toMatchObject({
    ...{ kind: 'conflict', message: 'The file has the schema of another version: svc 1.0 wrote it' },
  })
  await app.close()
  await third.drop()
})

test('an export that fails leaves no file; repeated, it completes; aborted, the account works again', async () => {
  const other = accountOf('t')
  const env = { env: source.env }
  const stopping = new AbortController()
  const path = join(folder, 't.account')
  const failing = exportAccount(source.app, other, path, '1.0', {
    ...run(),
    signal: stopping.signal,
    onRows: () => stopping.abort(),
  })
  await expect(failing).rejects.toThrow()
  expect(readdirSync(folder).filter((name) => name.startsWith('t.account'))).toEqual([])
  await expect(source.app.work(other, 'cli:test', async () => {})).rejects.toMatchObject({
    ...{ kind: 'unavailable', detail: { retryAfterSeconds: 30 } },
  })
  const stateOf = async (account: string) => {
    const { accounts } = (await svc(env, ['accounts', 'list', '--json'])).json
    return accounts.find((one: { id: string }) => one.id === account).state
  }
  expect(await stateOf(other)).toBe('moving')
  expect(await svc(env, ['lists', 'list', '--account', other])).toMatchObject({
    status: 7,
    stderr: expect.stringContaining('--abort'),
  })
  const rowOf = () =>
    source.app.sql('select * from accounts left join brands on account_id = id where id = $1', [other])
  const unchanged = await rowOf()
  const changes = [
    ['accounts', 'set-plan', other, 'free'],
    ['accounts', 'claim-slug', 'moving', '--account', other],
    ['accounts', 'update', other, '--brand-name', 'Moving'],
  ]
  for (const change of changes)
    expect(await svc(env, [...change, '--yes', '--json'])).toMatchObject({
      ...{ status: 7, stdout: '', stderr: expect.stringContaining('--abort') },
    })
  expect(await rowOf()).toEqual(unchanged)
  expect(await svc(env, ['accounts', 'export', other, '--abort', '--json'])).toMatchObject({
    status: 0,
    stderr: expect.anything(),
  })
  expect(await source.app.work(other, 'cli:test', async () => 'works')).toBe('works')
  expect(await stateOf(other)).toBe('active')
  expect(await svc(env, ['accounts', 'export', other, '--abort', '--json'])).toMatchObject({ status: 6 })

  const exporting = (...flags: string[]) =>
    svc(env, ['accounts', 'export', other, '--out', path, '--secret-file', secretFile, '--json', ...flags])
  expect(await exporting('--dry-run')).toMatchObject({ status: 0, json: { dryRun: true } })
  expect(await source.app.work(other, 'cli:test', async () => 'works')).toBe('works')
  expect(await exporting()).toMatchObject({ status: 0, json: { id: other, file: path } })
  expect(await exporting()).toMatchObject({ status: 6, stderr: expect.stringContaining('already exists') })
  expect(await svc(env, ['accounts', 'export', other, '--abort', '--json'])).toMatchObject({ status: 6 })
  expect(await stateOf(other)).toBe('moved')
  expect((await svc(env, ['accounts', 'show', other, '--json'])).json.state).toBe('moved')
  expect(await svc(env, ['lists', 'list', '--account', other])).toMatchObject({
    status: 6,
    stderr: expect.stringContaining('next: run the command there'),
  })
  for (const change of changes)
    expect(await svc(env, [...change, '--yes', '--json'])).toMatchObject({ status: 6, stdout: '' })
  // A lost file is written again, with the same export.
  rmSync(path)
  expect(await exporting()).toMatchObject({ status: 0 })

  const importing = () => svc({ env: target.env }, ['accounts', 'import', path, '--secret-file', secretFile, '--json'])
  const [key] = await source.app.sql<{ hash: string }>('select hash from api_keys where account_id = $1 limit 1', [
    other,
  ])
  const taking = `update api_keys set hash = $1 where id = (select min(id) from api_keys)`
  await target.app.sql(taking, [key!.hash])
  expect(await importing()).toMatchObject({ status: 6, stderr: expect.stringContaining('already has') })
  await target.app.sql(taking, ['freed'])
  expect(await importing()).toMatchObject({ status: 0, json: { id: other } })
  expect(await rowsIn(target, other)).toEqual(await rowsIn(source, other))
})
