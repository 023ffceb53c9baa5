/**
 * What may contain a colon that starts no parameter: texts, quoted names, comments, texts in dollars, casts and assignments. A slice has
 * its colon after a value (`[1:n]`).
 */
const others = [
  String.raw`\b[eE]'(?:[^'\\]|\\.|'')*'`,
  `'(?:[^']|'')*'`,
  `"(?:[^"]|"")*"`,
  String.raw`--[^\n]*`,
  String.raw`/\*[\s\S]*?\*/`,
  String.raw`\$(\w*)\$[\s\S]*?\$\1\$`,
  '::',
  ':=',
]
const token = new RegExp(String.raw`${others.join('|')}|(?<![\w\])]):([a-zA-Z]\w*)|\$\d+`, 'g')

/**
 * Returns SQL with numbered parameters (`$1`) for SQL that names them (`:title`), numbered in the order of `names`. Throws if the SQL
 * names others, numbers one itself, or lacks one of the names.
 */
export const compiled = (statement: string, sql: string, names: readonly string[]): string => {
  const numbers = new Map(names.map((name, i) => [name, `$${i + 1}`]))
  const unused = new Set(names)
  const text = sql.replace(token, (found: string, _tag: string | undefined, name: string | undefined) => {
    if (/^\$\d/.test(found)) throw new Error(`The statement ${statement} numbers a parameter: ${found}`)
    if (name === undefined) return found
    const number = numbers.get(name)
    if (number === undefined) throw new Error(`The statement ${statement} declares no parameter ${name}`)
    unused.delete(name)
    return number
  })
  if (unused.size > 0) throw new Error(`The SQL of the statement ${statement} lacks :${[...unused].join(', :')}`)
  return text
}
