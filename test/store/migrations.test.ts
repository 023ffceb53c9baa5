import pg from 'pg'
import { expect, onTestFinished, test } from 'vitest'
import { openDatabase } from '../../src/store/database.ts'
import { loadMigration, type OnStep, statementsOf } from '../../src/store/migrations.ts'
import { knownMigrations, migrate, schemaState } from '../../src/store/schema.ts'
import { footprint } from '../../src/store/statements-of-migrations.ts'
import { svc } from '../support/cli.ts'
import { cloneDatabase } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

const changeOf = (...statements: string[]) => footprint(statements).map(({ change }) => change)

test('each migration declares what its statements do: one that is not additive is a contraction', async () => {
  const wrong: string[] = []
  for (const name of knownMigrations()) {
    const made = await loadMigration(name)
    const isAdditive = changeOf(...(await statementsOf(made))).every((change) => change === 'expand')
    if (made.change !== 'contract' && !(made.change === 'expand' && isAdditive)) wrong.push(name)
  }
  expect(wrong).toEqual([])
})

// Those before were applied by versions whose daemons stop for an upgrade.
const firstBesideDaemons = 'Migration20261124050000'

test('an additive migration works on existing rows outside of the transaction', async () => {
  const wrong: string[] = []
  let found = 0
  for (const name of knownMigrations().filter((one) => one >= firstBesideDaemons)) {
    const made = await loadMigration(name)
    const statements = await statementsOf(made)
    const long = footprint(statements).filter(({ work }) => work !== 'none')
    if (made.change === 'contract' || long.length === 0) continue
    found++
    const isOnline = !new made({} as never, {} as never).isTransactional()
    const isShort = long.every(
      ({ sql, work }) => work !== 'index' || /^\s*create index concurrently if not exists/.test(sql),
    )
    if (!isOnline || !isShort) wrong.push(name)
  }
  expect(found).toBeGreaterThan(0)
  expect(wrong).toEqual([])
})

test.each([
  ['expand', 'create table "x" ("id" text not null)'],
  ['expand', 'alter table "x" add column "a" text null, add b numeric(12, 2) not null default 0'],
  ['expand', 'alter table x alter column a set default 1'],
  ['expand', 'create index concurrently if not exists i on x (a)'],
  ['expand', 'update x set a = 1 where b is null'],
  ['expand', 'alter table "x" drop constraint "x_a_check"'],
  ['contract', 'alter table "x" drop constraint "x_a_key"'],
  ['contract', 'alter table x add column a text not null'],
  ['contract', `alter table x add column a text, drop column b`],
  ['contract', 'alter table x add column a text unique'],
  ['contract', 'alter table x add column a text references y'],
  ['contract', 'alter table "x" rename column "a" to "b"'],
  ['contract', 'alter table "x" rename to "y"'],
  ['contract', 'alter table "x" alter column "a" set not null'],
  ['contract', 'alter table "x" alter column "a" type int'],
  ['contract', 'alter table "x" alter column "a" drop default'],
  ['contract', `alter table x add constraint c check (a in ('b, c'))`],
  ['contract', 'create unique index i on x (a)'],
  ['contract', 'drop index i'],
  ['contract', 'drop table x'],
  ['contract', 'create or replace function f() returns int language sql as $$ select 1 $$'],
  ['contract', 'truncate x'],
  ['contract', 'with gone as (delete from x returning *) select * from gone'],
])('%s: %s', (change, statement) => {
  expect(changeOf(statement)).toEqual([change])
})

test('what is dropped and constrained in a table of the same migration is additive', () => {
  expect(changeOf('create table x (a text)', 'create unique index i on x (a)', 'alter table x add unique (a)')).toEqual(
    ['expand', 'expand', 'expand'],
  )
})

/** Returns a database in which the last migrations are pending: `create index concurrently` and those before it, if `back`. */
const behind = async (back: string, undo: string) => {
  const { url, drop } = await cloneDatabase()
  const database = openDatabase(url)
  onTestFinished(async () => {
    await database.close()
    await drop()
  })
  await database.sql(undo)
  await database.sql(`delete from mikro_orm_migrations where name like '%' || $1`, [back])
  const stored = async () => {
    const rows = await database.sql<{ name: string; change: string }>('select name, change from mikro_orm_migrations')
    return new Map(rows.map(({ name, change }) => [name, change]))
  }
  return { url, database, stored, target: { env: { DATABASE_URL: url, SVC_SECRET: 'x'.repeat(40) } } }
}

const due = 'due_by_account'
const dropIndexes = 'drop index bookings_due_index, broadcasts_due_index, webinar_registrations_due_index'

test('the database knows what kind of change each migration is', async () => {
  const { url, database, stored } = await behind(due, dropIndexes)
  await migrate(database, url)
  for (const [name, change] of await stored())
    expect([name, change]).toEqual([name, (await loadMigration(name)).change])
})

test('an index is built without a lock that writers wait for, and again after an interruption', async () => {
  const { url, database } = await behind(due, dropIndexes)
  const valid = async () => {
    const rows = await database.sql<{ name: string; valid: boolean }>(
      `select indexrelid::regclass::text as name, indisvalid as valid from pg_index
       where indexrelid::regclass::text in ('bookings_due_index', 'broadcasts_due_index', 'webinar_registrations_due_index')`,
    )
    return rows.filter(({ valid: isValid }) => isValid).length
  }
  // The build waits for a transaction that writes the table; another one writes meanwhile.
  const writer = await database.connect()
  await writer.query('begin')
  await writer.query('lock table broadcasts in row exclusive mode')
  const { pid } = (await writer.query<{ pid: number }>('select pg_backend_pid() as pid')).rows[0]!
  const running = migrate(database, url).catch((error: Error) => error)
  // Each build also waits, for a moment, for statements that began before it.
  const held = `from pg_stat_activity where datname = current_database() and query like 'create index concurrently%' and $1 = any(pg_blocking_pids(pid))`
  await eventually(async () => (await database.sql(`select ${held}`, [pid])).length > 0)
  await database.sql(`delete from broadcasts where id = 'none'`)
  await database.sql(`select pg_terminate_backend(pid) ${held}`, [pid])
  expect(await running).toBeInstanceOf(Error)
  await writer.query('rollback')
  await writer.end()
  expect(await valid()).toBe(1)
  expect((await schemaState(database)).pending).toHaveLength(1)
  expect(await migrate(database, url)).toHaveLength(1)
  expect(await valid()).toBe(3)
  expect((await schemaState(database)).pending).toEqual([])
})

test('a migration in batches continues where it was interrupted, and reports its rows', async () => {
  const { url, database } = await behind('lesson_videos', `update lessons set html = ''`)
  await database.sql(
    `insert into lessons (account_id, id, course_id, title, content, position, html)
     select 'acc', 'les_' || n, 'crs', 'Title', '*more*', n, '' from generate_series(1000, 1349) n`,
  )
  const interrupted: OnStep = ({ rows }) => {
    if (rows === 200) throw new Error('interrupted')
  }
  await expect(migrate(database, url, { onStep: interrupted })).rejects.toThrow('interrupted')
  const left = () => database.sql(`select from lessons where html = ''`)
  expect(await left()).toHaveLength(150)
  const rows: number[] = []
  await migrate(database, url, { onStep: (step) => void (step.rows !== undefined && rows.push(step.rows)) })
  expect(rows).toEqual([0, 100, 150])
  expect(await left()).toEqual([])
})

test('a migration gives up its place behind a lock, so that statements behind it continue, and tries again', async () => {
  const { url, database } = await behind('import_suppressed', 'alter table imports drop column suppressed')
  const reader = await database.connect()
  await reader.query('begin')
  await reader.query('lock table imports in access share mode')
  const texts: string[] = []
  const running = migrate(database, url, { onStep: ({ text }) => void texts.push(text) })
  await eventually(() => texts.includes('waits for a lock, and tries again'))
  await reader.query('rollback')
  await reader.end()
  expect(await running).toHaveLength(1)
})

/** Connects as a daemon of another process does. */
const connectAs = async (url: string, name: string) => {
  const client = new pg.Client({ connectionString: url, application_name: name })
  await client.connect()
  onTestFinished(() => client.end())
}

test('svc db migrate refuses while a daemon is connected that can’t work with the new schema', async () => {
  const { url, target, database } = await behind(due, dropIndexes)
  await connectAs(url, 'svc daemon 4242@web-1 a1b2c3d')
  await connectAs(url, 'svc jobs 4343@web-2 1.2.3 a1b2c3d')
  await connectAs(url, 'svc cli 4444@web-2 a1b2c3d')
  const planned = await svc(target, ['db', 'migrate', '--dry-run', '--json'])
  expect(planned).toMatchObject({
    status: 0,
    json: {
      applied: [],
      pending: [expect.stringContaining(due)],
      daemons: [
        { pid: 4242, host: 'web-1', version: null, continues: false },
        { pid: 4343, host: 'web-2', version: '1.2.3', continues: true },
      ],
    },
  })
  const refused = await svc(target, ['db', 'migrate'])
  expect(refused).toMatchObject({ status: 6, stdout: '' })
  expect(refused.stderr).toContain("1 daemon can't work with the new schema: process 4242 on web-1 (an older version)")
  expect((await schemaState(database)).pending).toHaveLength(1)
  const forced = await svc(target, ['db', 'migrate', '--force', '--json'])
  expect(forced).toMatchObject({ status: 0, json: { applied: planned.json.pending, pending: [] } })
  // Nothing is pending: a daemon is in nobody's way.
  expect(await svc(target, ['db', 'migrate', '--json'])).toMatchObject({ status: 0, json: { applied: [] } })
})

test('a contraction stops every daemon, and the plan shows rows and expected time', async () => {
  const { url, target, database } = await behind(
    'attendance',
    'alter table webinar_registrations drop column seen, drop column attended',
  )
  await connectAs(url, 'svc jobs 4343@web-2 1.2.3 a1b2c3d')
  await database.sql(
    `insert into lifecycle_bindings select (jsonb_populate_record(null::lifecycle_bindings, jsonb_build_object(
       'account_id', 'acc', 'subject_kind', 'webinar', 'subject_id', n::text, 'event', 'reminder', 'project_id', 'prj', 'updated_at', now()))).*
     from generate_series(1, 3000) n`,
  )
  await database.sql('analyze lifecycle_bindings')
  const planned = await svc(target, ['db', 'migrate', '--dry-run', '--json'])
  expect(planned.json).toMatchObject({
    steps: [{ change: 'contract', online: false, table: 'lifecycle_bindings', rows: 3000, seconds: 1 }],
    daemons: [{ pid: 4343, continues: false }],
  })
  expect((await svc(target, ['db', 'migrate', '--dry-run'])).stdout).toMatch(
    /attendance \(contract\): alter … lifecycle_bindings, 3,000 rows, about 1 s.*process 4343 on web-2 \(svc 1\.2\.3\) must stop/s,
  )
  expect((await svc(target, ['db', 'migrate'])).stderr).toContain('process 4343 on web-2 (svc 1.2.3)')
  expect((await svc(target, ['db', 'migrate', '--force'])).status).toBe(0)
})
