import { idempotencyKeyHeader, signedHeaders } from '../lib/signature.ts'
import type { PostOutcome } from '../net/http.ts'
import type { App } from '../store/work.ts'
import type { ClaimedDelivery } from './delivery.claim.ts'

/** The endpoint has this long to answer 2xx: DNS, connection and TLS included. */
export const postTimeoutMs = 5000

/** The answer with which an endpoint ends its subscription. */
export const goneStatus = 410

const maxKept = 5000

const unsigned: PostOutcome = {
  ok: false,
  status: null,
  error: "not sent: the signing secret can't be opened with this SVC_SECRET",
  retryAfterSeconds: null,
  durationMs: 0,
  snippet: '',
  stopped: false,
}

/** Gives the function that posts a delivery, signed for the time of posting (api.md section 6). It never rejects. */
export const createPoster = ({ box, http, now }: Pick<App, 'box' | 'http' | 'now'>) => {
  const secrets = new Map<string, string>()

  const open = ({ sealedSecret, webhookId }: ClaimedDelivery): string => {
    const kept = secrets.get(sealedSecret)
    if (kept) return kept
    const secret = box.open(sealedSecret, webhookId)
    if (secrets.size >= maxKept) secrets.clear()
    secrets.set(sealedSecret, secret)
    return secret
  }

  return async (claimed: ClaimedDelivery): Promise<PostOutcome> => {
    if (claimed.sealedSecret === '') {
      const headers = { [idempotencyKeyHeader]: claimed.eventId }
      return http.post(claimed.url, { headers, body: claimed.payload, timeoutMs: postTimeoutMs })
    }
    let secret: string
    try {
      secret = open(claimed)
    } catch {
      return unsigned
    }
    const body = Buffer.from(claimed.payload)
    const headers = signedHeaders(secret, now().getTime(), claimed.eventId, body)
    return http.post(claimed.url, { headers, body, timeoutMs: postTimeoutMs })
  }
}
