import { idempotencyKeyHeader, signedHeaders } from '../../lib/signature.ts'
import type { PostOutcome } from '../../net/http.ts'
import type { App } from '../../store/work.ts'
import type { ClaimedDelivery } from './claim.statement.ts'

/** Deadline for a 2xx answer, including DNS, connection and TLS. */
export const postTimeoutMs = 5000

/** The status by which an endpoint ends its subscription. */
export const goneStatus = 410

const maxKept = 5000

/**
 * Returns the function that posts a delivery, signed at the time of posting with the secrets of its target, if it has any
 * (docs/reference/events.md#signature). It rejects only if the secret can't be opened: that does not count as an attempt.
 */
export const createPoster = ({
  box,
  http,
  systemNow,
  catchUpClock,
}: Pick<App, 'box' | 'http' | 'systemNow' | 'catchUpClock'>) => {
  const secrets = new Map<string, string>()

  const open = (sealedSecret: string, targetId: string): string => {
    const kept = secrets.get(sealedSecret)
    if (kept) return kept
    const secret = box.open(sealedSecret, targetId)
    if (secrets.size >= maxKept) secrets.clear()
    secrets.set(sealedSecret, secret)
    return secret
  }

  return async (claimed: ClaimedDelivery): Promise<PostOutcome> => {
    const { accountId, url, targetId, key } = claimed
    const body = Buffer.from(claimed.body)
    await catchUpClock()
    const secrets = [claimed.sealedSecret, claimed.formerSealedSecret].filter((sealed) => sealed !== null)
    const headers =
      secrets.length === 0
        ? { [idempotencyKeyHeader]: key }
        : signedHeaders(
            secrets.map((sealed) => open(sealed, targetId)),
            systemNow().getTime(),
            key,
            body,
          )
    return http.post(url, { headers, body, timeoutMs: postTimeoutMs, accountId })
  }
}
