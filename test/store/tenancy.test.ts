import { isDeepStrictEqual } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Statement, statements } from '../../src/store/statement.ts'
import { cloneDatabase } from '../support/database.ts'
import { loadStatements } from '../support/statements.ts'
import {
  accountOf,
  type Content,
  complete,
  contentOf,
  equalContent,
  fill,
  incomplete,
  newContent,
  ofOther,
  otherContent,
  readTables,
  sets,
  type Table,
  watchChanges,
} from './tenancy/content.ts'
import { exceptions, given } from './tenancy/exceptions.ts'
import { type Parameters, parametersOf, valuesOf } from './tenancy/parameters.ts'

/*
 * Runs every declared statement on tables of accounts in two databases. In one, account m is the only one. In the other there are
 * accounts with equal content, too (tenancy/content.ts). What a statement returns and changes for account m must be the same in both:
 * - with parameters from rows of m, also from rows that m lacks and another account has
 * - with one parameter from the rows of another account
 * And for a new account it must be the same as in a database without other accounts.
 */

await loadStatements()

interface Installation {
  client: pg.Client
  /** What the runs of the statement that is checked did, by their parameters: many tries have the same ones. */
  done: Map<string, Promise<Done>>
  drop: () => Promise<void>
}

let tables: Table[]
let content: Content
let alone: Installation
let among: Installation
let empty: Installation
let pairs = 0

const open = async (contents: () => Content[]): Promise<Installation> => {
  const { url, drop } = await cloneDatabase()
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  tables ??= await readTables(client)
  content ??= contentOf(tables)
  for (const each of contents()) await fill(client, each)
  await watchChanges(client, tables)
  await client.query('begin')
  return { client, done: new Map(), drop }
}

beforeAll(async () => {
  alone = await open(() => [incomplete(content, tables)])
  among = await open(() => [
    incomplete(content, tables),
    equalContent(incomplete(content, tables), tables, 'h'),
    equalContent(contentOf(tables, 'other facts'), tables, 't'),
    otherContent(content),
    newContent,
  ])
  empty = await open(() => [newContent])
})

afterAll(async () => {
  for (const { client, drop } of [alone, among, empty]) {
    await client.end()
    await drop()
  }
})

interface Done {
  rows: Record<string, unknown>[]
  changes: Record<string, unknown>[]
}

const writes = /\b(insert into|delete from|update\s+\w+\s+(as\s+)?(\w+\s+)?set)\s/

/** Runs a statement and undoes what it changed. Reads share a transaction, and the end of one begins the next: fewer calls. */
const execute = async (client: pg.Client, text: string, query: pg.QueryConfig): Promise<Done> => {
  const changes: Done['changes'] = []
  const note = ({ message }: { message?: string | undefined }) => changes.push(JSON.parse(message!))
  let isPristine = false
  client.on('notice', note)
  try {
    const { rows } = await client.query(query)
    isPristine = !writes.test(text)
    return { rows, changes }
  } finally {
    client.off('notice', note)
    if (!isPristine) await client.query('rollback and chain')
  }
}

/** What a statement does, as if nothing had run before. */
const run = (
  { client, done }: Installation,
  { name, text }: Statement<object>,
  { types }: Parameters,
  values: readonly unknown[],
): Promise<Done> => {
  const isJson = (i: number) => /^jsonb?$/.test(types[i]!)
  const sent = values.map((value, i) => (isJson(i) && value !== null ? JSON.stringify(value) : value))
  const key = JSON.stringify(sent)
  const known = done.get(key) ?? execute(client, text, { name, text, values: sent })
  done.set(key, known)
  return known
}

const isEmpty = (value: unknown): boolean =>
  value == null || value === 0 || value === '0' || value === false || value === '' || isDeepStrictEqual(value, [])

/**
 * Whether the statement changed rows or, if it only reads, which part of the values that it returned says something, from 0 to 1: zeros,
 * nulls and the like say nothing.
 */
const effectOf = ({ text }: Statement<object>, { rows, changes }: Done): number => {
  if (writes.test(text)) return Math.sign(changes.length)
  const values = rows.flatMap((row) => (Object.keys(row).length === 0 ? [row] : Object.values(row)))
  return values.length === 0 ? 0 : values.filter((value) => !isEmpty(value)).length / values.length
}

const valuesAt = (declared: Statement<object>, parameters: Parameters, k: number, isNew: boolean): unknown[] => {
  const own = given[declared.name]?.(k) ?? {}
  const nameAt = (i: number) => declared.parameters?.[i]?.[0] ?? ''
  return valuesOf(parameters, content, k, isNew).map((value, i) => own[nameAt(i)] ?? own[i + 1] ?? value)
}

/** Returns parameters of account m with which the statement has an effect, or the error of the last try. */
const effectiveValues = async (declared: Statement<object>, parameters: Parameters): Promise<unknown[] | Error> => {
  let best: unknown[] | Error = new Error('no row is returned or changed')
  let most = 0
  for (const isNew of [false, true]) {
    for (let k = 0; k < sets && most < 1; k++) {
      // The effects of complete sets are compared. The others are only tried if those have none.
      if (most > 0 && (isNew || k >= complete)) return best
      const values = valuesAt(declared, parameters, k, isNew)
      try {
        const effect = effectOf(declared, await run(alone, declared, parameters, values))
        if (effect <= most) continue
        most = effect
        best = values
      } catch (error) {
        if (most === 0) best = error as Error
      }
    }
  }
  return best
}

const generated = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{16}(?=")/g

/** The rows without the ids that the database generates, in an order of their own. */
const comparable = ({ rows, changes }: Done) => {
  const lines = (list: object[]) => list.map((row) => JSON.stringify(row).replaceAll(generated, '…')).sort()
  return { rows: lines(rows), changes: lines(changes) }
}

/** A constraint may refuse values of other accounts. Every other error fails the test. */
const refused = (error: { code?: string }): 'refused' => {
  if (!error.code?.startsWith('23')) throw error
  return 'refused'
}

const replaced = (value: unknown, from: string, to: string): unknown =>
  JSON.parse(JSON.stringify(value).replaceAll(from, to))

/** The value that account z has in place of one of account m; where it names the account itself, it stays m. */
const foreign = (value: unknown): unknown => replaced(ofOther(value), accountOf('z'), accountOf('m'))

/** Checks one statement, and returns what it finds in words; '' if the statement is for one account and keeps to it. */
const check = async (declared: Statement<object>, types: string[]): Promise<string> => {
  for (const { done } of [alone, among, empty]) done.clear()
  const parameters = parametersOf(declared, types, tables)
  const values = await effectiveValues(declared, parameters)
  if (values instanceof Error) return `has no effect: ${values.message}`
  const findings = new Set<string>()
  const nameOf = (i: number) => (declared.parameters ? `:${declared.parameters[i]![0]}` : `$${i + 1}`)
  const compare = async (one: Installation, tried: unknown[], finding: string) => {
    pairs++
    const attempt = (where: Installation) => run(where, declared, parameters, tried).then(comparable, refused)
    const [expected, done] = await Promise.all([attempt(one), attempt(among)])
    // A key that another account has in use may be refused: that returns and changes nothing.
    if (done !== 'refused' && !isDeepStrictEqual(done, expected)) findings.add(finding)
  }
  await compare(alone, values, 'reaches others')
  for (let k = complete; k < sets; k++) {
    await compare(alone, valuesAt(declared, parameters, k, false), 'reaches others')
  }
  if (parameters.isOptional.includes(true)) {
    const nothing = (type: string) => (type.startsWith('_') ? [null] : null)
    const required = values.map((value, i) => (parameters.isOptional[i] ? nothing(types[i]!) : value))
    await compare(alone, required, 'reaches others without its optional parameters')
  }
  if (!JSON.stringify(values).includes(accountOf('m'))) return ['names no account', ...findings].join(', ')
  const ofNew = values.map((value) => replaced(value, accountOf('m'), accountOf('n')))
  await compare(empty, ofNew, 'reaches others for a new account')
  for (const [i, value] of values.entries()) {
    const other = foreign(value)
    if (!isDeepStrictEqual(other, value)) await compare(alone, values.with(i, other), `reaches others by ${nameOf(i)}`)
  }
  return [...findings].join(', ')
}

/** Prepares the statements and returns the types of their parameters. */
const readTypes = async (declared: readonly Statement<object>[]): Promise<Map<string, string[]>> => {
  for (const { name, text } of declared) await alone.client.query(`prepare "${name}" as ${text}`)
  const { rows } = await alone.client.query<{ name: string; types: string[] }>(
    `select name, array(
       select t.typname::text from unnest(parameter_types) with ordinality p(type, n) join pg_type t on t.oid = p.type order by n
     ) as types from pg_prepared_statements`,
  )
  await alone.client.query('deallocate all')
  return new Map(rows.map(({ name, types }) => [name, types]))
}

const isOfAccounts = (declared: Statement<object>): boolean => parametersOf(declared, [], tables).tables.length > 0

test('every statement returns and changes only rows of the account that it names', async () => {
  const declared = [...statements.values()].filter(isOfAccounts)
  const types = await readTypes(declared)
  const found: Record<string, string> = {}
  for (const each of declared) {
    const finding = await check(each, types.get(each.name)!).catch((error: Error) => `fails: ${error.message}`)
    if (finding) found[each.name] = finding
  }
  expect(Object.keys(given).filter((name) => !statements.has(name))).toEqual([])
  const listed = exceptions.flatMap(({ finding, names }) => names.split(/\s+/).map((name) => [name, finding]))
  expect(found).toEqual(Object.fromEntries(listed))
  process.stderr.write(`${declared.length} statements × 3 other accounts, in ${pairs} pairs of runs\n`)
})

test.each([
  ['read-message', 'm.account_id = $1', 'reaches others by :id'],
  ['read-message', 'm.account_id = $1 and m.id = $2', 'names no account', 'm.id = $1'],
  ['list-messages', 'm.account_id = $1', 'reaches others'],
  ['deal-moves', 'account_id = $1', 'reaches others'],
  ['redirect-target', 'account_id = $1', 'reaches others by :id'],
  ['remove-deal', /account_id = \$1(?!.*account_id)/s, 'reaches others'],
  ['has-topic', 'account_id = $1', 'reaches others for a new account'],
] as [string, string | RegExp, string, string?][])(
  '%s without %s: %s',
  async (name, condition, finding, replacement = '($& or true)') => {
    const declared = statements.get(name)!
    const faulty = { ...declared, name: 'faulty', text: declared.text.replace(condition, replacement) }
    expect(faulty.text).not.toBe(declared.text)
    const types = (await readTypes([faulty])).get('faulty')!
    const found = await check({ ...faulty, name: '' }, types)
    expect(found.split(', ')).toContain(finding)
  },
)
