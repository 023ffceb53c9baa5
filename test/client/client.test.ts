import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { createContext, runInContext } from 'node:vm'
import { build } from 'vite'
import { beforeEach, describe, expect, test } from 'vitest'
import { type Client, type ClientOptions, createClient } from '../../src/client/client.ts'
import { opened } from '../support/fixture.ts'
import { generateApi, target } from './generate.ts'

const root = join(import.meta.dirname, '../..')
const key = 'svc_live_0123456789abcdef'

test('src/client/api.ts is what the document says: else run npm run client', async () => {
  expect((await readFile(target, 'utf8')) === (await generateApi())).toBe(true)
})

describe('against a server that answers as it is told', () => {
  type Answer = (request: IncomingMessage, response: ServerResponse) => void
  const answers: Answer[] = []
  const requests: { method: string; url: string; headers: IncomingMessage['headers']; body: string }[] = []
  const stub = opened(async () => {
    const server = createServer(async (request, response) => {
      let body = ''
      for await (const part of request.setEncoding('utf8')) body += part
      requests.push({ method: request.method!, url: request.url!, headers: request.headers, body })
      const answer = answers.shift()
      if (answer) answer(request, response)
    }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    const close = () => {
      server.closeAllConnections()
      server.close()
    }
    return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close }
  })
  beforeEach(() => {
    answers.length = 0
    requests.length = 0
  })

  const client = (options: Partial<ClientOptions> = {}): Client =>
    createClient({ baseUrl: stub.baseUrl, key, ...options })
  const says =
    (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
    (_, response) =>
      response.writeHead(status, headers).end(typeof body === 'string' ? body : JSON.stringify(body))
  const drops: Answer = (request) => request.socket.destroy()
  const error = (call: Promise<unknown>) =>
    call.then(
      () => expect.unreachable('it resolved'),
      (thrown) => thrown,
    )
  const body = { title: 'A', email: 'ada@example.org' }
  const soon = { 'retry-after': '0' }

  test('pages are read one after the other, with the query of the first', async () => {
    answers.push(says(200, { sends: [{ id: 'a' }], next: 'x y' }), says(200, { sends: [{ id: 'b' }], next: null }))
    const ids: string[] = []
    for await (const { sends } of client().pages('/sends', { query: { status: 'sent' } }))
      ids.push(...sends.map(({ id }) => id))
    expect(ids).toEqual(['a', 'b'])
    expect(requests.map(({ url }) => url)).toEqual([
      '/api/v1/sends?status=sent',
      '/api/v1/sends?status=sent&cursor=x+y',
    ])
  })

  test('a page is only read when it is asked for', async () => {
    answers.push(says(200, { sends: [], next: 'x' }))
    for await (const _ of client().pages('/sends')) break
    expect(requests).toHaveLength(1)
  })

  test('paths, queries and bodies arrive as they were given', async () => {
    answers.push(says(200, { contacts: [] }), says(200, { deal: {} }), says(200, { ok: true }))
    const svc = client({ baseUrl: `${stub.baseUrl}/behind/` })
    await svc.get('/contacts', { query: { email: 'a+b@example.org' } })
    await svc.patch('/deals/{id}', { path: { id: 'a/b?c' }, body: { value: 9 } })
    await svc.delete('/webhooks/{id}', { path: { id: 'whk_1' } })
    expect(requests.map(({ method, url, body }) => [method, url, body])).toEqual([
      ['GET', '/behind/api/v1/contacts?email=a%2Bb%40example.org', ''],
      ['PATCH', '/behind/api/v1/deals/a%2Fb%3Fc', '{"value":9}'],
      ['DELETE', '/behind/api/v1/webhooks/whk_1', ''],
    ])
    expect(requests[0]!.headers).toMatchObject({ authorization: `Bearer ${key}` })
    expect(requests.map(({ headers }) => headers['content-type'])).toEqual([undefined, 'application/json', undefined])
  })

  test.each(['/api/v1', '/behind/api/v1/', '/api/v1x'])(
    'the base URL can end in the path of the API: %s',
    async (path) => {
      answers.push(says(200, { lists: [] }))
      await client({ baseUrl: `${stub.baseUrl}${path}` }).get('/lists')
      expect(requests.map(({ url }) => url)).toEqual([`${path.replace(/\/api\/v1\/?$/, '')}/api/v1/lists`])
    },
  )

  test.each(['', '.', '..'])('the id "%s" is refused: the call would reach another route', async (id) => {
    expect(await error(client().delete('/webhooks/{id}', { path: { id } }))).toBeInstanceOf(TypeError)
    expect(requests).toEqual([])
  })

  test('a call with an idempotency key keeps it in each attempt, and two calls have two keys', async () => {
    answers.push(drops, says(503, { error: 'busy' }), says(201, { created: true }), says(201, {}))
    const svc = client()
    expect(await svc.post('/deals', { body })).toEqual({ created: true })
    await svc.post('/deals', { body, idempotencyKey: 'mine' })
    const keys = requests.map(({ headers }) => headers['idempotency-key'])
    expect(keys[0]).toMatch(/^[0-9a-f]{32}$/)
    expect(keys).toEqual([keys[0], keys[0], keys[0], 'mine'])
  })

  const trigger = (svc: Client) =>
    svc.post('/journeys/{id}/trigger', { path: { id: 'jny_1' }, body: { email: 'ada@example.org', listId: 'lst_1' } })

  test('a call that may have had its effect is not repeated', async () => {
    answers.push(
      drops,
      says(503, { error: 'away' }),
      says(500, { error: 'Something went wrong' }),
      says(502, 'no JSON'),
    )
    expect(await error(trigger(client()))).toMatchObject({ name: 'NoAnswerError', isTimeout: false, attempts: 1 })
    expect(await error(trigger(client()))).toMatchObject({ status: 503, kind: 'unavailable', message: 'away' })
    expect(await error(client().get('/lists'))).toMatchObject({ status: 500, kind: 'fault', attempts: 1 })
    expect(await error(trigger(client()))).toMatchObject({
      status: 502,
      message: 'The server answered with status 502',
    })
    expect(requests.length).toBe(4)
  })

  test('a call that was refused for the moment is repeated, whatever its method, at most as often as allowed', async () => {
    answers.push(
      says(429, { error: 'Rate limit exceeded' }, soon),
      says(503, { error: 'busy' }, soon),
      says(200, { ok: true }),
    )
    expect(await trigger(client())).toEqual({ ok: true })
    answers.push(...Array.from({ length: 3 }, () => says(429, { error: 'Rate limit exceeded' }, soon)))
    expect(await error(trigger(client({ retries: 2 })))).toMatchObject({ status: 429, kind: 'limited', attempts: 3 })
    expect(requests.length).toBe(6)
  })

  test('a wait beyond the deadline is not begun', async () => {
    answers.push(says(429, { error: 'Monthly send quota for your plan exceeded' }, { 'retry-after': '864000' }))
    const thrown = await error(client().get('/lists'))
    expect(thrown).toMatchObject({ status: 429, retryAfterSeconds: 864000, attempts: 1 })
  })

  test.each([
    [400, 'invalid'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'missing'],
    [409, 'conflict'],
    [413, 'invalid'],
  ])('status %i is an error of the kind %s, with the sentence and the id of the request', async (status, kind) => {
    answers.push(says(status, { error: 'a sentence' }, { 'x-request-id': 'req-1' }))
    expect(await error(client().get('/lists'))).toMatchObject({
      ...{ name: 'ApiError', status, kind, message: 'a sentence', requestId: 'req-1' },
      ...{ method: 'GET', path: '/lists', attempts: 1, retryAfterSeconds: null },
    })
  })

  test('a success that is not JSON, and a redirect, are errors', async () => {
    answers.push(says(200, '<html>'), says(307, '', { location: `${stub.baseUrl}/elsewhere` }))
    expect(await error(client().get('/lists'))).toMatchObject({
      name: 'NoAnswerError',
      message: expect.stringContaining('200'),
    })
    expect(await error(client({ retries: 0 }).get('/lists'))).toMatchObject({ name: 'NoAnswerError' })
    expect(requests.map(({ url }) => url)).toEqual(['/api/v1/lists', '/api/v1/lists'])
  })

  test('an attempt ends at its time-out, and all of them at the deadline', async () => {
    const thrown = await error(client({ timeoutMs: 30, deadlineMs: 400 }).get('/lists'))
    expect(thrown).toMatchObject({ name: 'NoAnswerError', isTimeout: true })
    expect(thrown.message).toContain('no answer in time')
    expect(thrown.attempts).toBeGreaterThan(1)
    // An attempt may end before its request has left.
    expect(requests.length).toBeLessThanOrEqual(thrown.attempts)
    expect(await error(client({ retries: 0, timeoutMs: 30 }).get('/lists'))).toMatchObject({
      attempts: 1,
      isTimeout: true,
    })
  })

  test('a signal cancels a call before, during and between attempts', async () => {
    const early = AbortSignal.abort(new Error('early'))
    expect(await error(client().get('/lists', { signal: early }))).toBe(early.reason)
    expect(requests).toEqual([])
    const during = new AbortController()
    answers.push(() => during.abort(new Error('during')))
    expect(await error(client().get('/lists', { signal: during.signal }))).toBe(during.signal.reason)
    const between = new AbortController()
    answers.push((request, response) => {
      says(429, { error: 'Rate limit exceeded' }, { 'retry-after': '60' })(request, response)
      response.once('close', () => setImmediate(() => setImmediate(() => between.abort(new Error('between')))))
    })
    expect(await error(client().get('/lists', { signal: between.signal }))).toBe(between.signal.reason)
    expect(requests.length).toBe(2)
  })

  test('the key is in no error and in no picture of the client', async () => {
    const svc = client()
    expect(inspect(svc, { depth: 9, showHidden: true }) + JSON.stringify(svc)).not.toContain(key)
    answers.push(says(400, { error: `Bearer ${key} is odd` }))
    const leaky: typeof fetch = (_, init) =>
      Promise.reject(new TypeError('bad', { cause: new Error(JSON.stringify(init)) }))
    const thrown = [
      await error(svc.get('/lists')),
      await error(client({ fetch: leaky, retries: 0 }).get('/lists')),
      await error(client({ baseUrl: 'http://127.0.0.1:1', retries: 0 }).get('/lists')),
      await error((async () => createClient({ baseUrl: stub.baseUrl, key: `${key}\n` }))()),
    ]
    for (const one of thrown) expect(inspect(one, { depth: 9, showHidden: true })).not.toContain(key)
    expect(thrown[1].message).toContain('Bearer …')
  })

  test.each(['localhost:4800', 'ftp://localhost', 'http://me:pw@localhost', 'http://localhost/?a=b', ''])(
    'the URL "%s" is refused',
    (baseUrl) => expect(() => createClient({ baseUrl, key })).toThrow(TypeError),
  )

  test('bundled for browsers it is small, and runs with nothing but what they have', async () => {
    const [bundled] = (await build({
      configFile: false,
      logLevel: 'silent',
      build: {
        write: false,
        lib: { entry: join(root, 'src/client/client.ts'), formats: ['iife'], name: 'svc' },
      },
    })) as { output: { code: string }[] }[]
    const { code } = bundled!.output[0]!
    expect(code.length).toBeLessThan(8000)
    answers.push(drops, says(200, { lists: [] }))
    const names = 'fetch AbortController URL URLSearchParams setTimeout clearTimeout performance crypto'.split(' ')
    const bare = createContext(Object.fromEntries(names.map((name) => [name, Reflect.get(globalThis, name)])))
    const script = `${code};svc.createClient({ baseUrl: ${JSON.stringify(stub.baseUrl)}, key: 'k' }).get('/lists').then(JSON.stringify)`
    expect(await runInContext(script, bare)).toBe('{"lists":[]}')
  })
})
