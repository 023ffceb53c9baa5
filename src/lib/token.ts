import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

const tokenPurposes = [
  'unsubscribe',
  'liveview',
  'click',
  'open',
  'booking',
  'payment',
  'portal',
  'portal-session',
  'join',
  'confirm',
] as const
const stampPurposes = ['bounce'] as const

/** What a token may be for: one of a purpose opens nothing of another. */
export type TokenPurpose = (typeof tokenPurposes)[number]
export type StampPurpose = (typeof stampPurposes)[number]
type Purpose = TokenPurpose | StampPurpose

/** The key of each purpose under one secret, base64url. They sign and read links, and open nothing else. */
export type TokenKeys = Readonly<Record<string, string>>

const keyUnder = (secretText: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretText, '', `svc token v1 ${purpose}`, 32))

/** What reads the links that `secretText` signed once it is the secret no more (`svc secret rotate`). */
export const tokenKeys = (secretText: string): TokenKeys =>
  Object.fromEntries(
    [...tokenPurposes, ...stampPurposes].map((purpose) => [
      purpose,
      keyUnder(secretText, purpose).toString('base64url'),
    ]),
  )

/** Makes and reads the signed tokens of links that recipients follow. */
export interface Tokens {
  /** `subject` names what the token opens; `expiresAt` is epoch ms, null: it never ends. Safe in a path. */
  sign(purpose: TokenPurpose, subject: readonly string[], expiresAt: number | null): string
  /** The subject; null for what was not signed here for that purpose, was changed, or has expired at `nowMs`. */
  read(purpose: TokenPurpose, token: string, nowMs: number): string[] | null
  /** 16 characters, in lower case, that prove a text to be ours where a token would not fit: a local part of an address. */
  stamp(purpose: StampPurpose, text: string): string
  /** Whether a stamp is of that text. */
  isStamp(purpose: StampPurpose, text: string, stamp: string): boolean
}

const macBytes = 16

/**
 * Tokens under keys derived from `secretText` (`SVC_SECRET`), one for each purpose: base64url of expiry and subject as
 * JSON, a dot, and base64url of 16 bytes of HMAC-SHA256 over all of that. What the keys of `former` secrets signed is read too.
 */
export const createTokens = (secretText: string, former: readonly TokenKeys[] = []): Tokens => {
  const keys = new Map<string, Buffer[]>()
  /** The one that signs, then those that only read. */
  const keysOf = (purpose: Purpose): Buffer[] =>
    keys.getOrInsertComputed(purpose, () => [
      keyUnder(secretText, purpose),
      ...former.flatMap((of) => (of[purpose] ? [Buffer.from(of[purpose], 'base64url')] : [])),
    ])
  const macUnder = (key: Buffer, claim: string): Buffer =>
    createHmac('sha256', key).update(claim).digest().subarray(0, macBytes)
  const macOf = (purpose: Purpose, claim: string): Buffer => macUnder(keysOf(purpose)[0]!, claim)
  const stampOf = (mac: Buffer): string => mac.toString('hex').slice(0, 16)
  const isSame = (given: string, expected: string): boolean =>
    Buffer.byteLength(given) === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))

  return {
    sign(purpose, subject, expiresAt) {
      const claim = Buffer.from(JSON.stringify([expiresAt, ...subject])).toString('base64url')
      return `${claim}.${macOf(purpose, claim).toString('base64url')}`
    },
    read(purpose, token, nowMs) {
      const [claim = '', mac = '', ...rest] = token.split('.')
      // Compared as text: base64url has several spellings of the same bytes, and only ours is a token.
      const isSigned = keysOf(purpose).some((key) => isSame(mac, macUnder(key, claim).toString('base64url')))
      if (rest.length > 0 || !isSigned) return null
      const [expiresAt, ...subject] = JSON.parse(Buffer.from(claim, 'base64url').toString()) as [
        number | null,
        ...string[],
      ]
      return expiresAt !== null && nowMs >= expiresAt ? null : subject
    },
    stamp: (purpose, text) => stampOf(macOf(purpose, text)),
    isStamp: (purpose, text, stamp) => keysOf(purpose).some((key) => isSame(stamp, stampOf(macUnder(key, text)))),
  }
}
