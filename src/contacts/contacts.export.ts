import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine, safeCsvLine } from '../lib/csv.ts'
import type { App } from '../store/work.ts'
import { suppressionColumn } from './contacts.fields.ts'
import { exportContacts, type ShownContact, withSuppression } from './contacts.find.ts'
import type { ContactCondition } from './contacts.rows.ts'
import type { Contact } from './contacts.view.ts'
import type { ContactListView } from './lists/lists.ts'

/**
 * `csv` has address, fields and suppression, in a form that an import accepts. `jsonl` and `json` have complete contacts
 * (docs/reference/api.md#contact) with `suppression`.
 */
type ExportFormat = 'csv' | 'jsonl' | 'json'

const jsonl = (contacts: readonly ShownContact[]) => contacts.map((contact) => `${JSON.stringify(contact)}\n`).join('')

const text = async function* (
  pages: AsyncIterable<ShownContact[]>,
  format: ExportFormat,
  fields: readonly string[],
  line: typeof csvLine,
) {
  if (format === 'csv') yield line(['email', ...fields, suppressionColumn(fields)])
  if (format === 'json') yield '{"contacts":['
  let isFirst = true
  for await (const contacts of pages) {
    if (format === 'jsonl') yield jsonl(contacts)
    else if (format === 'json')
      yield `${isFirst ? '' : ','}${contacts.map((contact) => JSON.stringify(contact)).join(',')}`
    else
      yield contacts
        .map(({ email, fields: values, suppression }) =>
          line([email, ...fields.map((name) => (Object.hasOwn(values, name) ? values[name]! : '')), suppression]),
        )
        .join('')
    isFirst = false
  }
  if (format === 'json') yield ']}\n'
}

const shown = async function* (app: Exporter, accountId: string, pages: AsyncIterable<Contact[]>) {
  for await (const contacts of pages) yield await withSuppression(app, { sql: app.sql, accountId }, contacts)
}

const counted = async function* <T>(pages: AsyncIterable<T[]>, onRows: (rows: number) => void = () => {}) {
  let rows = 0
  for await (const contacts of pages) {
    yield contacts
    rows += contacts.length
    onRows(rows)
  }
}

type Exporter = Pick<App, 'database' | 'sql' | 'suppressing'>

interface ExportOptions {
  signal: AbortSignal
  onRows?: ((rows: number) => void) | undefined
  isSafe?: boolean
  condition?: ContactCondition | undefined
}

/**
 * Writes a whole list to `sink` with back-pressure, and leaves it open; with `condition` only the contacts that meet it. Calls
 * `onRows` with the number of rows so far. With `isSafe`, CSV cells that a spreadsheet would run as formulas are quoted as text.
 */
export const writeExport = (
  app: Exporter,
  accountId: string,
  list: Pick<ContactListView, 'id' | 'fields'>,
  format: ExportFormat,
  sink: NodeJS.WritableStream,
  { signal, onRows, isSafe = false, condition }: ExportOptions,
): Promise<void> => {
  const pages = counted(shown(app, accountId, exportContacts(app, accountId, list.id, condition)), onRows)
  return pipeline(Readable.from(text(pages, format, list.fields, isSafe ? safeCsvLine : csvLine)), sink, {
    end: false,
    signal,
  })
}
