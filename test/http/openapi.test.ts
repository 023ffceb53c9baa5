import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { z } from 'zod'
import { loadRoutes } from '../../src/app/features.ts'
import { type EventType, eventTypes } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { eventShape } from '../../src/events/shapes.ts'
import { sentence } from '../../src/lib/sentence.ts'
import { ok, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { testWith } from '../support/tools.ts'

const t = useApp()

// biome-ignore lint/suspicious/noExplicitAny: the expectations check properties at any depth of a schema
type Schema = any

test('/openapi.json describes every route, with its successes and its refusals', async () => {
  const { status, body } = await t.request('GET', '/openapi.json')
  expect(status).toBe(200)
  expect(body.openapi).toBe('3.1.0')
  const routes = await loadRoutes()
  expect(routes.length).toBeGreaterThan(5)
  for (const route of routes) {
    const operation = body.paths[`/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`]?.[route.method.toLowerCase()]
    expect(operation, `${route.method} ${route.path}`).toBeDefined()
    expect(Object.keys(operation!.responses)).toEqual(
      expect.arrayContaining([
        ...Object.keys(route.answers),
        ...(route.isOpen ? [] : ['400', '401', '429']),
        ...(route.body ? ['408'] : []),
        '410',
        ...(route.refusals ?? []).map(String),
      ]),
    )
    expect(operation!.security).toEqual(route.isOpen ? [] : [{ apiKey: [] }])
  }
})

const operation = async (method: string, path: string): Promise<Schema> => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  return { ...body.paths[path]![method], components: body.components }
}
const bodyOf = async (method: string, path: string) =>
  (await operation(method, path)).requestBody.content['application/json'].schema
/** A body with alternatives of required properties: the object, and the alternatives. */
const partsOf = async (method: string, path: string) => {
  const { allOf } = await bodyOf(method, path)
  return { object: allOf[0], ways: allOf[1].anyOf }
}

/** Returns the routes that take a body, with its properties in the document, also those of its alternatives. */
const bodies = async () => {
  const found = []
  for (const { method, path, body } of await loadRoutes()) {
    if (!body) continue
    const schema = await bodyOf(method.toLowerCase(), `/api/v1${path.replace(/:(\w+)/g, '{$1}')}`)
    const parts: Schema[] = [schema, ...(schema.allOf ?? []), ...(schema.anyOf ?? [])]
    const properties = parts.flatMap((part) => Object.entries<Schema>(part.properties ?? {}))
    found.push({ method, path, body, properties })
  }
  return found
}

const typesOf = ({ type, anyOf = [] }: Schema): string[] => [type, ...anyOf.flatMap(typesOf)].flat()
/** Whether one of the issues is about the property. */
const isRefused = (issues: readonly z.core.$ZodIssue[], property: string): boolean =>
  issues.some(
    (issue) =>
      issue.path[0] === property ||
      (issue.code === 'invalid_union' && issue.errors.some((errors) => isRefused(errors, property))),
  )
const mistaken: [type: string, values: unknown[]][] = [
  ['integer', ['7', true, [7], '0x10', '']],
  ['number', ['7', true, [7], '0x10', '']],
  ['boolean', ['true', 1, 0, [true]]],
]

test('no property of a body takes a value of another type for a number or a boolean', async () => {
  const taken: string[] = []
  let checked = 0
  for (const { method, path, body, properties } of await bodies()) {
    for (const [name, property] of properties) {
      const types = typesOf(property)
      for (const [type, values] of mistaken) {
        if (!types.includes(type) || types.includes('string')) continue
        checked++
        for (const value of values) {
          const { error } = await body.safeParseAsync({ [name]: value })
          if (!isRefused(error?.issues ?? [], name)) taken.push(`${method} ${path} ${name}: ${JSON.stringify(value)}`)
        }
      }
    }
  }
  expect(checked).toBeGreaterThan(10)
  expect(taken).toEqual([])
})

/** Returns the bounds of a number in a schema: those that no safe integer exceeds are JSON's own. */
const boundsOf = (schema: Schema): { least?: number; most?: number } => {
  const all: Schema[] = [schema, ...(schema.anyOf ?? [])]
  const own = (bound: unknown): number | undefined =>
    Number.isSafeInteger(bound) && Math.abs(bound as number) < 2 ** 53 - 1 ? (bound as number) : undefined
  const [least] = all.flatMap(({ minimum }) => own(minimum) ?? [])
  const [most] = all.flatMap(({ maximum }) => own(maximum) ?? [])
  return { ...(least !== undefined && { least }), ...(most !== undefined && { most }) }
}

test('a number beyond a bound is refused with that bound, however far beyond it is', async () => {
  const wrong: string[] = []
  let checked = 0
  for (const { method, path, body, properties } of await bodies()) {
    for (const [name, property] of properties) {
      if (!/number|integer/.test(typesOf(property).join())) continue
      const { least, most } = boundsOf(property)
      const beyond = [
        ...(least === undefined ? [] : [least - 1, -1e300].map((value) => [value, least] as const)),
        ...(most === undefined ? [] : [most + 1, 2 ** 53, 1e300].map((value) => [value, most] as const)),
      ]
      for (const [value, bound] of beyond) {
        checked++
        const { error } = await body.safeParseAsync({ [name]: value })
        const said = sentence((error?.issues ?? []).filter((issue) => issue.path[0] === name))
        if (!said.includes(`${bound}`)) wrong.push(`${method} ${path} ${name}=${value}: ${said}`)
      }
    }
  }
  expect(wrong).toEqual([])
  expect(checked).toBeGreaterThan(10)
})

test('every reference resolves, and each operation has its own id', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!)
  expect(references.length).toBeGreaterThan(50)
  for (const path of new Set(references))
    expect(
      path.split('/').reduce((node: Schema, name) => node?.[name], body),
      path,
    ).toBeDefined()
  const ids = Object.values(body.paths).flatMap((path) => Object.values(path).map((one) => one.operationId))
  expect(new Set(ids).size).toBe(ids.length)
  expect((await t.request('GET', '/openapi.json')).body).toEqual(body)
})

describe('the document describes what is refused', () => {
  test('the number of contacts and the length of their addresses', async () => {
    const [batch, one] = (await bodyOf('post', '/api/v1/contacts')).anyOf
    expect(batch.properties.contacts).toMatchObject({ minItems: 1, maxItems: 500 })
    expect(one.properties.email).toMatchObject({ maxLength: 320, pattern: '\\S' })
    expect(one.properties.email.format).toBeUndefined()
    expect(one.properties.fields.propertyNames).toMatchObject({ pattern: '\\S', maxLength: 100 })
    expect(batch.properties.contacts.items.propertyNames).toMatchObject({ pattern: '\\S', maxLength: 100 })
  })

  test.each([
    ['/api/v1/deals', 'email'],
    ['/api/v1/send', 'to'],
    ['/api/v1/send', 'replyTo'],
    ['/api/v1/journeys/{id}/trigger', 'email'],
    ['/api/v1/webinars/{id}/register', 'email'],
    ['/api/v1/courses/{id}/enroll', 'email'],
    ['/api/v1/courses/{id}/embed-token', 'email'],
  ])('on %s that %s is an address', async (path, name) => {
    const { allOf, ...body } = await bodyOf('post', path)
    expect((allOf?.[0] ?? body).properties[name]).toMatchObject({ format: 'email', maxLength: 320 })
  })

  test('the query of GET /contacts', async () => {
    const { parameters } = await operation('get', '/api/v1/contacts')
    expect(parameters).toMatchObject([
      { name: 'email', in: 'query', required: true, schema: { format: 'email' } },
      { name: 'listId', in: 'query', required: false },
    ])
  })

  test('an amount’s pattern, a deal’s contact, and that a change needs a property', async () => {
    const { object: deal, ways } = await partsOf('post', '/api/v1/deals')
    expect(ways).toContainEqual({ required: ['email'] })
    const pattern = new RegExp(deal.properties.value.anyOf.find((one: { pattern?: string }) => one.pattern).pattern)
    expect(['0', '12.5', '007.005'].every((text) => pattern.test(text))).toBe(true)
    expect(['', '-1', '1e3', '1,5', '.5', '12345678901'].some((text) => pattern.test(text))).toBe(false)
    const { object: change } = await partsOf('patch', '/api/v1/deals/{id}')
    expect(change.minProperties).toBe(1)
    expect(change.properties.title).toMatchObject({ minLength: 1, maxLength: 200 })
  })

  test('the event types, and that at least one is required', async () => {
    const { object: webhook, ways } = await partsOf('post', '/api/v1/webhooks')
    expect(webhook.properties.events.items).toEqual({ $ref: '#/components/schemas/EventType' })
    const { components } = await operation('post', '/api/v1/webhooks')
    expect(components.schemas.EventType.enum).toEqual([...eventTypes])
    expect(ways).toEqual([{ required: ['events'] }, { required: ['event'] }])
  })
})

test('refusals have a schema, routes with a body include 413 and 415, and 429 has Retry-After', async () => {
  const { responses, components } = await operation('post', '/api/v1/contacts')
  expect(Object.keys(responses).join(' ')).toBe('200 201 400 401 403 404 408 409 410 413 415 429 5XX')
  for (const [status, { $ref }] of Object.entries<{ $ref?: string }>(responses)) {
    if (!$ref) continue
    const refusal = components.responses[$ref.split('/').at(-1)!]
    const { schema, example } = refusal.content['application/json']
    expect([status, schema, Object.keys(example)]).toEqual([status, { $ref: '#/components/schemas/Error' }, ['error']])
  }
  expect(Object.keys(components.responses.Limited.headers)).toContain('Retry-After')
  expect(Object.keys(components.responses.Unauthorized.headers)).toEqual(['X-Request-Id', 'WWW-Authenticate'])
  for (const name of ['Invalid', 'Forbidden', 'Missing', 'Conflict', 'TooLarge', 'NotJson', 'Limited', 'Fault'])
    expect(Object.keys(components.responses[name].headers)).toContain('RateLimit-Remaining')
  expect(Object.keys(responses['201'].headers)).toContain('RateLimit-Remaining')
  const list = await operation('get', '/api/v1/lists')
  expect(Object.keys(list.responses)).toEqual(['200', '400', '401', '403', '410', '429', '5XX'])
})

test('a pattern takes what the route takes in any case', async () => {
  const { object } = await partsOf('post', '/api/v1/send')
  const { headers, attachments } = object.properties
  for (const [{ pattern = '' }, value] of [
    [headers.propertyNames, 'X-Campaign'],
    [attachments.items.properties.contentType, 'Text/CSV; charset=UTF-8'],
  ])
    expect(value).toMatch(new RegExp(pattern))
})

test('the limit of a page is a number, as its default is', async () => {
  const { parameters } = await operation('get', '/api/v1/topics')
  const bounds = { minimum: 1, maximum: 500, default: 100 }
  expect(parameters[0]).toMatchObject({ name: 'limit', schema: { type: 'integer', ...bounds } })
})

test('exactly the idempotent routes have an Idempotency-Key', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const taking = Object.entries(body.paths).flatMap(([path, all]) =>
    Object.entries(all).flatMap(([method, { parameters = [] }]) =>
      parameters.some(({ name }) => name === 'Idempotency-Key') ? `${method} ${path}` : [],
    ),
  )
  expect(taking.sort()).toEqual(['post /api/v1/deals', 'post /api/v1/events', 'post /api/v1/send'])
})

test('a schema has one type, or null beside it, and none has alternatives of `required` beside its properties', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const faults: string[] = []
  const look = (node: unknown, path: string) => {
    if (typeof node !== 'object' || node === null) return
    const { type, properties, anyOf } = node as Record<string, unknown>
    if (Array.isArray(type) && type.filter((one) => one !== 'null').length > 1) faults.push(`${path}: type ${type}`)
    if (properties && anyOf) faults.push(`${path}: anyOf beside properties`)
    for (const [name, inner] of Object.entries(node)) look(inner, `${path}/${name}`)
  }
  look(body, '')
  expect(faults).toEqual([])
})

test('the routes of a resource share one tag', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const tags = Object.values(body.paths).flatMap((path) => Object.values(path).flatMap((one) => one.tags))
  expect([...new Set(tags)]).toEqual([
    'Contacts and lists',
    'Segments and broadcasts',
    'Email',
    'Suppressions, topics and preferences',
    'Deals and pipelines',
    'Journeys',
    'Courses',
    'Webinars',
    'Webhooks and events',
  ])
})

test('each webhook has its own operation id and needs no key; the document names its licence', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const deliveries = Object.values<Schema>(body.webhooks).map(({ post }) => post)
  expect(deliveries.map(({ security }) => security)).toEqual(eventTypes.map(() => []))
  expect(new Set(deliveries.map(({ operationId }) => operationId)).size).toBe(eventTypes.length)
  expect(body.info.license).toEqual({ name: 'Apache-2.0', identifier: 'Apache-2.0' })
})

test('each event is a webhook with its signature headers, schema and a valid sample', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  expect(Object.keys(body.webhooks)).toEqual([...eventTypes])
  for (const [type, { post }] of Object.entries<Schema>(body.webhooks)) {
    expect(post.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'X-Service-Timestamp',
      'X-Service-Signature',
      'X-Service-Idempotency-Key',
    ])
    const { schema, example } = post.requestBody.content['application/json']
    for (const sent of [example, sampleEvent(type as EventType, { now: 0, test: true })])
      expect(eventShape(type as EventType).safeParse(sent).error).toBeUndefined()
    const name: string = schema.$ref.split('/').at(-1)
    expect((body.components.schemas[name] as Schema).properties.type).toMatchObject({ const: type })
  }
})

test('each event has a component, and the type of a WebhookEvent says which one it is', async () => {
  const { schemas }: { schemas: Record<string, Schema> } = (await ok(t.request('GET', '/openapi.json'))).body.components
  const { oneOf, discriminator } = schemas.WebhookEvent
  expect(oneOf.map(({ $ref }: Schema) => $ref)).toEqual(Object.values(discriminator.mapping))
  expect(discriminator.propertyName).toBe('type')
  expect(Object.keys(discriminator.mapping)).toEqual([...eventTypes])
  expect(discriminator.mapping['deal.stage_changed']).toBe('#/components/schemas/DealStageChangedEvent')
  for (const [type, $ref] of Object.entries<string>(discriminator.mapping))
    expect(schemas[$ref.split('/').at(-1)!].properties.type.const).toBe(type)
})

test('no schema of an answer or event promises a well-formed address: malformed ones are stored too', async () => {
  const { schemas } = (await ok(t.request('GET', '/openapi.json'))).body.components
  expect(JSON.stringify(schemas).match(/"format":"[^"]*"/g)).toEqual(['"format":"uri"'])
})

test('operations have names such as createDeal', async () => {
  const { paths } = (await ok(t.request('GET', '/openapi.json'))).body
  expect(paths['/api/v1/deals']!.post!.operationId).toBe('createDeal')
  expect(paths['/api/v1/journeys/{id}/trigger']!.post!.operationId).toBe('triggerJourney')
  const ids = Object.values(paths).flatMap((path) => Object.values(path).map(({ operationId }) => operationId))
  expect(ids.filter((id) => !/^[a-z]+([A-Z][a-z]+)+$/.test(id))).toEqual([])
})

/** Values whose bound is not a number: ids, tokens and filters. */
const unbounded = /^(id|token|where)$|Ids?$/
const bounds = [
  'enum',
  'const',
  'format',
  'pattern',
  'maxLength',
  'maximum',
  'maxItems',
  'maxProperties',
  'contentEncoding',
]

/** Returns what the description of a property or a parameter lacks. */
const lacksOf = (
  name: string,
  schema: Schema,
  place: 'request' | 'change' | 'response',
  isRequired: boolean,
): string[] => {
  const { description = '', type } = schema
  const kinds: Schema[] = [schema, ...(schema.anyOf ?? [])]
  const isOptional = place === 'request' && !isRequired
  // An object is bounded by its properties, and the value of an answer by its block.
  const needsBound = type !== 'boolean' && schema.properties === undefined && (type !== undefined || schema.anyOf)
  const isBounded =
    unbounded.test(name) ||
    /\d/.test(description) ||
    kinds.some((kind) => '$ref' in kind || bounds.some((bound) => bound in kind))
  return [
    ...(description === '' ? ['a description'] : []),
    ...(/At$/.test(name) && !description.includes('in epoch ms') ? ['its unit'] : []),
    ...(isOptional && schema.default === undefined && !description.includes('Default: ') ? ['its default'] : []),
    ...(place !== 'response' && needsBound && !isBounded ? ['its bound'] : []),
  ]
}

test('every property and every parameter has a description with its unit, its default and its bound', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  const schemas = body.components.schemas as Record<string, Schema>
  const lacking: string[] = []
  let seen = 0
  const look = (
    path: string,
    name: string,
    schema: Schema,
    place: Parameters<typeof lacksOf>[2],
    isRequired: boolean,
  ) => {
    seen++
    const described = { ...(schema.$ref && schemas[schema.$ref.split('/').at(-1)]), ...schema }
    for (const what of lacksOf(name, described, place, isRequired)) lacking.push(`${path}: ${name} lacks ${what}`)
  }
  const walk = (path: string, schema: Schema, place: Parameters<typeof lacksOf>[2]): void => {
    for (const [name, value] of Object.entries<Schema>(schema.properties ?? {})) {
      look(path, name, value, place, schema.required?.includes(name) === true)
      walk(`${path}.${name}`, value, place)
    }
    const inner = [
      schema.items,
      schema.additionalProperties,
      ...['anyOf', 'oneOf', 'allOf'].flatMap((key) => schema[key] ?? []),
    ]
    for (const one of inner) if (typeof one === 'object') walk(path, one, place)
  }
  for (const [name, schema] of Object.entries(schemas)) walk(name, schema, 'response')
  for (const [path, methods] of Object.entries(body.paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries<Schema>(methods)) {
      const at = `${method} ${path}`
      for (const { name, description, required, schema } of parameters)
        look(at, name, { ...schema, description }, 'request', required)
      // A property that a change leaves out stays as it is.
      if (requestBody)
        walk(at, requestBody.content['application/json'].schema, method === 'patch' ? 'change' : 'request')
      for (const { content } of Object.values<Schema>(responses))
        if (content) walk(at, content['application/json'].schema, 'response')
    }
  expect(seen).toBeGreaterThan(300)
  expect(lacking).toEqual([])
})

test('the route accepts the example of each body', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  let seen = 0
  for (const route of await loadRoutes()) {
    if (!route.body) continue
    const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    const { schema }: { schema: Schema } =
      body.paths[path]![route.method.toLowerCase()]!.requestBody!.content['application/json']
    const { examples = [] } = schema
    expect(examples.length, path).toBeGreaterThan(0)
    for (const example of examples) expect(route.body.safeParse(example).error, path).toBeUndefined()
    seen++
  }
  expect(seen).toBeGreaterThan(8)
})

test('svc openapi prints the same document', async () => {
  const { body } = await ok(t.request('GET', '/openapi.json'))
  expect((await svc(t, ['openapi'])).json).toEqual(body)
})

testWith('redocly', 'redocly lint finds no error and no warning', async (redocly) => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-openapi-'))
  try {
    const file = join(folder, 'openapi.json')
    await writeFile(file, JSON.stringify((await t.request('GET', '/openapi.json')).body))
    const { totals } = JSON.parse(redocly('lint', '--format', 'json', file))
    expect(totals).toMatchObject({ errors: 0, warnings: 0 })
  } finally {
    await rm(folder, { recursive: true })
  }
})
