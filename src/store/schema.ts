import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Problem } from '../lib/problem.ts'
import type { Database } from './database.ts'

/**
 * What a process does about the schema: `require` refuses one that is behind, `migrate` brings it up, `fresh` sets up
 * an empty database and else requires, `ignore` does not look.
 */
export type SchemaRule = 'require' | 'migrate' | 'fresh' | 'ignore'

export interface SchemaState {
  applied: string[]
  pending: string[]
}

const folder = join(import.meta.dirname, '../../migrations')

/** Every process that migrates waits for the one that does. */
const migrationLock = 7_318_201

/** The migrations of this version, in their order. */
export const knownMigrations = (): string[] =>
  readdirSync(folder)
    .filter((file) => /^Migration\d+.*\.(ts|js)$/.test(file))
    .map((file) => file.replace(/\.(ts|js)$/, ''))
    .sort()

/** Which migrations the database has and which it lacks. */
export const schemaState = async (database: Database): Promise<SchemaState> => {
  const [table] = await database.sql<{ exists: boolean }>(
    `select to_regclass('mikro_orm_migrations') is not null as exists`,
  )
  const rows = table?.exists
    ? await database.sql<{ name: string }>('select name from mikro_orm_migrations order by id')
    : []
  const applied = rows.map((row) => row.name)
  return { applied, pending: knownMigrations().filter((name) => !applied.includes(name)) }
}

/** Applies what is pending, or that of it which `only` names, under an advisory lock, and gives the names of what it applied. */
export const migrate = async (database: Database, databaseUrl: string, only?: readonly string[]): Promise<string[]> => {
  const { MikroORM } = await import('@mikro-orm/postgresql')
  const { Migrator } = await import('@mikro-orm/migrations')
  const guard = await database.connect()
  try {
    await guard.query('select pg_advisory_lock($1)', [migrationLock])
    const pending = (await schemaState(database)).pending.filter((name) => !only || only.includes(name))
    if (pending.length === 0) return []
    const orm = await MikroORM.init({
      clientUrl: databaseUrl,
      entities: [],
      extensions: [Migrator],
      discovery: { warnWhenNoEntities: false },
      ensureDatabase: false,
      // `up()` would write the snapshot file, which belongs to `svc db diff` alone.
      migrations: { path: folder, snapshot: false, silent: true, transactional: true, allOrNothing: true },
      logger: () => {},
    })
    await orm.migrator.up(only && { migrations: pending }).finally(() => orm.close(true))
    return pending
  } finally {
    await guard.end()
  }
}

/** Holds the process to its rule. Throws Problem `unavailable` (exit 7) where the schema is behind. */
export const checkSchema = async (database: Database, databaseUrl: string, rule: SchemaRule): Promise<void> => {
  if (rule === 'ignore') return
  const { applied, pending } = await schemaState(database)
  if (pending.length === 0) return
  if (rule === 'migrate' || (rule === 'fresh' && applied.length === 0)) await migrate(database, databaseUrl)
  else {
    throw new Problem('unavailable', `The database schema is behind by ${pending.length} migration(s)`, {
      hint: 'svc db migrate',
    })
  }
}

/** Drops everything in the schema. What runs on it meanwhile fails until `migrate` has set it up again. */
export const resetSchema = (database: Database): Promise<void> =>
  database.transaction(async (sql) => {
    await sql('select pg_advisory_xact_lock($1)', [migrationLock])
    const tables = await sql<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables where schemaname = current_schema()`,
    )
    if (tables.length > 0) await sql(`drop table ${tables.map((table) => table.name).join(', ')} cascade`)
    const functions = await sql<{ name: string }>(
      `select p.oid::regprocedure as name from pg_proc p where pronamespace = current_schema()::regnamespace
       and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`,
    )
    if (functions.length > 0) await sql(`drop function ${functions.map(({ name }) => name).join(', ')}`)
  })
