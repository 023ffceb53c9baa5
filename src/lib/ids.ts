import { randomFillSync } from 'node:crypto'

/** The type prefixes of decisions.md, General. */
export type IdPrefix =
  | 'acc'
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

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz'
const letters = Buffer.from(alphabet)

// Asking the system for 16 bytes at a time, or putting a text together by its letters, costs more than everything else here: bulk
// writes make an id a row.
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

// Rows that are written together have one time.
let lastTime = { epochMs: Number.NaN, text: '' }

/** Ten characters of Crockford base 32 for a time in epoch ms: they sort as the times do. */
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
 * A new opaque id: `deal_` + 10 characters of time + 16 random ones (80 bits). Ids made later sort later by the
 * millisecond, so that a primary key that starts with one grows at its end and lists page by id.
 */
export const newId = (prefix: IdPrefix, epochMs: number): string => `${prefix}_${timePart(epochMs)}${randomPart()}`

/** The smallest id of a time: `id < idAt('dlv', t)` holds for every row made before `t`. */
export const idAt = (prefix: IdPrefix, epochMs: number): string => `${prefix}_${timePart(epochMs)}`
