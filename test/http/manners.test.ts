import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { ok, type Reply, startApp, useAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import type { Refusal } from '../support/replies.ts'

const t = useApp()
const account = useAccount(t)

const expectError = (reply: Reply<Refusal>, status: number, words?: RegExp | string) => {
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
  ])('%s is 401 with the documented message', async (_, headers) => {
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
    ['malformed JSON', '{"listId":', /^body must be valid JSON$/],
    ['an empty body', '', /body/],
    ['an array', '[]', /body|object/],
    ['a string', '"x"', /body|object/],
    ['null', 'null', /body|object/],
  ])('%s is 400', async (_, body, words) => {
    expectError(await post(body), 400, words)
  })

  test('keys that could change prototypes are dropped as unknown ones are, at any depth', async () => {
    const { id } = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'Keys' }))
    const keys = '"__proto__":{"x":1},"constructor":{"prototype":{"x":1}}'
    const body = `{${keys},"listId":"${id}","email":"a@b.example","fields":{${keys},"a":"1","toString":"2"}}`
    const reply = await post(body)
    expect([reply.status, reply.body.contact?.fields]).toEqual([201, { a: '1', toString: '2' }])
    const batch = `{"listId":"${id}","contacts":[{"email":"b@b.example",${keys},"constructor":"3"}]}`
    expect((await post(batch)).body).toEqual({ created: 1, updated: 0, skipped: 0 })
    expect((await ok(t.request('GET', '/lists', { key: account.key }))).body.lists[0]!.fields.sort()).toEqual(
      'a constructor toString'.split(' '),
    )
  })

  test('a body that is not JSON is 415', async () => {
    expectError(
      await post('listId=x', { 'content-type': 'application/x-www-form-urlencoded' }),
      415,
      'application/json',
    )
    expectError(await post('{}', { 'content-type': 'text/plain' }), 415)
  })

  test('a compressed body is 415, and the error names the header', async () => {
    for (const coding of ['gzip', 'br', 'identity, gzip'])
      expectError(await post(gzipSync('{}'), { 'content-encoding': coding }), 415, 'Content-Encoding')
    // Nothing is coded.
    for (const coding of ['identity', 'Identity', ''])
      expectError(await post('{}', { 'content-encoding': coding }), 400, 'listId')
    const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' }
    expectError(await t.request('POST', '/contacts', { body: gzipSync('{}'), headers }), 401)
    const form = await t.request('POST', '/f/frm_none', { body: gzipSync('{}'), headers })
    expectError(form, 415, 'Content-Encoding')
  })

  test('a body over 8 MB is 413', async () => {
    expectError(await post(JSON.stringify({ listId: 'x'.repeat(8 * 1024 * 1024) })), 413, '8 MB')
  })

  test('an unknown route is 404, a known one with another method 405 with Allow', async () => {
    expectError(await t.request('GET', '/nothing', { key: account.key }), 404)
    expectError(await t.request('GET', '/api/v2/contacts'), 404)
    const reply = await t.request('PUT', '/contacts', { key: account.key, body: {} })
    expectError(reply, 405, 'PUT')
    expect(reply.headers.allow).toBe('GET, HEAD, POST')
    const headers = { authorization: `Bearer ${account.key}` }
    const head = await t.server.fastify.inject({ method: 'HEAD', url: '/api/v1/lists', headers })
    expect([head.statusCode, head.body]).toEqual([200, ''])
    expect((await t.request('GET', '/send', { key: account.key })).headers.allow).toBe('POST')
    for (const method of ['QUERY', 'OPTIONS', 'TRACE'])
      expectError(await t.request(method as never, '/contacts'), 405, method)
  })

  test('a page with another method is 405 with Allow, and a page for a browser; HEAD is as GET', async () => {
    const paths = {
      '/f/frm_none': 'GET, HEAD, OPTIONS, POST',
      '/f/confirm/x': 'GET, HEAD, POST',
      '/t/o/x.gif': 'GET, HEAD',
      '/docs': 'GET, HEAD',
    }
    const further = { '/slug/crs_x/embed': 'GET, HEAD, POST', '/p/stripe/acc_x': 'POST', '/healthz': 'GET, HEAD' }
    for (const [url, allow] of Object.entries({ ...paths, ...further })) {
      const reply = await t.request('PUT', url)
      expectError(reply, 405, 'PUT')
      expect([url, reply.headers.allow]).toEqual([url, allow])
    }
    const headers = { accept: 'text/html' }
    const page = await t.server.fastify.inject({ method: 'DELETE', url: '/u/x', headers })
    expect([page.statusCode, page.headers.allow, page.headers['content-type']]).toEqual([
      405,
      'GET, HEAD, POST',
      'text/html; charset=utf-8',
    ])
    expect(page.body).toContain('<p class="code">405</p>')
    for (const url of ['/docs/x/embed', '/nothing', '/metrics'])
      expect([url, (await t.request('PUT', url)).status]).toEqual([url, 404])
    for (const url of ['/docs', '/healthz', '/openapi.json'])
      expect([url, (await t.server.fastify.inject({ method: 'HEAD', url })).statusCode]).toEqual([url, 200])
  })

  test('a route without a body ignores a body that a client sends', async () => {
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

  test('a path with an extra slash is unknown', async () => {
    expectError(await t.request('GET', '/lists/', { key: account.key }), 404)
  })

  test('a malformed URL is 400', async () => {
    expectError(await t.request('GET', '/api/v1/%ZZ'), 400)
    for (const query of ['contacts?email=%ZZ', 'contacts?email=%ff@example.com', 'journeys?trigger=%zz', 'lists?x=%'])
      expectError(await t.request('GET', `/api/v1/${query}`, { key: account.key }), 400, 'URL')
    expectError(await t.request('GET', '/api/v1/lists?x=%'), 401)
  })

  test.each(['topics?limit=1&limit=2', 'sends?status=sent&status=failed', 'events/sample?type=lead.hot&type=lead.new'])(
    'a parameter that is given twice is named as such: %s',
    async (query) => {
      const reply = await t.request('GET', `/api/v1/${query}`, { key: account.key })
      expectError(reply, 400, new RegExp(`^${/\?(\w+)/.exec(query)![1]} must be given only once$`))
    },
  )

  test('a browser gets an unknown path or a malformed URL as a page, outside the API', async () => {
    const accept = 'text/html,application/xhtml+xml;q=0.9,*/*;q=0.8'
    for (const url of ['/nothing', '/x/%c0%80', '/x/%zz?a=%c0', '/f/%c0%80', '/docs/nothing', '/apis']) {
      const { statusCode, headers, body } = await t.server.fastify.inject({ url, headers: { accept } })
      expect([url, statusCode, headers['content-type']]).toEqual([url, 404, 'text/html; charset=utf-8'])
      expect(headers).toMatchObject({ 'x-request-id': expect.any(String), 'cache-control': 'private, no-store' })
      expect(body).toMatch(/<style.*<p class="code">404<\/p>\n<h1>/s)
      const program = await t.server.fastify.inject({ url, headers: { accept: 'application/json, */*' } })
      if (!url.startsWith('/f/')) expect(program.json()).toEqual({ error: expect.any(String) })
    }
    for (const url of ['/api', '/api?x', '/api/v1/nothing', '/api/v1/%zz', '/api/v2'])
      expect((await t.server.fastify.inject({ url, headers: { accept } })).json()).toEqual({
        error: expect.any(String),
      })
  })

  test('an unexpected error is 500 with a fixed message, without its cause', async () => {
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

/**
 * Sends raw bytes, which no HTTP client would send, and returns what the server answers until the connection ends. If `ends` is
 * false, the server must end it.
 */
const raw = (port: number, bytes: string, { ends = true } = {}): Promise<string> =>
  new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect(port, '127.0.0.1', () => (ends ? socket.end(bytes) : socket.write(bytes)))
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    socket.on('close', () => resolve(answer)).on('error', reject)
  })

const listeningPort = async (): Promise<number> => {
  const { server } = t.server.fastify
  if (!server.listening) await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  return (server.address() as { port: number }).port
}

describe('an error repeats at most 100 characters of the input', () => {
  const long = 'x'.repeat(400)
  const deep = [`"${long}":{`.repeat(50), `"${long}":[1]`, '}'.repeat(50)].join('')
  const contact = { listId: 'lst_none', email: 'a@b.example' }

  test.each([
    ['GET', `/contacts?email=${long}`, undefined],
    ['GET', `/contacts?email=a@b.example&listId=${long}`, undefined],
    ['GET', `/events/sample?type=${long}`, undefined],
    ['GET', `/${long}`, undefined],
    ['POST', '/contacts', { ...contact, listId: long }],
    ['POST', '/contacts', { ...contact, email: long }],
    ['POST', '/contacts', { ...contact, fields: { [long]: 'x' } }],
    ['POST', '/contacts', { ...contact, fields: { ['é '.repeat(45)]: 'x'.repeat(20_000) } }],
    ['POST', '/contacts', { listId: 'x', contacts: [{ email: 'a@b.example', [long]: 'x' }] }],
    ['POST', '/contacts', { ...contact, fields: long }],
    ['POST', '/webhooks', { url: `https://${long}.example/`, events: [long] }],
    ['POST', '/webhooks', { url: `ftp://${long}`, event: 'contact.created' }],
    ['POST', '/webhooks', { url: 'https://example.com', event: 'contact.created', source: long }],
    ['POST', '/deals', { title: long, email: long }],
    ['POST', '/deals', { title: 'x', email: 'a@b.example', currency: long }],
    ['POST', '/send', { to: long, subject: 'x', html: 'x', text: 'x' }],
    ['POST', '/send', { to: 'a@b.example', subject: 'x', html: 'x', text: 'x', from: { email: `a@${long}.example` } }],
    ['POST', '/send', { to: 'a@b.example', projectId: 'x', mergeData: { [long]: `\0${long}` } }],
    ['POST', '/send', { to: 'a@b.example', subject: 'x', html: 'x', text: 'x', type: long }],
    ['POST', '/journeys/x/trigger', { email: long, listId: long }],
    ['POST', '/send', `{${deep}`],
    ['POST', '/contacts', `{"listId":"x","email":"a@b.example","fields":{${deep}}`],
  ] as const)('%s %.40s', async (method, path, body) => {
    const { error } = (await t.request(method, path, { key: account.key, body })).body
    expect(error.length).toBeLessThan(250)
    expect(error).not.toContain('x'.repeat(101))
  })
})

test('401 names the authentication scheme', async () => {
  const reply = await t.request('GET', '/lists', {})
  expect([reply.status, reply.headers['www-authenticate']]).toEqual([401, 'Bearer'])
  expect((await t.request('GET', '/lists', { key: account.key })).headers).not.toHaveProperty('www-authenticate')
})

test.each([
  ['input that is not HTTP', 'NONSENSE\r\n\r\n', 400, 'The request is malformed'],
  ['CONNECT', 'CONNECT /api/v1/lists HTTP/1.1\r\nHost: x\r\n\r\n', 400, 'The request is malformed'],
  ['HTTP/1.1 without Host', 'GET /api/v1/lists HTTP/1.1\r\n\r\n', 400, 'The request is malformed'],
  ['two Hosts', 'GET /healthz HTTP/1.1\r\nHost: x\r\nhost: x\r\n\r\n', 400, 'The request is malformed'],
  [
    'headers that are too large',
    `GET /api/v1/lists HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`,
    431,
    'The headers are too large',
  ],
  [
    'an unknown expectation',
    'GET /api/v1/lists HTTP/1.1\r\nHost: x\r\nExpect: tea\r\nConnection: close\r\n\r\n',
    417,
    'Expect can only be 100-continue',
  ],
])('%s is refused with the same JSON and a request id', async (_, bytes, status, error) => {
  const answer = await raw(await listeningPort(), bytes)
  expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `))
  expect(answer).toMatch(/^x-request-id: req_/im)
  expect(JSON.parse(answer.split('\r\n\r\n')[1]!)).toEqual({ error })
})

test('HTTP/1.0 needs no Host, and 100-continue is the expectation that is met', async () => {
  const port = await listeningPort()
  expect(await raw(port, 'GET /healthz HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /)
  const expecting = 'GET /healthz HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n'
  expect(await raw(port, expecting)).toMatch(/^HTTP\/1\.1 100 Continue\r\n\r\nHTTP\/1\.1 200 /)
})

describe('a refusal before the end of the body reaches a client that sends all of it', () => {
  // A connection that is closed with unread bytes is reset: the client may then lose the answer.
  const large = 'x'.repeat(9_000_000)
  const plain = (text: string) => `Content-Length: ${text.length}\r\n\r\n${text}`
  const chunked = (text: string) =>
    `Transfer-Encoding: chunked\r\n\r\n${text.length.toString(16)}\r\n${text}\r\n0\r\n\r\n`

  test.each([
    ['a large body', 'application/json', plain(large), 413],
    ['a large body in chunks', 'application/json', chunked(large), 413],
    ['another type', 'text/plain', plain(large), 415],
    ['a compressed body', 'application/json\r\nContent-Encoding: gzip', plain(large), 415],
    ['deep nesting', 'application/json', chunked('['.repeat(1000) + large.slice(0, 7_000_000)), 400],
  ])('%s', async (_, type, rest, status) => {
    const key = `Authorization: Bearer ${account.key}\r\n`
    const first = `POST /api/v1/contacts HTTP/1.1\r\nHost: x\r\n${key}Content-Type: ${type}\r\n${rest}`
    const second = `GET /api/v1/lists HTTP/1.1\r\nHost: x\r\n${key}Connection: close\r\n\r\n`
    const answers = await raw(await listeningPort(), first + second, { ends: false })
    expect(answers.match(/HTTP\/1\.1 \d+/g)).toEqual([`HTTP/1.1 ${status}`, 'HTTP/1.1 200'])
  })
})

test('each response has its own request id', async () => {
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

  test('/readyz is 503 while the schema is older than the program', async () => {
    const behind = await startApp()
    try {
      await behind.app.sql('delete from mikro_orm_migrations')
      expectError(await behind.request('GET', '/readyz'), 503, 'schema')
    } finally {
      await behind.close()
    }
  })

  test('a request that does not arrive in time is 408', async () => {
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
    const sockets: Socket[] = []
    stopping.server.fastify.server.on('connection', (socket) => sockets.push(socket))
    // A lock holds the request in flight until the stop has begun.
    const holder = await stopping.app.database.connect()
    await holder.query('begin; lock table contact_lists in access exclusive mode')
    const inFlight = fetch(`http://127.0.0.1:${port}/api/v1/lists`, { headers: { authorization: `Bearer ${key}` } })
    await untilLocked(stopping.app, 1)
    // Its connection is open before the stop, and the rest of the request is sent after it.
    const late = connect(port, '127.0.0.1')
    const answered = once(late, 'end')
    let answer = ''
    late.setEncoding('utf8').on('data', (text) => {
      answer += text
    })
    late.write(`GET /api/v1/lists HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\n`)
    // A connection of which the server has read nothing is idle, and closed without an answer.
    await expect.poll(() => sockets[1]?.bytesRead).toBe(late.bytesWritten)
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
