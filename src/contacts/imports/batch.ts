import { emailMaxLength, normalizeEmail } from '../../lib/email.ts'
import { Problem } from '../../lib/problem.ts'
import { cut } from '../../lib/text.ts'
import { type ContactWrite, type Fields, requireStorable } from '../contacts.fields.ts'
import type { Columns } from './columns.ts'
import type { CsvRow } from './csv.ts'

/** Maximum rows for each transaction: a larger write fires no events (docs/reference/events.md#sources). */
const batchRows = 500
/** A batch with long rows ends earlier, so that memory stays constant. */
const batchCharacters = 500_000

export interface Reject {
  line: number
  /** Normalised, so that the erasure of an address finds it. */
  email: string
  reason: string
}

/** Later rows of an address in a batch: how many changed the values of earlier rows, and how many did not. */
export interface Repeats {
  changed: number
  same: number
}

export interface Batch {
  rows: number
  /** One write for each address. */
  writes: ContactWrite[]
  repeats: ReadonlyMap<string, Repeats>
  rejects: Reject[]
}

const faultOf = (values: readonly string[], email: string, columns: Columns): string | null => {
  if (email === '') return 'no address'
  if (email.length > emailMaxLength) return `address over ${emailMaxLength} characters`
  if (email.includes('\0')) return 'address with a NUL character'
  if (values.slice(columns.fields.length).some((value) => value !== '')) {
    return `${values.length} columns where the header has ${columns.fields.length}`
  }
  return null
}

/** Returns the fields of a row. Column names are validated before; absent columns at the end of a row are left out. */
const fieldsOf = (values: readonly string[], { fields: names }: Columns): Fields => {
  const fields: Fields = {}
  for (let i = 0; i < names.length && i < values.length; i++) {
    const name = names[i]
    if (name == null) continue
    requireStorable(values[i]!, [], name)
    fields[name] = values[i]!
  }
  return fields
}

/** Returns the write of a row, or the reason for its rejection. */
const writeOf = ({ values, fault }: CsvRow, email: string, columns: Columns): ContactWrite | string => {
  const reason = fault ?? faultOf(values, email, columns)
  if (reason) return reason
  try {
    return { email, fields: fieldsOf(values, columns) }
  } catch (error) {
    if (error instanceof Problem) return error.message
    throw error
  }
}

/** Returns the rejected text in a form that PostgreSQL can store, cut to a bounded length. */
const storable = (found: string): string => cut(normalizeEmail(found.replaceAll('\0', '')), 2 * emailMaxLength)

const lengthOf = ({ values }: CsvRow): number => values.reduce((sum, value) => sum + value.length, 0)

/** Merges `fields` into `into`, and returns whether anything changed. */
const merge = (into: Record<string, string>, fields: Readonly<Record<string, string>>): boolean => {
  let isChanged = false
  for (const name in fields) {
    isChanged ||= into[name] !== fields[name]
    into[name] = fields[name]!
  }
  return isChanged
}

/** Splits rows into writes and rejects. For repeated addresses the last values win, or with `keepFirst` the first. */
const toBatch = (rows: readonly CsvRow[], columns: Columns, keepFirst: boolean): Batch => {
  const writes = new Map<string, ContactWrite>()
  const repeats = new Map<string, Repeats>()
  const rejects: Reject[] = []
  for (const row of rows) {
    const found = row.values[columns.email] ?? ''
    const email = normalizeEmail(found)
    const write = writeOf(row, email, columns)
    const earlier = writes.get(email)
    if (typeof write === 'string') rejects.push({ line: row.line, email: storable(found), reason: write })
    else if (!earlier) writes.set(email, write)
    else {
      const repeated = repeats.getOrInsert(email, { changed: 0, same: 0 })
      if (!keepFirst && merge(earlier.fields, write.fields)) repeated.changed++
      else repeated.same++
    }
  }
  return { rows: rows.length, writes: [...writes.values()], repeats, rejects }
}

/** Splits rows into batches, without the first `skip` rows, which are already imported. */
export const readBatches = async function* (
  rows: AsyncIterable<CsvRow>,
  { columns, keepFirst, skip }: { columns: Columns; keepFirst: boolean; skip: number },
): AsyncGenerator<Batch> {
  let passed = 0
  let batch: CsvRow[] = []
  let characters = 0
  for await (const row of rows) {
    if (passed++ < skip) continue
    batch.push(row)
    characters += lengthOf(row)
    if (batch.length < batchRows && characters < batchCharacters) continue
    yield toBatch(batch, columns, keepFirst)
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield toBatch(batch, columns, keepFirst)
}
