import { Problem } from '../../lib/problem.ts'
import type { Work } from '../../store/work.ts'
import { normalizeFields } from '../contacts.fields.ts'
import { type ContactListView, createList, extendColumns, findList, requireFreeName } from '../lists/lists.ts'
import type { ImportOptions } from './checkpoint.ts'
import { type Columns, mapColumns, type Origin } from './columns.ts'
import type { Source } from './file.ts'
import { type CsvRow, readCsv } from './imports.csv.ts'
import { parseVendor, partOf } from './vendors.ts'

/** Flags about exports of other products. */
interface OriginFlags {
  from?: string | undefined
  assumeSubscribed?: boolean | undefined
  keepNames?: boolean | undefined
}

export interface Prepared {
  columns: Columns
  rows: AsyncIterable<CsvRow>
}

/** Returns the origin of a file by its name and the flags of an import. Throws Problem `usage` for an unknown product. */
export const originOf = (file: string, flags: OriginFlags): Origin | null => {
  const { from, assumeSubscribed, keepNames } = flags
  if (from === undefined) {
    const given = assumeSubscribed ? '--assume-subscribed' : keepNames ? '--keep-names' : null
    if (given) throw new Problem('usage', `${given} needs --from`)
    return null
  }
  const vendor = parseVendor(from)
  return {
    vendor,
    part: partOf(vendor, file),
    ...(assumeSubscribed && { assumeSubscribed }),
    ...(keepNames && { keepNames }),
  }
}

const fieldNames = ({ fields, further = [] }: Columns): string[] => [
  ...fields.filter((field) => field !== null),
  ...further,
]

/** Opens the file and maps its columns. Throws Problem `usage` or `invalid`. */
export const prepareImport = async (source: Source, { map, encoding, origin }: ImportOptions): Promise<Prepared> => {
  const reopen = source.sha256 === null ? null : source.open
  const { headers, rows } = await readCsv({ bytes: source.open(), reopen, encoding })
  const columns = mapColumns(headers, new Map(Object.entries(map)), origin)
  normalizeFields(Object.fromEntries(fieldNames(columns).map((name) => [name, ''])))
  return { columns, rows }
}

/**
 * Returns the list to import into; null if it does not exist and `mayCreate` is set. Throws Problem `not_found`, or `invalid` if the list
 * would get too many columns.
 */
export const targetList = async (
  work: Work,
  ref: string,
  mayCreate: boolean,
  columns: Columns,
): Promise<ContactListView | null> => {
  const list = await findList(work, ref).catch(async (error) => {
    if (!(error instanceof Problem) || error.kind !== 'not_found') throw error
    if (mayCreate)
      return requireFreeName(work, ref).then(
        () => null,
        // Another import may have created the list meanwhile.
        (taken) => findList(work, ref).catch(() => Promise.reject(taken)),
      )
    throw new Problem('not_found', error.message, { hint: 'add --create-list, or choose one of svc lists list' })
  })
  extendColumns(list?.fields ?? [], fieldNames(columns))
  return list
}

/** Throws Problem `invalid` if fields of the file would make too many columns; `list` null: it does not exist yet. */
export const requireColumns = (list: ContactListView | null, names: Iterable<string>): void => {
  extendColumns(list?.fields ?? [], names)
}

/** Returns the list to import into; creates it if it does not exist and `mayCreate` is set. */
export const findOrCreateList = async (...target: Parameters<typeof targetList>): Promise<ContactListView> =>
  (await targetList(...target)) ?? createList(target[0], { name: target[1] })
