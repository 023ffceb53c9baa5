import { expect, test } from 'vitest'
import { compiled } from '../../src/store/statement.ts'
import { columns, table } from '../../src/store/tables.ts'

test.each([
  [
    'update t set a = :a where b = :b and (:b)::text is null or :b',
    'update t set a = $2 where b = $1 and ($1)::text is null or $1',
  ],
  [
    'select :a::int, :b::text[], b[1:2], b[n:m], f(a)[1 : :a]',
    'select $2::int, $1::text[], b[1:2], b[n:m], f(a)[1 : $2]',
  ],
  [`select 'x :a ''' || :a, E'\\' :a' || :b`, `select 'x :a ''' || $2, E'\\' :a' || $1`],
  [`select c as "at :a", :a, :b -- why :a\n/* :a */ from t`, `select c as "at :a", $2, $1 -- why :a\n/* :a */ from t`],
  ['select j ? :a, j ?| array[:b]', 'select j ? $2, j ?| array[$1]'],
  ['select $q$ :a $1 $q$, $$ :a $$, f(x := :a), (:b)', 'select $q$ :a $1 $q$, $$ :a $$, f(x := $2), ($1)'],
  ['values (:a,:b,-:a)', 'values ($2,$1,-$2)'],
])('named parameters are numbered in the order of their declaration: %s', (sql, text) => {
  expect(compiled('any', sql, ['b', 'a'])).toBe(text)
})

test.each([
  ['select :a, :c', 'The statement any declares no parameter c'],
  ['select :a, $1', 'The statement any numbers a parameter: $1'],
  ['select 1', 'The SQL of the statement any lacks :a'],
])('other parameters are refused: %s', (sql, message) => {
  expect(() => compiled('any', sql, ['a'])).toThrow(message)
})

const rows = table('rows', { id: 'text', rowId: 'text', at: 'timestamptz?' })

test('columns of a table are listed for each clause', () => {
  const { list, names, values, set, types } = columns(rows, ['rowId', 'at'], 'r')
  expect(list).toBe('r.row_id as "rowId", r.at')
  expect(names).toBe('row_id, at')
  expect(values).toBe(':rowId, :at')
  expect(set).toBe('row_id = :rowId, at = :at')
  expect(types).toEqual({ rowId: 'text', at: 'timestamptz?' })
})

test('a change replaces what it defines', () => {
  const changeable = columns(rows, ['rowId', 'at'])
  const before = { rowId: 'a', at: new Date(0) }
  expect(changeable.after(before, { rowId: undefined })).toEqual(before)
  expect(changeable.after(before, { at: null })).toEqual({ rowId: 'a', at: null })
  expect(changeable.after({}, { rowId: 'b' })).toEqual({ rowId: 'b', at: null })
  expect(changeable.isSame(before, { rowId: 'a', at: new Date(0) })).toBe(true)
  expect(changeable.isSame(before, { rowId: 'a', at: null })).toBe(false)
})
