import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { conflict, Problem } from '../../lib/problem.ts'
import { type Database, type Sql, sqlOn } from '../database.ts'
import { readRestored } from '../installation.ts'
import { readOtherProcesses } from '../processes.ts'
import { knownMigrations, migrate, readTableNames, resetSchema, schemaState } from '../schema.ts'
import { statement } from '../statement.ts'
import { backedUpSequences, backedUpTables, copyColumns, countLines } from './backup.write.ts'
import { damaged, End, type Frame, frameKinds, Header, parseFrame, readFrames, TableHead } from './format.ts'

/** Tables that have rows in a database that was set up but never used. */
const setUp = ['mikro_orm_migrations', 'plans', 'installation', 'workers', 'development_clock', 'rate_windows']

/** Joins one query for each table into one statement. */
const unionOf = (queries: readonly string[]): string => queries.join(' union all ')

/** Throws Problem `conflict` if one of the tables has rows, except those that the set-up fills. */
const requireUnused = async (sql: Sql, tables: readonly string[]): Promise<void> => {
  const looks = tables
    .filter((name) => !setUp.includes(name))
    .map((name) => `select ${pg.escapeLiteral(name)} as name where exists (select from ${pg.escapeIdentifier(name)})`)
  const [used] = looks.length > 0 ? await sql<{ name: string }>(unionOf(looks)) : []
  if (used)
    throw conflict(`The database already has data (${used.name})`, {
      hint: 'set DATABASE_URL to an empty database, or empty this one: svc db reset',
    })
}

/** Throws Problem `conflict` if a process of svc is connected to the database. */
const requireAlone = async (sql: Sql): Promise<void> => {
  const [other] = await readOtherProcesses(sql)
  if (other) throw conflict(`A process of svc uses the database: ${other.process}`, { hint: 'stop it, then restore' })
}

/** Throws Problem `conflict` unless the database is empty or unused, and no process is connected to it. */
const requireEmpty = async ({ sql }: Database): Promise<void> => {
  await requireAlone(sql)
  const tables = await readTableNames(sql)
  if (tables.length > 0 && !tables.includes('mikro_orm_migrations'))
    throw conflict('The database has tables of another program', { hint: 'set DATABASE_URL to an empty database' })
  await requireUnused(sql, tables)
}

const requireKnown = ({ version, migrations }: Header): void => {
  const known = knownMigrations()
  const unknown = migrations.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw conflict(`The backup has a schema that this version does not know (${unknown[0]}): svc ${version} wrote it`, {
      hint: 'restore it with that version or a newer one',
    })
}

const requireSecret = ({ secretFingerprint }: Header, fingerprint: string): void => {
  if (secretFingerprint === null || secretFingerprint === fingerprint) return
  throw new Problem('configuration', 'SVC_SECRET is not the secret that sealed the values in the backup', {
    hint: "start with the SVC_SECRET of the backup's database (embedded: the file secret in its data folder)",
  })
}

type Take = (head: TableHead, rows: AsyncIterable<Buffer>) => Promise<void>

/** Passes the rows of each table to `takeRows`, one table after the other. Returns the content of the end frame. */
const readTables = async (frames: AsyncGenerator<Frame, undefined>, takeRows: Take): Promise<End> => {
  let next = await frames.next()
  const take = (): Frame => {
    if (next.done) throw damaged()
    return next.value
  }
  const rows = async function* () {
    for (next = await frames.next(); take().kind === frameKinds.data; next = await frames.next()) yield take().content
  }
  while (take().kind === frameKinds.table) await takeRows(parseFrame(take(), TableHead), rows())
  if (take().kind !== frameKinds.end) throw damaged()
  const end = parseFrame(take(), End)
  if (!(await frames.next()).done) throw damaged()
  return end
}

/**
 * Checks that a backup has the tables of its schema: each table once, with exactly its columns, and no other table. With `null`
 * (the schema is not available) it only checks the counts of the backup itself.
 */
export const createExpectation = (tables: readonly TableHead[] | null) => {
  const counts = new Map<string, number>()
  return {
    meet({ table, columns }: TableHead): void {
      const known = tables?.find((one) => one.table === table)
      const isKnown = !tables || (known && [...known.columns].sort().join() === [...columns].sort().join())
      if (!isKnown || counts.has(table)) throw damaged()
      counts.set(table, 0)
    },
    count: (table: string, rows: number) => void counts.set(table, (counts.get(table) ?? 0) + rows),
    requireWhole(end: End): void {
      const isWhole = counts.size === Object.keys(end.rows).length && (!tables || counts.size === tables.length)
      if (!isWhole || [...counts].some(([table, rows]) => end.rows[table] !== rows)) throw damaged()
    },
  }
}

const readOnly = async (
  frames: AsyncGenerator<Frame, undefined>,
  tables: readonly TableHead[] | null,
): Promise<End> => {
  const expectation = createExpectation(tables)
  const end = await readTables(frames, async (head, data) => {
    expectation.meet(head)
    for await (const part of data) expectation.count(head.table, countLines(part))
  })
  expectation.requireWhole(end)
  return end
}

/** Compares the number of rows in each table with the number in the backup. Throws Problem `invalid` if they differ. */
const compareCounts = async (client: pg.Client, place: Place, end: End): Promise<void> => {
  const counts = Object.keys(end.rows).map(
    (table) => `select ${pg.escapeLiteral(table)} as name, count(*)::float8 as count from ${place(table)}`,
  )
  const { rows } = await client.query<{ name: string; count: number }>(unionOf(counts))
  if (rows.some(({ name, count }) => end.rows[name] !== count)) throw damaged()
}

/** Whether the error is of PostgreSQL's classes data, constraint or syntax: the rows do not fit the table. */
export const isOfContent = (error: unknown): boolean => /^(22|23|42)/.test(String((error as { code?: string }).code))

const currentSchema = statement(
  'current-schema',
  { row: { schema: 'text' } },
  'select current_schema()::text as schema',
)

type Place = (table: string) => string

/** Returns what qualifies the name of a table with the current schema. */
export const openPlaces = async (sql: Sql): Promise<Place> => {
  const [current] = await sql(currentSchema)
  return (table) => `${pg.escapeIdentifier(current!.schema)}.${pg.escapeIdentifier(table)}`
}

/** Copies the rows of each table into the database. Returns the content of the end frame. `onRows` gets the number of rows so far. */
export const copyTables = (
  client: pg.Client,
  frames: AsyncGenerator<Frame, undefined>,
  { meet, count }: Pick<ReturnType<typeof createExpectation>, 'meet' | 'count'>,
  place: Place,
  { signal, onRows }: { signal: AbortSignal; onRows(rows: number): void },
): Promise<End> => {
  let total = 0
  return readTables(frames, async (head, data) => {
    meet(head)
    const sink = client.query(copyFrom(`copy ${place(head.table)} ${copyColumns(head)} from stdin`))
    const counted = async function* () {
      for await (const part of data) {
        yield part
        total += countLines(part)
        onRows(total)
      }
    }
    await pipeline(counted, sink, { signal })
    count(head.table, sink.rowCount)
  })
}

const load = async (
  database: Database,
  frames: AsyncGenerator<Frame, undefined>,
  check: (end: End) => Promise<void>,
  signal: AbortSignal,
  onRows: (rows: number) => void,
  beforeCommit: (sql: Sql) => Promise<unknown>,
): Promise<End> => {
  const client = await database.connect()
  try {
    await client.query('begin')
    const sql = sqlOn(client)
    const place = await openPlaces(sql)
    const tables = await sql(backedUpTables)
    const others = (await readTableNames(sql)).filter((name) => name !== 'mikro_orm_migrations')
    const all = others.map(place).join(', ')
    await client.query(`lock table ${all}`)
    // Another process may have written since the first look.
    await requireUnused(sql, others)
    // Not `truncate`: it creates the files of each table and index again, which takes longer than a small restore.
    for (const name of others.filter((name) => setUp.includes(name))) await client.query(`delete from ${place(name)}`)
    const expectation = createExpectation(tables)
    const end = await copyTables(client, frames, expectation, place, { signal, onRows })
    await check(end)
    expectation.requireWhole(end)
    await compareCounts(client, place, end)
    const sequences = new Set((await sql(backedUpSequences)).map(({ name }) => name))
    for (const [name, value] of Object.entries(end.sequences)) {
      if (!sequences.has(name)) throw damaged()
      await client.query('select setval($1::regclass, $2)', [place(name), value])
    }
    await beforeCommit(sql)
    await client.query('commit')
    // Without the tables of the system, which take many times as long as those of a small backup.
    await client.query(`analyze ${all}`)
    return end
  } catch (error) {
    throw isOfContent(error) ? damaged(error as Error) : error
  } finally {
    await client.end().catch(() => {})
  }
}

/** Returns the tables of the backup's schema if the database has the same schema; otherwise null. */
const expectedTables = async (database: Database, { migrations }: Header): Promise<TableHead[] | null> => {
  const { applied } = await schemaState(database)
  return applied.toSorted().join() === migrations.toSorted().join() ? database.sql(backedUpTables) : null
}

interface RestoreOptions {
  dryRun?: boolean
  signal: AbortSignal
  onRows: (rows: number) => void
  /** Runs in the transaction of the rows, on the schema of the backup. */
  beforeCommit?: (sql: Sql, createdAt: number) => Promise<unknown>
}

interface Restored {
  /** epoch ms */
  createdAt: number
  rows: Record<string, number>
}

/**
 * Restores a backup into an empty database, completely or not at all, and migrates its schema to this version. With `dryRun` it
 * reads and checks the whole file and writes nothing. Uses constant memory. Throws Problem `conflict` (a database with data or in
 * use, an unknown schema), `configuration` (another secret), `invalid` (a truncated or altered file).
 */
export const readBackup = async (
  database: Database,
  databaseUrl: string,
  source: Readable,
  fingerprint: string,
  { dryRun = false, signal, onRows, beforeCommit = async () => {} }: RestoreOptions,
): Promise<Restored> => {
  const plain = createZstdDecompress()
  let given = 0
  const counted = async function* () {
    for await (const part of source) {
      given += part.length
      yield part
    }
  }
  const decompressed = pipeline(counted, plain, { signal })
  decompressed.catch(() => {})
  const { frames, sha256 } = readFrames(plain)
  const check = async ({ sha256: written }: End) => {
    await decompressed
    // Bytes that zstd did not consume are data after its end.
    if (written !== sha256() || plain.bytesWritten !== given) throw damaged()
  }
  let isReset = false
  try {
    const first = await frames.next()
    if (first.done || first.value.kind !== frameKinds.header) throw damaged()
    const header = parseFrame(first.value, Header)
    try {
      requireKnown(header)
      requireSecret(header, fingerprint)
    } catch (refusal) {
      // A damaged header can look like one of another version or secret: only the hash at the end distinguishes them.
      await check(await readOnly(frames, null))
      throw refusal
    }
    await requireEmpty(database)
    const tables = await expectedTables(database, header)
    if (dryRun) {
      const end = await readOnly(frames, tables)
      await check(end)
      return { createdAt: header.createdAt, rows: end.rows }
    }
    if (!tables) {
      isReset = true
      await resetSchema(database)
      await migrate(database, databaseUrl, { only: header.migrations })
    }
    const { rows } = await load(database, frames, check, signal, onRows, (sql) => beforeCommit(sql, header.createdAt))
    await migrate(database, databaseUrl)
    return { createdAt: header.createdAt, rows }
  } catch (error) {
    // The database stays empty, with the schema of this version and not with that of an unreadable file.
    if (isReset) await migrate(database, databaseUrl).catch(() => {})
    // zstd's errors for a file of another format, or a truncated one.
    throw /^Z(STD)?_/.test(String((error as { code?: string }).code)) ? damaged(error as Error) : error
  } finally {
    plain.destroy()
  }
}

/**
 * Returns what an interrupted restore has restored, with no rows, if it was interrupted after its commit: the erasures remain. Migrates
 * the schema to this version. Returns null if there was none. Throws Problem `conflict` if it is still running.
 */
export const findRestored = async (database: Database, databaseUrl: string): Promise<Restored | null> => {
  const createdAt = await readRestored(database.sql)
  if (createdAt === null) return null
  await requireAlone(database.sql)
  await migrate(database, databaseUrl)
  return { createdAt, rows: {} }
}
