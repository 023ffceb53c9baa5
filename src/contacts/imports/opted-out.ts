import { quantity } from '../../lib/quantity.ts'
import type { Batch } from './batch.ts'

/** How many addresses have opted out of email elsewhere, by the column that says so. An import makes them active. */
export type OptedOut = Record<string, number>

const isOptedOut: readonly { column: RegExp; value: RegExp }[] = [
  {
    column: /^(contact |subscription |email )?status$/i,
    value: /^(unsubscribed|cleaned|bounced|complained|blocklisted|blacklisted|opted[ _-]?out)$/i,
  },
  {
    column: /^(is[ _-]?)?(unsubscribed|opted[ _-]?out|blocklisted|blacklisted)( from all email)?$/i,
    value: /^(true|yes|y|1)$/i,
  },
  // HubSpot: of one kind of email or all, by labels and by internal names.
  { column: /^(opted out of email\b|hs_email_optout(_\d+)?$)/i, value: /^true$/i },
  { column: /^(unsub(scribed?)?|clean(ed)?|opt(ed)?[ _-]?out)[ _-](time|at|date)$/i, value: /^\d{4}-/ },
]

const valuesOf = (name: string): RegExp[] =>
  isOptedOut.filter(({ column }) => column.test(name)).map(({ value }) => value)

/** Adds the addresses of a batch that an import makes active although a column says that they have opted out. */
export const countOptedOut = ({ writes }: Batch, into: OptedOut): void => {
  // Rows have the same columns: each name is compared once for a batch, not for each row.
  const known = new Map<string, RegExp[]>()
  const isOut = (name: string, content: string) =>
    known.getOrInsertComputed(name, valuesOf).some((value) => value.test(content))
  for (const { fields } of writes) {
    const column = Object.keys(fields).find((name) => isOut(name, fields[name]!))
    if (column !== undefined) into[column] = (into[column] ?? 0) + 1
  }
}

/** Returns a warning for each column. `isDone` says that the import has made them active. */
export const warningsOf = (optedOut: OptedOut, isDone: boolean): string[] =>
  Object.entries(optedOut).map(
    ([column, rows]) =>
      `The column ${column} says that ${quantity(rows, 'row')} ${rows === 1 ? 'has' : 'have'} opted out of email. This import ${isDone ? 'made' : 'makes'} them active contacts.`,
  )
