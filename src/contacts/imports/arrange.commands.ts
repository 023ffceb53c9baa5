import { basename } from 'node:path'
import { askChoice, askConfirm, askText } from '../../cli/ask.ts'
import type { Context } from '../../cli/command.ts'
import { type Column, fitted, printable } from '../../cli/output.ts'
import { Problem } from '../../lib/problem.ts'
import { quantity } from '../../lib/quantity.ts'
import { findList } from '../lists/lists.ts'
import type { ImportOptions } from './checkpoint.ts'
import { mapColumns, type Origin } from './columns.ts'
import type { Source } from './file.ts'
import type { FileFormat } from './inspect.ts'

/*
 * The questions before an import on a terminal: shows how the file is read, and asks which column becomes which field and whether to
 * create the list.
 */

const separators: Readonly<Record<string, string>> = { ',': 'commas', ';': 'semicolons', '\t': 'tabs' }
const encodings: Readonly<Record<string, string>> = { 'utf-8': 'UTF-8', latin1: 'Latin-1' }
const nameWidth = 18
const sampleWidth = 24

const short = (text: string, width: number) => fitted(printable(text), width)

const samplesOf = ({ samples }: FileFormat, at: number): string =>
  short(
    samples
      .map((values) => values[at] ?? '')
      .filter(Boolean)
      .slice(0, 3)
      .join(', '),
    sampleWidth,
  ).trimEnd()

/** Returns the target of each column; null if no column is the address yet. */
const targetsOf = (
  headers: readonly string[],
  map: Readonly<Record<string, string>>,
  origin: Origin | null = null,
): string[] | null => {
  try {
    const { email, fields } = mapColumns(headers, new Map(Object.entries(map)), origin)
    return headers.map((_, at) => (at === email ? 'email' : (fields[at] ?? 'left out')))
  } catch (error) {
    if (error instanceof Problem && error.message.startsWith('No column holds the address')) return null
    throw error
  }
}

const askColumn = (message: string, file: FileFormat, targets: readonly string[] | null): Promise<string> =>
  askChoice(message, [
    ...(targets ? [{ value: '', name: 'Continue' }] : []),
    ...file.headers.flatMap((header, at) => {
      const becomes = targets ? ` → ${short(targets[at]!, nameWidth)}` : ''
      return header
        ? [{ value: header, name: `${short(header, nameWidth)}${becomes}  ${samplesOf(file, at)}`, short: header }]
        : []
    }),
  ])

/** Asks for changes of the mapping until the person continues. */
const askMap = async ({ out }: Context, file: FileFormat): Promise<Record<string, string>> => {
  let map: Record<string, string> = {}
  for (;;) {
    const targets = targetsOf(file.headers, map)
    if (!targets) {
      map[await askColumn('Which column holds the address?', file, null)] = 'email'
      continue
    }
    const header = await askColumn('Which field does each column become? Choose one to change it:', file, targets)
    if (header === '') return map
    const field = (await askText(`Field of ${header}:`, undefined, targets[file.headers.indexOf(header)])).trim()
    try {
      const changed = { ...map, [header]: field }
      targetsOf(file.headers, changed)
      map = changed
    } catch (error) {
      if (!(error instanceof Problem)) throw error
      out.note(`error: ${error.message}`)
    }
  }
}

const listExists = async ({ work }: Context, list: string): Promise<boolean> => {
  try {
    await work((w) => findList(w, list))
    return true
  } catch (error) {
    if (!(error instanceof Problem) || error.kind !== 'not_found') throw error
    return false
  }
}

interface Given {
  list: string
  createList?: boolean
  map?: string
  encoding?: string
}

interface Arranged {
  options: ImportOptions
  createList: boolean
  file: FileFormat
}

/** Shows how the file is read, and asks for absent options. Returns null if the person declines. */
export const arrange = async (
  context: Context,
  source: Source,
  given: Given,
  options: ImportOptions,
): Promise<Arranged | null> => {
  const { inspectFile } = await import('./inspect.ts')
  const file = await inspectFile(source, given.encoding)
  const separator = file.headers.length > 1 ? `, columns separated by ${separators[file.delimiter]}` : ''
  const encoding = encodings[file.encoding] ?? file.encoding
  context.out.note(`${basename(source.file)}: ${encoding}${separator}, ${quantity(file.headers.length, 'column')}`)
  // The columns of another product's export have their meanings already.
  const isAsked = given.map === undefined && !options.origin
  const map = isAsked ? await askMap(context, file) : options.map
  const createList = given.createList || !(await listExists(context, given.list))
  if (createList && !given.createList && !(await askConfirm(`There is no list ${given.list}. Create it?`))) return null
  return { options: { ...options, map, encoding: file.encoding }, createList, file }
}

/** Shows the first rows as they would be imported. */
export const showRows = async ({ out }: Context, { file, options }: Arranged): Promise<void> => {
  const targets = targetsOf(file.headers, options.map, options.origin)
  if (!targets || out.format !== 'table') return
  const columns = targets.map((target, at): Column<string[]> => [target.toUpperCase(), (values) => values[at] ?? ''])
  const email = columns.findIndex(([heading]) => heading === 'EMAIL')
  await out.list('rows', file.samples, [columns[email]!, ...columns.filter((_, at) => at !== email)])
}
