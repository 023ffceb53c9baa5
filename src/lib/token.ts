import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'

/** What a token may be for: one of a purpose opens nothing of another. */
export type TokenPurpose = 'unsubscribe' | 'liveview' | 'click' | 'open' | 'booking' | 'payment'
export type StampPurpose = 'bounce'

/** Makes and reads the signed tokens of links that recipients follow. */
export interface Tokens {
  /** `subject` names what the token opens; `expiresAt` is epoch ms, null: it never ends. Safe in a path. */
  sign(purpose: TokenPurpose, subject: readonly string[], expiresAt: number | null): string
  /** The subject; null for what was not signed here for that purpose, was changed, or has expired at `nowMs`. */
  read(purpose: TokenPurpose, token: string, nowMs: number): string[] | null
  /** 16 characters, in lower case, that prove a text to be ours where a token would not fit: a local part of an address. */
  stamp(purpose: StampPurpose, text: string): string
}

const macBytes = 16

/**
 * Tokens under keys derived from `secretText` (`SVC_SECRET`), one for each purpose: base64url of expiry and subject as
 * JSON, a dot, and base64url of 16 bytes of HMAC-SHA256 over all of that.
 */
export const createTokens = (secretText: string): Tokens => {
  const keys = new Map<string, Buffer>()
  const keyOf = (purpose: TokenPurpose | StampPurpose): Buffer =>
    keys.getOrInsertComputed(purpose, () =>
      Buffer.from(hkdfSync('sha256', secretText, '', `svc token v1 ${purpose}`, 32)),
    )
  const macOf = (purpose: TokenPurpose | StampPurpose, claim: string): Buffer =>
    createHmac('sha256', keyOf(purpose)).update(claim).digest().subarray(0, macBytes)

  return {
    sign(purpose, subject, expiresAt) {
      const claim = Buffer.from(JSON.stringify([expiresAt, ...subject])).toString('base64url')
      return `${claim}.${macOf(purpose, claim).toString('base64url')}`
    },
    read(purpose, token, nowMs) {
      const [claim = '', mac = '', ...rest] = token.split('.')
      // Compared as text: base64url has several spellings of the same bytes, and only ours is a token.
      const expected = Buffer.from(macOf(purpose, claim).toString('base64url'))
      const given = Buffer.from(mac)
      if (rest.length > 0 || given.length !== expected.length || !timingSafeEqual(given, expected)) return null
      const [expiresAt, ...subject] = JSON.parse(Buffer.from(claim, 'base64url').toString()) as [
        number | null,
        ...string[],
      ]
      return expiresAt !== null && nowMs >= expiresAt ? null : subject
    },
    stamp: (purpose, text) => macOf(purpose, text).toString('hex').slice(0, 16),
  }
}
