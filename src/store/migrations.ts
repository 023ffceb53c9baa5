import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Migration } from '@mikro-orm/migrations'
import type { Database } from './database.ts'
import { statement } from './statement.ts'
import { type Change, footprint } from './statements-of-migrations.ts'

const folder = join(import.meta.dirname, '../../migrations')

/**
 * A migration as this program needs it. One that is not transactional is repeatable up to each of its statements
 * (`if not exists`): after an interruption it begins again.
 */
interface Batched extends Migration {
  /** Changes a batch of rows in a transaction of its own, after `up`. Returns their number, which is 0 once all are done. */
  batch?(): Promise<number>
}

interface MigrationClass {
  new (driver: never, config: never): Batched
  /** After `expand` an older daemon works on the schema, after `contract` it does not. */
  readonly change: Change
  /** The table whose rows `batch` changes. */
  readonly batches?: string
}

export const loadMigration = async (name: string): Promise<MigrationClass> => {
  const extension = import.meta.filename.slice(import.meta.filename.lastIndexOf('.'))
  const made = (await import(join(folder, `${name}${extension}`)))[name]
  if (made.change !== 'expand' && made.change !== 'contract') throw new Error(`${name} does not declare its change`)
  return made
}

/** Returns the statements of a migration as an empty database gets them, without executing them. */
export const statementsOf = async (made: MigrationClass): Promise<string[]> => {
  const executed: string[] = []
  const execute = async (sql: string) => {
    executed.push(sql)
    return []
  }
  const migration = new made({ execute } as never, {} as never)
  await migration.up()
  await migration.batch?.()
  return [...executed, ...migration.getQueries().map(String)]
}

/** What a migration does to a table that has rows, and how long that is expected to take. */
export interface Step {
  migration: string
  change: Change
  /** Whether daemons read and write the table meanwhile. */
  online: boolean
  statement: string
  table: string | null
  /** An estimate from the statistics of the server. */
  rows: number
  seconds: number
}

const estimatedRows = statement(
  'estimated-rows-of-tables',
  { row: { name: 'text', rows: 'int8' } },
  `select relname::text as name, greatest(reltuples, 0)::int8 as rows from pg_class
   where relnamespace = current_schema()::regnamespace and relkind = 'r'`,
)

/** Rows a second, on a busy machine with two cores. */
const rates = { none: Number.POSITIVE_INFINITY, check: 1_000_000, index: 250_000, rows: 10_000 } as const

/** Returns what the migrations would do, in their order. A migration that needs no time for rows is one step without a table. */
export const planSteps = async ({ sql }: Pick<Database, 'sql'>, names: readonly string[]): Promise<Step[]> => {
  const sizes = new Map((await sql(estimatedRows)).map(({ name, rows }) => [name, rows]))
  const steps: Step[] = []
  for (const name of names) {
    const made = await loadMigration(name)
    const { change } = made
    const online = !new made({} as never, {} as never).isTransactional()
    const own = footprint(await statementsOf(made))
      .filter(({ work }) => work !== 'none')
      .map(({ sql: text, work, tables }) => {
        const known = tables.filter((table) => sizes.has(table))
        const [table = null] = known
        const rows = Math.max(0, ...known.map((one) => sizes.get(one)!))
        const seconds = Math.ceil(rows / rates[work])
        return { migration: name, change, online, statement: text, table, rows, seconds }
      })
      .filter(({ rows }) => rows > 0)
    const [{ statement: first = '' } = {}] = own
    steps.push(
      ...(first === '' ? [{ migration: name, change, online, statement: '', table: null, rows: 0, seconds: 0 }] : own),
    )
  }
  return steps
}

/** It is called before each migration or statement, and after each batch with the rows so far and an estimate of their total. */
export type OnStep = (step: { migrations: readonly string[]; text: string; rows?: number; total?: number }) => void

const hasChanges = statement(
  'has-changes-of-migrations',
  { row: { has: 'bool' } },
  `select exists (select from pg_attribute where attrelid = to_regclass('mikro_orm_migrations') and attname = 'change'
     and not attisdropped) as has`,
)

const invalidIndex = statement(
  'invalid-index',
  { row: { name: 'text' }, parameters: { index: 'text' } },
  'select indexrelid::regclass::text as name from pg_index where indexrelid = to_regclass(:index) and not indisvalid',
)

const rowsOfTable = statement(
  'estimated-rows-of-table',
  { row: { rows: 'int8' }, parameters: { batches: 'text?' } },
  'select greatest(reltuples, 0)::int8 as rows from pg_class where oid = to_regclass(:batches)',
)

/** How long a migration waits for a lock. Statements of daemons queue behind it, so it then rolls back and tries again later. */
const lockWaitMs = 2_000
const pauseMs = 500
const mostTries = 60

/** Lock not available, or a deadlock with a daemon. */
const isInTheWay = (error: unknown): boolean => {
  const { code, cause } = error as { code?: string; cause?: { code?: string } }
  return [code, cause?.code].some((one) => one === '55P03' || one === '40P01')
}

const ofIndex = /^create (?:unique )?index concurrently if not exists "?(\w+)/i

/**
 * Applies migrations in their order: those that follow each other and are transactional in one transaction, each other one
 * outside. Records what kind of change each is, so that older daemons know whether they can continue.
 */
export const applyMigrations = async (
  database: Database,
  databaseUrl: string,
  names: readonly string[],
  onStep: OnStep,
): Promise<void> => {
  const { MikroORM } = await import('@mikro-orm/postgresql')
  const { Migrator } = await import('@mikro-orm/migrations')
  const orm = await MikroORM.init({
    clientUrl: databaseUrl,
    entities: [],
    extensions: [Migrator],
    discovery: { warnWhenNoEntities: false },
    ensureDatabase: false,
    // No snapshot: that is for generating migrations. The connections are watched: a silent path ends them, a long migration
    // does not.
    driverOptions: { Client: database.Client },
    migrations: { path: folder, snapshot: false, silent: true, transactional: true, allOrNothing: true },
    logger: () => {},
  })
  const driver = orm.em.getDriver()

  const inTransaction = async (group: readonly string[], changes: readonly Change[]): Promise<void> => {
    onStep({ migrations: group, text: 'in one transaction' })
    for (let tries = 1; ; tries++)
      try {
        return await driver.getConnection().transactional(async (transaction) => {
          await driver.execute(`set local lock_timeout = ${lockWaitMs}`, [], 'run', transaction)
          await orm.migrator.up({ migrations: [...group], transaction })
          for (const [i, name] of group.entries())
            await driver.execute(
              'update mikro_orm_migrations set change = ? where name = ?',
              [changes[i], name],
              'run',
              transaction,
            )
        })
      } catch (error) {
        if (!isInTheWay(error) || tries >= mostTries) throw error
        onStep({ migrations: group, text: 'waits for a lock, and tries again' })
        await sleep(pauseMs)
      }
  }

  const online = async (name: string, made: MigrationClass): Promise<void> => {
    const migration = new made(driver as never, orm.config as never)
    await migration.up()
    for (const text of migration.getQueries().map(String)) {
      onStep({ migrations: [name], text })
      const index = ofIndex.exec(text.trim())?.[1]
      // An interrupted build leaves an index that is invalid.
      const [isInvalid] = index ? await database.sql(invalidIndex, { index }) : []
      if (isInvalid) await driver.execute(`drop index concurrently "${index}"`)
      await driver.execute(text)
    }
    if (migration.batch) {
      const [estimate] = await database.sql(rowsOfTable, { batches: made.batches ?? null })
      let rows = 0
      for (let done = -1; done !== 0; rows += done) {
        onStep({
          migrations: [name],
          text: `rows of ${made.batches}`,
          rows,
          total: Math.max(rows, estimate?.rows ?? 0),
        })
        done = await migration.batch()
      }
    }
    await driver.execute('insert into mikro_orm_migrations (name, executed_at, change) values (?, now(), ?)', [
      name,
      made.change,
    ])
  }

  try {
    // Creates the table of migrations if it is missing.
    await orm.migrator.getExecuted()
    const [state] = await database.sql(hasChanges)
    if (!state!.has) await driver.execute('alter table mikro_orm_migrations add column change text')
    let group: string[] = []
    let changes: Change[] = []
    const flush = async () => {
      if (group.length > 0) await inTransaction(group, changes)
      group = []
      changes = []
    }
    for (const name of names) {
      const made = await loadMigration(name)
      if (new made(driver as never, orm.config as never).isTransactional()) {
        group.push(name)
        changes.push(made.change)
      } else {
        await flush()
        await online(name, made)
      }
    }
    await flush()
  } finally {
    await orm.close(true)
  }
}
