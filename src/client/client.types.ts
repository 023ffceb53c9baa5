import type { keyedRoutes, paths } from './api.ts'

type Prefix = '/api/v1'

/** The routes of the document, as the reference names them: `/deals/{id}`. */
type Paths = { [Path in keyof paths as Path extends `${Prefix}${infer Own}` ? Own : never]: paths[Path] }

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

type OperationOf<M extends Method, Path extends keyof Paths> =
  Lowercase<M> extends keyof Paths[Path] ? NonNullable<Paths[Path][Lowercase<M>]> : never

/** The paths that a method exists for. */
export type PathOf<M extends Method> = {
  [Path in keyof Paths]: [OperationOf<M, Path>] extends [never] ? never : Path
}[keyof Paths]

type Json<T> = T extends { content: { 'application/json': infer Body } } ? Body : never

type PropertyOf<T, Name extends string> = T extends { [N in Name]: infer Value } ? Value : never

type Parameters<O, Place extends string> = PropertyOf<PropertyOf<O, 'parameters'>, Place>

/** An input of this name: required if a property of it is, absent if the route has none. */
type Named<Name extends string, Value> = [Value] extends [never]
  ? unknown
  : Record<string, never> extends Value
    ? { [N in Name]?: Value }
    : { [N in Name]: Value }

/** Takes the optional, possibly absent `query` of an operation, too. */
type QueryOf<O> = O extends { parameters: { query?: infer Query } } ? NonNullable<Query> : never

export interface CallOptions {
  /** Cancels the call, also between two attempts: the promise rejects with the signal's reason. */
  signal?: AbortSignal
  /** The time for one attempt. The default is that of the client. */
  timeoutMs?: number
  /** The time for all attempts and the waits between them. The default is that of the client. */
  deadlineMs?: number
  /** How often a failed call is made again, at most. The default is that of the client. */
  retries?: number
}

/** Routes that take an Idempotency-Key: without one, the client makes one for all attempts of a call. */
type KeyOf<M extends Method, Path> = `${M} ${Path & string}` extends (typeof keyedRoutes)[number]
  ? { idempotencyKey?: string }
  : unknown

export type InputOf<M extends Method, Path extends PathOf<M>, O = OperationOf<M, Path>> = CallOptions &
  Named<'path', Parameters<O, 'path'>> &
  Named<'query', QueryOf<O>> &
  Named<'body', Json<PropertyOf<O, 'requestBody'>>> &
  KeyOf<M, Path>

/** The input of a call as rest arguments: it may be left out if nothing in it is required. */
export type InputsOf<M extends Method, Path extends PathOf<M>> =
  Record<string, never> extends InputOf<M, Path> ? [input?: InputOf<M, Path>] : [input: InputOf<M, Path>]

type Responses<O> = PropertyOf<O, 'responses'>

/** The body of a success. */
export type ResultOf<M extends Method, Path extends PathOf<M>, R = Responses<OperationOf<M, Path>>> = Json<
  R[Extract<keyof R, 200 | 201>]
>

/** The paths of lists that answer pages. */
export type PagedPath = {
  [Path in PathOf<'GET'>]: ResultOf<'GET', Path> extends { next: string | null } ? Path : never
}[PathOf<'GET'>]
