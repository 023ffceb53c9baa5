/*
 * For receivers of webhooks: the package exports this file as `svcd-engagement/webhooks`. It depends only on node:crypto.
 */
import { idempotencyKeyHeader, signatureHeader, timestampHeader, type Verdict, verify } from './signature.ts'

export type { Verdict } from './signature.ts'

/** Headers of Node or of a framework, with names in any case, or a `Headers` of fetch. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface ReceivedWebhook {
  /** `ok`, or the reason to refuse the delivery with 401. */
  verdict: Verdict
  /** It is authenticated only if the verdict is `ok`. It is empty if the header is missing. */
  id: string
  type: string
  /** The parsed body, `{ id, type, createdAt, data }`, or null if it is not JSON. */
  event: unknown
}

interface Options {
  /** The maximum distance of the signature's time from now; 300 by default. */
  toleranceSeconds?: number
  /** The current time in epoch ms. */
  nowMs?: number
}

const headerOf = (headers: WebhookHeaders, name: string): string | undefined => {
  if (headers instanceof Headers) return headers.get(name) ?? undefined
  const key = Object.keys(headers).find((one) => one.toLowerCase() === name.toLowerCase())
  const value = key && headers[key]
  return typeof value === 'string' ? value : undefined
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '')

/**
 * Verifies a received delivery: the signature of the raw body, in constant time, and that its timestamp is at most
 * `toleranceSeconds` before or after now (docs/reference/events.md#signature). `secret` is the subscription's, `whsec_…`. After a
 * rotation with an overlap either secret verifies; otherwise pass the old and the new one while you rotate. Throws TypeError if a secret is empty.
 */
export const verifyWebhook = (
  secret: string | readonly string[],
  headers: WebhookHeaders,
  rawBody: string | Uint8Array,
  { toleranceSeconds = 300, nowMs = Date.now() }: Options = {},
): ReceivedWebhook => {
  const signed = {
    [timestampHeader.toLowerCase()]: headerOf(headers, timestampHeader),
    [signatureHeader.toLowerCase()]: headerOf(headers, signatureHeader),
  }
  const secrets = [secret].flat()
  // Anyone could sign with an empty secret.
  if (secrets.length === 0 || secrets.some((one) => !one)) throw new TypeError('A signing secret is needed')
  const verdicts = secrets.map((one) => verify(one, signed, rawBody, nowMs, toleranceSeconds))
  const verdict = verdicts.find((one) => one !== 'signature mismatch') ?? 'signature mismatch'
  const event = parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody))
  const { id, type } = (typeof event === 'object' && event !== null ? event : {}) as Record<string, unknown>
  // The body's id takes precedence: the signature covers it, but not the header.
  return { verdict, id: textOf(id) || (headerOf(headers, idempotencyKeyHeader) ?? ''), type: textOf(type), event }
}

/**
 * Returns a function that remembers an id and returns whether it was seen before: a delivery can arrive more than once. It keeps
 * the newest `max` ids in this process. To keep more, store ids in a database under a unique key.
 */
export const openRepeats = (max = 200_000): ((id: string) => boolean) => {
  const seen = new Set<string>()
  return (id) => {
    if (seen.has(id)) return true
    seen.add(id)
    if (seen.size > max) seen.delete(seen.values().next().value!)
    return false
  }
}
