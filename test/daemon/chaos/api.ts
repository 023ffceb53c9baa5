import { setTimeout as sleep } from 'node:timers/promises'
import type { Random } from '../../support/random.ts'
import type { BodyOf } from '../../support/replies.ts'
import { limit } from '../../support/slowness.ts'
import type { Daemon } from './daemons.ts'

export interface Answer<Body = unknown> {
  status: number
  body: Body
  /** The number of attempts; the effect of every attempt but the last is unknown. */
  attempts: number
}

export interface Request {
  body?: object
  headers?: Record<string, string>
}

export interface Api {
  /**
   * Sends the request to randomly chosen daemons until one answers with a status below 500. Rejects with `Unanswered` if
   * `giveUp` is aborted first.
   */
  ask<const M extends 'POST' | 'PATCH', const Path extends string>(
    method: M,
    path: Path,
    request: Request,
  ): Promise<Answer<BodyOf<M, Path>>>
  /** Answers that no call may get, whatever is broken: each kind with its count. */
  complaints(): string[]
  /** Attempts by status; `none`: the connection was refused or lost, or no answer arrived. */
  statuses: Record<string, number>
  /** The slowest answer in ms, among attempts whose daemon was not frozen in the meantime. */
  slowestMs: number
  /** The longest time in ms without a successful answer to any caller. */
  longestGapMs: number
}

export class Unanswered extends Error {}

/** A caller waits at most this long, then asks again; the first attempt may still be carried out. */
const patienceMs = 4000
/** A daemon that is not frozen answers sooner: 503 if the database does not answer, `pending` if the relay does not. */
const hungMs = limit(20_000)

export const createApi = (daemons: readonly Daemon[], key: string, random: Random, giveUp: AbortSignal): Api => {
  const complaints = new Map<string, number>()
  // Without ids, so that the same complaint about many calls is reported once.
  const complain = (text: string) => {
    const kind = text.replace(/\b[a-z]{3,4}_\w+/g, '…')
    complaints.set(kind, (complaints.get(kind) ?? 0) + 1)
  }
  const api: Api = {
    ask,
    complaints: () => [...complaints].map(([kind, count]) => `${count} × ${kind}`),
    statuses: {},
    slowestMs: 0,
    longestGapMs: 0,
  }
  let answeredAt = performance.now()

  const attempt = async (daemon: Daemon, method: string, path: string, request: Request): Promise<Answer | null> => {
    const { body = {}, headers } = request
    const startedAt = performance.now()
    const wasFrozen = daemon.isFrozen
    const answer = await fetch(`${daemon.url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(hungMs),
    })
      .then(async (response) => ({ status: response.status, body: await response.json(), attempts: 0 }))
      .catch(() => null)
    const ms = Math.round(performance.now() - startedAt)
    const status = answer?.status ?? 'none'
    api.statuses[status] = (api.statuses[status] ?? 0) + 1
    const about = `${method} ${path} at daemon ${daemon.number}`
    if (!wasFrozen && !daemon.isFrozen && daemon.frozenUntil < startedAt) {
      api.slowestMs = Math.max(api.slowestMs, ms)
      if (ms >= hungMs) complain(`${about} got no answer within ${hungMs} ms`)
    }
    if (answer && answer.status >= 400 && answer.status !== 503)
      complain(`${about} answered ${status} ${JSON.stringify(answer.body)}`)
    return answer
  }

  async function ask<M, Path extends string>(method: M & string, path: Path, request: Request) {
    for (let attempts = 1; !giveUp.aborted; attempts++) {
      const answer = await Promise.race([
        attempt(random.pick(daemons), method, path, request),
        sleep(patienceMs, null, { ref: false }),
      ])
      // After 500, as after 503, the effect of the call is unknown; `attempt` has recorded the complaint.
      if (answer && answer.status < 500) {
        api.longestGapMs = Math.max(api.longestGapMs, Math.round(performance.now() - answeredAt))
        answeredAt = performance.now()
        return { status: answer.status, body: answer.body as BodyOf<M, Path>, attempts }
      }
      await sleep(random.between(50, 400))
    }
    throw new Unanswered(`${method} ${path} was never answered`)
  }
  return api
}
