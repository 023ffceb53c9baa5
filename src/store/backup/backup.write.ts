import { createHash } from 'node:crypto'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { type Database, sqlOn } from '../database.ts'
import { readFingerprint } from '../installation.ts'
import { schemaState } from '../schema.ts'
import { statement } from '../statement.ts'
import {
  dataBytes,
  encodeFrame,
  encodeJson,
  type FrameKind,
  frameKinds,
  type Header,
  type TableHead,
} from './format.ts'

export interface Table extends TableHead {
  /** The tables that its foreign keys refer to. */
  needs: string[]
  /** The number of rows by the statistics. It is 0 if there are none. */
  estimate: number
}

/** The tables in a backup: all but the list of migrations, which a restore writes itself, and unlogged tables. */
export const backedUpTables = statement(
  'backed-up-tables',
  { row: { table: 'text', columns: '_text', needs: '_text', estimate: 'float8' } },
  `select c.relname::text as "table", greatest(c.reltuples, 0)::float8 as estimate,
     (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
     array(select f.relname::text from pg_constraint r join pg_class f on f.oid = r.confrelid
      where r.conrelid = c.oid and r.contype = 'f' and f.oid <> c.oid) as needs
   from pg_class c
   where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
     and c.relname <> 'mikro_orm_migrations'
   order by c.relname`,
)

/** The sequences of a backup with their values. The value of one that was never used is null. */
export const backedUpSequences = statement(
  'backed-up-sequences',
  { row: { name: 'text', value: 'int8?' } },
  `select sequencename::text as name, last_value as value from pg_sequences
   where schemaname = current_schema() and sequencename not like 'mikro_orm%'`,
)

/**
 * Reads the time since when changes may be missing in a snapshot that is taken next: when the oldest open transaction began, or
 * now. It sees the transactions of sessions of the same role.
 */
const readTime = statement(
  'backup-time',
  { row: { at: 'float8' } },
  `select floor(extract(epoch from least(now(), (
     select min(xact_start) from pg_stat_activity
     where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
   ))) * 1000)::float8 as at`,
)

/** Returns the tables in the order of their foreign keys: a referenced table comes first. */
export const inOrder = (tables: readonly Table[]): Table[] => {
  const placed = new Set<Table>()
  const place = (table: Table) => {
    if (placed.has(table)) return
    for (const name of table.needs) place(tables.find((other) => other.table === name)!)
    placed.add(table)
  }
  for (const table of tables) place(table)
  return [...placed]
}

/** Counts the rows in a chunk of COPY's text format, in which a line feed only ends a row: in values it is escaped. */
export const countLines = (chunk: Buffer): number => {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

/** Returns the columns of a table as COPY takes them: `("id", "name")`. */
export const copyColumns = ({ columns }: TableHead): string => `(${columns.map(pg.escapeIdentifier).join(', ')})`

/** Returns the rows of a table with its columns, or of a query in parentheses, as contents of data frames. */
export async function* dataOf(client: pg.Client, from: string): AsyncGenerator<Buffer> {
  for await (const chunk of client.query(copyTo(`copy ${from} to stdout`))) {
    const data = chunk as Buffer
    for (let at = 0; at < data.length; at += dataBytes) yield data.subarray(at, at + dataBytes)
  }
}

/** Reports progress: the rows so far, and the estimated total. */
type OnRows = (rows: number, estimate: number) => void

async function* framesOf(
  client: pg.Client,
  { version, createdAt }: Pick<Header, 'version' | 'createdAt'>,
  database: Database,
  onRows: OnRows,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const hashed = (frame: Buffer): Buffer => {
    hash.update(frame)
    return frame
  }
  const json = (kind: FrameKind, value: object) => hashed(encodeJson(kind, value))
  const sql = sqlOn(client)
  const { applied: migrations } = await schemaState({ ...database, sql })
  const secretFingerprint = (await readFingerprint(sql)) ?? null
  const header: Header = { format: 'svc backup 1', version, createdAt, migrations, secretFingerprint }
  yield json(frameKinds.header, header)
  const tables = inOrder(await sql(backedUpTables))
  const estimate = tables.reduce((sum, table) => sum + table.estimate, 0)
  const rows: Record<string, number> = {}
  let done = 0
  for (const { table, columns } of tables) {
    yield json(frameKinds.table, { table, columns })
    const from = `${pg.escapeIdentifier(table)} ${copyColumns({ table, columns })}`
    rows[table] = 0
    for await (const data of dataOf(client, from)) {
      yield hashed(encodeFrame(frameKinds.data, data))
      const lines = countLines(data)
      rows[table] += lines
      done += lines
      onRows(done, estimate)
    }
  }
  // Read after the rows: a sequence may be ahead of them but never behind.
  const used = (await sql(backedUpSequences)).filter(({ value }) => value !== null)
  const sequences = Object.fromEntries(used.map(({ name, value }) => [name, value!]))
  yield encodeJson(frameKinds.end, { rows, sequences, sha256: hash.digest('hex') })
}

/**
 * Writes one compressed backup of a consistent snapshot of the database. Returns the number of rows. Uses constant memory.
 * Rejects if `signal` is aborted; the output is then incomplete and not a backup.
 */
export const writeBackup = async (
  database: Database,
  target: Writable,
  version: string,
  { signal, onRows }: { signal: AbortSignal; onRows: OnRows },
): Promise<number> => {
  const client = await database.connect()
  let total = 0
  try {
    const [clock] = await sqlOn(client)(readTime)
    await client.query('begin isolation level repeatable read read only')
    const frames = framesOf(client, { version, createdAt: clock!.at }, database, (rows, estimate) => {
      total = rows
      onRows(rows, estimate)
    })
    const compress = createZstdCompress({ params: { [constants.ZSTD_c_checksumFlag]: 1 } })
    await pipeline(frames, compress, target, { signal })
    await client.query('commit')
    return total
  } finally {
    await client.end().catch(() => {})
  }
}
