import { expect, test } from 'vitest'
import { fillTags, tagParts } from '../../src/lib/tags.ts'
import { costOf } from '../support/cost.ts'

const read = (field: string) =>
  new Map([
    ['name', 'Ada'],
    ['city', ''],
  ]).get(field)

test.each([
  ['Hello {{ name }}, {{name}}!', 'Hello Ada, Ada!'],
  ['{{ nobody }}', ''],
  ['{{}} {{  }}', ' '],
  ['{ name } {{ name }', '{ name } {{ name }'],
  ['{{{ name }}}', '{Ada}'],
  ['{{\nname\n}}', 'Ada'],
  ['{{ name | "there" }}', 'Ada'],
  ['{{ nobody | "there" }}', 'there'],
  ['{{nobody|"there"}}', 'there'],
  ['{{ city | "your town" }}', 'your town'],
  ['{{ nobody | "a | b" }}', 'a | b'],
  ['{{ nobody | "" }}', ''],
  ['{{ nobody | " " }}', ' '],
  ['{{ nobody | there }}', ''],
  ["{{ nobody | 'there' }}", ''],
  ['{{ nobody | "there }}', ''],
  ['{{ nobody "there" }}', ''],
  ['{{ " }}', ''],
])('%j is filled to %j', (text, filled) => {
  expect(fillTags(text, read)).toBe(filled)
})

test('a value that looks like a tag is not replaced', () => {
  expect(fillTags('{{ a }}', (field) => (field === 'a' ? '{{ b }}' : 'never'))).toBe('{{ b }}')
})

test('a text is split at its tags, without empty parts', () => {
  expect(tagParts('{{ a }}{{ b }} and {{c}}')).toEqual([{ tag: 'a' }, { tag: 'b' }, ' and ', { tag: 'c' }])
  expect(tagParts('{{ a | "b" }}!')).toEqual([{ tag: 'a', fallback: 'b' }, '!'])
  expect(tagParts('')).toEqual([])
})

test('an unclosed tag takes linear time', async () => {
  const [cost] = await costOf(() => {
    fillTags(`{{${' '.repeat(1_000_000)}`, read)
    fillTags('{{'.repeat(500_000), read)
    fillTags(`{{${' | "'.repeat(500_000)}}}`, read)
    fillTags(`{{${'"'.repeat(1_000_000)}}}`, read)
  })
  expect(cost).toBeLessThan(1000)
})
