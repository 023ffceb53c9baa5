import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Server } from '../../src/http/server.ts'
import { type Reply, startApp, type TestAccount, type TestApp } from '../support/app.ts'

let t: TestApp
let account: TestAccount

beforeAll(async () => {
  t = await startApp()
  account = await t.account()
})
afterAll(() => t.close())

const expectError = (reply: Reply, status: number, words?: RegExp | string) => {
  expect(reply.status).toBe(status)
  expect(Object.keys(reply.body)).toEqual(['error'])
  expect(reply.body.error).toMatch(/^[^\n]{3,200}$/)
  expect(reply.body.error).not.toMatch(/FST_|ZodError|select |at .*\.ts|undefined|Invalid input/)
  if (words) expect(reply.body.error).toMatch(words)
  expect(String(reply.headers['content-type'])).toContain('application/json')
  expect(reply.headers['x-request-id']).toMatch(/^req_/)
}

describe('authentication', () => {
  const message = 'Missing or invalid Authorization: Bearer <apiKey>'

  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic abc' }],
    ['no key', { authorization: 'Bearer ' }],
    ['an unknown key', { authorization: `Bearer svc_live_${'a'.repeat(43)}` }],
    ['a key with a NUL', { authorization: 'Bearer svc_live_\u0001' }],
  ])('%s gives 401 with the stated message', async (_, headers) => {
    const reply = await t.request('GET', '/lists', { headers: headers as never })
    expectError(reply, 401)
    expect(reply.body.error).toBe(message)
  })

  test('401 comes before 400, 413 and 415', async () => {
    expectError(await t.request('POST', '/contacts', { body: '{' }), 401)
    expectError(await t.request('POST', '/contacts', { body: 'x', headers: { 'content-type': 'text/plain' } }), 401)
    expectError(await t.request('POST', '/contacts', { body: `"${'x'.repeat(9_000_000)}"` }), 401)
  })

  test('the scheme is case-insensitive', async () => {
    const reply = await t.request('GET', '/lists', { headers: { authorization: `bearer ${account.key}` } })
    expect(reply.status).toBe(200)
  })
})

describe('every failure is { error } with one sentence', () => {
  const post = (body: unknown, headers = {}) => t.request('POST', '/contacts', { key: account.key, body, headers })

  test.each([
    ['malformed JSON', '{"listId":', /JSON/],
    ['an empty body', '', /body/],
    ['an array', '[]', /body|object/],
    ['a string', '"x"', /body|object/],
    ['null', 'null', /body|object/],
    ['__proto__ as a key', '{"__proto__":{"x":1},"listId":"x","email":"a@b.example"}', /__proto__/],
    [
      'constructor.prototype as a key',
      '{"constructor":{"prototype":{"x":1}},"listId":"x","email":"a@b.example"}',
      /body|constructor/,
    ],
  ])('%s gives 400', async (_, body, words) => {
    expectError(await post(body), 400, words)
  })

  test('a body that is no JSON gives 415', async () => {
    expectError(
      await post('listId=x', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'application/json',
    )
    expectError(await post('{}', { 'content-type': 'text/plain' }), 415)
  })

  test('a body beyond 8 MB gives 413', async () => {
    expectError(await post(JSON.stringify({ listId: 'x'.repeat(8 * 1024 * 1024) })), 413, '8 MB')
  })

  test('an unknown route gives 404, a known one with another method 405 with Allow', async () => {
    expectError(await t.request('GET', '/nothing', { key: account.key }), 404)
    expectError(await t.request('GET', '/api/v2/contacts'), 404)
    const reply = await t.request('PUT', '/contacts', { key: account.key, body: {} })
    expectError(reply, 405, 'PUT')
    expect(reply.headers.allow).toBe('GET, POST')
    for (const method of ['QUERY', 'OPTIONS', 'TRACE'])
      expectError(await t.request(method as never, '/contacts'), 405, method)
  })

  test('a route that takes no body passes over what a client sends along', async () => {
    for (const [body, type] of [
      ['', 'application/json'],
      ['{bad', 'application/json'],
      ['x', 'text/plain'],
    ] as const) {
      const reply = await t.request('DELETE', '/webhooks/whk_none', {
        key: account.key,
        body,
        headers: { 'content-type': type },
      })
      expectError(reply, 404)
    }
  })

  test('a path with a slash too many is unknown', async () => {
    expectError(await t.request('GET', '/lists/', { key: account.key }), 404)
  })

  test('a malformed URL gives 400', async () => {
    expectError(await t.request('GET', '/api/v1/%ZZ'), 400)
    expectError(await t.request('GET', '/api/v1/contacts?email=%ZZ', { key: account.key }), 400)
  })

  test('a fault of ours gives 500 in a fixed sentence, without its cause', async () => {
    const broken = await startApp()
    try {
      const { key } = await broken.account()
      await broken.app.sql('alter table contact_lists rename to elsewhere')
      const reply = await broken.request('GET', '/lists', { key })
      expectError(reply, 500)
      expect(reply.body.error).toBe('Something went wrong')
    } finally {
      await broken.close()
    }
  })
})

/** What comes back over a bare socket: things that no HTTP client would send. */
const raw = (port: number, bytes: string): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => socket.end(bytes))
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    socket.on('close', () => resolve(answer)).on('error', reject)
  })

const connectionsOf = ({ fastify }: Server): Promise<number> =>
  new Promise((resolve, reject) =>
    fastify.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )

test('what is no HTTP at all is refused in the same shape', async () => {
  await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  const { port } = t.server.fastify.server.address() as { port: number }
  const answer = await raw(port, 'NONSENSE\r\n\r\n')
  expect(answer).toMatch(/^HTTP\/1\.1 400 /)
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toEqual({ error: 'The request is malformed' })
  const large = await raw(port, `GET /api/v1/lists HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`)
  expect(large).toMatch(/^HTTP\/1\.1 431 /)
})

test('each answer has a request id of its own', async () => {
  const [a, b] = await Promise.all([
    t.request('GET', '/healthz'),
    t.request('GET', '/api/v1/lists', { key: account.key }),
  ])
  expect(a.headers['x-request-id']).not.toBe(b.headers['x-request-id'])
})

describe('probes', () => {
  test('/healthz needs no database, /readyz does', async () => {
    expect((await t.request('GET', '/healthz')).status).toBe(200)
    expect((await t.request('GET', '/readyz')).body).toEqual({ status: 'ready' })
  })

  test('/readyz is 503 while the schema is behind', async () => {
    const behind = await startApp()
    try {
      await behind.app.sql('delete from mikro_orm_migrations')
      expectError(await behind.request('GET', '/readyz'), 503, 'schema')
    } finally {
      await behind.close()
    }
  })

  test('a request that does not arrive within its time is 408', async () => {
    const slow = await startApp()
    const { server } = slow.server.fastify
    expect([server.requestTimeout, server.headersTimeout]).toEqual([60_000, 60_000])
    server.requestTimeout = 100
    await slow.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    const socket = connect((server.address() as { port: number }).port, '127.0.0.1')
    socket.write('POST /api/v1/contacts HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n')
    let answer = ''
    for await (const text of socket.setEncoding('utf8')) answer += text
    expect(answer).toMatch(
      /^HTTP\/1\.1 408 Request Timeout\r\n[\s\S]*\{"error":"The request took too long to arrive"\}$/,
    )
    await slow.close()
  })

  test('while stopping new requests are answered 503, and those in flight finish', async () => {
    const stopping = await startApp()
    const { key } = await stopping.account()
    await stopping.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    const { port } = stopping.server.fastify.server.address() as { port: number }
    // A lock holds the request in flight until the stop has begun.
    const holder = await stopping.app.database.connect()
    await holder.query('begin; lock table contact_lists in access exclusive mode')
    const inFlight = fetch(`http://127.0.0.1:${port}/api/v1/lists`, { headers: { authorization: `Bearer ${key}` } })
    await expect.poll(async () => (await holder.query('select 1 from pg_locks where not granted')).rowCount).toBe(1)
    // Begun before the stop, so that its connection stands, and sent whole after it.
    const late = connect(port, '127.0.0.1')
    const answered = once(late, 'end')
    let answer = ''
    late.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    late.write(`GET /api/v1/lists HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`)
    await expect.poll(() => connectionsOf(stopping.server)).toBe(2)
    const drained = stopping.server.drain()
    await expect.poll(() => raw(port, '').catch(({ code }) => code)).toBe('ECONNREFUSED')
    late.write('\r\n')
    await answered
    expect(answer).toMatch(/^HTTP\/1\.1 503 /)
    expect(answer).toMatch(/\r\nx-request-id: req_/)
    expect(answer.split('\r\n\r\n')[1]).toBe('{"error":"The service is stopping"}')
    await holder.query('commit')
    expect((await inFlight).status).toBe(200)
    await drained
    await holder.end()
    await stopping.close()
  })
})
