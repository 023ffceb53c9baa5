import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, type Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { getCACertificates, setDefaultCACertificates, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { anyAddress } from '../../src/net/addresses.ts'
import { createHttpClient, type HttpClient } from '../../src/net/http.ts'
import { createResolver, type Resolver } from '../../src/net/resolver.ts'
import { type BlackHole, openBlackHole } from '../support/black-hole.ts'
import { certificate, certificateKey } from '../support/certificate.ts'
import { useDnsServer } from '../support/dns.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { limit } from '../support/slowness.ts'

/** The second address is tried after this long (src/net/connect.ts). */
const attemptDelayMs = 250

let resolver: Resolver
let receiver: Receiver
let client: HttpClient
const open: { close(): unknown }[] = []

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
  for (const one of open.splice(0)) await one.close()
})

const post = (host: string, port = receiver.port, protocol = 'http', timeoutMs = limit(5000)) =>
  client.post(`${protocol}://${host}:${port}/`, { headers: {}, body: '{}', timeoutMs })

/** Opens a black hole, by default on the port of the receiver. */
const blackHole = async (host: string, port = receiver.port): Promise<BlackHole> => {
  const hole = await openBlackHole(host, port)
  open.push(hole)
  return hole
}

const listen = async (server: Server, host: string, port = 0): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(port, host, resolve))
  open.push(server)
  return (server.address() as AddressInfo).port
}

describe('a host name with several addresses', () => {
  test.each([
    ['IPv4 twice', '127.0.0.2', { A: ['127.0.0.2', '127.0.0.1'] }],
    ['both families', '::1', { A: ['127.0.0.1'], AAAA: ['::1'] }],
  ])('is reached within 2.5 s if one address is a black hole: %s', async (_, hole, records) => {
    await blackHole(hole)
    dns.set('half.test', records)
    const outcome = post('half.test')
    expect(await settlesWithin(outcome, 2500)).toBe(true)
    expect(await outcome).toMatchObject({ ok: true, status: 200 })
  })

  test('is reached over IPv6 if its IPv4 address is a black hole', async () => {
    const answering = createHttpServer((_, response) => response.end('six'))
    await listen(answering, '::1', receiver.port)
    await blackHole('127.0.0.2')
    dns.set('six.test', { A: ['127.0.0.2'], AAAA: ['::1'] })
    expect(await post('six.test')).toMatchObject({ ok: true, snippet: 'six' })
  })

  test('is reached at its last address after twelve black holes', async () => {
    const holes = Array.from({ length: 12 }, (_, i) => `127.0.0.${i + 2}`)
    for (const hole of holes) await blackHole(hole)
    dns.set('last.test', { A: [...holes, '127.0.0.1'] })
    const outcome = post('last.test')
    expect(await settlesWithin(outcome, 4000)).toBe(true)
    expect(await outcome).toMatchObject({ ok: true, status: 200 })
  })

  test.each([
    ['first', ['127.0.0.3', '127.0.0.2']],
    ['last', ['127.0.0.2', '127.0.0.3']],
  ])('is reached at an address that connects slowly, next to a black hole: the slow address is %s', async (_, A) => {
    await blackHole('127.0.0.2')
    const slow = await blackHole('127.0.0.3')
    dns.set('slow.test', { A })
    const posting = post('slow.test')
    setTimeout(slow.open, 600)
    expect(await posting).toMatchObject({ ok: true, status: 200, snippet: 'late' })
  })

  test('gets only one connection if its first address answers before the second one is tried', async () => {
    let connections = 0
    const other = createTcpServer((socket) => {
      connections++
      socket.on('error', () => {})
    })
    await listen(other, '127.0.0.2', receiver.port)
    dns.set('both.test', { A: ['127.0.0.1', '127.0.0.2'] })
    // On a busy machine the first address may answer too late: then another client tries.
    await eventually(async () => {
      await client.destroy()
      client = createHttpClient({ resolver, allow: anyAddress })
      connections = 0
      const { ok, durationMs } = await post('both.test')
      expect(ok).toBe(true)
      return durationMs < attemptDelayMs
    })
    // An attempt that was not cancelled would be due by now, and would arrive before this connection.
    await sleep(attemptDelayMs)
    const later = connect(receiver.port, '127.0.0.2').on('error', () => {})
    await expect.poll(() => connections).toBeGreaterThan(0)
    expect(connections).toBe(1)
    later.destroy()
  })

  test('is reached at the next address if the first one refuses', async () => {
    dns.set('refusing.test', { A: ['127.0.0.2', '127.0.0.1'] })
    expect(await post('refusing.test')).toMatchObject({ ok: true })
  })

  test('is refused if all its addresses refuse', async () => {
    dns.set('refused.test', { A: ['127.0.0.2', '127.0.0.3'], AAAA: ['::1'] })
    expect(await post('refused.test')).toMatchObject({ ok: false, error: 'connection refused' })
  })

  test('times out if all its addresses are black holes, and closing the client does not wait for them', async () => {
    await blackHole('127.0.0.2')
    await blackHole('127.0.0.3')
    dns.set('holes.test', { A: ['127.0.0.2', '127.0.0.3'] })
    expect(await post('holes.test', undefined, 'http', 5000)).toMatchObject({ ok: false, error: 'timed out after 5 s' })
    expect(await settlesWithin(client.close(), 2000)).toBe(true)
  })
})

describe('over TLS', () => {
  const trusted = getCACertificates()
  beforeAll(() => setDefaultCACertificates([...trusted, certificate]))
  afterAll(() => setDefaultCACertificates(trusted))

  const openTls = async (): Promise<{ port: number; names: unknown[] }> => {
    const names: unknown[] = []
    const server = createServer({ key: certificateKey, cert: certificate }, (request, response) => {
      names.push((request.socket as TLSSocket & { servername?: string }).servername)
      response.end('over TLS')
    })
    return { port: await listen(server, '127.0.0.1'), names }
  }

  test('the certificate must match the host name, whichever address answers', async () => {
    const { port, names } = await openTls()
    await blackHole('127.0.0.2', port)
    dns.set('tls.test', { A: ['127.0.0.2', '127.0.0.1'] })
    expect(await post('tls.test', port, 'https')).toMatchObject({ ok: true, snippet: 'over TLS' })
    expect(await post('tls.test', port, 'https')).toMatchObject({ ok: true, snippet: 'over TLS' })
    expect(names).toEqual(['tls.test', 'tls.test'])
  })

  test('the certificate of another host name is refused', async () => {
    const { port } = await openTls()
    dns.set('other.test', { A: ['127.0.0.1'] })
    const error = 'TLS certificate is not valid (ERR_TLS_CERT_ALTNAME_INVALID)'
    expect(await post('other.test', port, 'https')).toMatchObject({ ok: false, error })
    expect(await post('127.0.0.1', port, 'https')).toMatchObject({ ok: false, error })
  })

  test('a handshake that never completes ends at the deadline, and its connection is closed', async () => {
    let isOpen = false
    const mute = createTcpServer((socket) => {
      isOpen = true
      socket
        .on('error', () => {})
        .on('close', () => {
          isOpen = false
        })
      socket.resume()
    })
    const port = await listen(mute, '127.0.0.1')
    expect(await post('127.0.0.1', port, 'https', 5000)).toMatchObject({ ok: false, error: 'timed out after 5 s' })
    expect(await settlesWithin(client.close(), 2000)).toBe(true)
    await expect.poll(() => isOpen).toBe(false)
  })
})
