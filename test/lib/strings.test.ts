import { expect, test } from 'vitest'
import { oneLine } from '../../src/lib/strings.ts'

test.each([
  ['  two\r\n lines\t', 'two lines'],
  ['NUL\0, bell\u0007, C1\u0085, end\u2028\u2029.', 'NUL , bell , C1 , en'],
  ['lone \ud83d and \ude00', 'lone \ufffd and \ufffd'],
  [`${'x'.repeat(19)}😀`, 'x'.repeat(19)],
  [`${'x'.repeat(18)}😀`, `${'x'.repeat(18)}😀`],
  [`${'x'.repeat(19)} y`, 'x'.repeat(19)],
  ['\0\0', ''],
])('%j becomes %j', (foreign, line) => {
  expect(oneLine(foreign, 20)).toBe(line)
})
