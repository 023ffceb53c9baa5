import { createHash } from 'node:crypto'
import type { Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { constants, createZstdCompress } from 'node:zlib'
import type pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { encodeFrame, encodeJson, type FrameKind, frameKinds, type Header, type TableHead } from './backup.format.ts'
import type { Database, Sql } from './database.ts'
import { readFingerprint } from './installation.ts'
import { schemaState } from './schema.ts'

interface Table extends TableHead {
  /** The tables that its rows point into. */
  needs: string[]
  /** What the statistics say; 0 where there are none. */
  estimate: number
}

/** The tables whose rows a backup holds: not the list of migrations, which makes the schema anew, nor what no crash keeps. */
const selectTables = `
  select c.relname as "table", greatest(c.reltuples, 0)::float8 as estimate,
    (select array_agg(a.attname::text order by a.attnum) from pg_attribute a
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
    array(select f.relname::text from pg_constraint r join pg_class f on f.oid = r.confrelid
     where r.conrelid = c.oid and r.contype = 'f' and f.oid <> c.oid) as needs
  from pg_class c
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relpersistence = 'p'
    and c.relname <> 'mikro_orm_migrations'
  order by c.relname`

/** Those that others point into come first. */
const inOrder = (tables: readonly Table[]): Table[] => {
  const placed = new Set<Table>()
  const place = (table: Table) => {
    if (placed.has(table)) return
    for (const name of table.needs) place(tables.find((other) => other.table === name)!)
    placed.add(table)
  }
  for (const table of tables) place(table)
  return [...placed]
}

/** Rows in a part of what COPY gives: a line end is none of a value. */
export const countLines = (chunk: Buffer): number => {
  let lines = 0
  for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) lines++
  return lines
}

export const quoteName = (name: string): string => `"${name.replaceAll('"', '""')}"`

/** `accounts ("id", "name")`: a table and its columns, as COPY takes them. */
export const copyPlace = ({ table, columns }: TableHead): string =>
  `${quoteName(table)} (${columns.map(quoteName).join(', ')})`

/** Rows so far, and of about how many. */
export type OnRows = (rows: number, estimate: number) => void

async function* framesOf(
  client: pg.Client,
  version: string,
  database: Database,
  onRows: OnRows,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256')
  const hashed = (frame: Buffer): Buffer => {
    hash.update(frame)
    return frame
  }
  const json = (kind: FrameKind, value: object) => hashed(encodeJson(kind, value))
  const sql = (async (text: string) => (await client.query(text)).rows) as Sql
  const { applied: migrations } = await schemaState({ ...database, sql })
  const [clock] = await sql<{ at: number }>('select floor(extract(epoch from now()) * 1000)::float8 as at')
  const secretFingerprint = (await readFingerprint(sql)) ?? null
  const header: Header = { format: 'svc backup 1', version, createdAt: clock!.at, migrations, secretFingerprint }
  yield json(frameKinds.header, header)
  const tables = inOrder(await sql<Table>(selectTables))
  const estimate = tables.reduce((sum, table) => sum + table.estimate, 0)
  const rows: Record<string, number> = {}
  let done = 0
  for (const { table, columns } of tables) {
    yield json(frameKinds.table, { table, columns })
    const stream = client.query(copyTo(`copy ${copyPlace({ table, columns })} to stdout`))
    for await (const chunk of stream) {
      yield hashed(encodeFrame(frameKinds.data, chunk as Buffer))
      done += countLines(chunk as Buffer)
      onRows(done, estimate)
    }
    rows[table] = stream.rowCount
  }
  // Later than the rows: a sequence may be ahead of them, never behind.
  const used = await sql<{ name: string; value: string }>(
    `select sequencename as name, last_value as value from pg_sequences
     where schemaname = current_schema() and last_value is not null and sequencename not like 'mikro_orm%'`,
  )
  const sequences = Object.fromEntries(used.map(({ name, value }) => [name, Number(value)]))
  yield encodeJson(frameKinds.end, { rows, sequences, sha256: hash.digest('hex') })
}

/**
 * Writes one compressed backup of the database as it stands at one moment, whatever is written meanwhile, and gives how many
 * rows of each table. Constant memory. Rejects where `signal` is aborted; what was written by then is no backup.
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
    await client.query('begin isolation level repeatable read read only')
    const frames = framesOf(client, version, database, (rows, estimate) => {
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
