import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { eventTypes } from '../../src/events/events.ts'
import { buildServer } from '../../src/http/server.ts'
import { routes } from '../../src/webhooks/webhooks.routes.ts'
import { createWebhook, disableWebhook, enableWebhook } from '../../src/webhooks/webhooks.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { useDnsServer } from '../support/dns.ts'

let t: TestApp
let account: TestAccount

const dns = useDnsServer()
beforeAll(async () => {
  dns.set('hooks.test', { A: ['8.8.8.8'] })
  dns.set('inside.test', { A: ['10.0.0.1'] })
  t = await startApp({ env: { SVC_DNS_SERVERS: dns.address } })
  account = await t.account()
})

afterAll(() => t?.close())

const url = 'https://hooks.test/in'
const subscribe = (body: unknown, { key } = account) => t.request('POST', '/webhooks', { key, body })
const subscriptions = async ({ key } = account) => (await t.request('GET', '/webhooks', { key })).body.subscriptions

describe('POST /webhooks', () => {
  test('answers 201 with id, secret and the subscription in exactly its properties', async () => {
    const { status, body } = await subscribe({ url, events: ['contact.created'] })
    expect(status).toBe(201)
    expect(body).toEqual({
      id: expect.stringMatching(/^whk_[0-9a-z]{26}$/),
      secret: expect.stringMatching(/^whsec_[\w-]{43}$/),
      subscription: {
        id: body.id,
        apiKeyId: account.keyId,
        url,
        events: ['contact.created'],
        createdVia: 'api',
        status: 'active',
        createdAt: expect.any(Number),
      },
    })
  })

  test('takes event as a shorthand for events with one item', async () => {
    const { status, body } = await subscribe({ url, event: 'deal.created' })
    expect([status, body.subscription.events]).toEqual([201, ['deal.created']])
  })

  test('takes the union of event and events without duplicates, in the order of the contract', async () => {
    const { body } = await ok(
      subscribe({
        url,
        events: ['deal.created', 'contact.created', 'deal.created'],
        event: 'contact.updated',
      }),
    )
    expect(body.subscription.events).toEqual(['contact.created', 'contact.updated', 'deal.created'])
  })

  test('takes every event type', async () => {
    const { body } = await ok(subscribe({ url, events: eventTypes }))
    expect(body.subscription.events).toEqual(eventTypes)
  })

  test.each(['connector_a', 'connector_b'])('shows the source %s as createdVia', async (source) => {
    const { status, body } = await subscribe({ url, event: 'lead.hot', source })
    expect([status, body.subscription.createdVia]).toEqual([201, source])
  })

  test('accepts a name that does not resolve yet', async () => {
    expect((await subscribe({ url: 'https://later.test/x', event: 'lead.hot' })).status).toBe(201)
  })

  test('keeps the url as it was written', async () => {
    const { body } = await ok(subscribe({ url: 'https://hooks.test', event: 'lead.hot' }))
    expect(body.subscription.url).toBe('https://hooks.test')
  })

  test.each([
    ['https://hooks.test/a\\b', 'https://hooks.test/a/b'],
    ['https://hooks.test/{id}?q="x"', 'https://hooks.test/%7Bid%7D?q=%22x%22'],
    ['https://hooks.test/?id={id}|x', 'https://hooks.test/?id=%7Bid%7D%7Cx'],
    [' https://hooks.test/é ', 'https://hooks.test/%C3%A9'],
  ])('writes %j, which is not a URI, as %s', async (given, shown) => {
    expect((await ok(subscribe({ url: given, event: 'lead.hot' }))).body.subscription.url).toBe(shown)
  })

  test.each([
    ['a missing url', { event: 'lead.hot' }, 'url is required'],
    ['a url that is no string', { url: 5, event: 'lead.hot' }, 'url must be a string'],
    ['a url that is none', { url: 'nowhere', event: 'lead.hot' }, 'url must be an absolute http or https address'],
    ['another protocol', { url: 'ftp://hooks.test/', event: 'lead.hot' }, /^url must be an absolute http or https/],
    ['a private literal', { url: 'http://127.0.0.1/', event: 'lead.hot' }, /^url must be a public http or https/],
    ['a private name', { url: 'http://localhost:80/', event: 'lead.hot' }, /^url must be a public http or https/],
    ['a name of a private address', { url: 'http://inside.test/', event: 'lead.hot' }, /^url must be a public/],
    ['credentials', { url: 'http://u:p@hooks.test/', event: 'lead.hot' }, /^url must not contain a user name/],
    ['a fragment', { url: 'http://hooks.test/#x', event: 'lead.hot' }, /^url must not contain a fragment/],
    ['NUL in the url', { url: 'https://hooks.test/\0', event: 'lead.hot' }, 'url must not contain NUL characters'],
    ['no event', { url }, 'events is required'],
    ['empty events', { url, events: [] }, 'events must have at least 1 item'],
    ['events that are no array', { url, events: 'lead.hot' }, 'events must be an array'],
    ['an unknown event', { url, event: 'deal.won' }, 'event is not an event type: "deal.won"'],
    [
      'one unknown event among known ones',
      { url, events: ['lead.hot', 'lead.cold'] },
      'events[1] is not an event type: "lead.cold"',
    ],
    ['an event that is no string', { url, events: [null] }, /^events\[0\] must be one of interaction\.received/],
    ['an unknown source', { url, event: 'lead.hot', source: 'api' }, 'source must be one of connector_a, connector_b'],
    ['a body that is no object', [], 'body must be a JSON object'],
  ])('answers 400 to %s and writes nothing', async (_, body, error) => {
    const before = await subscriptions()
    const answer = await subscribe(body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: error instanceof RegExp ? expect.stringMatching(error) : error })
    expect(await subscriptions()).toEqual(before)
  })

  test('creates exactly 50 of 60 concurrent ones and answers 409 to the others; disabled ones count', async () => {
    const full = await t.account()
    const answers = await Promise.all(Array.from({ length: 60 }, () => subscribe({ url, event: 'lead.hot' }, full)))
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(50)
    const refused = answers.filter(({ status }) => status !== 201)
    expect(new Set(refused.map(({ status }) => status))).toEqual(new Set([409]))
    expect(refused[0]!.body).toEqual({ error: 'An account can have at most 50 webhook subscriptions' })
    const [first] = await subscriptions(full)
    await t.app.work(full.id, 'cli:test', (work) => disableWebhook(work, first!.id))
    expect((await subscribe({ url, event: 'lead.hot' }, full)).status).toBe(409)
    await ok(t.request('DELETE', `/webhooks/${first!.id}`, { key: full.key }))
    expect((await subscribe({ url, event: 'lead.hot' }, full)).status).toBe(201)
    expect((await subscribe({ url, event: 'lead.hot' })).status).toBe(201)
  })

  test('creates nothing for a key that was revoked during the call', async () => {
    const other = await t.account()
    await t.app.work(other.id, 'cli:test', (work) => revokeKey(work, other.keyId))
    const late = createWebhook(
      t.app,
      other.id,
      'key:x',
      { url, event: 'lead.hot' },
      {
        createdVia: 'api',
        apiKeyId: other.keyId,
      },
    )
    await expect(late).rejects.toMatchObject({ kind: 'unauthorized' })
  })
})

describe('GET /webhooks', () => {
  test('lists every subscription of the account, newest first, without any secret', async () => {
    const mine = await t.account()
    const made = []
    for (const event of ['lead.hot', 'lead.new', 'deal.created']) {
      made.push((await subscribe({ url, event }, mine)).body)
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    const { status, body } = await t.request('GET', '/webhooks', { key: mine.key })
    expect(status).toBe(200)
    expect(body).toEqual({ subscriptions: made.map(({ subscription }) => subscription).reverse() })
    for (const { secret } of made) expect(JSON.stringify(body)).not.toContain(secret)
  })

  test('shows a disabled one with its reason and its last deliveries', async () => {
    const mine = await t.account()
    const { id } = (await subscribe({ url, event: 'lead.hot' }, mine)).body
    await t.app.sql(
      `update delivery_targets set status = 'disabled', disabled_reason = 'gone', last_delivery_at = $2, last_failure_at = $3,
       last_error = 'answered 410' where id = $1`,
      [id, new Date(1000), new Date(2000)],
    )
    const [subscription] = await subscriptions(mine)
    expect(subscription).toMatchObject({
      status: 'disabled',
      disabledReason: 'gone',
      lastDeliveryAt: 1000,
      lastFailureAt: 2000,
      lastError: 'answered 410',
    })
    const enabled = await t.app.work(mine.id, 'cli:test', (work) => enableWebhook(work, id))
    expect(enabled.status).toBe('active')
    expect(enabled).not.toHaveProperty('disabledReason')
  })

  test('the secret is stored sealed: no column of any table contains it in plain text', async () => {
    const { id, secret } = (await subscribe({ url, event: 'lead.hot' })).body
    const [row] = await t.app.sql<{ text: string; sealed: string }>(
      'select t::text || w::text as text, sealed_secret as sealed from webhooks w join delivery_targets t using (id) where id = $1',
      [id],
    )
    expect(row!.text).not.toContain(secret.slice(6))
    expect(t.app.box.open(row!.sealed, id)).toBe(secret)
    expect(() => t.app.box.open(row!.sealed, 'whk_other')).toThrow()
  })
})

test('no log at any level contains a secret', async () => {
  const lines: string[] = []
  const sink = { write: (line: string) => void lines.push(line) }
  const server = await buildServer(t.app, routes, pino({ level: 'trace' }, sink))
  const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
  const payload = JSON.stringify({ url, event: 'lead.hot' })
  const answer = await server.fastify.inject({ method: 'POST', url: '/api/v1/webhooks', headers, payload })
  expect(answer.statusCode).toBe(201)
  const log = lines.join('')
  expect(log).toContain('/api/v1/webhooks')
  expect(log).not.toContain(answer.json().secret.slice(6))
  expect(log).not.toContain(account.key)
  await server.drain()
})

describe('DELETE /webhooks/{id}', () => {
  test('deletes a subscription that another key created, and answers 404 from then on', async () => {
    const mine = await t.account()
    const { id } = await createWebhook(
      t.app,
      mine.id,
      'cli:test',
      { url, event: 'lead.hot' },
      { createdVia: 'dashboard' },
    )
    const remove = () => t.request('DELETE', `/webhooks/${id}`, { key: mine.key })
    expect(await remove()).toMatchObject({ status: 200, body: { ok: true } })
    expect(await subscriptions(mine)).toEqual([])
    expect(await remove()).toMatchObject({ status: 404, body: { error: `There is no webhook ${id}` } })
  })

  test('answers 404 to an id of another account as to a missing one, and changes nothing', async () => {
    const owner = await t.account()
    const { id } = (await subscribe({ url, event: 'lead.hot' }, owner)).body
    const foreign = await t.request('DELETE', `/webhooks/${id}`, { key: account.key })
    const absent = await t.request('DELETE', '/webhooks/whk_nothing', { key: account.key })
    expect([foreign.status, absent.status]).toEqual([404, 404])
    expect(await subscriptions(owner)).toHaveLength(1)
  })

  test('answers 400 to NUL in the id', async () => {
    expect((await t.request('DELETE', '/webhooks/whk_%00', { key: account.key })).status).toBe(400)
  })
})

test.each([
  ['GET', '/webhooks'],
  ['POST', '/webhooks'],
  ['DELETE', '/webhooks/whk_1'],
  ['GET', '/events/sample'],
] as const)('%s %s without a key answers 401', async (method, path) => {
  expect(await t.request(method, path)).toMatchObject({
    status: 401,
    body: { error: 'Missing or invalid Authorization: Bearer <apiKey>' },
  })
})

test('webhook routes take 30 requests a minute for each key, other families 60', async () => {
  const limited = await startApp({ env: { SVC_RATE_LIMIT: '60', SVC_RATE_LIMIT_WEBHOOKS: '30' } })
  try {
    const { key } = await limited.account()
    const listed = await limited.request('GET', '/webhooks', { key })
    expect(listed.headers).toMatchObject({ 'ratelimit-limit': '30', 'ratelimit-remaining': '29' })
    const sampled = await limited.request('GET', '/events/sample', { key })
    expect(sampled.headers).toMatchObject({ 'ratelimit-limit': '60', 'ratelimit-remaining': '59' })
    for (let i = 1; i < 30; i++) expect((await limited.request('DELETE', '/webhooks/x', { key })).status).toBe(404)
    expect((await limited.request('GET', '/webhooks', { key })).status).toBe(429)
  } finally {
    await limited.close()
  }
})
