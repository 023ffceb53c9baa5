import { randomFillSync } from 'node:crypto'

/** The type prefixes: docs/reference/rules.md#ids. */
export type IdPrefix =
  | 'acc'
  | 'con'
  | 'key'
  | 'lst'
  | 'row'
  | 'pipe'
  | 'stg'
  | 'deal'
  | 'jrn'
  | 'run'
  | 'whk'
  | 'evt'
  | 'dlv'
  | 'msg'
  | 'prj'
  | 'snd'
  | 'web'
  | 'reg'
  | 'crs'
  | 'les'
  | 'sub'
  | 'bkg'
  | 'pay'
  | 'frm'
  | 'imp'
  | 'log'
  | 'int'
  | 'bct'
  | 'seg'
  | 'top'
  | 'act'

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const letters = Buffer.from(alphabet)

// Random bytes are fetched in bulk: a system call, or a concatenation of letters, per id would cost more than all the rest.
// Bulk writes create an id per row.
const pool = Buffer.alloc(16 * 256)
let used = pool.length

const fillPool = (): void => {
  randomFillSync(pool)
  for (let i = 0; i < pool.length; i++) pool[i] = letters[pool[i]! & 31]!
  used = 0
}

const randomPart = (): string => {
  if (used === pool.length) fillPool()
  used += 16
  return pool.toString('latin1', used - 16, used)
}

// Rows of one transaction share their time.
let lastTime = { epochMs: Number.NaN, text: '' }

/** Encodes epoch ms as ten characters of Crockford base 32, which sort like the times. */
const timePart = (epochMs: number): string => {
  if (lastTime.epochMs === epochMs) return lastTime.text
  let text = ''
  for (let rest = epochMs, i = 0; i < 10; i++) {
    text = alphabet[rest % 32] + text
    rest = Math.floor(rest / 32)
  }
  lastTime = { epochMs, text }
  return text
}

/**
 * Returns a new opaque id: `deal_`, 10 characters of time and 16 random ones (80 bits). Ids sort by the millisecond of their
 * creation, so primary keys grow at their end and lists can page by id.
 */
export const newId = (prefix: IdPrefix, epochMs: number): string => `${prefix}_${timePart(epochMs)}${randomPart()}`

/** Returns the smallest id of a time: `id < idAt('dlv', t)` selects every row created before `t`. */
export const idAt = (prefix: IdPrefix, epochMs: number): string => `${prefix}_${timePart(epochMs)}`

/** Returns the epoch ms of an id of `newId`. */
export const timeOfId = (id: string): number =>
  [...id.slice(id.indexOf('_') + 1).slice(0, 10)].reduce((ms, letter) => ms * 32 + alphabet.indexOf(letter), 0)
