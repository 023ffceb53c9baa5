/** After `expand` a daemon of the version before works on the schema, after `contract` it may not. */
export type Change = 'expand' | 'contract'

/** What a statement of a migration does. */
interface Footprint {
  sql: string
  change: Change
  /** What takes the longer the more rows a table has: building an index, checking rows, writing them. */
  work: 'none' | 'index' | 'check' | 'rows'
  /** The words of the statement that may be names of tables; the changed table first. */
  tables: string[]
}

// Applied to texts without quotes and without "if exists", "if not exists", "only" and "concurrently".
const newTable = /^create (?:unlogged |temporary )?table (\w+)/
const newIndex = /^create (unique )?index \w+ on (\w+)/
const written = /^(?:update|insert into|delete from) (\w+)/
const altered = /^alter table (\w+) (.*)$/

/** Splits at the commas outside of parentheses and quotes. */
const actionsOf = (text: string): string[] => {
  const actions = ['']
  let depth = 0
  let isQuoted = false
  for (const character of text) {
    if (character === "'") isQuoted = !isQuoted
    if (!isQuoted && character === '(') depth++
    if (!isQuoted && character === ')') depth--
    if (character === ',' && depth === 0 && !isQuoted) actions.push('')
    else actions[actions.length - 1] += character
  }
  return actions.map((action) => action.trim())
}

const storage = /^(?:alter (?:column )?\w+ set (?:storage|statistics|default)|set \()/
const droppedCheck = /^drop constraint \w+_check$/
const column = /^add (?:column )?(\w+) /
const notColumns = ['constraint', 'primary', 'unique', 'check', 'foreign', 'exclude']

/** Whether rows that an older daemon writes stay valid, and what it reads stays. */
const isAdditive = (action: string): boolean => {
  if (storage.test(action) || droppedCheck.test(action)) return true
  const [, name] = column.exec(action) ?? []
  if (name === undefined || notColumns.includes(name) || /\b(?:primary key|unique|check|references)\b/.test(action))
    return false
  return !action.includes('not null') || action.includes('default')
}

const isCheck = (action: string): boolean =>
  /^add (?:constraint|primary|unique|check|foreign)|set not null| type /.test(action) && !action.includes('not valid')

/** Returns what the statements of a migration do. A statement that is not known to be additive is a contraction. */
export const footprint = (statements: readonly string[]): Footprint[] => {
  const created = new Set<string>()
  return statements.map((sql) => {
    const text = [' if not exists ', ' if exists ', ' only ', ' concurrently '].reduce(
      (rest, words) => rest.replaceAll(words, ' '),
      sql.trim().toLowerCase().replaceAll('"', '').split(/\s+/).join(' '),
    )
    const words = [...new Set(text.match(/\w+/g))]
    const of = (change: Change, work: Footprint['work'] = 'none', table?: string): Footprint => {
      if (table !== undefined && created.has(table)) return { sql, change: 'expand', work: 'none', tables: [] }
      return {
        sql,
        change,
        work,
        tables: table === undefined ? words : [table, ...words.filter((one) => one !== table)],
      }
    }
    const made = newTable.exec(text)?.[1]
    if (made !== undefined) {
      created.add(made)
      return of('expand', / as select /.test(text) ? 'rows' : 'none')
    }
    const [, unique, indexed] = newIndex.exec(text) ?? []
    if (indexed !== undefined) return of(unique ? 'contract' : 'expand', 'index', indexed)
    const changed = written.exec(text)?.[1]
    // A new table is filled from others.
    if (changed !== undefined) return { ...of('expand', 'rows'), tables: [changed, ...words] }
    if (/^(?:create (?:view|function)|analyze|comment on|select|set local) /.test(text)) return of('expand')
    const [, table, rest] = altered.exec(text) ?? []
    if (table !== undefined && rest !== undefined) {
      const actions = actionsOf(rest)
      return of(actions.every(isAdditive) ? 'expand' : 'contract', actions.some(isCheck) ? 'check' : 'none', table)
    }
    return of('contract')
  })
}
