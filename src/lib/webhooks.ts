/*
 * What a receiver of webhooks needs, exported by the package as `svc/webhooks`: it stands on node:crypto alone.
 */
import { idempotencyKeyHeader, signatureHeader, timestampHeader, type Verdict, verify } from './signature.ts'

export type { Verdict } from './signature.ts'

/** Node's headers, those of a framework in any case, or a `Headers` of fetch. */
export type WebhookHeaders = Headers | Readonly<Record<string, string | readonly string[] | undefined>>

export interface ReceivedWebhook {
  /** `ok`, or why the delivery is to be refused (401). */
  verdict: Verdict
  /** What it says it is, true only where the verdict is `ok`; empty where it does not say. */
  id: string
  type: string
  /** The body as JSON, `{ id, type, createdAt, data }`; null where it is none. */
  event: unknown
}

interface Options {
  /** How far the time of the signature may be from now. */
  toleranceSeconds?: number
  /** epoch ms */
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
 * Checks a delivery as it came: its signature over the raw body, in constant time, and that it was signed within the
 * last five minutes (api.md section 5). `secret` is the subscription's, `whsec_…`; several while it is being rotated.
 * Throws TypeError where one is empty.
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
  // An empty one is known to everybody.
  if (secrets.length === 0 || secrets.some((one) => !one)) throw new TypeError('A signing secret is needed')
  const verdicts = secrets.map((one) => verify(one, signed, rawBody, nowMs, toleranceSeconds))
  const verdict = verdicts.find((one) => one !== 'signature mismatch') ?? 'signature mismatch'
  const event = parse(typeof rawBody === 'string' ? rawBody : new TextDecoder().decode(rawBody))
  const { id, type } = (typeof event === 'object' && event !== null ? event : {}) as Record<string, unknown>
  // The id in the body comes first: it is signed, the header is not.
  return { verdict, id: textOf(id) || (headerOf(headers, idempotencyKeyHeader) ?? ''), type: textOf(type), event }
}

/**
 * Gives a function that says whether an id was there before, and remembers it: a delivery is made at least once. It knows
 * the newest `max` ids of this process; who must know more keeps them in a database, under a unique key.
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
