import { emailMaxLength, hasTwoAddresses, isEmailSyntax, normalizeEmail } from '../../lib/email.ts'
import { Problem } from '../../lib/problem.ts'
import { cut, isLonger } from '../../lib/strings.ts'
import { type ContactWrite, type Fields, normalizeFields, requireStorable } from '../contacts.fields.ts'
import type { Columns } from './columns.ts'
import type { CsvRow } from './imports.csv.ts'
import type { OptOutReason, Reading } from './vendors.ts'

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
interface Repeats {
  changed: number
  same: number
}

/**
 * An address that gets no email any more, for one reason. `at` says since when, in epoch ms; it is null if the file does not say.
 */
export interface OptOut {
  email: string
  reason: OptOutReason
  at: number | null
}

export interface Batch {
  rows: number
  /** One write for each address. */
  writes: ContactWrite[]
  repeats: ReadonlyMap<string, Repeats>
  rejects: Reject[]
  /** It is absent if the file is read without `--from`. */
  states?: States
}

/** What an export says of the people in a batch. */
interface States {
  /** Addresses that have opted out: they are in no write. */
  optOuts: OptOut[]
  /** Their rows, by the most severe reason. */
  suppressed: ReadonlyMap<OptOutReason, number>
  /** Addresses of writes whose new contacts are not active. */
  pending: ReadonlySet<string>
  /** Addresses that have left a kind of email, by its name. */
  left: ReadonlyMap<string, ReadonlySet<string>>
}

/** The reasons, from the most severe one on. */
const reasons: readonly OptOutReason[] = ['complained', 'bounced', 'manual', 'unsubscribed']

const faultOf = (values: readonly string[], email: string, columns: Columns): string | null => {
  if (email === '') return 'no address'
  if (isLonger(email, emailMaxLength)) return `address over ${emailMaxLength} characters`
  if (email.includes('\0')) return 'address with a NUL character'
  if (hasTwoAddresses(email)) return 'two email addresses'
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

type Read = ContactWrite & Pick<Reading, 'isPending' | 'optOuts' | 'leftTopics'>

/** Returns what a row says, or the reason for its rejection. */
const readRow = ({ values, fault }: CsvRow, email: string, columns: Columns): Read | string => {
  const reason = fault ?? faultOf(values, email, columns)
  if (reason) return reason
  try {
    if (!columns.read)
      return { email, fields: fieldsOf(values, columns), isPending: false, optOuts: [], leftTopics: [] }
    const { fields, ...said } = columns.read(values)
    if (said.optOuts.length === 0)
      return { email, fields: normalizeFields(fields(), [], { names: columns.names! }), ...said }
    return isEmailSyntax(email) ? { email, fields: {}, ...said } : 'no email address'
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

/** Collects the addresses of a batch that have opted out, each reason once, with its earliest time. */
const collectOptOuts = () => {
  const found = new Map<string, Map<OptOutReason, number | null>>()
  const rows = new Map<string, number>()
  return {
    add(email: string, optOuts: Reading['optOuts']) {
      const times = found.getOrInsertComputed(email, () => new Map())
      for (const { reason, at } of optOuts) {
        const earlier = times.get(reason) ?? null
        times.set(reason, earlier === null || at === null ? (earlier ?? at) : Math.min(earlier, at))
      }
      rows.set(email, (rows.get(email) ?? 0) + 1)
    },
    emails: found,
    /**
     * Returns the collected opt-outs, and their rows by reason. `further` returns the number of rows of the address that say
     * otherwise.
     */
    end(further: (email: string) => number): Pick<States, 'optOuts' | 'suppressed'> {
      const suppressed = new Map<OptOutReason, number>()
      for (const [email, times] of found) {
        const reason = reasons.find((one) => times.has(one))!
        suppressed.set(reason, (suppressed.get(reason) ?? 0) + rows.get(email)! + further(email))
      }
      const optOuts = [...found].flatMap(([email, times]) => [...times].map(([reason, at]) => ({ email, reason, at })))
      return { optOuts, suppressed }
    },
  }
}

/**
 * Splits rows into writes, addresses that have opted out, and rejects. For repeated addresses the last values win, or with `keepFirst` the
 * first; an opt-out wins over all other rows of its address.
 */
const toBatch = (rows: readonly CsvRow[], columns: Columns, keepFirst: boolean): Batch => {
  const writes = new Map<string, ContactWrite>()
  const repeats = new Map<string, Repeats>()
  const rejects: Reject[] = []
  const optedOut = collectOptOuts()
  const pending = new Set<string>()
  const left = new Map<string, Set<string>>()
  for (const row of rows) {
    const found = row.values[columns.email] ?? ''
    const email = normalizeEmail(found)
    const read = readRow(row, email, columns)
    if (typeof read === 'string') {
      rejects.push({ line: row.line, email: storable(found), reason: read })
      continue
    }
    const { fields, isPending, optOuts, leftTopics } = read
    for (const topic of leftTopics) left.getOrInsertComputed(topic, () => new Set()).add(email)
    if (optOuts.length > 0) {
      optedOut.add(email, optOuts)
      continue
    }
    const earlier = writes.get(email)
    if (!isPending) pending.delete(email)
    if (!earlier) {
      writes.set(email, { email, fields })
      if (isPending) pending.add(email)
      continue
    }
    const repeated = repeats.getOrInsert(email, { changed: 0, same: 0 })
    if (!keepFirst && merge(earlier.fields, fields)) repeated.changed++
    else repeated.same++
  }
  const further = (email: string) => {
    const { changed, same } = repeats.get(email) ?? { changed: 0, same: 0 }
    return writes.has(email) ? 1 + changed + same : 0
  }
  const states = columns.read && { ...optedOut.end(further), pending, left }
  for (const email of optedOut.emails.keys()) writes.delete(email)
  return { rows: rows.length, writes: [...writes.values()], repeats, rejects, ...(states && { states }) }
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
