import { Problem } from '../lib/problem.ts'
import type { Work } from '../store/work.ts'
import { normalizeFields } from './contacts.fields.ts'
import { type ContactListView, createList, extendColumns, findList } from './contacts.lists.ts'
import type { ImportOptions } from './imports.checkpoint.ts'
import { type Columns, mapColumns } from './imports.columns.ts'
import { type CsvRow, readCsv } from './imports.csv.ts'
import type { Source } from './imports.file.ts'

export interface Prepared {
  columns: Columns
  rows: AsyncIterable<CsvRow>
}

const fieldNames = ({ fields }: Columns): string[] => fields.filter((field) => field !== null)

/** Opens the file and maps its columns. Throws Problem `usage` or `invalid` where that can't be. */
export const prepareImport = async (source: Source, { map, encoding }: ImportOptions): Promise<Prepared> => {
  const reopen = source.sha256 === null ? null : source.open
  const { headers, rows } = await readCsv({ bytes: source.open(), reopen, encoding })
  const columns = mapColumns(headers, new Map(Object.entries(map)))
  normalizeFields(Object.fromEntries(fieldNames(columns).map((name) => [name, ''])))
  return { columns, rows }
}

/**
 * The list to import into; null where it does not exist and `mayCreate` says that it is to be made. Throws Problem
 * `missing`, or `invalid` where the file's columns don't fit in.
 */
export const targetList = async (
  work: Work,
  ref: string,
  mayCreate: boolean,
  columns: Columns,
): Promise<ContactListView | null> => {
  const list = await findList(work, ref).catch((error) => {
    if (!(error instanceof Problem) || error.kind !== 'missing') throw error
    if (mayCreate) return null
    throw new Problem('missing', error.message, { hint: 'add --create-list, or choose one of svc lists list' })
  })
  extendColumns(list?.fields ?? [], fieldNames(columns))
  return list
}

/** The list to import into, made where it does not exist and may be. */
export const openList = async (...target: Parameters<typeof targetList>): Promise<ContactListView> => {
  const [work, name] = target
  const list = await targetList(...target)
  if (list) return list
  return createList(work, { name }).catch(async (error) => {
    // Another import has made it meanwhile.
    const made = error instanceof Problem && error.kind === 'conflict' ? await targetList(...target) : null
    if (!made) throw error
    return made
  })
}
