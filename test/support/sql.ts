import { parseSync, Visitor } from 'vite'

const comment = /--.*$|\/\*[\s\S]*?\*\//gm
const tableOf =
  /\b(?:from|join|update|into|using|of|lock table|truncate)\s+(?:only\s+)?"?(\w+)"?|\b(\w+)(?:\s*\([^)]*\))?\s+as\s+(?:not\s+)?(?:materialized\s+)?\(/g

/** Returns the strings and templates of a TypeScript file. A template's expressions are replaced by `$`. */
const textsOf = (source: string): string[] => {
  const texts: string[] = []
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && texts.push(value)),
    TemplateLiteral: ({ quasis }) => void texts.push(quasis.map(({ value }) => value.cooked).join('$')),
  }).visit(parseSync('source.ts', source).program)
  return texts
}

/** Returns what a statement or fragment names like a table, without the names of its own common table expressions. */
const namedIn = (text: string): string[] => {
  const found = [...text.replace(comment, '').matchAll(tableOf)]
  const expressions = found.map(([, , expression]) => expression)
  return found.flatMap(([, table]) => (table && !expressions.includes(table) ? [table] : []))
}

/**
 * Returns the tables that the SQL of a TypeScript file names, as far as `isTable` is true for them. SQL is in lower case; a text that begins with a capital letter is
 * a sentence. A name that an expression inserts (`from ${table}`) is not seen.
 */
export const tablesIn = (source: string, isTable: (name: string) => boolean): Set<string> => {
  // Most files name no such table anywhere, and are not parsed.
  if (!source.matchAll(tableOf).some(([, table]) => table && isTable(table))) return new Set()
  const texts = textsOf(source).filter((text) => !/^\s*[A-Z]/.test(text))
  return new Set(texts.flatMap(namedIn).filter(isTable))
}
