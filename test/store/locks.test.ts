import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { lockClasses, lockKey, singleLocks, textLocks } from '../../src/lib/locks.ts'
import { guardStatement, isAccountIdle } from '../../src/store/account-guard.ts'
import { openDatabase } from '../../src/store/database.ts'
import { cloneDatabase } from '../support/database.ts'

const root = join(import.meta.dirname, '../..')
const registry = 'src/lib/locks.ts'
const sources = ['src', 'bin', 'jobs']
  .flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => `${folder}/${file}`),
  )
  .filter((file) => file !== registry)
  .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }))

let database: Awaited<ReturnType<typeof cloneDatabase>>
let pool: ReturnType<typeof openDatabase>

beforeAll(async () => {
  database = await cloneDatabase()
  pool = openDatabase(database.url)
})
afterAll(async () => {
  await pool.close()
  await database.drop()
})

test('no two locks have the same key', () => {
  const numbers = [...Object.values(singleLocks), ...Object.values(lockClasses)]
  expect(new Set(numbers).size).toBe(numbers.length)
  const beginnings: string[] = Object.values(textLocks)
  expect(new Set(beginnings).size).toBe(beginnings.length)
  // An id follows each prefix, so two keys can be equal only if one prefix starts with the other.
  const named = beginnings.filter((beginning) => beginning !== '')
  for (const one of named) expect(named.filter((other) => other.startsWith(one))).toEqual([one])
})

test('no other file names the key of an advisory lock', () => {
  const ownKey =
    /hashtextextended|pg_(?:try_)?advisory_\w*lock\w*\(\s*(?:\d|')|(?<!hash\w*\()hashtext\('|\b7_?318_?2\d\d\b|\b7_?566_?947\b/
  const isNamed = (text: string) => ownKey.test(text)
  expect(sources.filter(({ text }) => isNamed(text)).map(({ file }) => file)).toEqual([])
  for (const key of ['hashtextextended($1, 0)', 'pg_try_advisory_lock(7)', "hashtext('svc listen')", '7_318_203']) {
    expect(isNamed(key)).toBe(true)
  }
})

test('an account is idle only while none of its units of work is open', async () => {
  const one = await pool.connect()
  await one.query('begin')
  await one.query(guardStatement('acc_1'))
  expect([await isAccountIdle(pool.sql, 'acc_1'), await isAccountIdle(pool.sql, 'acc_2')]).toEqual([false, true])
  await one.query('rollback')
  expect(await isAccountIdle(pool.sql, 'acc_1')).toBe(true)
  await one.end()
})

test('PostgreSQL accepts every key', async () => {
  for (const kind of Object.keys(textLocks) as (keyof typeof textLocks)[]) {
    const rows = await pool.sql(`select pg_try_advisory_xact_lock(${lockKey(kind, '$1')}) as mine`, ['x'])
    expect(rows).toEqual([{ mine: true }])
  }
})
