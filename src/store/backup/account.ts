import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createZstdCompress, createZstdDecompress } from 'node:zlib'
import pg from 'pg'
import { z } from 'zod'
import { decrypted, encrypted } from '../../lib/envelope.ts'
import { conflict, invalid } from '../../lib/problem.ts'
import { type Database, isDuplicate, type Sql, sqlOn } from '../database.ts'
import { schemaState } from '../schema.ts'
import { copyTables, createExpectation, isOfContent, openPlaces } from './backup.read.ts'
import { backedUpTables, countLines, dataOf, inOrder, type Table } from './backup.write.ts'
import { encodeFrame, encodeJson, frameKinds, parseFrame, readFrames } from './format.ts'

/*
 * An exported account: the frames of a backup (format.ts) with only the rows of one account, compressed, then encrypted with a
 * passphrase (lib/envelope.ts). Secrets are in it as they are, without the seal of their installation.
 */

const name = z.string().min(1).max(63)

const SealedText = z.object({ table: name, column: name, context: z.string(), text: z.string() })
/** A text that the installation seals, opened. `context` is what it is sealed with. */
export type SealedText = z.infer<typeof SealedText>

const Header = z.object({
  format: z.literal('svc account 1'),
  /** Version of the program that wrote the file. */
  version: z.string().max(100),
  /** The migrations that the database had. */
  migrations: z.array(z.string().max(200)),
  /** The account's own row. */
  account: z
    .object({ id: z.string(), name: z.string(), plan: z.string(), slug: z.string().nullable(), move_id: z.string() })
    .loose(),
  sealed: z.array(SealedText),
})
export type AccountHeader = z.infer<typeof Header>

/**
 * Returns the tables whose rows belong to accounts, those that others refer to first: read from the catalogue, so that no table of
 * a new feature is forgotten.
 */
export const accountTables = async (sql: Sql): Promise<Table[]> =>
  inOrder(await sql(backedUpTables)).filter(({ columns }) => columns.includes('account_id'))

const damaged = (cause?: Error) =>
  invalid('The file is truncated, damaged or not an export of an account', cause && { cause })

interface Export {
  accountId: string
  passphrase: string
  version: string
  /** Returns the account's own row, with the id of its export. */
  readRow(sql: Sql): Promise<AccountHeader['account']>
  /** Returns the account's sealed texts, opened. */
  openSealed(sql: Sql): Promise<SealedText[]>
  signal: AbortSignal
  onRows(rows: number): void
}

async function* framesOf(
  client: pg.Client,
  database: Database,
  { accountId, version, readRow, openSealed, onRows }: Export,
): AsyncGenerator<Buffer> {
  const sql = sqlOn(client)
  const { applied: migrations } = await schemaState({ ...database, sql })
  const [account, sealed] = [await readRow(sql), await openSealed(sql)]
  const header: AccountHeader = { format: 'svc account 1', version, migrations, account, sealed }
  yield encodeJson(frameKinds.header, header)
  const rows: Record<string, number> = {}
  let done = 0
  for (const { table, columns } of await accountTables(sql)) {
    yield encodeJson(frameKinds.table, { table, columns })
    const names = columns.map(pg.escapeIdentifier).join(', ')
    const from = `(select ${names} from ${pg.escapeIdentifier(table)} where account_id = ${pg.escapeLiteral(accountId)})`
    rows[table] = 0
    for await (const data of dataOf(client, from)) {
      yield encodeFrame(frameKinds.data, data)
      const lines = countLines(data)
      rows[table] += lines
      done += lines
      onRows(done)
    }
  }
  // The encryption authenticates the whole file: it needs no hash.
  yield encodeJson(frameKinds.end, { rows, sequences: {}, sha256: '' })
}

/** Writes the rows of one account, from one snapshot. Returns their number. Uses constant memory. */
export const writeAccount = async (database: Database, target: Writable, options: Export): Promise<number> => {
  const client = await database.connect()
  let total = 0
  try {
    await client.query('begin isolation level repeatable read read only')
    const onRows = (rows: number) => {
      total = rows
      options.onRows(rows)
    }
    const frames = framesOf(client, database, { ...options, onRows })
    const seal = (parts: AsyncIterable<Buffer>) => encrypted(parts, options.passphrase)
    await pipeline(frames, createZstdCompress(), seal, target, { signal: options.signal })
    await client.query('commit')
    return total
  } finally {
    await client.end().catch(() => {})
  }
}

interface Import {
  passphrase: string
  dryRun: boolean
  /** Inserts the account's own row, or throws if the account can't be imported. Returns false if it was imported before. */
  begin(sql: Sql, header: AccountHeader): Promise<boolean>
  /** Called when all rows are there, before the commit. */
  finish(sql: Sql, header: AccountHeader): Promise<void>
  signal: AbortSignal
  onRows(rows: number): void
}

const load = async (
  client: pg.Client,
  header: AccountHeader,
  frames: ReturnType<typeof readFrames>['frames'],
  { signal, onRows, finish }: Import,
  isWhole: () => Promise<void>,
): Promise<Record<string, number>> => {
  const sql = sqlOn(client)
  const expectation = createExpectation(await accountTables(sql))
  const end = await copyTables(client, frames, expectation, await openPlaces(sql), { signal, onRows })
  await isWhole()
  expectation.requireWhole(end)
  await finish(sql, header)
  return end.rows
}

/**
 * Reads an exported account into the database in one transaction: completely or not at all. With `dryRun` it rolls back. Returns the
 * number of rows by table; null if it was imported before. Uses constant memory. Throws Problem `invalid` (another passphrase,
 * a truncated or altered file), `conflict` (another schema, ids that are taken), and what `begin` throws.
 */
export const readAccount = async (
  database: Database,
  source: Readable,
  options: Import,
): Promise<{ header: AccountHeader; rows: Record<string, number> | null }> => {
  const plain = createZstdDecompress()
  let given = 0
  const counted = async function* () {
    for await (const part of decrypted(source, options.passphrase)) {
      given += part.length
      yield part
    }
  }
  const decompressed = pipeline(counted, plain, { signal: options.signal })
  decompressed.catch(() => {})
  const isWhole = async () => {
    await decompressed
    // Bytes that zstd did not consume are data after its end.
    if (plain.bytesWritten !== given) throw damaged()
  }
  const client = await database.connect()
  try {
    const { frames } = readFrames(plain)
    const first = await frames.next()
    if (first.done || first.value.kind !== frameKinds.header) throw damaged()
    const header = parseFrame(first.value, Header)
    await client.query('begin')
    const sql = sqlOn(client)
    const { applied } = await schemaState({ ...database, sql })
    if (applied.toSorted().join() !== header.migrations.toSorted().join())
      throw conflict(`The file has the schema of another version: svc ${header.version} wrote it`, {
        hint: 'use the same version of svc in both installations',
      })
    if (!(await options.begin(sql, header))) return { header, rows: null }
    const rows = await load(client, header, frames, options, isWhole)
    await client.query(options.dryRun ? 'rollback' : 'commit')
    return { header, rows }
  } catch (error) {
    if (isDuplicate(error)) throw conflict('Something in the file has an id that this installation already has')
    if (isOfContent(error) || /^Z(STD)?_/.test(String((error as { code?: string }).code))) throw damaged(error as Error)
    throw error
  } finally {
    plain.destroy()
    source.destroy()
    await client.end().catch(() => {})
  }
}
