import { Problem } from '../lib/problem.ts'

/** Where the columns of a file go: one is the address, the others are fields; null is left out, having no name. */
export interface Columns {
  email: number
  fields: readonly (string | null)[]
}

const hintLength = 1_000

/** What is no CSV has a first line of any length. */
const usage = (sentence: string, headers: readonly string[]) => {
  const names = headers.join(', ')
  const shown = names.length > hintLength ? `${names.slice(0, hintLength)} …` : names
  return new Problem('usage', sentence, { hint: `the file's columns are: ${shown}` })
}

/**
 * Reads `--map "E-mail=email,First=first_name"`: header to field. A header may contain commas and equals signs, a field
 * neither. Throws Problem `usage`.
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
    if (!from || !to) throw new Problem('usage', `--map "${part.trim()}" is not header=field`)
    if (map.has(from)) throw new Problem('usage', `--map names the column ${from} twice`)
    map.set(from, to)
    header = ''
  }
  if (header.trim()) throw new Problem('usage', `--map "${header.slice(0, -1).trim()}" is not header=field`)
  return map
}

const emailIndex = (headers: readonly string[], map: ReadonlyMap<string, string>): number => {
  const mapped = headers.findIndex((header) => map.get(header) === 'email')
  if (mapped >= 0) return mapped
  return headers.findIndex((header) => !map.has(header) && /^e-?mail$/i.test(header))
}

/**
 * Finds the target of every column: what the map says, else the header itself. Throws Problem `usage` where there is
 * no address, a header of the map is not in the file, or two columns have one target.
 */
export const mapColumns = (headers: readonly string[], map: ReadonlyMap<string, string>): Columns => {
  for (const header of map.keys()) {
    const count = headers.filter((name) => name === header).length
    if (count === 0) throw usage(`--map names a column ${header} that is not in the file`, headers)
    if (count > 1) throw usage(`The file has ${count} columns ${header}`, headers)
  }
  const email = emailIndex(headers, map)
  if (email < 0) throw usage('No column holds the address: name it with --map "<column>=email"', headers)
  const fields = headers.map((header, i) => (i === email ? null : (map.get(header) ?? header) || null))
  const targets = ['email', ...fields.filter((field) => field !== null)]
  const twice = targets.find((target, i) => targets.indexOf(target) !== i)
  if (twice !== undefined) throw usage(`Two columns would both be ${twice}: rename one with --map`, headers)
  return { email, fields }
}
