import { expect, test } from 'vitest'
import { rowset } from '../../src/store/rowset.ts'
import { statement } from '../../src/store/statement.ts'
import { useApp } from '../support/app.ts'

const t = useApp()

const columns = { name: 'text?', age: 'int4?', isMember: 'bool?', tags: 'jsonb?', at: 'timestamptz?' } as const
const people = rowset(columns)

const readPeople = statement(
  'read-people',
  { row: { greeting: 'text', ...columns, n: 'int8' }, parameters: { greeting: 'text', ...people.parameters } },
  `select :greeting::text as greeting, name, age, is_member as "isMember", tags, at, n from ${people.as('p')} order by n`,
)

test('a statement reads rows by the names of their columns, in their order', async () => {
  const rows = [
    { name: 'Ada "the first", {1}', age: 36, isMember: true, tags: { a: ['{"b"}', null] }, at: new Date(1) },
    { name: null, age: null, isMember: null, tags: null, at: null },
    { name: 'null', age: -1, isMember: false, tags: {}, at: new Date('9999-12-31T00:00:00Z') },
  ]
  expect(await t.app.sql(readPeople, { greeting: 'Hello', ...people.values(rows) })).toEqual(
    rows.map((row, i) => ({ greeting: 'Hello', ...row, n: i + 1 })),
  )
})

test('no rows are no rows', async () => {
  expect(await t.app.sql(readPeople, { greeting: '', ...people.values([]) })).toEqual([])
})
