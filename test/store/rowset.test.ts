import { expect, test } from 'vitest'
import { rowset } from '../../src/store/rowset.ts'
import { useApp } from '../support/app.ts'

const t = useApp()

const people = rowset(2, { name: 'text', age: 'int', is_member: 'boolean' })

test('a statement reads rows by the names of their columns, in their order', async () => {
  const rows = [
    { name: 'Ada "the first", {1}', age: 36, is_member: true },
    { name: null, age: null, is_member: null },
    { name: 'null', age: -1, is_member: false },
  ]
  const read = `select $1::text as greeting, p.* from ${people.as('p')} order by n`
  expect(await t.app.sql(read, ['Hello', ...people.params(rows)])).toEqual(
    rows.map((row, i) => ({ greeting: 'Hello', ...row, n: i + 1 })),
  )
})

test('no rows are no rows', async () => {
  expect(await t.app.sql(`select $1::text, p.* from ${people.as('p')}`, ['', ...people.params([])])).toEqual([])
})
