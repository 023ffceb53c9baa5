import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { mergeChunks } from '../../src/http/bodies.chunks.ts'
import { JsonScanner } from '../../src/http/bodies.json.ts'
import { type FormBench, formBench, urlencoded, useForms } from '../forms/support.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { costOf, leastCostOf } from '../support/cost.ts'
import { eventually } from '../support/eventually.ts'

/** Length, count and credentials are checked before expensive work: one call must not delay all others. */

let bench: FormBench
let folder: string

const t = useForms()
beforeAll(async () => {
  bench = await formBench(t)
  folder = await mkdtemp(join(tmpdir(), 'svc-cost-'))
})
afterAll(() => rm(folder, { recursive: true, force: true }))

/** 512 KB of UTF-8 with combining marks that NFC has to reorder, which takes 37 s. */
const marks = `${'\u0315\u0300'.repeat(128 * 1024)}@acme.test`

describe('an address of combining marks', () => {
  const email = `a${marks}`
  const to = { subject: 's', html: 'h', text: 't' }

  test.each([
    ['POST', '/contacts', () => ({ listId: bench.listId, email })],
    ['POST', '/contacts', () => ({ listId: bench.listId, contacts: [{ email }] })],
    ['POST', '/deals', () => ({ title: 'x', email })],
    ['POST', '/journeys/jrn_x/trigger', () => ({ listId: bench.listId, email })],
    ['POST', '/send', () => ({ to: email, ...to })],
    ['POST', '/send', () => ({ to: 'a@acme.test', from: { email }, ...to })],
    ['POST', '/send', () => ({ to: 'a@acme.test', replyTo: email, ...to })],
    ['POST', '/webinars/web_x/register', () => ({ email, name: 'x' })],
    ['POST', '/courses/crs_x/enroll', () => ({ email })],
    ['POST', '/courses/crs_x/embed-token', () => ({ email })],
  ] as const)('is refused at once by %s %s', async (method, path, body) => {
    const [cost, reply] = await leastCostOf(() => t.request(method, path, { key: bench.account.key, body: body() }))
    expect([reply.status, cost < 250 ? 'cheap' : cost]).toEqual([400, 'cheap'])
  })

  test('is refused quickly by a public form, by its address and by a field of the kind email', async () => {
    const { id } = await bench.form({ fields: [{ name: 'other', type: 'email' }] })
    for (const fieldsOf of [
      (address: string) => ({ email: address }),
      (other: string) => ({ email: 'ada@acme.test', other }),
    ]) {
      const asJson = { body: fieldsOf(`a${marks.slice(-30_000)}`) }
      // A percent sign and two digits for each byte.
      const asForm = urlencoded(fieldsOf(`a${marks.slice(-10_000)}`))
      for (const request of [asJson, asForm]) {
        const [cost, reply] = await leastCostOf(() => t.request('POST', `/f/${id}`, request))
        expect([reply.status, cost < 100 ? 'cheap' : cost]).toEqual([400, 'cheap'])
      }
    }
  })

  test('is a rejected row of an import, and skipped as a suppression', async () => {
    const path = join(folder, 'marks.csv')
    await writeFile(path, `email,name\n${email},x\nada@acme.test,Ada\n`)
    const run = async (...args: string[]) => {
      const [cost, { stdout }] = await costOf(() => svc(t, ['--account', bench.account.id, ...args, '--json']))
      expect(cost).toBeLessThan(1000)
      return JSON.parse(stdout)
    }
    expect(await run('contacts', 'import', path, '--list', 'Leads')).toMatchObject({ created: 1, rejected: 1 })
    expect(await run('suppressions', 'import', path)).toMatchObject({ added: 1 })
  })
})

const listening = async () => {
  const { server } = t.server.fastify
  if (!server.listening) await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
  return server.address() as { port: number }
}

/** A connection that sends a request's head and then the given parts of its body. */
const upload = async (path: string, headers: Record<string, string | number>) => {
  const socket = connect((await listening()).port, '127.0.0.1')
  let answer = ''
  const answered = new Promise<string>((resolve) => {
    socket.setEncoding('utf8').on('data', (text) => {
      answer += text
      resolve(answer)
    })
    socket.on('error', () => resolve(answer)).on('close', () => resolve(answer))
  })
  const lines = Object.entries({ 'content-type': 'application/json', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  )
  socket.write(`POST ${path} HTTP/1.1\r\nhost: x\r\n${lines.join('')}\r\n`)
  return { socket, answered, said: () => answer }
}

const [routes, pages] = await Promise.all([loadRoutes(), loadPages()])

describe('a body', () => {
  const large = new Set(['POST /contacts', 'POST /send'])
  const taking = routes.filter(({ body }) => body)

  test.each(taking)('of $method $path has its limit, which the refusal names', async ({ method, path, isOpen }) => {
    const [bytes, name] = isOpen
      ? [65_536, '64 KB']
      : large.has(`${method} ${path}`)
        ? [8_388_608, '8 MB']
        : [1_048_576, '1 MB']
    const token = t.app.tokens.sign('liveview', [bench.account.id, 'msg_x'], null)
    const call = (length: number) =>
      t.request(method, path.replace(':token', token), { key: bench.account.key, body: `"${'x'.repeat(length - 2)}"` })
    expect((await call(bytes)).status).not.toBe(413)
    const refused = await call(bytes + 1)
    expect([refused.status, refused.body]).toEqual([413, { error: `body must be at most ${name}` }])
  })

  test.each(pages.filter(({ method }) => method === 'POST'))(
    'of POST $path has 64 KB at most, where no field of a form needs more',
    async ({ path, token }) => {
      const signed = token ? t.app.tokens.sign(token, [bench.account.id, 'x'], null) : 'x'
      const url = path.replace(/:token/, signed).replace(/:\w+/g, 'x')
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      expect((await t.request('POST', url, { headers, body: 'x'.repeat(65_536) })).status).not.toBe(413)
      expect((await t.request('POST', url, { headers, body: 'x'.repeat(65_537) })).status).toBe(413)
    },
  )

  const open = [
    ...taking.filter(({ isOpen }) => isOpen).map(({ path }) => `/api/v1${path}`),
    ...pages.filter(({ method, path }) => method === 'POST' && path.includes(':token')).map(({ path }) => path),
  ]
  test.each(open)('of %s is not read for a token that was not signed here', async (path) => {
    const { socket, answered } = await upload(path.replace(':token', 'nonsense'), { 'content-length': 60_000 })
    expect(await answered).toMatch(/^HTTP\/1\.1 404 /)
    socket.destroy()
  })

  test('of more values or levels than any request has is refused before it is parsed', async () => {
    const post = (body: string) => t.request('POST', '/contacts', { key: bench.account.key, body })
    const objects = `{"listId":"x","contacts":[${'{},'.repeat(2_700_000)}{}]}`
    const values = await costOf(() => post(objects))
    expect(values[1].body).toEqual({ error: 'body must have at most 50,000 values' })
    expect(values[0]).toBeLessThan(250)
    const levels = await post(`{"listId":"x","contacts":${'['.repeat(100_000)}${']'.repeat(100_000)}}`)
    expect([levels.status, levels.body]).toEqual([400, { error: 'body must not be nested deeper than 64 levels' }])
    // Brackets and commas in strings don't count.
    const text = await post(JSON.stringify({ listId: 'x', email: 'a@acme.test', fields: { x: '[,"{\\'.repeat(1000) } }))
    expect(text.status).toBe(404)
  })
})

describe('the values of a text are counted as it arrives', () => {
  const weigh = (text: string, most: number, size: number) => {
    const scanner = new JsonScanner(most)
    const bytes = Buffer.from(text)
    for (let at = 0; at < bytes.length; at += size) scanner.scan(bytes.subarray(at, at + size))
  }

  test.each([1, 2, 3, 5, 1000])('in chunks of %i bytes', (size) => {
    // Commas and opening brackets count, except in strings.
    const text = `{"a,[{\\\\\\",[": ["é,", "\\\\", {"\\"": [1,2,3]}, ""], "b\\\\": "]}}}"}`
    JSON.parse(text)
    expect(() => weigh(text, 10, size)).not.toThrow()
    expect(() => weigh(text, 9, size)).toThrow('body must have at most 9 values')
    const deep = (levels: number) => `"[[\\"[" ${'[{"a":'.repeat(levels / 2)}1${'}]'.repeat(levels / 2)}`
    expect(() => weigh(`[${deep(62)},${deep(62)}]`, 1000, size)).not.toThrow()
    expect(() => weigh(deep(66), 1000, size)).toThrow('body must not be nested deeper than 64 levels')
  })
})

test('a body that is not UTF-8 is refused, by the API and by a page that takes JSON', async () => {
  const body = (text: string) => new Uint8Array(Buffer.from(text, 'latin1'))
  const { id } = await bench.form()
  const headers = { 'content-type': 'application/json' }
  const { port } = await listening()
  for (const [path, text] of [
    ['/api/v1/contacts', `{"listId":"${bench.listId}","email":"zoe@acme.test","fields":{"name":"Zo\xeb"}}`],
    [`/f/${id}`, '{"email":"zoe@acme.test","first_name":"Zo\xeb"}'],
  ] as const) {
    const post = (bytes: Uint8Array) =>
      fetch(`http://127.0.0.1:${port}${path}`, {
        method: 'POST',
        headers: { ...headers, authorization: `Bearer ${bench.account.key}` },
        body: bytes as Uint8Array<ArrayBuffer>,
      })
    const reply = await post(body(text))
    expect([reply.status, await reply.json()]).toEqual([400, { error: 'body must be UTF-8' }])
    expect((await post(Buffer.from(text))).ok).toBe(true)
  }
})

describe('arrays and objects are counted before their items are validated', () => {
  const wide = (count: number, value: unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, value]))

  test.each([
    [
      '/webhooks',
      () => ({ url: 'https://example.com', events: Array(9_000).fill('x') }),
      'events must have at most 100 items',
    ],
    [
      '/webhooks',
      () => ({ url: 'https://example.com', events: Array(4_900).fill({}) }),
      'events must have at most 100 items',
    ],
    [
      '/contacts',
      () => ({ listId: bench.listId, contacts: Array(45_000).fill(1) }),
      'contacts must have 1 to 500 items',
    ],
    [
      '/contacts',
      () => ({ listId: bench.listId, email: 'a@acme.test', fields: wide(45_000, 1) }),
      'fields must have at most 1000 properties',
    ],
    [
      '/contacts',
      () => ({ listId: bench.listId, contacts: [{ email: 'a@acme.test', ...wide(45_000, 'x') }] }),
      'A list can have at most 40 columns',
    ],
    [
      '/contacts',
      () => ({
        listId: bench.listId,
        contacts: Array.from({ length: 500 }, (_, i) => ({
          email: 'é@acme.test',
          ...Object.fromEntries(Array.from({ length: 95 }, (_, k) => [`k${i * 95 + k}`, 'x'])),
        })),
      }),
      'A list can have at most 40 columns',
    ],
    [
      '/send',
      () => ({ to: 'a@acme.test', projectId: 'prj_x', mergeData: wide(45_000, '\0') }),
      "mergeData can't have more than 100 fields",
    ],
  ])('POST %s', async (path, body, error) => {
    const text = JSON.stringify(body())
    const [cost, reply] = await leastCostOf(() => t.request('POST', path, { key: bench.account.key, body: text }))
    expect([reply.status, reply.body, cost < 150 ? 'cheap' : cost]).toEqual([400, { error }, 'cheap'])
  })
})

describe('uploads that never end', () => {
  const begin = async (count: number, key: string) => {
    const uploads = []
    for (let i = 0; i < count; i++) {
      const one = await upload('/api/v1/contacts', { authorization: `Bearer ${key}`, 'content-length': 8_000_000 })
      one.socket.write(`"${'x'.repeat(7_900_000)}`)
      uploads.push(one)
    }
    return uploads
  }
  const end = (sockets: { socket: Socket }[]) => {
    for (const { socket } of sockets) socket.destroy()
  }

  test('hold a bounded amount of memory for each account, and take none from another', async () => {
    const uploads = await begin(8, bench.account.key)
    const refused = () => uploads.map(({ said }) => said()).filter((answer) => answer.endsWith('}'))
    await expect.poll(() => refused().length).toBe(4)
    for (const answer of refused()) {
      expect(answer).toMatch(
        /^HTTP\/1\.1 503 [\s\S]*retry-after: 2[\s\S]*"Too many uploads are in progress: try again"/,
      )
    }
    const other = await t.account()
    const body = { listId: 'lst_x', email: 'a@acme.test', fields: { x: 'x'.repeat(900_000) } }
    expect((await t.request('POST', '/contacts', { key: other.key, body })).status).toBe(400)
    end(uploads)
    // Their memory is released, soon also that of all: four wait for the rest of their bodies, while one more is refused.
    let five: typeof uploads = []
    await eventually(async () => {
      end(five)
      five = await begin(5, bench.account.key)
      const answers = () => five.map(({ said }) => said()).filter((answer) => answer !== '')
      await eventually(() => answers().length > 0)
      return answers().length === 1 && answers()[0]!.startsWith('HTTP/1.1 503 ')
    })
    end(five)
  })

  test('in one-byte chunks are refused', async () => {
    const { id } = await bench.form()
    const { socket, answered } = await upload(`/f/${id}`, { 'transfer-encoding': 'chunked' })
    socket.write('1\r\nx\r\n'.repeat(10_000))
    expect(await answered).toMatch(/^HTTP\/1\.1 400 [\s\S]*"body must not be sent in chunks of a few bytes"/)
    socket.destroy()
  })

  test('in one-byte chunks take little memory while they wait, and none after they are refused', async () => {
    const requests: IncomingMessage[] = []
    const server = createServer((request) => void requests.push(request)).prependListener('request', mergeChunks)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const { port } = server.address() as { port: number }
    const send = (body: string) => {
      const socket = connect(port, '127.0.0.1').on('error', () => {})
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${body}`)
      return socket
    }
    const text = 'abcdefghij'.repeat(400)
    const sockets = [
      send(
        [...text]
          .map((byte) => `1\r\n${byte}\r\n`)
          .join('')
          .concat('0\r\n\r\n'),
      ),
      send('1\r\nx\r\n'.repeat(100_000)),
    ]
    await expect.poll(() => requests.length).toBe(2)
    await expect.poll(() => requests[0]!.complete).toBe(true)
    const pieces: Buffer[] = []
    for await (const piece of requests[0]!) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toBe(text)
    expect(pieces.length).toBeLessThan(10)
    // The connection ends because the chunks are too small.
    let bytes = 0
    for await (const piece of requests[1]!) bytes += piece.length
    expect(bytes).toBeLessThanOrEqual(4096)
    for (const socket of sockets) socket.destroy()
    server.close()
    server.closeAllConnections()
  })

  test('in chunks of other sizes arrive unchanged', async () => {
    const name = Array.from({ length: 3000 }, (_, i) => `${i} é`)
      .join(' ')
      .slice(0, 9000)
    const body = Buffer.from(JSON.stringify({ listId: bench.listId, email: 'chunks@acme.test', fields: { name } }))
    for (const sizes of [[17], [1, 40_000], [16 * 1024, 3, 500], [100_000]]) {
      const { socket, answered } = await upload('/api/v1/contacts', {
        authorization: `Bearer ${bench.account.key}`,
        'transfer-encoding': 'chunked',
      })
      for (let at = 0, i = 0; at < body.length; i++) {
        const piece = body.subarray(at, at + sizes[i % sizes.length]!)
        at += piece.length
        socket.write(`${piece.length.toString(16)}\r\n`)
        socket.write(piece)
        socket.write('\r\n')
      }
      socket.write('0\r\n\r\n')
      expect(await answered).toMatch(/^HTTP\/1\.1 20[01] /)
      socket.destroy()
      const { body: found } = await ok(t.request('GET', '/contacts?email=chunks@acme.test', { key: bench.account.key }))
      expect(found.contacts[0]!.fields.name).toBe(name)
    }
  })

  test('on a route without a key end after 15 s, earlier than on a route with one', async () => {
    const { id } = await bench.form()
    const headers = { authorization: `Bearer ${bench.account.key}`, 'content-length': 60_000 }
    const keyed = await upload('/api/v1/contacts', headers)
    const { socket, answered } = await upload(`/f/${id}`, { 'content-length': 60_000 })
    const drip = setInterval(() => {
      for (const one of [socket, keyed.socket]) one.write(' ')
    }, 500)
    expect(await answered).toMatch(/^HTTP\/1\.1 408 [\s\S]*"The request took too long to arrive"/)
    expect(keyed.said()).toBe('')
    clearInterval(drip)
    end([{ socket }, keyed])
  })
})

describe('limits of all clients together', () => {
  test('an address has 512 connections; one more is closed immediately, and one of another address is served', async () => {
    await upload('/', {}).then(({ socket }) => socket.destroy())
    const { port } = t.server.fastify.server.address() as { port: number }
    const open = (localAddress: string) => connect({ port, host: '127.0.0.1', localAddress })
    const sockets = Array.from({ length: 513 }, () => open('127.0.0.9'))
    const closed = () => sockets.filter(({ readableEnded, destroyed }) => readableEnded || destroyed).length
    for (const socket of sockets) socket.on('error', () => {}).resume()
    await expect.poll(closed).toBe(1)
    const other = open('127.0.0.10')
    other.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    expect(String((await once(other, 'data'))[0])).toMatch(/^HTTP\/1\.1 200 /)
    for (const socket of [...sockets, other]) socket.destroy()
    expect(t.server.fastify.server.maxConnections).toBe(4096)
  })

  test('with 1,000 requests in flight, one more is refused immediately, and probes are answered', async () => {
    const get = () => t.request('GET', '/lists', { key: bench.account.key })
    // They wait for their bodies: waits for the database end after 5 s, before a slow machine has sent all requests.
    const headers = { authorization: `Bearer ${bench.account.key}`, 'content-length': 2 }
    const uploads: Awaited<ReturnType<typeof upload>>[] = []
    let received = 0
    const { server } = t.server.fastify
    const count = () => received++
    server.on('request', count)
    onTestFinished(() => void server.off('request', count))
    // A hundred at a time: the server's queue of connections has 511 places.
    while (uploads.length < 1000) {
      uploads.push(...(await Promise.all(Array.from({ length: 100 }, () => upload('/api/v1/contacts', headers)))))
      // No other call until all have been received: it would take the place of one of them.
      await eventually(() => received === uploads.length)
    }
    const refused = await get()
    expect([refused.status, refused.headers['retry-after'], refused.body]).toEqual([
      503,
      '1',
      { error: 'The service is too busy: try again' },
    ])
    expect((await t.request('GET', '/healthz')).status).toBe(200)
    const [first, ...others] = uploads
    first!.socket.write('{}')
    expect(await first!.answered).toMatch(/^HTTP\/1\.1 400 /)
    expect((await get()).status).toBe(200)
    for (const { socket } of others) socket.write('{}')
    for (const { answered } of others) expect(await answered).toMatch(/^HTTP\/1\.1 400 /)
    for (const { socket } of uploads) socket.destroy()
  })
})
