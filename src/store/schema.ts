import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { singleLocks } from '../lib/locks.ts'
import { Problem } from '../lib/problem.ts'
import { quantity } from '../lib/quantity.ts'
import { type Database, type Sql, sqlOn } from './database.ts'
import type { OnStep } from './migrations.ts'
import { statement } from './statement.ts'

/**
 * What a process does about the schema: `require` refuses one that is behind, `migrate` migrates it, `fresh` sets up an empty
 * database and otherwise requires, `ignore` does not check. All but `ignore` refuse a schema that is newer than the program, unless
 * only additive migrations make it so.
 */
export type SchemaRule = 'require' | 'migrate' | 'fresh' | 'ignore'

interface SchemaState {
  applied: string[]
  pending: string[]
  /** Applied by a later version of svc than this one. */
  unknown: string[]
  /** Those of `unknown` that are not known to be additive. */
  incompatible: string[]
}

const folder = join(import.meta.dirname, '../../migrations')

/** Returns the names of this version's migrations, in their order. */
export const knownMigrations = (): string[] =>
  readdirSync(folder)
    .filter((file) => /^Migration\d[\w-]*\.(ts|js)$/.test(file))
    .map((file) => file.replace(/\.(ts|js)$/, ''))
    .sort()

/** `server_version_num` of the oldest server that supports all statements. */
const oldestServer = 150_000

/** Throws Problem `configuration` for a server that is too old, by its `server_version_num`. */
export const requireServer = (version: number): void => {
  if (version >= oldestServer) return
  const major = Math.floor(version / 10_000)
  throw new Problem('configuration', `The database is PostgreSQL ${major}; svc needs PostgreSQL 15 or newer`)
}

const readServer = statement(
  'server-version',
  { row: { version: 'int4', isSetUp: 'bool' } },
  `select current_setting('server_version_num')::int as version, to_regclass('mikro_orm_migrations') is not null as "isSetUp"`,
)

// The column `change` is missing in databases that only older versions have migrated.
const appliedMigrations = statement(
  'applied-migrations',
  { row: { name: 'text', change: 'text?' } },
  `select name::text as name, to_jsonb(m) ->> 'change' as change from mikro_orm_migrations m order by id`,
)

/** Returns which migrations the database has and which it lacks. Throws Problem `configuration` for a server that is too old. */
export const schemaState = async (database: Database): Promise<SchemaState> => {
  const [server] = await database.sql(readServer)
  requireServer(server!.version)
  const rows = server!.isSetUp ? await database.sql(appliedMigrations) : []
  const applied = rows.map((row) => row.name)
  const ours = knownMigrations()
  const unknown = rows.filter(({ name }) => !ours.includes(name))
  return {
    applied,
    pending: ours.filter((name) => !applied.includes(name)),
    unknown: unknown.map(({ name }) => name),
    incompatible: unknown.filter(({ change }) => change !== 'expand').map(({ name }) => name),
  }
}

const readVersionAndSize = statement(
  'read-version-and-size',
  { row: { version: 'text', size: 'int8' } },
  `select current_setting('server_version') as version, pg_database_size(current_database()) as size`,
)

/** Returns the server's version, and the size of the database in bytes. */
export const describeServer = async ({ sql }: Pick<Database, 'sql'>): Promise<{ version: string; size: number }> =>
  (await sql(readVersionAndSize))[0]!

// A read-only server refuses this like a write, although it locks no row.
const lockNoRow = statement('lock-no-row', {}, 'select from installation where false for share')

/**
 * Rejects as unavailable if the server accepts no writes: a standby, a demoted leader, read-only by its settings, or its disk is
 * full.
 */
export const requireWritable = async ({ sql, requireSpace }: Pick<Database, 'sql' | 'requireSpace'>): Promise<void> => {
  await sql(lockNoRow)
  await requireSpace()
}

const newerSchema = () =>
  new Problem('unavailable', 'The database schema is newer than this version of svc', {
    hint: 'install the version that migrated it, or a later one',
  })

/** Returns why this program can't work on a schema, or null if it can. */
export const schemaProblem = ({ pending, incompatible }: SchemaState): Problem | null => {
  if (incompatible.length > 0) return newerSchema()
  if (pending.length === 0) return null
  return new Problem('unavailable', `The database schema is behind by ${quantity(pending.length, 'migration')}`, {
    hint: 'svc db migrate',
  })
}

const tryMigrationLock = statement(
  'try-migration-lock',
  { row: { isHeld: 'bool' }, parameters: { migration: 'int8' } },
  'select pg_try_advisory_lock(:migration) as "isHeld"',
)

/** A statement that waits for the lock would have a snapshot, which the concurrent build of an index waits for. */
const lockPollMs = 200

interface MigrateOptions {
  /** Applies only these of the pending migrations. */
  only?: readonly string[]
  onStep?: OnStep
}

/**
 * Applies the pending migrations under an advisory lock. Returns the names of the applied ones. Throws Problem `unavailable` for
 * a schema that is newer than this program.
 */
export const migrate = async (
  database: Database,
  databaseUrl: string,
  { only, onStep = () => {} }: MigrateOptions = {},
): Promise<string[]> => {
  const guard = await database.connect()
  try {
    const { migration } = singleLocks
    while (!(await sqlOn(guard)(tryMigrationLock, { migration }))[0]!.isHeld) await sleep(lockPollMs)
    const state = await schemaState(database)
    const pending = state.pending.filter((name) => !only || only.includes(name))
    if (state.incompatible.length > 0 || (pending.length > 0 && state.unknown.length > 0)) throw newerSchema()
    if (pending.length === 0) return []
    const { applyMigrations } = await import('./migrations.ts')
    await applyMigrations(database, databaseUrl, pending, onStep)
    return pending
  } finally {
    await guard.end()
  }
}

/** Applies the process's rule for the schema. Throws Problem `unavailable` (exit 7) if the schema is behind or newer. */
export const checkSchema = async (database: Database, databaseUrl: string, rule: SchemaRule): Promise<void> => {
  if (rule === 'ignore') return
  const state = await schemaState(database)
  const isSetUp = rule === 'migrate' || (rule === 'fresh' && state.applied.length === 0)
  // If nothing is pending MikroORM is not loaded, which saves a quarter of a second.
  if (isSetUp && state.pending.length > 0) await migrate(database, databaseUrl)
  else {
    const problem = schemaProblem(state)
    if (problem) throw problem
  }
}

const lockMigration = statement(
  'lock-migration',
  { row: { locked: 'void' }, parameters: { migration: 'int8' } },
  'select pg_advisory_xact_lock(:migration) as locked',
)

const tableNames = statement(
  'table-names',
  { row: { name: 'text' } },
  'select tablename::text as name from pg_tables where schemaname = current_schema()',
)

export const readTableNames = async (sql: Sql): Promise<string[]> => (await sql(tableNames)).map(({ name }) => name)

const functionSignatures = statement(
  'function-signatures',
  { row: { signature: 'text' } },
  `select p.oid::regprocedure::text as signature from pg_proc p where pronamespace = current_schema()::regnamespace
   and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
)

/** Drops all tables and functions of the schema. Concurrent statements fail until `migrate` has set it up again. */
export const resetSchema = (database: Database): Promise<void> =>
  database.transaction(async (sql) => {
    await sql(lockMigration, { migration: singleLocks.migration })
    const tables = await readTableNames(sql)
    if (tables.length > 0) await sql(`drop table ${tables.map(pg.escapeIdentifier).join(', ')} cascade`)
    const functions = await sql(functionSignatures)
    if (functions.length > 0) await sql(`drop function ${functions.map(({ signature }) => signature).join(', ')}`)
  })
