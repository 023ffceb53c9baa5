import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createMetrics } from '../../src/app/daemon/daemon.metrics.ts'
import { createCounters } from '../../src/lib/counters.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { ok, startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { costOf } from '../support/cost.ts'
import { freePort } from '../support/daemon.ts'
import { emitEvents, eventually, startDeliveries, subscribe, tally } from '../support/deliveries.ts'
import { freeform, sendingAccount } from '../support/messages.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'
import { openSink, type Sink } from '../support/smtp.ts'

const token = 'a token that only tests use'

let t: TestApp
let account: TestAccount
let receiver: Receiver
let sink: Sink

beforeAll(async () => {
  const port = await freePort()
  const env = { SVC_METRICS_TOKEN: token, SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }
  t = await startApp({ env: { ...env, SVC_SMTP_URL: `smtp://127.0.0.1:${port}` } })
  account = await sendingAccount(t)
  receiver = await openReceiver()
  sink = await openSink({ port })
})
afterAll(async () => {
  await receiver.close()
  await sink.close()
  await t.close()
})

const local = { host: '127.0.0.1:4800' }
const ask = (options: object = {}) => t.server.fastify.inject({ url: '/metrics', ...options })
const scrape = async () => (await ask({ headers: { authorization: `Bearer ${token}` } })).body

/** The number of a series, or undefined if it is missing. */
const numberOf = (text: string, series: string): number | undefined => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `))
  return line === undefined ? undefined : Number(line.slice(series.length + 1))
}

describe('who may read /metrics', () => {
  const stranger = '203.0.113.9'
  const bearer = { authorization: `Bearer ${token}` }

  let open: TestApp
  beforeAll(async () => {
    open = await startApp()
  })
  afterAll(() => open.close())
  const askOpen = (options: object) => open.server.fastify.inject({ url: '/metrics', ...options })

  test.each<[string, object]>([
    ['127.0.0.1', { headers: local }],
    ['::1', { remoteAddress: '::1', headers: { host: '[::1]:4800' } }],
    ['IPv4 on IPv6', { remoteAddress: '::ffff:127.0.0.1', headers: { host: 'localhost' } }],
  ])('without a token a connection from %s can read them', async (_, options) => {
    const { statusCode, headers, body } = await askOpen(options)
    expect(statusCode).toBe(200)
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/)
    expect(body).toContain('# TYPE svc_http_requests_total counter')
  })

  test.each<[string, object]>([
    ['another address', { remoteAddress: stranger, headers: local }],
    ['another address that looks like a local one', { remoteAddress: '::ffff:203.0.113.127', headers: local }],
    ['a token if none is configured', { remoteAddress: stranger, headers: { ...local, authorization: 'Bearer null' } }],
    ...['svc.example.com', 'localhost.evil.example', '127.evil.example', '10.0.0.1'].map((host): [string, object] => [
      `loopback with the Host "${host}"`,
      { headers: { host } },
    ]),
    ...['X-Forwarded-For', 'Forwarded', 'X-Forwarded-Host', 'X-Real-IP', 'Via'].map((name): [string, object] => [
      `loopback with ${name}`,
      { headers: { ...local, [name]: '127.0.0.1' } },
    ]),
    ['another method', { method: 'POST', headers: local }],
  ])('without a token %s gets 404, as for an unknown path', async (_, options) => {
    const unknown = await open.server.fastify.inject({ ...options, url: '/nothing' } as never)
    const reply = await askOpen(options)
    expect(reply.statusCode).toBe(404)
    expect(reply.body).toBe(unknown.body)
    expect(Object.keys(reply.headers)).toEqual(Object.keys(unknown.headers))
  })

  test('without a token nobody can read them if the public URL is not of this machine: a proxy may be on it', async () => {
    const behindProxy = await startApp({ env: { SVC_PUBLIC_URL: 'https://svc.example' } })
    const { statusCode } = await behindProxy.server.fastify.inject({ url: '/metrics', headers: local })
    await behindProxy.close()
    expect(statusCode).toBe(404)
  })

  test.each<[string, object]>([
    ['from anywhere', { remoteAddress: stranger, headers: bearer }],
    ['in any case', { headers: { authorization: `bearer ${token}` } }],
    ['through a proxy', { headers: { ...bearer, 'x-forwarded-for': stranger } }],
  ])('with a token callers that send it can read them: %s', async (_, options) => {
    expect((await ask(options)).statusCode).toBe(200)
  })

  test.each<[string, object]>([
    ['this machine without a token', { headers: local }],
    ['a wrong token', { headers: { ...local, authorization: 'Bearer wrong' } }],
    ['a longer token with the same beginning', { headers: { ...local, authorization: `Bearer ${token}x` } }],
    ['the token with another scheme', { headers: { ...local, authorization: token } }],
    ['an empty token', { headers: { ...local, authorization: 'Bearer ' } }],
  ])('with a configured token %s gets 404', async (_, options) => {
    expect((await ask(options)).statusCode).toBe(404)
  })

  test('a long Authorization is checked quickly', async () => {
    const [cost] = await costOf(() => ask({ headers: { authorization: `Bearer x${' '.repeat(15_000)}y` } }))
    expect(cost).toBeLessThan(100)
  })
})

test('a series without a number is omitted', async () => {
  const metrics = createMetrics({ counters: createCounters(), queues: async () => [] })
  for (let i = 0; i < 3; i++) {
    const { text } = await metrics.read()
    expect(text).not.toMatch(/nan/i)
    expect(text).toContain('nodejs_eventloop_lag_seconds')
  }
})

test('requests are counted by pattern, method and status: no label holds an account, an address or an id', async () => {
  const { key } = account
  await ok(t.request('GET', '/contacts?email=ada%40people.example', { key }))
  await ok(t.request('PATCH', '/deals/deal_01known', { key, body: { title: 'x' } }), 404)
  await ok(t.request('GET', '/liveview/a-token-of-somebody'), 404)
  await ok(t.request('GET', '/u/another-token'), 404)
  await ok(t.request('GET', '/nowhere/at/all/ada@people.example'), 404)
  await ok(t.request('GET', '/lists', { key: 'svc_live_unknown' }), 401)
  const text = await scrape()
  const requests = (route: string, method: string, status: number) =>
    numberOf(text, `svc_http_requests_total{route="${route}",method="${method}",status="${status}"}`)
  expect(requests('/api/v1/contacts', 'GET', 200)).toBe(1)
  expect(requests('/api/v1/deals/:id', 'PATCH', 404)).toBe(1)
  expect(requests('/api/v1/liveview/:token', 'GET', 404)).toBe(1)
  expect(requests('/u/:token', 'GET', 404)).toBe(1)
  expect(requests('/api/v1/lists', 'GET', 401)).toBe(1)
  expect(requests('none', 'GET', 404)).toBeGreaterThan(0)
  expect(text).not.toMatch(/01known|of-somebody|another-token|nowhere|@|%40/)
  expect(text).not.toContain(account.id)
  const labels = [...text.matchAll(/^svc_\w+\{([^}]*)\}/gm)].flatMap(([, all]) =>
    [...all!.matchAll(/(\w+)="/g)].map(([, name]) => name),
  )
  expect([...new Set(labels)].sort()).toEqual(['job', 'le', 'method', 'outcome', 'queue', 'route', 'status'])
  const count = numberOf(text, 'svc_http_request_duration_seconds_count')!
  expect(count).toBeGreaterThan(5)
  expect(numberOf(text, 'svc_http_request_duration_seconds_bucket{le="+Inf"}')).toBe(count)
  expect(numberOf(text, 'svc_http_request_duration_seconds_sum')).toBeGreaterThan(0)
})

test('deliveries are counted by the outcome of their attempts, and timed', async () => {
  const before = await scrape()
  const of = (text: string, outcome: string) => numberOf(text, `svc_deliveries_total{outcome="${outcome}"}`)
  expect(of(before, 'delivered')).toBe(0)
  receiver.next({ status: 200 }, { status: 500 }, { status: 410 })
  const engine = startDeliveries(t.app)
  try {
    await subscribe(t.app, account.id, receiver.url)
    for (const arrived of [1, 2, 3]) {
      await emitEvents(t.app, account.id)
      await receiver.arrived(arrived)
      // Each is recorded before the next starts: ending the webhook would drop unrecorded ones.
      await eventually(
        async () => (await t.app.sql('select from pending_deliveries where worker is not null')).length === 0,
      )
    }
    await eventually(async () => (await tally(t.app, account.id)).cancelled === 2)
  } finally {
    await engine.stop()
  }
  const text = await scrape()
  expect(['delivered', 'retried', 'exhausted', 'cancelled'].map((outcome) => of(text, outcome))).toEqual([1, 1, 0, 1])
  expect(numberOf(text, 'svc_delivery_duration_seconds_count')).toBe(3)
})

test('sends are counted by their final status', async () => {
  const send = (to: string) => t.request('POST', '/send', { key: account.key, body: freeform({ to }) })
  const suppressed = 'gone@people.example'
  await t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, [suppressed], 'manual'))
  expect((await send('ada@people.example')).body.status).toBe('sent')
  sink.next({ refuse: { at: 'to', answer: '550 5.7.1 No' } })
  expect((await send('bob@people.example')).body.status).toBe('failed')
  expect((await send(suppressed)).body.status).toBe('suppressed')
  const text = await scrape()
  expect(
    ['sent', 'failed', 'suppressed'].map((status) => numberOf(text, `svc_sends_total{status="${status}"}`)),
  ).toEqual([1, 1, 1])
})

test('counts of a unit of work are dropped if it is rolled back', async () => {
  const before = t.app.counters.counts('sends')
  const refused = t.app.work(account.id, 'cli:test', async (work) => {
    work.count('sends', 'failed')
    throw new Error('no')
  })
  await expect(refused).rejects.toThrow('no')
  expect(t.app.counters.counts('sends')).toEqual(before)
})

describe('queues', () => {
  const deliveries = (depth: number, pausedAt: number | null = null) => [
    { queue: 'deliveries' as const, depth, oldestSeconds: depth * 2, pausedAt },
  ]

  test('their depth and age come from the database', async () => {
    const text = await scrape()
    for (const queue of ['deliveries', 'journeys', 'sends']) {
      expect(numberOf(text, `svc_queue_depth{queue="${queue}"}`)).toBe(0)
      expect(numberOf(text, `svc_queue_oldest_seconds{queue="${queue}"}`)).toBe(0)
    }
  })

  test('a paused queue is 1 in svc_queue_paused', async () => {
    const queues = async () => [...deliveries(0, 1000), { ...deliveries(0)[0]!, queue: 'sends' as const }]
    const { text } = await createMetrics({ counters: createCounters(), queues }).read()
    expect(numberOf(text, 'svc_queue_paused{queue="deliveries"}')).toBe(1)
    expect(numberOf(text, 'svc_queue_paused{queue="sends"}')).toBe(0)
  })

  test('one query serves both, and scrapes within 10 s; while the database is unavailable they are omitted', async () => {
    let [asked, nowMs, isAway] = [0, 0, false]
    const queues = async () => {
      asked++
      return isAway ? [] : deliveries(asked)
    }
    const metrics = createMetrics({ counters: createCounters(), queues, nowMs: () => nowMs })
    const depth = async () => numberOf((await metrics.read()).text, 'svc_queue_depth{queue="deliveries"}')
    expect(await depth()).toBe(1)
    nowMs = 9_999
    expect(await depth()).toBe(1)
    nowMs = 10_000
    expect(await depth()).toBe(2)
    isAway = true
    nowMs = 20_000
    expect(await depth()).toBeUndefined()
    expect((await metrics.read()).text).toContain('svc_deliveries_total')
  })
})

test('the process reports its event loop and its memory', async () => {
  const text = await scrape()
  expect(numberOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1e6)
  expect(numberOf(text, 'nodejs_eventloop_lag_p99_seconds')).toBeDefined()
})

test('a job of the process that is down shows as 0', async () => {
  const jobs = () => ({ deliveries: 'ok', mail: 'down' }) as const
  const { text } = await createMetrics({ counters: createCounters(), queues: async () => [], jobs }).read()
  expect(text).toContain('svc_job_up{job="deliveries"} 1')
  expect(text).toContain('svc_job_up{job="mail"} 0')
})
