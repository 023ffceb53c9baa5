import { createCipheriv, createDecipheriv, randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'
import { invalid } from './problem.ts'

/*
 * An encrypted stream: the magic line, salt and check, then chunks. Each chunk is four bytes of length, whose highest bit marks the
 * last chunk, then the ciphertext and its tag (AES-256-GCM). The nonce counts the chunks, and each file has a key of its own, so
 * chunks can't be exchanged, repeated or left out. The check tells a wrong passphrase from a damaged file.
 */

const magic = Buffer.from('svc encrypted 1\n')
const saltBytes = 16
const checkBytes = 16
const keyBytes = 32
const tagBytes = 16
const lengthBytes = 4
const lastBit = 2 ** 31
const headBytes = magic.length + saltBytes + checkBytes
const chunkBytes = 2 ** 16

type Cost = Required<Pick<ScryptOptions, 'N' | 'r' | 'p' | 'maxmem'>>

/** 32 MiB and about 0.3 s for each guess of a passphrase. */
const guessCost: Cost = { N: 2 ** 15, r: 8, p: 3, maxmem: 2 ** 26 }

const deriving = promisify<string, Buffer, number, Cost, Buffer>(scrypt)

const derive = async (passphrase: string, salt: Buffer, cost: Cost): Promise<{ key: Buffer; check: Buffer }> => {
  const derived = await deriving(passphrase.normalize(), salt, keyBytes + checkBytes, cost)
  return { key: derived.subarray(0, keyBytes), check: derived.subarray(keyBytes) }
}

const nonceOf = (chunk: number, isLast: boolean): Buffer => {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(BigInt(chunk), 3)
  nonce.writeUInt8(isLast ? 1 : 0, 11)
  return nonce
}

const damaged = () => invalid('The file is truncated, damaged or not an export of an account')

/** Reads exact numbers of bytes from a stream, and keeps no more than it needs. */
const createReader = (source: AsyncIterable<Buffer>) => {
  const parts = source[Symbol.asyncIterator]()
  let rest: Buffer = Buffer.alloc(0)
  return {
    /** Returns that many bytes; fewer at the end of the stream. */
    async take(bytes: number): Promise<Buffer> {
      const taken = [rest]
      let length = rest.length
      while (length < bytes) {
        const next = await parts.next()
        if (next.done) break
        taken.push(next.value)
        length += next.value.length
      }
      const all = Buffer.concat(taken)
      rest = all.subarray(bytes)
      return all.subarray(0, bytes)
    },
  }
}

/** Encrypts a stream with a passphrase. Uses constant memory. Only tests give another `cost` of a guess. */
export async function* encrypted(
  source: AsyncIterable<Buffer>,
  passphrase: string,
  cost: Cost = guessCost,
): AsyncGenerator<Buffer> {
  const salt = randomBytes(saltBytes)
  const { key, check } = await derive(passphrase, salt, cost)
  yield Buffer.concat([magic, salt, check])
  const reader = createReader(source)
  let next = await reader.take(chunkBytes)
  for (let chunk = 0, isLast = false; !isLast; chunk++) {
    const plain = next
    next = await reader.take(chunkBytes)
    isLast = next.length === 0
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(chunk, isLast))
    const text = Buffer.concat([cipher.update(plain), cipher.final()])
    const length = Buffer.alloc(lengthBytes)
    length.writeUInt32BE(text.length + (isLast ? lastBit : 0))
    yield Buffer.concat([length, text, cipher.getAuthTag()])
  }
}

/**
 * Decrypts what `encrypted` wrote with the same `cost`. Uses constant memory. Throws Problem `invalid` for another passphrase before
 * anything is returned, and for a file that was truncated or changed; what was returned before that is as it was written.
 */
export async function* decrypted(
  source: AsyncIterable<Buffer>,
  passphrase: string,
  cost: Cost = guessCost,
): AsyncGenerator<Buffer> {
  const reader = createReader(source)
  const head = await reader.take(headBytes)
  if (head.length < headBytes || !head.subarray(0, magic.length).equals(magic)) throw damaged()
  const { key, check } = await derive(passphrase, head.subarray(magic.length, magic.length + saltBytes), cost)
  if (!timingSafeEqual(check, head.subarray(-checkBytes))) throw invalid('The passphrase is not that of the file')
  for (let chunk = 0, isLast = false; !isLast; chunk++) {
    const length = await reader.take(lengthBytes)
    if (length.length < lengthBytes) throw damaged()
    const bytes = length.readUInt32BE()
    isLast = bytes >= lastBit
    const textBytes = isLast ? bytes - lastBit : bytes
    if (textBytes > chunkBytes) throw damaged()
    const text = await reader.take(textBytes + tagBytes)
    if (text.length < textBytes + tagBytes) throw damaged()
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(chunk, isLast), { authTagLength: tagBytes })
    decipher.setAuthTag(text.subarray(textBytes))
    const plain = decipher.update(text.subarray(0, textBytes))
    try {
      decipher.final()
    } catch {
      throw damaged()
    }
    yield plain
  }
  if ((await reader.take(1)).length > 0) throw damaged()
}
