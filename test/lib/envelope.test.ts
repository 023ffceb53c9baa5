import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decrypted, encrypted } from '../../src/lib/envelope.ts'

const passphrase = 'a passphrase that only tests use'

async function* partsOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
const seal = async (plain: Buffer, size = 50_000) =>
  Buffer.concat(await Array.fromAsync(encrypted(partsOf(plain, size), passphrase)))
const open = async (sealed: Buffer, given = passphrase, size = 30_000) =>
  Buffer.concat(await Array.fromAsync(decrypted(partsOf(sealed, size), given)))

test.each([0, 1, 65_535, 65_536, 65_537, 200_000])('%i bytes are the same after decryption', async (length) => {
  const plain = randomBytes(length)
  const sealed = await seal(plain)
  expect((await open(sealed)).equals(plain)).toBe(true)
  if (length > 16) expect(sealed.includes(plain.subarray(0, 16))).toBe(false)
})

test('two files of the same content differ', async () => {
  const plain = Buffer.from('content')
  expect((await seal(plain)).equals(await seal(plain))).toBe(false)
})

test('another passphrase opens nothing', async () => {
  await expect(open(await seal(Buffer.from('x')), 'another')).rejects.toMatchObject({
    ...{ kind: 'invalid', message: 'The passphrase is not that of the file' },
  })
})

const changes: [string, (sealed: Buffer) => Buffer][] = [
  ['of another kind', () => Buffer.from('PK\x03\x04 something else that is long enough to have a head')],
  ['empty', () => Buffer.alloc(0)],
  ['truncated within a chunk', (sealed) => sealed.subarray(0, -1)],
  ['truncated after a whole chunk', (sealed) => sealed.subarray(0, 48 + 4 + 65_536 + 16)],
  ['truncated in a length', (sealed) => sealed.subarray(0, 48 + 2)],
  ['longer', (sealed) => Buffer.concat([sealed, Buffer.from('x')])],
  [
    'without its first chunk',
    (sealed) => Buffer.concat([sealed.subarray(0, 48), sealed.subarray(48 + 4 + 65_536 + 16)]),
  ],
  [
    'cut short, with the mark of the last chunk moved',
    (sealed) => {
      const cut = Buffer.from(sealed.subarray(0, 48 + 4 + 65_536 + 16))
      cut[48]! |= 0x80
      return cut
    },
  ],
  ...[49, 60, 70_000, 150_000].map((at): [string, (sealed: Buffer) => Buffer] => [
    `changed at ${at}`,
    (sealed) => {
      const changed = Buffer.from(sealed)
      changed[at]! ^= 1
      return changed
    },
  ]),
]

// Deriving a key from a passphrase takes 150 ms of CPU time.
const sealed = await seal(randomBytes(150_000))

test.each(changes)('a file that is %s is refused', async (_, change) => {
  await expect(open(change(sealed))).rejects.toMatchObject({
    ...{ kind: 'invalid', message: 'The file is truncated, damaged or not an export of an account' },
  })
})
