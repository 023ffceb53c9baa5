import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'

export const signatureHeader = 'X-Service-Signature'
export const timestampHeader = 'X-Service-Timestamp'
export const idempotencyKeyHeader = 'X-Service-Idempotency-Key'

/** The result of `verify`. Everything but `ok` is a reason to refuse the delivery. */
export type Verdict = 'ok' | 'headers missing' | 'timestamp malformed' | 'signature mismatch' | 'timestamp too far off'

type Headers = Readonly<Record<string, string | string[] | undefined>>

/** Returns a new signing secret: `whsec_` and 32 random bytes in base64url. */
export const newSigningSecret = (): string => `whsec_${randomBytes(32).toString('base64url')}`

/**
 * Returns the value of `X-Service-Signature` (docs/reference/events.md#signature): `v1=` and the hex HMAC-SHA256 of
 * `<timestamp>.<raw body>`. The key is the whole secret, including its prefix, as UTF-8 bytes.
 */
export const sign = (secret: string, timestampSeconds: number | string, rawBody: string | Uint8Array): string =>
  `v1=${createHmac('sha256', secret).update(`${timestampSeconds}.`).update(rawBody).digest('hex')}`

/**
 * Returns the three headers of a delivery (docs/reference/events.md#signature), signed at `nowMs` (epoch ms) with each secret. The
 * current secret comes first: a receiver that reads only the first signature has to know only that one.
 */
export const signedHeaders = (
  secret: string | readonly string[],
  nowMs: number,
  eventId: string,
  rawBody: string | Uint8Array,
) => {
  const timestampSeconds = Math.floor(nowMs / 1000)
  return {
    [timestampHeader]: String(timestampSeconds),
    [signatureHeader]: [secret]
      .flat()
      .map((one) => sign(one, timestampSeconds, rawBody))
      .join(','),
    [idempotencyKeyHeader]: eventId,
  }
}

/**
 * Verifies a received delivery: one of the signatures of the raw body, in constant time, then the timestamp's distance from `nowMs`.
 * `headers` are Node's, with names in lower case.
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
  const matches = (part: string) => {
    const given = Buffer.from(part)
    return expected.length === given.length && timingSafeEqual(expected, given)
  }
  if (!signature.split(',').some(matches)) return 'signature mismatch'
  return Math.abs(nowMs / 1000 - Number(timestamp)) > toleranceSeconds ? 'timestamp too far off' : 'ok'
}
