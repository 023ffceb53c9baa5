import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { deliveryStats, listDeliveries } from '../../src/deliveries/deliveries.find.ts'
import { deliveriesByDay, insertProbe, listEvents, removeProbe, showDelivery } from '../../src/deliveries/deliveries.ts'
import { type EventType, eventTypes } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { verify } from '../../src/lib/signature.ts'
import type { Work } from '../../src/store/work.ts'
import { listen, type ReceivedDelivery } from '../../src/webhooks/listen.ts'
import { deliverEvents } from '../../src/webhooks/webhooks.listeners.ts'
import { deleteWebhook } from '../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { latePosts, retryNow, startDeliveries, tally } from '../support/deliveries.ts'
import { eventually } from '../support/eventually.ts'
import { openProxy } from '../support/proxy.ts'
import { openReceiver } from '../support/receiver.ts'

let account: TestAccount
let deliveries: ReturnType<typeof startDeliveries>

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeEach(async () => {
  account = await t.account()
  deliveries = startDeliveries(t.app)
})
afterEach(() => deliveries.stop())

type Options = Parameters<typeof listen>[3]

/** Starts a listener of the account in this process. `ready` resolves with what it shows then. */
const open = (options: Partial<Options> = {}, app = t.app) => {
  const stop = new AbortController()
  const ready = Promise.withResolvers<{ webhookId: string; url: string; secret: string }>()
  const heard: ReceivedDelivery[] = []
  const notices: string[] = []
  const ended = listen(
    app,
    account.id,
    'cli:test',
    { port: 0, events: null, reply: () => 200, forwardTo: null, ...options },
    {
      ready: ready.resolve,
      delivery: (delivery) => heard.push(delivery),
      notice: (text) => notices.push(text),
      signal: stop.signal,
    },
  )
  ended.catch(ready.reject)
  const end = () => {
    stop.abort()
    return ended
  }
  onTestFinished(() =>
    end()
      .then(() => {})
      .catch(() => {}),
  )
  const arrived = (count: number) => eventually(() => heard.length >= count)
  return { ready: ready.promise, heard, notices, ended, end, arrived }
}
const start = async (...given: Parameters<typeof open>) => {
  const listener = open(...given)
  return { ...listener, ...(await listener.ready) }
}

/** Answers with these statuses in turn, and then with the last one again. */
const replies = (...statuses: (number | null)[]) => {
  const left = [...statuses]
  return () => (left.length > 1 ? left.shift() : left[0])!
}

const emit = (type: EventType, count = 1) =>
  t.app.work(account.id, 'cli:test', async (work) => {
    const now = work.now.getTime()
    const events = Array.from({ length: count }, () => sampleEvent(type, { now }))
    const wanting = (await subscriptions()).filter(({ events: types }) => types.includes(type))
    await deliverEvents.events!.receive(
      work,
      events,
      wanting.map(({ id }) => id),
    )
    return events
  })

const subscriptions = () =>
  t.app.sql<{ id: string; events: string[] }>('select id, events from webhooks where account_id = $1 order by id', [
    account.id,
  ])

test('deliveries are verified and answered, and a repeated id is marked', async () => {
  const listener = await start({ reply: replies(500, 204) })
  const [event] = await emit('deal.created')
  await listener.arrived(1)
  await retryNow(t.app, account.id, event!.id)
  await listener.arrived(2)
  const common = { type: 'deal.created', id: event!.id, verified: true, verdict: 'ok', error: null, event }
  expect(listener.heard).toMatchObject([
    { ...common, status: 500, duplicate: false },
    { ...common, status: 204, duplicate: true },
  ])
  expect(await listener.end()).toEqual({ events: 2, distinct: 1, notVerified: 0, ended: null })
})

test('a request that is not signed with its secret is answered 401 and counted', async () => {
  const { url, heard, end } = await start()
  const answer = await fetch(url, { method: 'POST', body: '{"id":"evt_x","type":"contact.created"}' })
  expect(answer.status).toBe(401)
  expect(heard).toMatchObject([{ status: 401, verified: false, duplicate: false, verdict: 'headers missing' }])
  expect(await end()).toEqual({ events: 1, distinct: 0, notVerified: 1, ended: null })
})

test('a request is forwarded unchanged, and the answer is returned', async () => {
  const receiver = await openReceiver()
  receiver.always({ status: 418, body: 'short and stout', headers: { 'retry-after': '7' } })
  const { secret, heard, arrived } = await start({ forwardTo: new URL(`${receiver.url}/in?a=1`) })
  const [event] = await emit('contact.created')
  const [request] = await receiver.arrived(1)
  expect(request).toMatchObject({ method: 'POST', path: '/in?a=1' })
  expect(JSON.parse(request!.body.toString())).toEqual(event)
  expect(request!.headers).toMatchObject({
    'content-type': 'application/json',
    'x-service-idempotency-key': event!.id,
    host: `127.0.0.1:${receiver.port}`,
  })
  expect(verify(secret, request!.headers, request!.body, Date.now())).toBe('ok')
  await arrived(1)
  expect(heard[0]).toMatchObject({ status: 418, error: null })
  const [attempt] = await eventually(async () => {
    const [row] = await t.app.sql<{ attempts: { snippet: string }[] }>(
      `select attempts from deliveries where key = $1 and attempts <> '[]'`,
      [event!.id],
    )
    return row?.attempts
  })
  expect(attempt).toMatchObject({ status: 418, snippet: 'short and stout' })
  await receiver.close()

  await emit('contact.created')
  await arrived(2)
  expect(heard[1]).toMatchObject({ status: 502, error: 'connection refused' })
})

test('the status of a receiver whose body does not end is returned in time', async () => {
  const endless = createServer((_, response) => void response.writeHead(200).write('so far'))
  await new Promise<void>((resolve) => endless.listen(0, '127.0.0.1', resolve))
  const { port } = endless.address() as AddressInfo
  const { arrived } = await start({ forwardTo: new URL(`http://127.0.0.1:${port}/`) })
  const [event] = await emit('contact.created')
  await arrived(1)
  const [row] = await eventually(async () => {
    const rows = await t.app.sql(`select status, attempts from deliveries where key = $1 and attempts <> '[]'`, [
      event!.id,
    ])
    return rows.length > 0 && rows
  })
  expect(row).toMatchObject({ status: 'delivered', attempts: [{ status: 200, snippet: 'so far' }] })
  endless.closeAllConnections()
  endless.close()
})

test('only a POST to its secret path and under its own host name is a delivery', async () => {
  const { heard, ...listener } = await start()
  const url = new URL(listener.url)
  expect((await fetch(new URL('/hook/guess', url), { method: 'POST' })).status).toBe(404)
  expect((await fetch(url)).status).toBe(404)
  const post = (headers: string, body = '') =>
    new Promise<string>((resolve, reject) => {
      const socket = connect(Number(url.port), '127.0.0.1')
      socket
        .on('error', reject)
        .setEncoding('utf8')
        .once('data', (text) => {
          socket.destroy()
          resolve(String(text))
        })
      socket.write(`POST ${url.pathname} HTTP/1.1\r\n${headers}\r\nConnection: close\r\n\r\n${body}`)
    })
  expect(await post('Host: evil.example\r\nContent-Length: 0')).toMatch(/^HTTP\/1.1 421 /)
  const size = 32 * 1024 * 1024 + 1
  expect(await post(`Host: ${url.host}\r\nContent-Length: ${size}`, 'x'.repeat(size))).toMatch(/^HTTP\/1.1 413 /)
  expect(heard).toEqual([])
})

test('it subscribes only to the named events, and to all events without names', async () => {
  const listener = await start({ events: ['deal.created', 'contact.created'] })
  expect((await subscriptions()).map(({ events }) => events)).toEqual([['contact.created', 'deal.created']])
  await listener.end()
  await start()
  expect((await subscriptions()).map(({ events }) => events)).toEqual([[...eventTypes]])
})

test('its end deletes its subscription and the pending deliveries; its ping leaves no trace', async () => {
  const listener = await start({ reply: replies(null) })
  const [event] = await emit('contact.created')
  await listener.arrived(1)
  expect(listener.heard[0]).toMatchObject({ status: null })
  await listener.end()
  expect(await subscriptions()).toEqual([])
  const rows = await t.app.sql<{ status: string }>('select status from deliveries where key = $1', [event!.id])
  expect(rows).toEqual([{ status: 'cancelled' }])
  expect(
    await t.app.sql(`select from events where account_id = $1 and payload like '%"test":true%'`, [account.id]),
  ).toEqual([])
})

/** An app with connections of its own, which the test can cut and refuse. */
const openRemote = async () => {
  const proxy = await openProxy(t.url)
  const app = await openApp(readConfig({ ...t.env, DATABASE_URL: proxy.through(t.url) }))
  onTestFinished(async () => {
    proxy.pass()
    await app.close()
    await proxy.close()
  })
  return {
    app,
    pass: proxy.pass,
    cut() {
      proxy.refuse()
      proxy.cut()
    },
  }
}

test('the next listener removes the subscription of one that lost its database, and keeps that of a running one', async () => {
  const remote = await openRemote()
  const lost = await start({}, remote.app)
  remote.cut()
  await lost.end()
  expect(lost.notices.at(-1)).toContain('this subscription remains until the next svc listen removes it')
  const left = await subscriptions()
  expect(left).toHaveLength(1)
  await start()
  const living = await subscriptions()
  expect(living).toHaveLength(1)
  expect(living[0]!.id).not.toBe(left[0]!.id)
  await start()
  const both = await subscriptions()
  expect(both).toHaveLength(2)
  expect(both[0]).toEqual(living[0])
})

test('a 410 disables the subscription: the listener reports it and ends', async () => {
  const listener = await start({ reply: replies(410) })
  await emit('contact.created')
  expect(await listener.ended).toMatchObject({ ended: expect.stringContaining('answered with 410') })
  expect(await subscriptions()).toEqual([])
})

test('when its subscription is deleted, the listener reports it and ends', async () => {
  const { webhookId, ended } = await start()
  await t.app.work(account.id, 'cli:test', (work) => deleteWebhook(work, webhookId))
  expect(await ended).toMatchObject({ ended: 'The subscription was deleted' })
})

test('it reports deliveries that wait for a daemon, and receives them when one runs again', async () => {
  const { heard, notices, arrived } = await start()
  await deliveries.stop()
  const [event] = await emit('contact.created')
  await eventually(() => notices.some((notice) => notice.includes('no daemon sends them')))
  deliveries = startDeliveries(t.app)
  await arrived(1)
  expect(heard).toMatchObject([{ id: event!.id, verified: true }])
  await eventually(() => notices.at(-1) === 'Deliveries can arrive again.')
})

test('it survives an outage of the database and holds its lock afterwards', async () => {
  const remote = await openRemote()
  const { notices, heard, arrived, end } = await start({}, remote.app)
  remote.cut()
  await eventually(() => notices.at(-1)?.includes('The database is not available'))
  remote.pass()
  await eventually(() => notices.at(-1) === 'Deliveries can arrive again.')
  const other = await start()
  expect(await subscriptions()).toHaveLength(2)
  await other.end()
  const [event] = await emit('contact.created')
  await arrived(1)
  expect(heard).toMatchObject([{ id: event!.id }])
  expect(await end()).toMatchObject({ ended: null })
  expect(await subscriptions()).toEqual([])
})

test('thousands of deliveries in a burst are all received, each once', async () => {
  const listener = await start()
  for (let n = 0; n < 6; n++) await emit('contact.created', 500)
  await eventually(async () => (await tally(t.app, account.id)).delivered === 3000)
  const events = 3000 + (await latePosts(t.app, account.id))
  expect(await listener.end()).toEqual({ events, distinct: 3000, notVerified: 0, ended: null })
})

test('neither lists nor statistics of deliveries have its ping, also while it is recorded', async () => {
  const read = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', run)
  const webhookId = (await start()).webhookId
  const counted = async () => ({
    listed: (await read((w) => listDeliveries(w, {}, { limit: 10 }))).rows,
    events: (await read((w) => listEvents(w, {}, { limit: 10 }))).rows,
    webhooks: (await read((w) => deliveryStats(w, {}))).webhooks,
    days: (await read((w) => deliveriesByDay(w, '2020-01-01'))).days,
  })
  const none = { listed: [], events: [], webhooks: [], days: [] }
  expect(await counted()).toEqual(none)
  const probe = sampleEvent('contact.created', { now: Date.now(), test: true })
  const id = await read((w) => insertProbe(w, webhookId, probe))
  await eventually(async () => (await read((w) => showDelivery(w, id))).status === 'delivered')
  expect(await counted()).toEqual({ ...none, webhooks: [expect.objectContaining({ id: webhookId, delivered: 1 })] })
  await removeProbe({ sql: t.app.sql, accountId: account.id }, id)
  expect(await counted()).toEqual(none)
})
