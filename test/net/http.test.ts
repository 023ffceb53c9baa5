import { createServer as createHttpServer } from 'node:http'
import { createServer, type Server } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anyAddress, parseCidrs } from '../../src/net/addresses.ts'
import { retryAfterSeconds } from '../../src/net/exchange.ts'
import { createHttpClient, type HttpClient } from '../../src/net/http.ts'
import { createResolver, type Resolver } from '../../src/net/resolver.ts'
import { checkWebhookUrl } from '../../src/net/webhook-url.ts'
import { openDnsServer, useDnsServer } from '../support/dns.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { type Answer, openReceiver, type Receiver } from '../support/receiver.ts'
import { limit } from '../support/slowness.ts'

let resolver: Resolver
let receiver: Receiver
let client: HttpClient

const dns = useDnsServer()
beforeAll(async () => {
  resolver = createResolver([dns.address])
})

afterAll(async () => {
  resolver.close()
})

beforeEach(async () => {
  receiver = await openReceiver()
  client = createHttpClient({ resolver, allow: anyAddress })
})

afterEach(async () => {
  await client.destroy()
  await receiver.close()
})

const post = (url = receiver.url, timeoutMs = limit(5000), by = client) =>
  by.post(url, { headers: { 'x-test': 'yes' }, body: '{"a":"ü"}', timeoutMs })

const postTo = (answer: Answer, timeoutMs?: number) => {
  receiver.next(answer)
  return post(receiver.url, timeoutMs)
}

/** Runs a post that must end before twice its deadline. */
const inTime = async (deadlineMs: number, run: (deadlineMs: number) => ReturnType<typeof post>) => {
  const outcome = run(deadlineMs)
  expect(await settlesWithin(outcome, 2 * deadlineMs)).toBe(true)
  return outcome
}

/** Waits until a connection is free again, which takes one turn of the event loop after its answer. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 20))

describe('a post', () => {
  test('sends its body unchanged, with the given headers and the fixed ones', async () => {
    const outcome = await post(`${receiver.url}/hook/a%20b?c=d`)
    expect(outcome).toMatchObject({ ok: true, status: 200, error: null, retryAfterSeconds: null, snippet: '' })
    const [request] = await receiver.arrived(1)
    expect(request).toMatchObject({ method: 'POST', path: '/hook/a%20b?c=d' })
    expect(request?.body.toString()).toBe('{"a":"ü"}')
    expect(request?.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': '10',
      'accept-encoding': 'identity',
      'user-agent': 'svc-webhooks/1',
      'x-test': 'yes',
    })
  })

  test.each([200, 201, 202, 204, 299])('succeeds on %i', async (status) => {
    expect(await postTo({ status })).toMatchObject({ ok: true, status, error: null })
  })

  test.each([400, 404, 410, 429, 500, 503])('fails on %i', async (status) => {
    expect(await postTo({ status, body: 'no' })).toMatchObject({
      ok: false,
      status,
      error: `answered ${status}`,
      snippet: 'no',
    })
  })

  test.each([301, 302, 303, 307, 308])('does not follow a %i', async (status) => {
    const canary = await openReceiver()
    const outcome = await postTo({ status, headers: { location: canary.url } })
    expect(outcome).toMatchObject({ ok: false, status, error: `answered ${status}, redirect not followed` })
    expect(canary.connections).toBe(0)
    expect(receiver.requests).toHaveLength(1)
    await canary.close()
  })

  test('returns the time of Retry-After in seconds', async () => {
    expect(await postTo({ status: 429, headers: { 'retry-after': '17' } })).toMatchObject({ retryAfterSeconds: 17 })
    const inAMinute = new Date(Date.now() + 60_000).toUTCString()
    const { retryAfterSeconds } = await postTo({ status: 503, headers: { 'retry-after': inAMinute } })
    expect(retryAfterSeconds).toBeGreaterThan(57)
    expect(retryAfterSeconds).toBeLessThanOrEqual(60)
  })

  test('reuses a connection', async () => {
    for (let i = 0; i < 5; i++) {
      await postTo({ body: 'fine' })
      await settle()
    }
    expect(receiver.connections).toBe(1)
  })

  test('opens one connection for each concurrent post', async () => {
    receiver.always({ delayMs: 200 })
    const outcomes = await Promise.all(Array.from({ length: 50 }, () => post()))
    expect(outcomes.filter(({ ok }) => !ok)).toEqual([])
    expect(receiver.connections).toBe(50)
  })

  test.each(['', 'nonsense', 'ftp://127.0.0.1/', 'http://'])(
    'to the invalid URL %j fails without throwing',
    async (url) => {
      expect(await post(url)).toMatchObject({ ok: false, status: null, error: 'request is not valid' })
    },
  )

  test('with an invalid header fails without throwing', async () => {
    const outcome = await client.post(receiver.url, { headers: { 'x-a': 'b\r\nc: d' }, body: '', timeoutMs: 1000 })
    expect(outcome).toMatchObject({ ok: false, error: 'request is not valid' })
    expect(receiver.requests).toHaveLength(0)
  })
})

test('interim answers are skipped', async () => {
  const answer = 'HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\nok'
  const { server, port } = await listen(createServer((socket) => void socket.once('data', () => socket.write(answer))))
  expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ ok: true, status: 202, snippet: 'ok' })
  server.close()
})

test('a post that gets only an interim answer times out', async () => {
  const interim = 'HTTP/1.1 103 Early Hints\r\n\r\n'
  const { server, port } = await listen(createServer((socket) => void socket.once('data', () => socket.write(interim))))
  const outcome = await post(`http://127.0.0.1:${port}/`, 300)
  expect(outcome).toMatchObject({ ok: false, status: null, error: 'timed out after 0.3 s' })
  server.close()
})

describe('the deadline', () => {
  test('ends a post whose receiver never sends headers', async () => {
    const outcome = await inTime(300, (deadlineMs) => postTo({ mode: 'hang' }, deadlineMs))
    expect(outcome).toMatchObject({ ok: false, status: null, error: 'timed out after 0.3 s', stopped: false })
    expect(outcome.durationMs).toBeGreaterThanOrEqual(295)
    await expect.poll(() => receiver.open).toBe(0)
  })

  test.each(['stall', 'drip'] as const)(
    'cuts off a body that arrives too slowly (%s), and keeps the status',
    async (mode) => {
      // The headers must arrive before the deadline.
      const deadlineMs = limit(1500)
      const both = [postTo({ mode }, deadlineMs), postTo({ status: 500, mode }, deadlineMs)] as const
      expect(await settlesWithin(Promise.all(both), 2 * deadlineMs)).toBe(true)
      const [good, bad] = await Promise.all(both)
      expect(good).toMatchObject({ ok: true, status: 200, error: null })
      expect(good.durationMs).toBeGreaterThanOrEqual(deadlineMs - 5)
      expect(bad).toMatchObject({ ok: false, status: 500, error: 'answered 500' })
    },
  )

  test('also applies to the look-up', async () => {
    dns.set('silent.test', { mode: 'silent' })
    const outcome = await inTime(300, (deadlineMs) => post(`http://silent.test:${receiver.port}/`, deadlineMs))
    expect(outcome).toMatchObject({ ok: false, error: 'timed out after 0.3 s' })
  })

  test('also applies to the TLS handshake', async () => {
    const mute = await listen(createServer((socket) => socket.on('error', () => {})))
    const outcome = await post(`https://127.0.0.1:${mute.port}/`, 300)
    expect(outcome).toMatchObject({ ok: false, error: 'timed out after 0.3 s' })
    mute.server.close()
  })

  test('prevents a late request: nothing is sent if the look-up ends after it', async () => {
    dns.set('late.test', (before) => (before === 0 ? { mode: 'silent' } : { A: ['127.0.0.1'] }))
    const outcome = await post(`http://late.test:${receiver.port}/`, 300)
    expect(outcome).toMatchObject({ ok: false, error: 'timed out after 0.3 s' })
    // The resolver asks again after a third of its time limit, and gets an answer; the next post follows it.
    await eventually(() => dns.queries.filter((query) => query === 'A late.test').length > 1)
    expect(await post(`http://late.test:${receiver.port}/next`)).toMatchObject({ ok: true })
    expect(receiver.requests.map(({ path }) => path)).toEqual(['/next'])
  })
})

describe('the body of an answer', () => {
  test('without an end is cut off at 16 KiB, its connection is closed, and the status is kept', async () => {
    const outcome = await postTo({ mode: 'endless' }, limit(60_000))
    expect(outcome).toMatchObject({ ok: true, status: 200, snippet: 'x'.repeat(1024) })
    expect(outcome.durationMs).toBeLessThan(limit(60_000) / 4)
    await expect.poll(() => receiver.open).toBe(0)
    await post()
    expect(receiver.connections).toBe(2)
  })

  test('of 16 KiB is read completely, and its connection is reused', async () => {
    await postTo({ body: 'x'.repeat(16 * 1024) })
    await settle()
    await post()
    expect(receiver.connections).toBe(1)
  })

  test('that is a gzip bomb is not decompressed', async () => {
    const before = process.memoryUsage().rss
    const outcome = await postTo({ mode: 'bomb' })
    expect(outcome).toMatchObject({ ok: true, status: 200 })
    expect(outcome.snippet.length).toBeLessThanOrEqual(1024)
    expect(process.memoryUsage().rss - before).toBeLessThan(200 * 1024 * 1024)
  })

  test('that breaks off does not matter: the status decides the outcome', async () => {
    expect(await postTo({ mode: 'cut', body: 'half' })).toMatchObject({ ok: true, status: 200, snippet: 'half' })
    expect(await postTo({ mode: 'cut', status: 502 })).toMatchObject({ ok: false, status: 502 })
  })

  test('is kept as text that a database accepts, without NUL or incomplete characters', async () => {
    const { snippet } = await postTo({ body: Buffer.from([0x61, 0, 0xff, 0xed, 0xa0, 0x80, 0x62]) })
    expect(snippet).toMatch(/^a\ufffd+b$/)
    expect((await postTo({ body: `a${'€'.repeat(500)}` })).snippet).toBe(`a${'€'.repeat(341)}`)
    const emoji = (await postTo({ body: `ab${'😀'.repeat(500)}` })).snippet
    expect(emoji).toBe(`ab${'😀'.repeat(255)}`)
    expect(emoji.isWellFormed()).toBe(true)
  })
})

const listen = async (server: Server): Promise<{ server: Server; port: number }> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return { server, port: (server.address() as { port: number }).port }
}

describe('the error of a post without an answer names the cause', () => {
  test('a refused connection', async () => {
    const { server, port } = await listen(createServer())
    await new Promise((resolve) => server.close(resolve))
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ ok: false, error: 'connection refused' })
  })

  test('a reset connection', async () => {
    expect(await postTo({ mode: 'reset' })).toMatchObject({ ok: false, error: 'connection closed before an answer' })
  })

  test('an unknown host name', async () => {
    expect(await post('http://absent.test/')).toMatchObject({ ok: false, error: 'host name does not resolve' })
  })

  test('a look-up that fails', async () => {
    dns.set('broken.test', { mode: 'servfail' })
    expect(await post('http://broken.test/')).toMatchObject({ error: 'host name lookup failed (ESERVFAIL)' })
  })

  test('an unreachable name server', async () => {
    const gone = await openDnsServer()
    await gone.close()
    const lost = createHttpClient({ resolver: createResolver([gone.address]), allow: anyAddress })
    expect(await post('http://some.test/', 5000, lost)).toMatchObject({
      error: 'host name lookup failed (ECONNREFUSED)',
    })
    await lost.destroy()
  })

  test('an answer that is not HTTP', async () => {
    const { server, port } = await listen(createServer((socket) => socket.end('220 mail.test ESMTP\r\n')))
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ ok: false, error: 'answer is not valid HTTP' })
    server.close()
  })

  test('a server without TLS', async () => {
    const { error } = await post(`https://127.0.0.1:${receiver.port}/`)
    expect(error).toMatch(/^TLS handshake failed/)
  })

  test('endless headers', async () => {
    const endless = `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`
    const { server, port } = await listen(createServer((socket) => void socket.on('error', () => {}).write(endless)))
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ ok: false, error: 'answer has too many headers' })
    server.close()
  })
})

describe('an address that is not public gets no connection', () => {
  let guarded: HttpClient

  beforeEach(() => {
    guarded = createHttpClient({ resolver, allow: parseCidrs('') })
  })

  afterEach(() => guarded.destroy())

  const nameRefused = 'host name leads to an address that is not public'

  test.each(['127.0.0.1', '2130706433', '0x7f.1', '127.1', '[::ffff:127.0.0.1]'])('by the host %s', async (host) => {
    const outcome = await post(`http://${host}:${receiver.port}/`, 5000, guarded)
    expect(outcome.ok).toBe(false)
    expect(outcome.error).toMatch(/^address \S+ is not public$/)
    expect(receiver.connections).toBe(0)
  })

  test.each(['localhost', 'LOCALHOST.', 'a.localhost'])('by the name %s', async (host) => {
    const outcome = await post(`http://${host}:${receiver.port}/`, 5000, guarded)
    expect(outcome).toMatchObject({ ok: false, error: nameRefused })
    expect(receiver.connections).toBe(0)
  })

  test.each(['[::1]', '[64:ff9b::7f00:1]', '[2002:7f00:1::]', '10.0.0.1', '169.254.169.254', '203.0.113.1'])(
    'by the literal %s, over http and https',
    async (host) => {
      const error = expect.stringMatching(/^address \S+ is not public$/)
      expect(await post(`http://${host}/`, 5000, guarded)).toMatchObject({ ok: false, error })
      expect(await post(`https://${host}/`, 5000, guarded)).toMatchObject({ ok: false, error })
    },
  )

  test('by a name with one such address, and the error does not name the address', async () => {
    dns.set('mixed.test', { A: ['203.0.113.1', '127.0.0.1'] })
    dns.set('mapped.test', { AAAA: ['::ffff:127.0.0.1'] })
    for (const name of ['mixed.test', 'mapped.test']) {
      const outcome = await post(`http://${name}:${receiver.port}/`, 5000, guarded)
      expect(outcome.error).toBe(nameRefused)
    }
    expect(receiver.connections).toBe(0)
  })

  test('by a name that was public when the webhook was created (DNS rebinding)', async () => {
    dns.set('rebind.test', (before) => ({ A: [before === 0 ? '8.8.8.8' : '127.0.0.1'] }))
    const url = await checkWebhookUrl(`http://rebind.test:${receiver.port}/`, { resolver, allow: parseCidrs('') })
    for (let i = 0; i < 3; i++) {
      const outcome = await guarded.post(url, { headers: {}, body: '{}', timeoutMs: 5000 })
      expect(outcome).toMatchObject({ ok: false, status: null, error: nameRefused })
    }
    expect(receiver.connections).toBe(0)
  })

  test('by a name that becomes private while its old address is cached', async () => {
    const answering = createHttpServer((_, response) => response.writeHead(200, { connection: 'close' }).end())
    await new Promise<void>((resolve) => answering.listen(receiver.port, '127.0.0.2', resolve))
    dns.set('turning.test', (before) => ({ A: [before === 0 ? '127.0.0.2' : '127.0.0.1'] }))
    const half = createHttpClient({ resolver, allow: parseCidrs('127.0.0.2/32') })
    const again = () => post(`http://turning.test:${receiver.port}/`, 5000, half)
    expect(await again()).toMatchObject({ ok: true })
    const last = await eventually(async () => {
      const outcome = await again()
      return !outcome.ok && outcome
    })
    expect(last.error).toBe(nameRefused)
    expect(receiver.connections).toBe(0)
    await half.destroy()
    answering.close()
  })

  test('unless the operator permits it, by literal, by name and by localhost', async () => {
    dns.set('here.test', { A: ['127.0.0.1'] })
    const opened = createHttpClient({ resolver, allow: parseCidrs('127.0.0.0/8') })
    for (const host of ['127.0.0.1', 'here.test', 'localhost', 'a.localhost']) {
      expect(await post(`http://${host}:${receiver.port}/`, 5000, opened)).toMatchObject({ ok: true, status: 200 })
    }
    await opened.destroy()
  })
})

describe('a client that stops', () => {
  test('finishes posts in progress when it is closed', async () => {
    const waiting = postTo({ delayMs: 300 })
    await receiver.arrived(1)
    await client.close()
    expect(await waiting).toMatchObject({ ok: true, stopped: false })
    expect(await post()).toMatchObject({ ok: false, stopped: true, error: 'stopped before an answer' })
  })

  test('ends posts in progress, connected or not, when it is destroyed', async () => {
    dns.set('silent.test', { mode: 'silent' })
    const waiting = [postTo({ mode: 'hang' }), post('http://silent.test/')]
    await receiver.arrived(1)
    await client.destroy()
    for (const outcome of await Promise.all(waiting)) {
      expect(outcome).toMatchObject({ ok: false, status: null, stopped: true, error: 'stopped before an answer' })
    }
  })
})

test.each([
  ['120', 120],
  ['0', 0],
  ['Thu, 01 Jan 1970 00:01:00 GMT', 60],
  ['Thursday, 01-Jan-70 00:01:00 GMT', 60],
  ['Thu, 01 Jan 1960 00:00:00 GMT', 0],
  [['5', '9'], 5],
  ['', null],
  ['-5', null],
  ['1.5', null],
  ['soon', null],
  ['2030-01-01', null],
  ['99999999999999', null],
  [undefined, null],
] as [string | string[] | undefined, number | null][])('Retry-After %j is %j seconds', (header, seconds) => {
  expect(retryAfterSeconds(header, 0)).toBe(seconds)
})

describe('a get', () => {
  let server: Server
  let answer: Parameters<typeof createHttpServer>[1]
  const origin = () => `http://127.0.0.1:${(server.address() as { port: number }).port}`
  const get = (path: string, timeoutMs = limit(5000), by = client) =>
    by.get(`${origin()}${path}`, { accept: 'text/plain', timeoutMs, maxBytes: 1000 })
  beforeEach(async () => {
    const http = createHttpServer((request, response) => (answer as (...of: unknown[]) => void)(request, response))
    server = http as unknown as Server
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  })
  afterEach(() => new Promise<unknown>((resolve) => server.close(resolve)))

  test('that is answered piece by piece ends at its deadline, and the connection is closed', async () => {
    const closed = Promise.withResolvers<void>()
    answer = (_, response) => {
      response.writeHead(200).write('a')
      // Fewer bytes than the limit until the deadline, on a slow machine too.
      const more = setInterval(() => response.write('a'), limit(10))
      response.once('close', () => {
        clearInterval(more)
        closed.resolve()
      })
    }
    expect(await get('/secret', limit(1000))).toEqual({ body: null, error: 'no complete answer in time' })
    await closed.promise
  })

  test('has one deadline for all redirects', async () => {
    answer = (request, response) => {
      setTimeout(() => response.writeHead(302, { location: `${request.url}a` }).end(), 150)
    }
    expect(await get('/secret', 400)).toEqual({ body: null, error: 'no complete answer in time' })
  })

  test('of more bytes than allowed ends there, whatever the announced length is', async () => {
    answer = (_, response) => void response.writeHead(200).end('a'.repeat(1001))
    expect(await get('/secret')).toMatchObject({ body: null, error: expect.stringContaining('more than') })
    answer = (_, response) => void response.writeHead(200).end('a'.repeat(1000))
    expect((await get('/secret')).body).toHaveLength(1000)
  })

  test('follows no redirect to an address that is not allowed', async () => {
    const guarded = createHttpClient({ resolver, allow: parseCidrs('127.0.0.1/32') })
    answer = (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/latest' }).end()
    expect(await get('/secret', 5000, guarded)).toEqual({ body: null, error: 'address 169.254.169.254 is not public' })
    await guarded.destroy()
  })
})
