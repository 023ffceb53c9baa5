import { setTimeout as sleep } from 'node:timers/promises'
import type { Daemon } from './daemons.ts'
import type { Random } from './random.ts'

export interface Answer {
  status: number
  // biome-ignore lint/suspicious/noExplicitAny: a writer says what it expects of a body
  body: any
  /** How many attempts it took: of all but the last nobody knows what they did. */
  attempts: number
}

export interface Request {
  body?: object
  headers?: Record<string, string>
}

export interface Api {
  /**
   * Asks daemons at random, again and again, until one answers with anything but 503. Rejects with `Unanswered` if
   * `giveUp` is aborted before.
   */
  ask(method: 'POST' | 'PATCH', path: string, request: Request): Promise<Answer>
  /** Answers that no call may get, whatever is broken, each kind with how often it came. */
  complaints(): string[]
  /** Attempts by status; `none`: the connection was refused, was lost or gave no answer. */
  statuses: Record<string, number>
  /** The longest time in ms until an attempt of a daemon that was not frozen meanwhile was answered. */
  slowestMs: number
  /** The longest time in ms in which no call of anybody was answered well. */
  longestGapMs: number
}

export class Unanswered extends Error {}

/** Longer than this no caller waits: it asks again, while the first attempt may still be carried out. */
const patienceMs = 4000
/** A daemon that is not frozen answers before: 503 where the database does not answer, `pending` where the relay does not. */
const hungMs = 20_000

export const createApi = (daemons: readonly Daemon[], key: string, random: Random, giveUp: AbortSignal): Api => {
  const complaints = new Map<string, number>()
  // Without ids: what many calls have in common is said once.
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

  async function ask(method: 'POST' | 'PATCH', path: string, request: Request): Promise<Answer> {
    for (let attempts = 1; !giveUp.aborted; attempts++) {
      const answer = await Promise.race([
        attempt(random.pick(daemons), method, path, request),
        sleep(patienceMs, null, { ref: false }),
      ])
      // After 500 as after 503: what it means for the call is unknown, and the complaint is noted.
      if (answer && answer.status < 500) {
        api.longestGapMs = Math.max(api.longestGapMs, Math.round(performance.now() - answeredAt))
        answeredAt = performance.now()
        return { ...answer, attempts }
      }
      await sleep(random.between(50, 400))
    }
    throw new Unanswered(`${method} ${path} was never answered`)
  }
  return api
}
