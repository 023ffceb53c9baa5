import { isEmailSyntax, normalizeEmail } from '../../lib/email.ts'
import { type Columns, mapColumns, type Origin, parseMap } from './columns.ts'
import { openFile, openStdin, type Source } from './file.ts'
import { type CsvRow, readCsv } from './imports.csv.ts'

/** A file with addresses, read as by `svc contacts import`. */
export interface Table {
  source: Source
  columns: Columns
  rows: AsyncIterable<CsvRow>
  /** Stops reading a pipe that still has data. */
  end(): void
}

interface TableOptions {
  map: string
  encoding: string
  signal: AbortSignal
  origin: Origin | null
}

/** Returns the columns of a file without a header, whose first line contains an address, or null if the first line is a header. */
const columnsOfRow = (cells: readonly string[]): Columns | null => {
  const email = cells.findIndex((cell) => isEmailSyntax(normalizeEmail(cell)))
  return email < 0 ? null : { email, fields: cells.map(() => null) }
}

/**
 * Opens a file, or standard input for `-`. The header is optional, for files with one address for each line. Throws Problem
 * `not_found`, `usage` or `invalid` if it can't be read.
 */
export const openTable = async (file: string, { map, encoding, signal, origin }: TableOptions): Promise<Table> => {
  const names = parseMap(map)
  const giveUp = new AbortController()
  const either = AbortSignal.any([signal, giveUp.signal])
  const end = () => giveUp.abort()
  try {
    const source = file === '-' ? openStdin(either) : await openFile(file, either)
    const reopen = source.sha256 === null ? null : source.open
    const { headers, rows } = await readCsv({ bytes: source.open(), reopen, encoding })
    const columns = names.size === 0 && !origin ? columnsOfRow(headers) : null
    if (!columns) return { source, columns: mapColumns(headers, names, origin), rows, end }
    const all = async function* () {
      yield { line: 1, values: headers }
      yield* rows
    }
    return { source, columns, rows: all(), end }
  } catch (error) {
    end()
    throw error
  }
}
