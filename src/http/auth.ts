import type { FastifyReply, FastifyRequest } from 'fastify'
import { admit, isInScope, type Quota, requireNoMove, type Scope } from '../accounts/accounts.ts'
import { Problem } from '../lib/problem.ts'
import type { App } from '../store/work.ts'
import type { Caller } from './route.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
  }
}

const bearer = /^Bearer +(\S+) *$/i

/**
 * Returns a hook that requires an active key, then counts the call, then requires a scope that allows the route: 401 precedes 429,
 * 429 precedes 403, and all precede reading the body.
 */
export const authenticate =
  (app: App, family: string, limit: number, allowed: readonly Scope[], quotas: readonly Quota[]) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const key = bearer.exec(request.headers.authorization ?? '')?.[1]
    const admission = key ? await admit(app, key, family, limit, quotas) : null
    if (!admission) throw new Problem('unauthorized', 'Missing or invalid Authorization: Bearer <apiKey>')
    if (limit > 0) {
      reply.header('ratelimit-limit', limit)
      reply.header('ratelimit-remaining', Math.max(admission.remaining, 0))
      reply.header('ratelimit-reset', admission.resetSeconds)
    }
    if (admission.remaining < 0) {
      throw new Problem('limited', 'Rate limit exceeded', { retryAfterSeconds: Math.max(admission.resetSeconds, 1) })
    }
    requireNoMove(admission.move)
    if (!isInScope(admission.scopes, allowed))
      throw new Problem('forbidden', 'This key does not have the required scope')
    const { keyId, accountId, usedUp } = admission
    request.caller = { keyId, accountId, usedUp }
  }
