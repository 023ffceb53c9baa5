import { expect, test } from 'vitest'
import { textArray } from '../../src/store/arrays.ts'
import { useApp } from '../support/app.ts'

const t = useApp()

test('the database receives every text unchanged', async () => {
  const texts = [
    '',
    'plain',
    'NULL',
    '"',
    '\\',
    '\\"\\\\',
    'a,b',
    '{x}',
    ' blank ',
    'line\nbreak',
    '\u2028 日本 😀',
    null,
  ]
  const [row] = await t.app.sql<{ texts: string[] }>('select $1::text[] as texts', [textArray(texts)])
  expect(row!.texts).toEqual(texts)
  const [none] = await t.app.sql<{ texts: string[] }>('select $1::text[] as texts', [textArray([])])
  expect(none!.texts).toEqual([])
})
