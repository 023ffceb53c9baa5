import { pino } from 'pino'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import { buildServer, type Server } from '../../src/http/server.ts'
import { type FormBench, formBench, useForms } from './support.ts'

let bench: FormBench
let id: string
let clients = 0
/** The client address; each test has its own. */
let client: string

const t = useForms({ env: { SVC_RATE_LIMIT_FORMS: '30', SVC_TRUST_PROXY: '10.0.0.0/8, 2001:db8::/32' } })
beforeAll(async () => {
  bench = await formBench(t)
  id = (await bench.form({ origins: ['https://shop.example'] })).id
})
beforeEach(() => {
  client = `198.51.100.${++clients}`
})

interface Post {
  from: string
  forwarded?: string
  isForm?: boolean
  server?: Server
}

const post = ({ from, forwarded, isForm, server = t.server }: Post) =>
  server.fastify.inject({
    method: 'POST',
    url: `/f/${id}`,
    remoteAddress: from,
    headers: {
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json',
      origin: 'https://shop.example',
      ...(forwarded && { 'x-forwarded-for': forwarded }),
    },
    payload: isForm ? 'email=ada%40acme.test' : '{"email":"ada@acme.test"}',
  })
const statuses = async (count: number, how: (i: number) => Post) => {
  const replies = await Promise.all(Array.from({ length: count }, (_, i) => post(how(i))))
  const counts: Record<number, number> = {}
  for (const { statusCode } of replies) counts[statusCode] = (counts[statusCode] ?? 0) + 1
  return counts
}

test('a client address is limited to 30 submissions a minute over all daemons of a database', async () => {
  const other = await openApp(readConfig(t.env))
  const second = await buildServer(other, await loadRoutes(), pino({ level: 'silent' }), await loadPages())
  expect(await statuses(50, (i) => ({ from: client, ...(i % 2 && { server: second }) }))).toEqual({ 200: 30, 429: 20 })
  await second.drain()
  await other.close()
})

test('beyond the limit a script gets a readable 429 { error }, a browser a page, both with Retry-After; other clients are not affected', async () => {
  await statuses(30, () => ({ from: client }))
  const json = await post({ from: client })
  expect([json.statusCode, json.json()]).toEqual([429, { error: 'Too many submissions in a minute' }])
  expect(json.headers['access-control-allow-origin']).toBe('https://shop.example')
  const page = await post({ from: client, isForm: true })
  expect([page.statusCode, page.headers['content-type']]).toEqual([429, 'text/html; charset=utf-8'])
  for (const { headers } of [json, page]) {
    expect(Number(headers['retry-after'])).toBeGreaterThan(0)
    expect(Number(headers['retry-after'])).toBeLessThanOrEqual(60)
  }
  expect((await post({ from: `${client}9` })).statusCode).toBe(200)
  await t.app.sql(`update rate_windows set started_at = started_at - interval '61 seconds' where key_id = $1`, [client])
  expect((await post({ from: client })).statusCode).toBe(200)
})

test('an IPv4 address is one client, also if it is IPv6-mapped', async () => {
  expect(await statuses(32, (i) => ({ from: i % 2 ? client : `::ffff:${client}` }))).toEqual({ 200: 30, 429: 2 })
})

test('all addresses of one IPv6 network are one client; the next network is another', async () => {
  const network = `2a00:1450:4001:${clients.toString(16)}`
  const spelled = (i: number) => (i % 2 ? `${network}::${i.toString(16)}` : `${network}:0:0:0:${i.toString(16)}`)
  expect(await statuses(32, (i) => ({ from: spelled(i + 1) }))).toEqual({ 200: 30, 429: 2 })
  expect((await post({ from: `${network.replace('4001', '4002')}::1` })).statusCode).toBe(200)
})

test('X-Forwarded-For of a socket outside SVC_TRUST_PROXY is ignored', async () => {
  expect(await statuses(32, (i) => ({ from: client, forwarded: `203.0.113.${i}` }))).toEqual({ 200: 30, 429: 2 })
})

test('behind a trusted proxy, the last untrusted address of X-Forwarded-For counts, not those that the client wrote before it', async () => {
  const through = (forwarded: string) => ({ from: '10.1.2.3', forwarded })
  expect(await statuses(32, (i) => through(`203.0.113.${i}, ${client}, 10.9.9.9`))).toEqual({ 200: 30, 429: 2 })
  expect((await post(through(`${client}, 203.0.113.77`))).statusCode).toBe(200)
})

test('a port that a trusted proxy appends to an address does not make another client of it', async () => {
  const through = (forwarded: string) => ({ from: '10.1.2.3', forwarded })
  expect(await statuses(32, (i) => through(`${client}:${40_000 + i}, 10.9.9.9:${i + 1}`))).toEqual({ 200: 30, 429: 2 })
  const network = `2a00:1450:4003:${clients.toString(16)}`
  expect(await statuses(32, (i) => through(`[${network}::1]:${40_000 + i}`))).toEqual({ 200: 30, 429: 2 })
})

test('SVC_TRUST_PROXY can name every address; the first address of X-Forwarded-For is then the client', async () => {
  const app = await openApp(readConfig({ ...t.env, SVC_TRUST_PROXY: '0.0.0.0/0, ::/0' }))
  const server = await buildServer(app, await loadRoutes(), pino({ level: 'silent' }), await loadPages())
  const through = (i: number) => ({ server, from: i % 2 ? '::1' : '198.18.0.1', forwarded: `${client}, 198.18.0.${i}` })
  expect(await statuses(32, through)).toEqual({ 200: 30, 429: 2 })
  await server.drain()
  await app.close()
})

test('viewing the form is not limited', async () => {
  await statuses(31, () => ({ from: client }))
  const look = await t.server.fastify.inject({ method: 'GET', url: `/f/${id}`, remoteAddress: client })
  expect(look.statusCode).toBe(200)
})
