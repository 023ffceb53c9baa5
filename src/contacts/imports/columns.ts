import { Problem, shown } from '../../lib/problem.ts'
import { cut } from '../../lib/strings.ts'
import { isSuppressionColumn } from '../contacts.fields.ts'
import { openVendor, type Part, type Reading, type VendorName, type VendorOptions } from './vendors.ts'

/** Targets of a file's columns: `email` is the index of the address; the others become fields, or null if they have no name. */
export interface Columns {
  email: number
  fields: readonly (string | null)[]
  /** Fields that no single column has (`--from`). */
  further?: readonly string[]
  /** Names of fields that were checked before, for `read`. */
  names?: Map<string, string>
  /** Returns what a row of another product's export says. It is absent if every row is a contact with `fields`. */
  read?(values: readonly string[]): Reading
}

/** The product whose export a file is, what the name of the file says, and how to read it. */
export interface Origin extends VendorOptions {
  vendor: VendorName
  part: Part | null
}

const hintLength = 1_000

/** The list of columns is cut: the first line of a file that is no CSV may be very long. */
const usage = (sentence: string, headers: readonly string[]) => {
  const names = headers.join(', ')
  const shown = names.length > hintLength ? `${cut(names, hintLength)} …` : names
  return new Problem('usage', sentence, { hint: `the file's columns are: ${shown}` })
}

const sameName = (count: number, header: string, headers: readonly string[]) =>
  usage(`The file has ${count} columns named ${shown(header)}: rename one of them in the file`, headers)

/**
 * Parses `--map "E-mail=email,First=first_name"` (header=field). Headers may contain commas and equals signs, fields must not. Throws
 * Problem `usage`.
 */
export const parseMap = (text: string): Map<string, string> => {
  const map = new Map<string, string>()
  let header = ''
  for (const part of text.trim() === '' ? [] : text.split(',')) {
    header += part
    const equals = header.lastIndexOf('=')
    if (equals < 0) {
      header += ','
      continue
    }
    const [from, to] = [header.slice(0, equals).trim(), header.slice(equals + 1).trim()]
    if (!from || !to) throw new Problem('usage', `--map "${shown(part.trim())}" is not header=field`)
    if (map.has(from)) throw new Problem('usage', `--map names the column ${shown(from)} twice`)
    map.set(from, to)
    header = ''
  }
  if (header.trim()) throw new Problem('usage', `--map "${shown(header.slice(0, -1).trim())}" is not header=field`)
  return map
}

const emailIndex = (headers: readonly string[], map: ReadonlyMap<string, string>): number => {
  const mapped = headers.findIndex((header) => map.get(header) === 'email')
  if (mapped >= 0) return mapped
  const named = (pattern: RegExp) => headers.findIndex((header) => !map.has(header) && pattern.test(header))
  const plain = named(/^e-?mail$/i)
  return plain >= 0 ? plain : named(/^e-?mail[ _-]?address$/i)
}

/**
 * Returns the target of every column: from the map, else the header itself. Throws Problem `usage` if no column is the address, a header
 * of the map is not in the file, two columns have the same target, or the file is no export of the product.
 */
export const mapColumns = (
  headers: readonly string[],
  map: ReadonlyMap<string, string>,
  origin: Origin | null = null,
): Columns => {
  for (const header of map.keys()) {
    const count = headers.filter((name) => name === header).length
    if (count === 0) throw usage(`--map names a column ${shown(header)} that is not in the file`, headers)
    if (count > 1) throw sameName(count, header, headers)
  }
  const email = emailIndex(headers, map)
  if (email < 0) throw usage('No column holds the address: name it with --map "<column>=email"', headers)
  const vendor = origin && openVendor(origin.vendor, origin.part, headers, map, origin)
  // The last column of an own export is no field.
  const isField = (header: string, i: number) => i < headers.length - 1 || !isSuppressionColumn(header)
  const own = (header: string, i: number) =>
    map.get(header) ?? (vendor ? vendor.fieldOf(header) : isField(header, i) ? header : null)
  const fields = headers.map((header, i) => (i === email ? null : own(header, i) || null))
  const targets = ['email', ...fields.filter((field) => field !== null)]
  const twice = targets.find((target, i) => targets.indexOf(target) !== i)
  if (twice !== undefined) {
    const [first, ...others] = headers.filter((_, i) => (i === email ? 'email' : fields[i]) === twice)
    // --map names columns by their headers, so it can't tell these apart.
    if (first && others.every((other) => other === first)) throw sameName(others.length + 1, first, headers)
    throw usage(`Two columns would both be ${shown(twice)}: rename one with --map`, headers)
  }
  if (!vendor) return { email, fields }
  const further = vendor.further.filter((field) => !targets.includes(field))
  return { email, fields, further, names: new Map(), read: (values) => vendor.read(values, fields) }
}
