import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { loadPages, loadRoutes } from '../../src/app/features.ts'
import type { Answered, Content } from '../../src/http/answered.ts'
import { buildServer, type Server } from '../../src/http/server.ts'
import { useAccount, useApp } from '../support/app.ts'

let server: Server
const told: Answered[] = []
let passContent = (_content: Content | null) => {}

const t = useApp()
const account = useAccount(t)
beforeAll(async () => {
  const log = pino({ level: 'silent' })
  server = await buildServer(t.app, await loadRoutes(), log, await loadPages(), {
    onAnswered: (answered, content) => {
      told.push(answered)
      passContent(content)
    },
  })
})
beforeEach(() => void told.splice(0))
afterAll(() => server.drain())

const get = (url: string) => server.fastify.inject({ url, headers: { authorization: `Bearer ${account.key}` } })

test('each request is reported with its method, path, status, time and id', async () => {
  const answer = await get('/api/v1/lists')
  expect(told).toEqual([
    {
      method: 'GET',
      path: '/api/v1/lists',
      status: 200,
      ms: expect.any(Number),
      requestId: answer.headers['x-request-id'],
    },
  ])
  await server.fastify.inject({ method: 'PATCH', url: '/api/v1/deals/deal_1', payload: {} })
  expect(told[1]).toMatchObject({ method: 'PATCH', path: '/api/v1/deals/deal_1', status: 401 })
})

test('no query, key, body, token or address is reported', async () => {
  const token = 'x'.repeat(80)
  await get('/api/v1/contacts?email=ada@people.example')
  await get(`/u/${token}`)
  await get(`/u/short-token`)
  await get('/api/v1/nothing/ada@people.example')
  await get('/api/v1/nothing/ada%40people.example')
  await get(`/nothing/${token}?ada@people.example`)
  await get('/%ZZ?ada@people.example')
  expect(told.slice(0, 3).map(({ path }) => path)).toEqual(['/api/v1/contacts', '/u/:token', '/u/:token'])
  expect(told.length).toBeGreaterThanOrEqual(6)
  expect(JSON.stringify(told)).not.toMatch(/people|xxxx|short-token|svc_live/)
})

test('the content of a call is passed beside, as it was sent; that of pages is not', async () => {
  const contents: (Content | null)[] = []
  passContent = (content) => void contents.push(content)
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const send = (payload: string) =>
    server.fastify.inject({ method: 'POST', url: '/api/v1/contacts?x=1', headers, payload })
  const body = { listId: 'lst_none', email: ' Ada@People.example ' }
  const answer = await send(JSON.stringify(body))
  await send('{"listId":')
  await server.fastify.inject({ method: 'POST', url: '/api/v1/contacts', payload: body })
  await get('/u/token?token=secret')
  expect(contents).toEqual([
    { query: '?x=1', sent: body, received: answer.body },
    { query: '?x=1', sent: undefined, received: '{"error":"body must be valid JSON"}' },
    { query: '', sent: undefined, received: expect.stringContaining('Missing or invalid') },
    null,
  ])
})
