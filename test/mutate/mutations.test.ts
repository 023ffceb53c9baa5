import { expect, test } from 'vitest'
import { diffOf, mutated, mutationsOf } from './mutations.ts'

/** The code after each mutation of it. */
const after = (code: string) => mutationsOf('sample.ts', code).map((m) => `${m.kind}: ${mutated(code, m)}`)

test.each([
  ['a && b', ['condition: a', 'condition: b']],
  ['a ?? b', []],
  ['if (a) return', ['exit: ;']],
  ['for (;;) if (a) { b(); continue }', ['exit: for (;;) ;']],
  ['if (a) b()', []],
  ['a < b', ['comparison: a <= b']],
  ['a !== b', ['comparison: a === b']],
  ['await a()', ['await: a()']],
  ['const a = await b()', []],
  ['await lockDeals(sql)', ['lock: ;']],
  ['await sql(lockDeal, [id])', ['lock: ;']],
  ['await sql(unlockDeal, [id])', ['await: sql(unlockDeal, [id])']],
  ['const a = 2', ['number: const a = 3', 'number: const a = 1']],
  ['type A = 2', []],
  ['const a = b as 2', []],
  ['f(a! > b)', ['comparison: f(a! >= b)']],
])('%s', (code, expected) => expect(after(code)).toEqual(expected))

test.each([
  [
    '`select from a where b = $1 and c = $2 order by d`',
    [
      'sql condition: `select from a where (b = $1 or true) and c = $2 order by d`',
      'sql condition: `select from a where b = $1 and (c = $2 or true) order by d`',
    ],
  ],
  [
    '`where a in (select b from c) and #{d}`',
    [
      'sql condition: `where (a in (select b from c) or true) and #{d}`',
      'sql condition: `where a in (select b from c) and (#{d} or true)`',
    ],
  ],
  [
    '`select from a where b between 1 and f(2)`',
    ['sql condition: `select from a where (b between 1 and f(2) or true)`'],
  ],
  [
    '`count(*) filter (where a is null)`',
    [
      'sql condition: `count(*) filter (where (a is null or true))`',
      'sql comparison: `count(*) filter (where a is not null)`',
    ],
  ],
  [
    '`select a where #{b("x and y in (1)")} for update of c skip locked`',
    [
      'sql condition: `select a where (#{b("x and y in (1)")} or true) for update of c skip locked`',
      'sql lock: `select a where #{b("x and y in (1)")}`',
      'sql condition: `select a where #{b("x and (y in (1) or true)")} for update of c skip locked`',
    ],
  ],
  ["'select pg_advisory_xact_lock($1)'", ["sql lock: 'select num_nulls($1)'"]],
  ["'select pg_try_advisory_lock($1)'", ["sql lock: 'select 0 <= num_nulls($1)'"]],
  ["'select 1 limit 5'", ["sql number: 'select 1 limit 6'", "sql number: 'select 1 limit 4'"]],
  ["'Bread and butter'", []],
])('SQL: %s', (code, expected) => {
  // Written with # here, where no string may look like a template.
  const inTemplate = (text: string) => text.replaceAll('#', '$')
  expect(after(inTemplate(code))).toEqual(expected.map(inTemplate))
})

test('a diff has the changed lines, with the line of the first one', () => {
  const code = 'one()\nif (a) {\n  return\n}\ntwo()\n'
  const [mutation] = mutationsOf('sample.ts', code)
  expect(diffOf(code, mutation!)).toEqual({ line: 2, diff: '- if (a) {\n-   return\n- }\n+ ;' })
})
