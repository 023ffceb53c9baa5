import type { z } from 'zod'
import { invalid } from '../lib/problem.ts'
import type { App, Work } from '../store/work.ts'

/** The key that calls, and its account. */
export interface Caller {
  keyId: string
  accountId: string
}

export interface Call<Params, Query, Body> {
  readonly app: App
  readonly caller: Caller
  readonly params: Params
  readonly query: Query
  readonly body: Body
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** A unit of work of the caller's account, with the key as its actor. */
  work<T>(run: (work: Work) => Promise<T>): Promise<T>
}

export interface Answer {
  status: number
  body: unknown
  headers?: Record<string, string>
}

type Shape = z.ZodType | undefined
type Read<S extends Shape> = S extends z.ZodType ? z.output<S> : undefined

interface Definition<P extends Shape, Q extends Shape, B extends Shape> {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Relative to `/api/v1`; its first segment is the family that the rate limit counts. */
  path: `/${string}`
  summary: string
  params?: P
  query?: Q
  body?: B
  /** What each success answers with. */
  answers: Record<number, z.ZodType>
  /** The refusals that the contract names beside 400, 401 and 429. */
  refusals?: readonly number[]
  /** It takes an Idempotency-Key (`idempotencyKeyOf`). */
  isIdempotent?: true
  /**
   * The monthly quota that each success takes one of (api.md section 8). It is looked at before anything else of the call,
   * and counted at the end of the unit of work that `handle` opens by `work`: exactly one, else nothing or too much is counted.
   */
  quota?: 'embedApi'
  /** Answers a repeated call before its body is looked at; null lets it pass on to `handle`. */
  replay?(call: Pick<Call<undefined, undefined, undefined>, 'app' | 'caller' | 'headers'>): Promise<Answer | null>
  handle(call: Call<Read<P>, Read<Q>, Read<B>>): Promise<Answer>
}

/** What a call without a key has. */
export type OpenCall<Params, Query, Body> = Omit<Call<Params, Query, Body>, 'caller' | 'work'>

type OpenDefinition<P extends Shape, Q extends Shape, B extends Shape> = Omit<
  Definition<P, Q, B>,
  'handle' | 'replay'
> & {
  handle(call: OpenCall<Read<P>, Read<Q>, Read<B>>): Promise<Answer>
}

export type Route = Definition<z.ZodType, z.ZodType, z.ZodType> & {
  /** A signed token in its path stands for the key: it has no caller, and no limit counts it. */
  isOpen?: boolean
}

/** A route as data: the server adds key, limits, validation, errors and its page in the OpenAPI document. */
export const route = <P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  definition: Definition<P, Q, B>,
): Route => definition as unknown as Route

/** A route whose path holds a signed token, which is its only authorization (api.md section 5, rule 3). */
export const openRoute = <P extends Shape = undefined, Q extends Shape = undefined, B extends Shape = undefined>(
  definition: OpenDefinition<P, Q, B>,
): Route => ({ ...(definition as unknown as Route), isOpen: true })

const keyMaxLength = 200

/** The call's Idempotency-Key; undefined where it has none. Throws Problem `invalid` for one that can't be one. */
export const idempotencyKeyOf = (headers: Call<unknown, unknown, unknown>['headers']): string | undefined => {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > keyMaxLength) {
    throw invalid(`Idempotency-Key must have 1 to ${keyMaxLength} characters`)
  }
  return key
}

export const ok = (body: unknown): Answer => ({ status: 200, body })
export const made = (body: unknown): Answer => ({ status: 201, body })
