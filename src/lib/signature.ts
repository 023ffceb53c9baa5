import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const signatureHeader = 'X-Service-Signature'
export const timestampHeader = 'X-Service-Timestamp'
export const idempotencyKeyHeader = 'X-Service-Idempotency-Key'

/** The answer of `verify`; everything but `ok` is a reason to refuse the delivery. */
export type Verdict = 'ok' | 'headers missing' | 'timestamp malformed' | 'signature mismatch' | 'timestamp too far off'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** A new signing secret: `whsec_` + 32 random bytes in base64url. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

/**
 * The value of `X-Service-Signature` (api.md section 5): `v1=` + hex HMAC-SHA256 of `<timestamp>.<raw body>`.
 * The key is the whole secret as it was shown, prefix included, as UTF-8 bytes.
 */
export const sign = (secret: string, timestampSeconds: number | string, rawBody: string | Uint8Array): string =>
  `v1=${createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex')}`

/** The three headers of one delivery (api.md section 6), signed for the time `nowMs`. */
export const signedHeaders = (secret: string, nowMs: number, eventId: string, rawBody: string | Uint8Array) => {
  const timestampSeconds = Math.floor(nowMs / 1000)
  return {
    [timestampHeader]: String(timestampSeconds),
    [signatureHeader]: sign(secret, timestampSeconds, rawBody),
    [idempotencyKeyHeader]: eventId,
  }
}

/**
 * Checks a received delivery as a receiver should: against the raw body, in constant time, then the timestamp's
 * distance from `nowMs`. `headers` are Node's, with names in lower case.
 */
export const verify = (
  secret: string,
  headers: Headers,
  rawBody: string | Uint8Array,
  nowMs: number,
  toleranceSeconds = 300,
): Verdict => {
  const timestamp = headers[timestampHeader.toLowerCase()]
  const signature = headers[signatureHeader.toLowerCase()]
  if (typeof timestamp !== 'string' || typeof signature !== 'string') return 'headers missing'
  if (!/^\d{1,12}$/.test(timestamp)) return 'timestamp malformed'
  const expected = Buffer.from(sign(secret, timestamp, rawBody))
  const given = Buffer.from(signature)
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return 'signature mismatch'
  return Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds ? 'timestamp too far off' : 'ok'
}
