/*
 * A client of the REST API for other programs: the package exports this file as `svcd-engagement/client`. It uses `fetch` and what every
 * runtime with it has, and nothing of Node. What it can call is in api.ts, which is generated from the OpenAPI document.
 */
import { keyedRoutes } from './api.ts'
import { ApiError, type FailedCall, NoAnswerError } from './client.errors.ts'
import type { CallOptions, InputsOf, Method, PagedPath, PathOf, ResultOf } from './client.types.ts'

export type { components } from './api.ts'
export { ApiError, type ErrorKind, type FailedCall, NoAnswerError } from './client.errors.ts'
export type { CallOptions } from './client.types.ts'

export interface ClientOptions extends Omit<CallOptions, 'signal'> {
  /** Where the daemon is, such as `https://svc.example.com`: its `SVC_PUBLIC_URL`. */
  baseUrl: string
  /** A key of `svc keys create`. */
  key: string
  /** It is called in place of the global `fetch`. */
  fetch?: typeof fetch
}

type Caller<M extends Method> = <Path extends PathOf<M>>(
  path: Path,
  ...input: InputsOf<M, Path>
) => Promise<ResultOf<M, Path>>

/** Each function takes a path of docs/reference/api.md, as it is written there, and resolves to the body of the response. */
export interface Client {
  get: Caller<'GET'>
  post: Caller<'POST'>
  put: Caller<'PUT'>
  patch: Caller<'PATCH'>
  delete: Caller<'DELETE'>
  /** Iterates over the pages of a list, each as GET answers it. It begins at the `cursor` of the query, if there is one. */
  pages<Path extends PagedPath>(path: Path, ...input: InputsOf<'GET', Path>): AsyncGenerator<ResultOf<'GET', Path>>
}

interface Input extends CallOptions {
  path?: Readonly<Record<string, string | number>>
  query?: Readonly<Record<string, unknown>>
  body?: unknown
  idempotencyKey?: string
}

const defaults = { timeoutMs: 30_000, deadlineMs: 90_000, retries: 4 }
const firstWaitMs = 250
const longestWaitMs = 8_000
/** A longer timer fires at once. */
const longestTimerMs = 2 ** 31 - 1

/** Methods whose calls have the same effect if they are made twice. */
const repeatable: readonly string[] = ['GET', 'PUT', 'PATCH', 'DELETE']
const keyed: readonly string[] = keyedRoutes

const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/** Returns the URL up to the path of a route; `baseUrl` may end in it. Throws TypeError if it is not one that can be called. */
const baseOf = (baseUrl: string): string => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : null
  if (!url || !/^https?:$/.test(url.protocol) || url.search || url.hash)
    throw new TypeError('baseUrl must be an http or https URL without a query')
  if (url.username || url.password) throw new TypeError('baseUrl must not contain a user name or a password')
  const path = url.pathname.replace(/\/api\/v1\/*$/, '')
  return [url.origin, ...path.split('/').filter(Boolean), 'api/v1'].join('/')
}

const pathOf = (path: string, values: Input['path'] = {}): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const text = encodeURIComponent(values[name] ?? '')
    // A URL drops such a segment, and would name another route.
    if (/^\.{0,2}$/.test(text)) throw new TypeError(`${path}: "${name}" is missing or no id`)
    return text
  })

const queryOf = (query: Input['query'] = {}): string => {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

const secondsOf = (header: string | null): number | null => (header && /^\d{1,9}$/.test(header) ? Number(header) : null)

/** Resolves after `ms`, and rejects when the signal aborts. */
const sleep = (ms: number, signal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal?.reason)
    }
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal?.addEventListener('abort', abort, { once: true })
  })

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

interface Request {
  url: string
  body: string | undefined
  idempotencyKey: string | undefined
  signal: AbortSignal | undefined
}

/** The result of one attempt: the body of a success, or an error and whether another attempt may help without repeating an effect. */
type Outcome = { body: unknown } | { error: ApiError | NoAnswerError; mayRepeat: boolean }

/** Reads an answer. A call that was refused for the moment had no effect, so that any method may be repeated. */
const outcomeOf = (response: Response, text: string, call: FailedCall, isRepeatable: boolean): Outcome => {
  const { status, headers, ok } = response
  const body = jsonOf(text)
  if (ok && body !== undefined) return { body }
  if (ok) return { error: new NoAnswerError(`status ${status} without JSON`, false, call), mayRepeat: false }
  const given = (body as { error?: unknown } | null | undefined)?.error
  const sentence = typeof given === 'string' ? given : `The server answered with status ${status}`
  const retryAfterSeconds = secondsOf(headers.get('retry-after'))
  const isForTheMoment = (status === 429 || status === 503) && retryAfterSeconds !== null
  return {
    error: new ApiError({ status, sentence, requestId: headers.get('x-request-id'), retryAfterSeconds }, call),
    mayRepeat: isForTheMoment || (isRepeatable && [502, 503, 504].includes(status)),
  }
}

/** Returns how long to wait before the next attempt: the spread keeps clients that failed together from returning together. */
const waitMs = (attempt: number, error: ApiError | NoAnswerError): number => {
  const spread = Math.random() * Math.min(longestWaitMs, firstWaitMs * 2 ** attempt)
  return error instanceof ApiError && error.retryAfterSeconds !== null
    ? error.retryAfterSeconds * 1000 + spread
    : spread
}

/** Returns a client of the API. Throws TypeError for a URL or a key that can't be one. */
export const createClient = ({ baseUrl, key, fetch: own, ...settings }: ClientOptions): Client => {
  const base = baseOf(baseUrl)
  // fetch names the headers that it refuses, with their values.
  if (!/^[\x21-\x7e]+$/.test(key)) throw new TypeError('The key is missing, or has a character that keys do not have')
  const hidden = (text: string) => text.replaceAll(key, '…')

  const headersOf = ({ body, idempotencyKey }: Request): Record<string, string> => ({
    authorization: `Bearer ${key}`,
    accept: 'application/json',
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
  })

  /** Makes one attempt. Rejects only if the caller's signal aborts. */
  const attempt = async (
    request: Request,
    limitMs: number,
    call: FailedCall,
    isRepeatable: boolean,
  ): Promise<Outcome> => {
    const { url, body, signal } = request
    const controller = new AbortController()
    let isTimeout = false
    const timer = setTimeout(() => {
      isTimeout = true
      controller.abort()
    }, limitMs)
    const abort = () => controller.abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      const response = await (own ?? fetch)(url, {
        method: call.method,
        headers: headersOf(request),
        ...(body !== undefined && { body }),
        // Another address would get the body.
        redirect: 'error',
        signal: controller.signal,
      })
      const text = await response.text()
      return outcomeOf(response, response.ok ? text : hidden(text), call, isRepeatable)
    } catch (thrown) {
      signal?.throwIfAborted()
      const { message, cause } = thrown as Error
      const reason = [message, (cause as Error | undefined)?.message].filter(Boolean).join(': ')
      const error = new NoAnswerError(isTimeout ? 'no answer in time' : hidden(reason), isTimeout, call)
      return { error, mayRepeat: isRepeatable }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  const call = async (method: Method, path: string, given: Input = {}): Promise<unknown> => {
    const { signal } = given
    const [timeoutMs, deadlineMs, retries] = (['timeoutMs', 'deadlineMs', 'retries'] as const).map(
      (name) => given[name] ?? settings[name] ?? defaults[name],
    ) as [number, number, number]
    const isKeyed = keyed.includes(`${method} ${path}`)
    const isRepeatable = isKeyed || repeatable.includes(method)
    const request: Request = {
      url: base + pathOf(path, given.path) + queryOf(given.query),
      body: given.body === undefined ? undefined : JSON.stringify(given.body),
      idempotencyKey: isKeyed ? (given.idempotencyKey ?? newKey()) : undefined,
      signal,
    }
    const ends = performance.now() + Math.min(deadlineMs, longestTimerMs)
    for (let tried = 0; ; tried += 1) {
      signal?.throwIfAborted()
      const limitMs = Math.min(timeoutMs, ends - performance.now())
      const outcome = await attempt(request, limitMs, { method, path, attempts: tried + 1 }, isRepeatable)
      if ('body' in outcome) return outcome.body
      const wait = waitMs(tried, outcome.error)
      if (!outcome.mayRepeat || tried >= retries || performance.now() + wait >= ends) throw outcome.error
      await sleep(wait, signal)
    }
  }

  async function* pages(path: string, input: Input = {}) {
    for (let query = input.query; ; ) {
      const page = (await call('GET', path, { ...input, ...(query && { query }) })) as { next: string | null }
      yield page
      if (page.next === null) return
      query = { ...query, cursor: page.next }
    }
  }

  const caller = (method: Method) => (path: string, input?: Input) => call(method, path, input)
  return {
    get: caller('GET'),
    post: caller('POST'),
    put: caller('PUT'),
    patch: caller('PATCH'),
    delete: caller('DELETE'),
    pages,
  } as Client
}
