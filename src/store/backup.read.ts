import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdDecompress } from 'node:zlib'
import type pg from 'pg'
import { from as copyFrom } from 'pg-copy-streams'
import { conflict, Problem } from '../lib/problem.ts'
import {
  damaged,
  type End,
  type Frame,
  frameKinds,
  type Header,
  parseFrame,
  readFrames,
  type TableHead,
} from './backup.format.ts'
import { copyPlace, countLines, quoteName } from './backup.write.ts'
import type { Database } from './database.ts'
import { readOtherProcesses } from './processes.ts'
import { knownMigrations, migrate, resetSchema } from './schema.ts'

/** What a database holds that was set up and has nothing of anybody in it. */
const setUp = ['mikro_orm_migrations', 'plans', 'installation', 'workers', 'development_clock', 'rate_windows']

/** Throws Problem `conflict` unless nothing is in the database, or in its schema of ours, and nobody works on it. */
const demandEmpty = async ({ sql }: Database): Promise<void> => {
  const [other] = await readOtherProcesses(sql)
  if (other)
    throw conflict(`A process of svc works on the database: ${other.process}`, { hint: 'stop it, then restore' })
  const tables = (
    await sql<{ name: string }>(`select tablename::text as name from pg_tables where schemaname = current_schema()`)
  ).map(({ name }) => name)
  if (tables.length > 0 && !tables.includes('mikro_orm_migrations'))
    throw conflict('The database holds tables of something else', { hint: 'name an empty one with DATABASE_URL' })
  for (const name of tables) {
    if (setUp.includes(name)) continue
    const [row] = await sql<{ held: boolean }>(`select exists (select from ${quoteName(name)}) as held`)
    if (row!.held)
      throw conflict(`The database holds data already (${name})`, {
        hint: 'name an empty one, or empty this one: svc db reset',
      })
  }
}

const demandKnown = ({ format, version, migrations }: Header): void => {
  if (format !== 'svc backup 1') throw damaged()
  const known = knownMigrations()
  const unknown = migrations.filter((name) => !known.includes(name))
  if (unknown.length > 0)
    throw conflict(`The backup has a schema that this version does not know (${unknown[0]}): svc ${version} wrote it`, {
      hint: 'restore it with that version or a newer one',
    })
}

const demandSecret = ({ secretFingerprint }: Header, fingerprint: string): void => {
  if (secretFingerprint === null || secretFingerprint === fingerprint) return
  throw new Problem('configuration', 'SVC_SECRET is not the secret that sealed what is in the backup', {
    hint: "start with the SVC_SECRET of the backup's database (embedded: the file secret in its data folder)",
  })
}

/** The rows of each table, one table after the other; gives the frame that ends them. `load` null: they are only read. */
const readTables = async (
  frames: AsyncGenerator<Frame, undefined>,
  load: ((head: TableHead, rows: AsyncIterable<Buffer>) => Promise<void>) | null,
): Promise<End> => {
  let next = await frames.next()
  const take = (): Frame => {
    if (next.done) throw damaged()
    return next.value
  }
  const rows = async function* () {
    for (next = await frames.next(); take().kind === frameKinds.data; next = await frames.next()) yield take().content
  }
  while (take().kind === frameKinds.table) {
    const head = parseFrame<TableHead>(take())
    if (load) await load(head, rows())
    else for await (const _ of rows());
  }
  if (take().kind !== frameKinds.end) throw damaged()
  const end = parseFrame<End>(take())
  if (!(await frames.next()).done) throw damaged()
  return end
}

/** Compares what stands in the database with what was written: the file's counts are of the rows that COPY gave. */
const compareCounts = async (client: pg.Client, end: End, loaded: Readonly<Record<string, number>>): Promise<void> => {
  for (const [table, count] of Object.entries(end.rows)) {
    const { rows } = await client.query(`select count(*)::float8 as count from ${quoteName(table)}`)
    if (rows[0].count !== count || loaded[table] !== count)
      throw new Error(`The table ${table} has ${rows[0].count} rows and not the ${count} of the backup`)
  }
}

const load = async (
  database: Database,
  frames: AsyncGenerator<Frame, undefined>,
  check: (end: End) => void,
  signal: AbortSignal,
  onRows: (rows: number) => void,
): Promise<End> => {
  const client = await database.connect()
  const loaded: Record<string, number> = {}
  let total = 0
  try {
    await client.query('begin')
    const { rows } = await client.query<{ name: string }>(
      `select quote_ident(tablename) as name from pg_tables
       where schemaname = current_schema() and tablename <> 'mikro_orm_migrations'`,
    )
    await client.query(`truncate ${rows.map(({ name }) => name).join(', ')}`)
    const end = await readTables(frames, async (head, data) => {
      const sink = client.query(copyFrom(`copy ${copyPlace(head)} from stdin`))
      const counted = async function* () {
        for await (const part of data) {
          yield part
          total += countLines(part)
          onRows(total)
        }
      }
      await pipeline(counted, sink, { signal })
      loaded[head.table] = sink.rowCount
    })
    check(end)
    await compareCounts(client, end, loaded)
    for (const [name, value] of Object.entries(end.sequences))
      await client.query('select setval($1::regclass, $2)', [quoteName(name), value])
    await client.query('commit')
    await client.query('analyze')
    return end
  } finally {
    await client.end().catch(() => {})
  }
}

export interface Restored {
  /** epoch ms */
  createdAt: number
  /** How many rows of each table. */
  rows: Record<string, number>
}

/**
 * Fills an empty database from a backup, whole or not at all, and brings its schema up to this version's. With `dryRun` it
 * only looks whether it could: the whole file is read, nothing is written. Constant memory. Throws Problem `conflict`
 * (a database with data or in use, a schema this version doesn't know), `configuration` (another secret), `invalid` (a file cut
 * off or altered).
 */
export const readBackup = async (
  database: Database,
  databaseUrl: string,
  source: Readable,
  fingerprint: string,
  { dryRun = false, signal, onRows }: { dryRun?: boolean; signal: AbortSignal; onRows: (rows: number) => void },
): Promise<Restored> => {
  const plain = createZstdDecompress()
  const decompressed = pipeline(source, plain, { signal })
  decompressed.catch(() => {})
  const { frames, sha256 } = readFrames(plain)
  const check = ({ sha256: written }: End) => {
    if (written !== sha256()) throw damaged()
  }
  try {
    const first = await frames.next()
    if (first.done || first.value.kind !== frameKinds.header) throw damaged()
    const header = parseFrame<Header>(first.value)
    demandKnown(header)
    demandSecret(header, fingerprint)
    await demandEmpty(database)
    if (!dryRun) {
      await resetSchema(database)
      await migrate(database, databaseUrl, header.migrations)
    }
    const end = dryRun ? await readTables(frames, null) : await load(database, frames, check, signal, onRows)
    check(end)
    if (!dryRun) await migrate(database, databaseUrl)
    return { createdAt: header.createdAt, rows: end.rows }
  } catch (error) {
    // What zstd says of a file that is no zstd, or ends too early.
    throw /^Z(STD)?_/.test(String((error as { code?: string }).code)) ? damaged() : error
  } finally {
    plain.destroy()
  }
}
