import { z } from 'zod'
import { headerRefs, headers, refusalsOf, responses } from './openapi.answers.ts'
import { webhooks } from './openapi.webhooks.ts'
import type { Route } from './route.ts'

export type JsonSchema = { [name: string]: unknown }

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required: boolean
  schema: JsonSchema
  description?: string
}

export interface Operation {
  operationId: string
  summary: string
  tags: string[]
  security: object[]
  parameters?: Parameter[]
  requestBody?: { required: true; content: { 'application/json': { schema: JsonSchema } } }
  responses: Record<string, object>
}

export interface OpenApi {
  openapi: '3.1.0'
  info: { title: string; version: string; description: string }
  servers: { url: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, object>
  components: { schemas: Record<string, JsonSchema>; [kind: string]: object }
}

const description = `Email, contacts, deals, journeys, webinars, courses and webhooks.

Every answer but a 2xx is \`{ "error": <one sentence> }\`. Text holds no NUL characters, and no object a key
\`__proto__\`. Unknown properties are passed over. A call is
counted for its key and the first part of its path: the \`RateLimit-*\` headers say how much is left of the minute.`

/** Schemas that have a name (`meta({ id })`) stand once, under it. */
const named =
  (schemas: Record<string, JsonSchema>) =>
  (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const { $defs = {}, properties } = z.toJSONSchema(z.object({ schema }), {
      io,
      unrepresentable: 'any',
      override: ({ jsonSchema }) => {
        delete jsonSchema.id
        // Bounds that every JSON number of a programming language has anyway.
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      },
    })
    const moved = <T>(json: T): T => JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'))
    Object.assign(schemas, moved($defs))
    return moved(properties!.schema as JsonSchema)
  }

type Convert = ReturnType<typeof named>

const parametersOf = (convert: Convert, place: 'path' | 'query', schema: z.ZodType): Parameter[] => {
  const { properties = {}, required = [] } = convert(schema, 'input') as {
    properties?: Record<string, JsonSchema>
    required?: string[]
  }
  return Object.entries(properties).map(([name, { description, ...shape }]) => ({
    name,
    in: place,
    required: required.includes(name),
    ...(typeof description === 'string' && { description }),
    schema: shape,
  }))
}

/** Its examples are taken from where they were given: zod keeps none of a shape that transforms. */
const requestBody = (convert: Convert, body: z.ZodType): NonNullable<Operation['requestBody']> => {
  const examples = body.meta()?.examples
  const schema = { ...convert(body, 'input'), ...(examples !== undefined && { examples }) }
  return { required: true, content: { 'application/json': { schema } } }
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'The same key answers what the first call with it did, marked by `Idempotent-Replayed`, for ever',
  schema: { type: 'string', minLength: 1, maxLength: 200 },
}

/** `GET /deals/:id` is `getDealsId`. */
const operationId = ({ method, path }: Route): string =>
  method.toLowerCase() + path.replace(/\W+(\w)/g, (_, letter: string) => letter.toUpperCase())

const operation = (convert: Convert, route: Route): Operation => {
  const { params, query, body, answers, isOpen, isIdempotent } = route
  const parameters = [
    ...(params ? parametersOf(convert, 'path', params) : []),
    ...(query ? parametersOf(convert, 'query', query) : []),
    ...(isIdempotent ? [idempotencyKey] : []),
  ]
  const successes = Object.entries(answers).map(([status, schema]) => [
    status,
    {
      description: status === '201' ? 'Made' : 'Done',
      headers: headerRefs({ isOpen: isOpen === true, mayReplay: isIdempotent === true && status === '200' }),
      content: { 'application/json': { schema: convert(schema, 'output') } },
    },
  ])
  return {
    operationId: operationId(route),
    summary: route.summary,
    tags: [route.path.split('/')[1]!],
    security: isOpen ? [] : [{ apiKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBody(convert, body) }),
    responses: { ...Object.fromEntries(successes), ...refusalsOf(route) },
  }
}

/** The OpenAPI document of the routes, from the shapes that validate: it can't say what the server does not do. */
export const openApiOf = (routes: readonly Route[], publicUrl: string): OpenApi => {
  const schemas: Record<string, JsonSchema> = {
    Error: {
      type: 'object',
      required: ['error'],
      properties: { error: { type: 'string', description: 'One sentence for people' } },
    },
  }
  const convert = named(schemas)
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(convert, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version: '1', description },
    servers: [{ url: publicUrl }],
    paths,
    webhooks: webhooks(convert),
    components: {
      schemas,
      responses,
      headers,
      securitySchemes: { apiKey: { type: 'http', scheme: 'bearer', description: 'A key of `svc keys create`' } },
    },
  }
}
