import type { z } from 'zod'
import type { loadRoutes } from '../../src/app/features.ts'
import type { OpenApi } from '../../src/http/openapi.ts'

type Routes = Awaited<ReturnType<typeof loadRoutes>>[number]

/** A query of a request, or none. */
export type Query = '' | `?${string}`

/** `/deals/:id` as the paths of requests: `/deals/${string}`. */
type PathsOf<Path extends string> = Path extends `${infer Before}/:${infer Name}`
  ? Name extends `${string}/${infer After}`
    ? `${Before}/${string}/${PathsOf<After>}`
    : `${Before}/${string}`
  : Path

/** The union of what the shapes of the route for a request declare; never if no route takes the request. */
type Declared<Method, Path extends string, R = Routes> = R extends {
  method: Method
  path: infer Own extends string
  answers: infer Answers
}
  ? Path extends `${PathsOf<Own>}${Query}`
    ? { [Status in keyof Answers]: Answers[Status] extends z.ZodType<infer Body> ? Body : never }[keyof Answers]
    : never
  : never

export interface Refusal {
  error: string
}

/**
 * The body of a reply: what the route declares, or for other paths the text of a page, with the property of a refusal.
 * Which of the two it is depends on the status, which the tests expect first.
 */
export type BodyOf<Method, Path extends string> = Refusal &
  (Path extends '/openapi.json' ? OpenApi : [Declared<Method, Path>] extends [never] ? string : Declared<Method, Path>)
