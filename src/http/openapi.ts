import { z } from 'zod'
import { scopes } from '../accounts/accounts.ts'
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
  info: { title: string; version: string; description: string; license: { name: string; identifier: string } }
  servers: { url: string }[]
  tags: { name: string; description: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks: Record<string, object>
  components: { schemas: Record<string, JsonSchema>; [kind: string]: object }
}

const description = `Send email, keep contacts and deals, run journeys, webinars and courses, on your own server.
Requests and responses are JSON over HTTP.
What happens in the account reaches you as signed webhooks.

Every response other than a 2xx is \`{ "error": <one sentence> }\`. Times are integers in epoch ms, amounts are numbers with at most
two decimals, ids are opaque. Unknown properties are ignored. Rate limits apply per key and first segment of the path: the
\`RateLimit-*\` headers say how many calls are left in the minute. Text can't contain NUL characters, and the key \`__proto__\` is dropped.`

/** The tags in the order in which documents show them. */
const tags = [
  ['Email', 'Send one email with your own content or from a project, follow it, and show it as its recipient sees it.'],
  [
    'Contacts and lists',
    'A contact is an address in one list, with columns of your choice. Addresses are verified as they are written.',
  ],
  [
    'Segments and broadcasts',
    'A segment is a filter of a list. A broadcast is one email to the contacts of lists and segments.',
  ],
  ['Suppressions, topics and preferences', 'Who gets no email, or no marketing, or no email of a topic.'],
  ['Deals and pipelines', 'Deals with contacts, which move through the stages of a pipeline.'],
  ['Journeys', 'Enrol contacts into automations, and report what people did elsewhere.'],
  ['Webinars', 'Schedule live sessions and register people for them.'],
  ['Courses', 'Give people access to courses, and sign them in to the portal.'],
  ['Webhooks and events', 'Subscribe a URL to events of the account.'],
].map(([name, text]) => ({ name: name!, description: text! }))

/** Rewrites several types to `anyOf` with one type each: oapi-codegen supports only one type per schema, besides null. */
const splitTypes = (node: JsonSchema): JsonSchema => {
  const { type: types, ...rest } = node
  if (!Array.isArray(types) || types.filter((type) => type !== 'null').length <= 1) return node
  return { ...rest, anyOf: types.map((type) => ({ type })) }
}

/** Simplifies `anyOf` of a value and null, and moves the value's description to the whole: zod leaves it inside. */
const liftNullable = (node: JsonSchema): JsonSchema => {
  const [first, second, ...more] = Array.isArray(node.anyOf) ? (node.anyOf as JsonSchema[]) : []
  if (second?.type !== 'null' || more.length > 0) return node
  const { anyOf: _, ...rest } = node
  const { description, ...value } = first!
  const described = { ...(description !== undefined && { description }), ...rest }
  const isPlain = typeof value.type === 'string' && value.enum === undefined && value.const === undefined
  return isPlain ? { ...described, ...value, type: [value.type, 'null'] } : { ...described, anyOf: [value, second] }
}

const rewrite = (_name: string, node: unknown): unknown =>
  typeof node === 'object' && node !== null && !Array.isArray(node)
    ? splitTypes(liftNullable(node as JsonSchema))
    : node

/** Whether the schema has a pattern that ignores case. JSON Schema can't say that: it would refuse `X-Campaign` for `/^x-/i`. */
const ignoresCase = ({ _zod: { def } }: z.core.$ZodType): boolean =>
  (def.checks ?? []).some(({ _zod }) => (_zod.def as { pattern?: RegExp }).pattern?.ignoreCase)

/** Returns a converter to JSON Schema. It adds schemas with a name (`meta({ id })`) to `schemas` and refers to them. */
const createConverter =
  (schemas: Record<string, JsonSchema>) =>
  (schema: z.ZodType, io: 'input' | 'output'): JsonSchema => {
    const { $defs = {}, properties } = z.toJSONSchema(z.object({ schema }), {
      io,
      unrepresentable: 'any',
      override: ({ zodSchema, jsonSchema }) => {
        delete jsonSchema.id
        // zod drops the default of a schema with a transform.
        const fallback = z.globalRegistry.get(zodSchema)?.default
        if (io === 'input' && fallback !== undefined)
          jsonSchema.default = fallback as z.core.JSONSchema.JSONSchema['default']
        if (ignoresCase(zodSchema)) delete jsonSchema.pattern
        // Limits of the number type itself carry no information.
        if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
        if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
      },
    })
    const moved = <T>(json: T): T =>
      JSON.parse(JSON.stringify(json).replaceAll('"#/$defs/', '"#/components/schemas/'), rewrite)
    Object.assign(schemas, moved($defs))
    return moved(properties!.schema as JsonSchema)
  }

type Convert = ReturnType<typeof createConverter>

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

/**
 * Moves an `anyOf` of `required` out of the object, into an `allOf` beside it. If one schema has both, generators such as
 * openapi-typescript read only the `anyOf`, and their clients accept any body.
 */
const splitAlternatives = ({ anyOf, ...object }: JsonSchema): JsonSchema =>
  anyOf !== undefined && object.properties !== undefined
    ? { allOf: [object, { anyOf }] }
    : { ...object, ...(anyOf !== undefined && { anyOf }) }

/** Takes examples from the schema's metadata if necessary: zod drops them from a schema with a transform. */
const requestBody = (convert: Convert, body: z.ZodType): NonNullable<Operation['requestBody']> => {
  const own = body.meta()?.examples
  const { examples = own, ...shape } = convert(body, 'input')
  const schema = { ...splitAlternatives(shape), ...(examples !== undefined && { examples }) }
  return { required: true, content: { 'application/json': { schema } } }
}

const idempotencyKey: Parameter = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description:
    '1 to 200 characters. A repeated key returns the result of the first call with it, marked by `Idempotent-Replayed`. Keys do not expire. Default: none; a repeated call acts again',
  schema: { type: 'string', minLength: 1, maxLength: 200 },
}

/** The tag of a path, by its first segment. */
const resources: Readonly<Record<string, string>> = {
  contacts: 'Contacts and lists',
  lists: 'Contacts and lists',
  erasures: 'Contacts and lists',
  suppressions: 'Suppressions, topics and preferences',
  topics: 'Suppressions, topics and preferences',
  preferences: 'Suppressions, topics and preferences',
  segments: 'Segments and broadcasts',
  broadcasts: 'Segments and broadcasts',
  send: 'Email',
  sends: 'Email',
  liveview: 'Email',
  pipelines: 'Deals and pipelines',
  deals: 'Deals and pipelines',
  journeys: 'Journeys',
  webinars: 'Webinars',
  courses: 'Courses',
  webhooks: 'Webhooks and events',
  events: 'Webhooks and events',
}

const resourceOf = ({ path }: Route): string => {
  const segment = path.split('/')[1]!
  return resources[segment] ?? segment
}

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
      description: status === '201' ? 'Created' : 'OK',
      headers: headerRefs({ isOpen: isOpen === true, mayReplay: isIdempotent === true && status === '200' }),
      content: { 'application/json': { schema: convert(schema, 'output') } },
    },
  ])
  return {
    operationId: route.name,
    summary: route.summary,
    tags: [resourceOf(route)],
    security: isOpen ? [] : [{ apiKey: [] }],
    ...(parameters.length > 0 && { parameters }),
    ...(body && { requestBody: requestBody(convert, body) }),
    responses: { ...Object.fromEntries(successes), ...refusalsOf(route) },
  }
}

const keyDescription = `An API key: create one with \`svc keys create\`. A key with scopes (\`--scope\`) may call only the routes that one of
them allows; all others answer 403. The scope is the first segment of the path, except that \`contacts\` includes \`/lists\` and \`/erasures\`,
\`send\` includes \`/sends\`, \`deals\` includes \`/pipelines\`, \`webhooks\` includes \`/events/sample\`, \`suppressions\` includes \`/topics\` and
\`/preferences\`, and \`campaigns\` is for \`/segments\` and \`/broadcasts\`; \`contacts:read\` allows GET of \`/contacts\` and \`/lists\`. Scopes: ${scopes.join(', ')}.`

/** Builds the OpenAPI document from the schemas that validate requests, so that it always matches the server. */
export const openApiOf = (routes: readonly Route[], publicUrl: string): OpenApi => {
  const schemas: Record<string, JsonSchema> = {
    Error: {
      type: 'object',
      required: ['error'],
      properties: { error: { type: 'string', description: 'One sentence that names the field or the reason' } },
    },
  }
  const convert = createConverter(schemas)
  const paths: OpenApi['paths'] = {}
  for (const route of routes) {
    const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation(convert, route) }
  }
  return {
    openapi: '3.1.0',
    info: { title: 'svc', version: '1', description, license: { name: 'Apache-2.0', identifier: 'Apache-2.0' } },
    servers: [{ url: publicUrl }],
    tags,
    paths,
    webhooks: webhooks(convert),
    components: {
      schemas,
      responses,
      headers,
      securitySchemes: {
        apiKey: { type: 'http', scheme: 'bearer', description: keyDescription },
      },
    },
  }
}
