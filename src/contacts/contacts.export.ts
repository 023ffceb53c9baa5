import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { csvLine } from '../lib/csv.ts'
import type { App } from '../store/work.ts'
import { exportContacts } from './contacts.find.ts'
import type { ContactListView } from './contacts.lists.ts'
import type { Contact } from './contacts.view.ts'

/** `csv`: address and fields, so that an import takes it back as it is. `jsonl` and `json`: whole contacts of api.md. */
export type ExportFormat = 'csv' | 'jsonl' | 'json'

const jsonl = (contacts: readonly Contact[]) => contacts.map((contact) => `${JSON.stringify(contact)}\n`).join('')

const text = async function* (pages: AsyncIterable<Contact[]>, format: ExportFormat, fields: readonly string[]) {
  if (format === 'csv') yield csvLine(['email', ...fields])
  if (format === 'json') yield '{"contacts":['
  let isFirst = true
  for await (const contacts of pages) {
    if (format === 'jsonl') yield jsonl(contacts)
    else if (format === 'json')
      yield `${isFirst ? '' : ','}${contacts.map((contact) => JSON.stringify(contact)).join(',')}`
    else
      yield contacts
        .map(({ email, fields: held }) =>
          csvLine([email, ...fields.map((name) => (Object.hasOwn(held, name) ? held[name]! : ''))]),
        )
        .join('')
    isFirst = false
  }
  if (format === 'json') yield ']}\n'
}

const counted = async function* (pages: AsyncIterable<Contact[]>, onRows: (rows: number) => void = () => {}) {
  let rows = 0
  for await (const contacts of pages) {
    yield contacts
    rows += contacts.length
    onRows(rows)
  }
}

/** Writes a whole list to `sink`, which stays open, no faster than it is taken; `onRows` hears how many rows were. */
export const writeExport = (
  app: Pick<App, 'database'>,
  accountId: string,
  list: Pick<ContactListView, 'id' | 'fields'>,
  format: ExportFormat,
  sink: NodeJS.WritableStream,
  { signal, onRows }: { signal: AbortSignal; onRows?: (rows: number) => void },
): Promise<void> => {
  const pages = counted(exportContacts(app, accountId, list.id), onRows)
  return pipeline(Readable.from(text(pages, format, list.fields)), sink, { end: false, signal })
}
