import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { setPlanLimits } from '../../src/accounts/accounts.plans.ts'
import { accountUsage } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { created, route } from '../../src/http/route.ts'
import { buildServer, type Server } from '../../src/http/server.ts'
import { notFound } from '../../src/lib/problem.ts'
import { useApp } from '../support/app.ts'

let server: Server
const clock = { now: new Date('2026-11-30T23:00:00Z') }

/** A counting route that creates a list, and answers 404 for the name `missing`. */
const probe = route({
  name: 'probe',
  method: 'POST',
  path: '/probe',
  summary: 'A call of the Embed API',
  quota: 'embedApi',
  body: z.object({ name: z.string() }),
  answers: { 201: z.object({ ok: z.boolean() }) },
  handle: async ({ body, work }) => {
    await work(async (w) => {
      if (body.name === 'missing') throw notFound('There is no such thing')
      await createList(w, { name: body.name })
    })
    return created({ ok: true })
  },
})

const serve = (app = t.app) => buildServer(app, [probe], pino({ level: 'silent' }))

const t = useApp({ env: { SVC_RATE_LIMIT: '10' }, now: () => clock.now })
beforeAll(async () => {
  await t.app.operate('cli:test', (operation) => setPlanLimits(operation, 'pro', { embedApi: 3 }))
  server = await serve()
})
afterAll(() => server.drain())

const call = async (key: string, name: string, on = server) => {
  const payload = name === 'malformed' ? '{' : JSON.stringify(name === 'invalid' ? {} : { name })
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
  const reply = await on.fastify.inject({ method: 'POST', url: '/api/v1/probe', headers, payload })
  return { status: reply.statusCode, body: reply.json(), retryAfter: reply.headers['retry-after'] }
}
const used = async (id: string) =>
  (await t.app.operate('cli:test', (operation) => accountUsage(operation, id))).find((u) => u.quota === 'embedApi')!
    .used
const lists = async (id: string) => (await t.app.sql('select from contact_lists where account_id = $1', [id])).length

test.each(['free', 'starter'])('on %s the Embed API is not in the plan: 403 before anything else', async (plan) => {
  const { id, key } = await t.account({ plan })
  for (const name of ['a', 'invalid', 'malformed', 'missing'])
    expect(await call(key, name)).toMatchObject({
      status: 403,
      body: { error: "The Embed API isn't included in your plan" },
    })
  expect([await used(id), await lists(id)]).toEqual([0, 0])
})

test('only successes count; a used up quota is 429 until the 1st, before 400 and 404', async () => {
  const { id, key } = await t.account({ plan: 'pro' })
  expect((await call(`${key}x`, 'a')).status).toBe(401)
  for (const [name, status] of Object.entries({ a: 201, invalid: 400, malformed: 400, missing: 404, b: 201, c: 201 }))
    expect([name, (await call(key, name)).status]).toEqual([name, status])
  expect([await used(id), await lists(id)]).toEqual([3, 3])
  for (const name of ['d', 'invalid'])
    expect(await call(key, name)).toEqual({
      status: 429,
      body: { error: 'Monthly Embed API quota for your plan exceeded' },
      retryAfter: '3600',
    })
  expect([await used(id), await lists(id)]).toEqual([3, 3])
  await Promise.all([call(key, 'e'), call(key, 'f')])
  expect((await call(key, 'g')).body).toEqual({ error: 'Rate limit exceeded' })
})

test('of ten calls to two daemons with two units left, two succeed and the others write nothing', async () => {
  const { id, key } = await t.account({ plan: 'pro' })
  await call(key, 'first')
  const app = await openApp(readConfig({ ...t.env, SVC_RATE_LIMIT: '0' }), { now: () => clock.now })
  const other = await serve(app)
  const replies = await Promise.all(Array.from({ length: 18 }, (_, i) => call(key, `many${i}`, i % 2 ? other : server)))
  await other.drain()
  await app.close()
  expect(replies.filter(({ status }) => status === 201)).toHaveLength(2)
  expect(replies.filter(({ status }) => status === 429)).toHaveLength(16)
  expect([await used(id), await lists(id)]).toEqual([3, 3])
})
