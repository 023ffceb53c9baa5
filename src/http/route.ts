import { z } from 'zod'
import type { Quota } from '../accounts/accounts.ts'
import { isCursor, type Page } from '../lib/cursor.ts'
import type { PageRequest } from '../lib/page-request.ts'
import { invalid, Problem } from '../lib/problem.ts'
import { text } from '../lib/text.ts'
import type { App, Work } from '../store/work.ts'

/** The API key of a call and its account. */
export interface Caller {
  keyId: string
  accountId: string
  /** The quotas of `callQuotas` of which nothing was left when the call was admitted. */
  usedUp: readonly Quota[]
}

interface Call<Params, Query, Body> {
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
type Answers = Record<number, z.ZodType>

interface Definition<P extends Shape, Q extends Shape, B extends Shape> {
  /** The id of its operation in the OpenAPI document, such as `createDeal`. Part of the contract. */
  name: string
  method: Method
  /** Relative to `/api/v1`; its first segment is the family that the rate limit counts. */
  path: `/${string}`
  summary: string
  params?: P
  query?: Q
  body?: B
  /** Its body can have 8 MB instead of 1 MB. */
  takesLarge?: true
  /**
   * Returns the attachments of a parsed body, which may have 16 MB, or null if it has none: then the limit of `takesLarge` applies. A
   * long `content` is decoded before the body is validated.
   */
  attachedOf?(body: unknown): { content?: unknown }[] | null
  /** The response schema of each success status. */
  answers: Answers
  /** The documented refusals besides 400, 401 and 429. */
  refusals?: readonly number[]
  /** It accepts an Idempotency-Key (`idempotencyKeyOf`). */
  isIdempotent?: true
  /**
   * The monthly quota that each success uses once (docs/reference/limits.md#plans-and-quotas). It is checked before the body is
   * read, and counted at the end of the unit of work: `handle` must call `work` exactly once.
   */
  quota?: 'embedApi'
  /** The monthly quotas that `handle` takes. Whether they are used up is read with the key (`caller.usedUp`). */
  callQuotas?: readonly Quota[]
  /** Answers a repeated call, or refuses one, before its body is read. If it returns null, `handle` answers. */
  replay?(call: Pick<Call<undefined, undefined, undefined>, 'app' | 'caller' | 'headers'>): Promise<Answer | null>
  handle(call: Call<Read<P>, Read<Q>, Read<B>>): Promise<Answer>
}

/** A call without a key. */
export type OpenCall<Params, Query, Body> = Omit<Call<Params, Query, Body>, 'caller' | 'work'>

type OpenDefinition<P extends Shape, Q extends Shape, B extends Shape> = Omit<
  Definition<P, Q, B>,
  'handle' | 'replay' | 'callQuotas' | 'takesLarge' | 'attachedOf'
> & {
  /** Verifies the token's signature before the body is read. Throws Problem `not_found`. */
  authorize?(call: Pick<OpenCall<Read<P>, undefined, undefined>, 'app' | 'params'>): void
  handle(call: OpenCall<Read<P>, Read<Q>, Read<B>>): Promise<Answer>
}

export type Route = Definition<z.ZodType, z.ZodType, z.ZodType> & {
  /** Authorised by a signed token in its path instead of a key: it has no caller and no rate limit. */
  isOpen?: boolean
  authorize?(call: { app: App; params: unknown }): void
}

/** A route whose type says which bodies it answers. The tests type replies by it. */
type TypedRoute<M extends Method, Path extends string, A extends Answers> = Omit<
  Route,
  'method' | 'path' | 'answers'
> & {
  method: M
  path: Path
  answers: A
}

// The casts drop the types that the shapes give the input: the server validates it with the same shapes before it calls `handle`.

/** Declares a route. The server adds authentication, limits, validation, errors and the entry in the OpenAPI document. */
export const route = <
  const M extends Method,
  const Path extends `/${string}`,
  A extends Answers,
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
>(
  definition: Definition<P, Q, B> & { method: M; path: Path; answers: A },
): TypedRoute<M, Path, A> => definition as unknown as TypedRoute<M, Path, A>

/** Declares a route that is authorised only by a signed token in its path (docs/reference/api.md#authentication). */
export const openRoute = <
  const M extends Method,
  const Path extends `/${string}`,
  A extends Answers,
  P extends Shape = undefined,
  Q extends Shape = undefined,
  B extends Shape = undefined,
>(
  definition: OpenDefinition<P, Q, B> & { method: M; path: Path; answers: A },
): TypedRoute<M, Path, A> => ({ ...(definition as unknown as TypedRoute<M, Path, A>), isOpen: true })

const keyMaxLength = 200

/** Returns the Idempotency-Key, or undefined if there is none. Throws Problem `invalid` if it is malformed. */
export const idempotencyKeyOf = (headers: Call<unknown, unknown, unknown>['headers']): string | undefined => {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || key === '' || key.length > keyMaxLength) {
    throw invalid(`Idempotency-Key must have 1 to ${keyMaxLength} characters`)
  }
  return key
}

export const ok = (body: unknown): Answer => ({ status: 200, body })
export const created = (body: unknown): Answer => ({ status: 201, body })

/** Returns whether what `remove` deletes existed: false after Problem `not_found`, so that a repeated call succeeds. */
export const existed = async (remove: () => Promise<unknown>): Promise<boolean> => {
  try {
    await remove()
    return true
  } catch (error) {
    if (error instanceof Problem && error.kind === 'not_found') return false
    throw error
  }
}

const pageMax = 500
const pageDefault = 100
const limitError = `must be a whole number from 1 to ${pageMax}`

/** The query parameters of a route that answers pages (docs/reference/api.md#pages). */
export const pageQuery = {
  limit: z
    .string()
    .refine((digits) => /^\d{1,3}$/.test(digits), limitError)
    .transform(Number)
    .pipe(z.int().min(1, limitError).max(pageMax, limitError))
    .default(pageDefault)
    .meta({
      type: 'integer',
      minimum: 1,
      maximum: pageMax,
      default: pageDefault,
      description: `Rows of the page, 1 to ${pageMax}`,
    }),
  cursor: text(1_000)
    .refine(isCursor, 'is not valid')
    .optional()
    .describe('The `next` of the page before. Default: the first page'),
}

/** The number of rows that a page with a filter reads at most: 1,000,000 in a hundred calls. */
const pageReads = 10_000

/** Returns the request for a page that a query names, for operations that read pages. */
export const pageOfQuery = ({ limit, cursor }: PageRequest): PageRequest => ({ limit, cursor, reads: pageReads })

/** Returns the schema of a page: rows under their noun, and the cursor of the next page, null on the last one. */
export const pageShape = <Noun extends string, Row extends z.ZodType>(noun: Noun, row: Row) =>
  z.object({
    ...({ [noun]: z.array(row).describe('The rows of the page') } as Record<Noun, z.ZodArray<Row>>),
    next: z.string().nullable().describe('Value of `cursor` for the next page; null on the last page'),
  })

/** Answers a page with its rows under `noun`. */
export const page = (noun: string, { rows, nextCursor }: Page<object>): Answer => ok({ [noun]: rows, next: nextCursor })
