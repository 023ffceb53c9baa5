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
  'honeypot',
  'certificate',
  'join',
  'waitlist',
  'confirm',
] as const
const stampPurposes = ['bounce'] as const

/** The purpose of a token. Each purpose has its own key, so a token works only for its own purpose. */
export type TokenPurpose = (typeof tokenPurposes)[number]
type StampPurpose = (typeof stampPurposes)[number]
type Purpose = TokenPurpose | StampPurpose

/** The key of each purpose under one secret, in base64url. The keys sign and verify links; they can't decrypt stored secrets. */
export type TokenKeys = Readonly<Record<string, string>>

const keyUnder = (secretText: string, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', secretText, '', `svc token v1 ${purpose}`, 32))

/** Returns the keys that verify links signed under `secretText` after `svc secret rotate` has replaced it. */
export const tokenKeys = (secretText: string): TokenKeys =>
  Object.fromEntries(
    [...tokenPurposes, ...stampPurposes].map((purpose) => [
      purpose,
      keyUnder(secretText, purpose).toString('base64url'),
    ]),
  )

/** Signs and verifies the tokens in links for recipients. */
export interface Tokens {
  /** Returns a token that is safe in a path. `subject` identifies its resource; `expiresAt` is in epoch ms, null for never. */
  sign(purpose: TokenPurpose, subject: readonly string[], expiresAt: number | null): string
  /** Returns the subject, or null if the token was not signed here for that purpose or has expired at `nowMs`. */
  read(purpose: TokenPurpose, token: string, nowMs: number): string[] | null
  /** Returns 16 hex digits that authenticate a text where a token is too long: in the local part of an address. */
  stamp(purpose: StampPurpose, text: string): string
  /** Whether the stamp belongs to the text. */
  isStamp(purpose: StampPurpose, text: string, stamp: string): boolean
}

const macBytes = 16

/**
 * Creates tokens under keys derived from `secretText` (`SVC_SECRET`), one per purpose. A token is the base64url of expiry and
 * subject as JSON, a dot, and the base64url of the first 16 bytes of its HMAC-SHA256. Keys of `former` secrets verify too.
 */
export const createTokens = (secretText: string, former: readonly TokenKeys[] = []): Tokens => {
  const keys = new Map<string, Buffer[]>()
  /** The first key signs; all of them verify. */
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
      // Compared as text: base64url can spell the same bytes in several ways, and only one of them is valid.
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
