import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decodeBase64, decodeJsonBase64 } from '../../src/lib/base64.ts'

/** Decodes a text in pieces of a length. */
const inPieces = (text: string, size: number) => {
  const bytes = Buffer.from(text)
  const count = Math.ceil(bytes.length / size)
  const pieces = Array.from({ length: count }, (_, i) => bytes.subarray(i * size, (i + 1) * size))
  return decodeJsonBase64(pieces, bytes.length)
}

const sizes = [1, 2, 3, 4, 5, 7, 64, 1000]

test.each(sizes)('base64 in pieces of %s bytes has the bytes that it has as a whole', async (size) => {
  for (const length of [0, 1, 2, 3, 4, 57, 256, 1001]) {
    const bytes = randomBytes(length)
    const text = bytes.toString('base64')
    expect((await inPieces(text, size))?.bytes).toEqual(bytes)
    expect((await inPieces(text.replaceAll('/', '\\/'), size))?.bytes).toEqual(bytes)
  }
})

test.each([
  ...[
    'A',
    'AA',
    'AAA',
    'AA==AAAA',
    'AAA=AAAA',
    'AA=A',
    'A===',
    '====',
    'AAAA====',
    'AAAA\nAAA',
    'AA-_',
    'AAAé',
    'AAAA ',
  ],
])('%j is no base64, in whatever pieces it arrives', async (wrong) => {
  for (const text of [wrong, `${'AAAA'.repeat(20)}${wrong}`, `${'AAAA'.repeat(20)}${wrong}${'AAAA'.repeat(20)}`]) {
    expect(decodeBase64(text)).toBe(null)
    for (const size of sizes) expect((await inPieces(text, size))?.bytes).toBe(null)
  }
})

test('a text with escapes other than that of a slash is left to the JSON parser', async () => {
  for (const escaped of ['\\u002f', '\\n', '\\\\', '\\"'])
    for (const size of sizes) expect(await inPieces(`AAAA${escaped}AAAA`, size)).toBe(null)
})
