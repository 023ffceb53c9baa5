import { once } from 'node:events'
import { connect } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { serializers } from '../../src/app/daemon/log.ts'
import { loadRoutes } from '../../src/app/features.ts'
import { openRoute, route } from '../../src/http/route.ts'
import { buildServer, type Server } from '../../src/http/server.ts'
import { Problem } from '../../src/lib/problem.ts'
import type { Page } from '../../src/pages/page.ts'
import { useAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'

let server: Server
let port: number
let lines: { level: number; status?: number; [property: string]: unknown }[]

/** Text that only the operator may read. */
const inside = "A stored secret can't be opened: SVC_SECRET is not the one that sealed it"
const fail = async (): Promise<never> => {
  throw new Problem('configuration', inside, { hint: 'look at /etc/svc' })
}

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  const logger = pino({ level: 'trace', serializers }, { write: (line) => void lines.push(JSON.parse(line)) })
  lines = []
  const answers = { 200: z.object({}) }
  const routes = [
    route({
      name: 'breakOnWrite',
      method: 'POST',
      path: '/broken',
      summary: 'x',
      body: z.object({}),
      answers,
      handle: fail,
    }),
    ...(await loadRoutes()).filter(({ path }) => path === '/lists'),
    openRoute({ name: 'breakOnRead', method: 'GET', path: '/broken', summary: 'x', answers, handle: fail }),
  ]
  const pages: Page[] = [
    { method: 'GET', path: '/x/broken', handle: fail },
    { method: 'POST', path: '/x/form', handle: fail },
  ]
  server = await buildServer(t.app, routes, logger, pages)
  await server.fastify.listen({ port: 0, host: '127.0.0.1' })
  port = (server.fastify.server.address() as { port: number }).port
})
afterAll(() => server.drain())

test.each([
  ['POST', '/api/v1/broken'],
  ['GET', '/api/v1/broken'],
  ['GET', '/x/broken'],
] as const)(
  'a fault of the configuration is 500 in a fixed sentence, and told to the log alone: %s %s',
  async (method, path) => {
    lines = []
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
      ...(method === 'POST' && { body: '{}' }),
    })
    expect(reply.status).toBe(500)
    const text = await reply.text()
    expect(text).toContain('Something went wrong')
    expect(text).not.toMatch(/SVC_SECRET|stored secret|etc/)
    expect(lines.filter(({ level }) => level >= 50)).toMatchObject([{ err: { message: inside } }])
  },
)

test.each([
  ['the API', '/api/v1/broken', 'application/json'],
  ['a page', '/x/form', 'application/x-www-form-urlencoded'],
])('an upload to %s that its client aborts is neither an error nor a 503 in the log', async (_, path, type) => {
  lines = []
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: ${type}\r\nContent-Length: 1000\r\n\r\n{"a":`,
  )
  socket.end()
  const statuses = () => lines.flatMap(({ status }) => status ?? [])
  await expect.poll(statuses).toEqual([499])
  expect(lines.filter(({ level }) => level >= 40)).toEqual([])
  // Times and ids may contain any digits.
  const said = lines.map(({ time: _time, pid: _pid, reqId: _reqId, ms: _ms, ...line }) => line)
  expect(JSON.stringify(said)).not.toContain('503')
})

test('a request whose client disconnects before the answer has a line in the log', async () => {
  lines = []
  const call = new AbortController()
  const holder = await t.app.database.connect()
  await holder.query('begin; lock table contact_lists in access exclusive mode')
  const lists = fetch(`http://127.0.0.1:${port}/api/v1/lists`, {
    headers: { authorization: `Bearer ${account.key}` },
    signal: call.signal,
  }).catch(() => 'gone')
  await untilLocked(t.app, 1)
  call.abort()
  expect(await lists).toBe('gone')
  await expect.poll(() => lines.length).toBe(1)
  await holder.query('rollback')
  await holder.end()
  expect(lines).toMatchObject([
    { method: 'GET', route: '/api/v1/lists', status: 499, account: account.id, key: account.keyId, msg: 'request' },
  ])
})

test('an upload above the memory limit is refused without an error in the log', async () => {
  lines = []
  const sockets = Array.from({ length: 40 }, () => connect(port, '127.0.0.1').on('error', () => {}))
  for (const socket of sockets) {
    socket.write(
      `POST /api/v1/broken HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${account.key}\r\nContent-Type: application/json\r\nContent-Length: 1048576\r\n\r\n`,
    )
    socket.resume().write(Buffer.alloc(1_048_000, 0x20))
  }
  const statuses = () => lines.flatMap(({ status }) => status ?? [])
  await expect.poll(statuses).toEqual(Array(8).fill(503))
  expect(lines.filter(({ level }) => level >= 40)).toEqual([])
  for (const socket of sockets) socket.destroy()
  await expect.poll(() => statuses().length).toBe(40)
})
