import { idempotencyKeyHeader, signedHeaders } from '../lib/signature.ts'
import type { PostOutcome } from '../net/http.ts'
import type { App } from '../store/work.ts'
import type { ClaimedDelivery } from './delivery.claim.ts'

/** The endpoint has this long to answer 2xx: DNS, connection and TLS included. */
export const postTimeoutMs = 5000

/** The answer with which an endpoint ends its subscription. */
export const goneStatus = 410

const maxKept = 5000

/**
 * Gives the function that posts a delivery, signed for the time of posting where its target has a secret (api.md section
 * 6). Rejects where the secret can't be opened alone: that is no fault of the receiver's, and no attempt.
 */
export const createPoster = ({ box, http, systemNow }: Pick<App, 'box' | 'http' | 'systemNow'>) => {
  const secrets = new Map<string, string>()

  const open = (sealedSecret: string, targetId: string): string => {
    const kept = secrets.get(sealedSecret)
    if (kept) return kept
    const secret = box.open(sealedSecret, targetId)
    if (secrets.size >= maxKept) secrets.clear()
    secrets.set(sealedSecret, secret)
    return secret
  }

  return async ({ accountId, url, sealedSecret, targetId, key, body: text }: ClaimedDelivery): Promise<PostOutcome> => {
    const body = Buffer.from(text)
    const headers =
      sealedSecret === null
        ? { [idempotencyKeyHeader]: key }
        : signedHeaders(open(sealedSecret, targetId), systemNow().getTime(), key, body)
    return http.post(url, { headers, body, timeoutMs: postTimeoutMs, accountId })
  }
}
