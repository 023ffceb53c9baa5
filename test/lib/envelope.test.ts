import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { decrypted, encrypted } from '../../src/lib/envelope.ts'

const passphrase = 'a passphrase that only tests use'

async function* partsOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}
/** Each key that is derived at the usual cost takes 200 ms of CPU time. */
const cheap = { N: 2, r: 8, p: 1, maxmem: 2 ** 20 }
const seal = async (plain: Buffer, cost?: typeof cheap) =>
  Buffer.concat(await Array.fromAsync(encrypted(partsOf(plain, 50_000), passphrase, cost)))
const open = async (sealed: Buffer, given = passphrase, cost?: typeof cheap) =>
  Buffer.concat(await Array.fromAsync(decrypted(partsOf(sealed, 30_000), given, cost)))

test.each([0, 1, 65_535, 65_536, 65_537, 200_000])('%i bytes are the same after decryption', async (length) => {
  const plain = randomBytes(length)
  // Once at the usual cost.
  const cost = length === 65_537 ? undefined : cheap
  const sealed = await seal(plain, cost)
  expect((await open(sealed, passphrase, cost)).equals(plain)).toBe(true)
  if (length > 16) expect(sealed.includes(plain.subarray(0, 16))).toBe(false)
})

test('two files of the same content differ', async () => {
  const plain = Buffer.from('content')
  expect((await seal(plain, cheap)).equals(await seal(plain, cheap))).toBe(false)
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

const sealed = await seal(randomBytes(150_000), cheap)

test.each(changes)('a file that is %s is refused', async (_, change) => {
  await expect(open(change(sealed), passphrase, cheap)).rejects.toMatchObject({
    ...{ kind: 'invalid', message: 'The file is truncated, damaged or not an export of an account' },
  })
})
