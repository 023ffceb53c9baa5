import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { loadRoutes } from '../../src/app/features.ts'
import { eventShape } from '../../src/events/shapes.ts'
import { type EventType, eventTypes } from '../../src/events/types.ts'
import { type Reply, startApp, type TestApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

let t: TestApp

beforeAll(async () => {
  t = await startApp()
})
afterAll(() => t.close())

test('/openapi.json describes every route, with its successes and its refusals', async () => {
  const { status, body } = await t.request('GET', '/openapi.json')
  expect(status).toBe(200)
  expect(body.openapi).toBe('3.1.0')
  const routes = await loadRoutes()
  expect(routes.length).toBeGreaterThan(5)
  for (const route of routes) {
    const operation = body.paths[`/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`]?.[route.method.toLowerCase()]
    expect(operation, `${route.method} ${route.path}`).toBeDefined()
    expect(Object.keys(operation.responses)).toEqual(
      expect.arrayContaining([
        ...Object.keys(route.answers),
        ...(route.isOpen ? [] : ['400', '401', '429']),
        ...(route.refusals ?? []).map(String),
      ]),
    )
    expect(operation.security).toEqual(route.isOpen ? [] : [{ apiKey: [] }])
  }
})

const operation = async (method: string, path: string) => {
  const { body } = await t.request('GET', '/openapi.json')
  return { ...body.paths[path][method], components: body.components }
}
const bodyOf = async (method: string, path: string) =>
  (await operation(method, path)).requestBody.content['application/json'].schema

test('every reference leads somewhere, and each operation has an id of its own', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  const references = [...JSON.stringify(body).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, path]) => path!)
  expect(references.length).toBeGreaterThan(50)
  for (const path of new Set(references))
    expect(
      path.split('/').reduce((node, name) => node?.[name], body),
      path,
    ).toBeDefined()
  const ids = Object.values(body.paths).flatMap((path) => Object.values(path as object).map((one) => one.operationId))
  expect(new Set(ids).size).toBe(ids.length)
  expect((await t.request('GET', '/openapi.json')).body).toEqual(body)
})

describe('the document says what is refused', () => {
  test('how many contacts, of which length their addresses', async () => {
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
    expect((await bodyOf('post', path)).properties[name]).toMatchObject({ format: 'email', maxLength: 320 })
  })

  test('the query of GET /contacts', async () => {
    const { parameters } = await operation('get', '/api/v1/contacts')
    expect(parameters).toMatchObject([
      { name: 'email', in: 'query', required: true, schema: { format: 'email' } },
      { name: 'listId', in: 'query', required: false },
    ])
  })

  test('an amount’s pattern, a deal’s contact, and that a change changes something', async () => {
    const deal = await bodyOf('post', '/api/v1/deals')
    expect(deal.anyOf).toContainEqual({ required: ['email'] })
    const pattern = new RegExp(deal.properties.value.anyOf.find((one: { pattern?: string }) => one.pattern).pattern)
    expect(['0', '12.5', '007.005'].every((text) => pattern.test(text))).toBe(true)
    expect(['', '-1', '1e3', '1,5', '.5', '12345678901'].some((text) => pattern.test(text))).toBe(false)
    const change = await bodyOf('patch', '/api/v1/deals/{id}')
    expect(change.minProperties).toBe(1)
    expect(change.properties.title).toMatchObject({ minLength: 1, maxLength: 200 })
  })

  test('which events there are, and that one is needed', async () => {
    const webhook = await bodyOf('post', '/api/v1/webhooks')
    expect(webhook.properties.events.items.enum).toContain('deal.stage_changed')
    expect(webhook.anyOf).toEqual([{ required: ['events'] }, { required: ['event'] }])
  })
})

test('refusals have their JSON, a body’s route those of bodies, and 429 says when to come again', async () => {
  const { responses, components } = await operation('post', '/api/v1/contacts')
  expect(Object.keys(responses)).toEqual(['200', '201', '400', '401', '404', '409', '413', '415', '429', '5XX'])
  for (const [status, { $ref }] of Object.entries<{ $ref?: string }>(responses)) {
    if (!$ref) continue
    const refusal = components.responses[$ref.split('/').at(-1)!]
    const { schema, example } = refusal.content['application/json']
    expect([status, schema, Object.keys(example)]).toEqual([status, { $ref: '#/components/schemas/Error' }, ['error']])
  }
  expect(Object.keys(components.responses.Limited.headers)).toContain('Retry-After')
  expect(Object.keys(responses['201'].headers)).toContain('RateLimit-Remaining')
  const list = await operation('get', '/api/v1/lists')
  expect(Object.keys(list.responses)).toEqual(['200', '400', '401', '429', '5XX'])
})

test('an Idempotency-Key is named where it is taken, and nowhere else', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  const taking = Object.entries<Record<string, { parameters?: { name: string }[] }>>(body.paths).flatMap(
    ([path, all]) =>
      Object.entries(all).flatMap(([method, { parameters = [] }]) =>
        parameters.some(({ name }) => name === 'Idempotency-Key') ? `${method} ${path}` : [],
      ),
  )
  expect(taking.sort()).toEqual(['post /api/v1/deals', 'post /api/v1/send'])
})

test('each event is a webhook, with the headers that sign it, its shape and a sample that fits it', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  expect(Object.keys(body.webhooks)).toEqual([...eventTypes])
  for (const [type, { post }] of Object.entries<Record<string, Reply['body']>>(body.webhooks)) {
    expect(post.parameters.map(({ name }: { name: string }) => name)).toEqual([
      'X-Service-Timestamp',
      'X-Service-Signature',
      'X-Service-Idempotency-Key',
    ])
    const { schema, example } = post.requestBody.content['application/json']
    expect(eventShape(type as EventType).safeParse(example).error).toBeUndefined()
    expect(schema.properties.type).toMatchObject({ const: type })
  }
})

test('the example of each body is one that the route takes', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  let seen = 0
  for (const route of await loadRoutes()) {
    if (!route.body) continue
    const path = `/api/v1${route.path.replace(/:(\w+)/g, '{$1}')}`
    const { schema } = body.paths[path][route.method.toLowerCase()].requestBody.content['application/json']
    const { examples = [] } = schema
    expect(examples.length, path).toBeGreaterThan(0)
    for (const example of examples) expect(route.body.safeParse(example).error, path).toBeUndefined()
    seen++
  }
  expect(seen).toBeGreaterThan(8)
})

test('svc openapi prints the same document', async () => {
  const { body } = await t.request('GET', '/openapi.json')
  expect((await svc(t, ['openapi'])).json).toEqual(body)
})
