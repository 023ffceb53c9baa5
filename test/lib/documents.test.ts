import { expect, test } from 'vitest'
import { readDocuments } from '../../src/lib/documents.ts'
import { costOf } from '../support/cost.ts'

test('YAML and JSON are read, several documents in their order', () => {
  expect(readDocuments('name: a\nat: 2026-12-01\n---\n{"name": "b"}\n')).toEqual([
    { name: 'a', at: '2026-12-01' },
    { name: 'b' },
  ])
})

test.each([
  ['an empty file', '', 'empty'],
  ['a property twice', 'name: a\nname: b', 'Map keys must be unique'],
  ['a property twice, in JSON', '{"name":"a","name":"b"}', 'Map keys must be unique'],
  ['an unclosed list', 'steps: [1', 'document 1: '],
  ['an alias without an anchor', 'a: *b', 'Unresolved alias'],
  [
    'an alias of a value that contains it',
    'steps: &s\n  - kind: split\n    a: *s',
    'an alias refers to a value that contains it',
  ],
  ['a tag', 'a: !!binary aGVsbG8=', 'Unresolved tag'],
  ['a property named __proto__', '__proto__: {a: 1}', '__proto__'],
  ['an error in the second document', 'a: 1\n---\nb: [', 'document 2: '],
  ['100,000 opening brackets', '['.repeat(100_000), 'document 1: '],
  ['200 levels of nesting', `${'['.repeat(200)}${']'.repeat(200)}`, 'nested more than 64 deep'],
  ['more than 1 MB', `# ${'x'.repeat(1024 * 1024)}`, 'larger than 1 MB'],
])('%s is refused', (_, source, fault) => {
  expect(() => readDocuments(source)).toThrow(fault)
})

test('JSON is read as JSON, with any indentation and a byte order mark', () => {
  const value = { a: 'no', b: '2026-01-01', c: ['x: y # z', 'a/b\u0007\u2028', 1.5, null, true] }
  for (const indent of ['\t', '  ', ''])
    expect(readDocuments(`\ufeff${JSON.stringify(value, null, indent)}`)).toEqual([value])
})

test('aliases that expand exponentially are refused at once', async () => {
  const levels = 'abcdefghi'
    .split('')
    .map((name, i, names) => `${name}: &${name} [${Array.from({ length: 9 }, () => (i ? `*${names[i - 1]}` : 'x'))}]`)
  const [cost] = await costOf(() => expect(() => readDocuments(levels.join('\n'))).toThrow('Excessive alias count'))
  expect(cost).toBeLessThan(1000)
})

test('an alias is replaced by its value', () => {
  expect(readDocuments('a: &x [1]\nb: *x')).toEqual([{ a: [1], b: [1] }])
})
