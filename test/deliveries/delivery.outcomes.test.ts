import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { forgetFormerSecrets } from '../../src/deliveries/deliveries.purge.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { verify } from '../../src/lib/signature.ts'
import { verifyWebhook } from '../../src/lib/webhooks.ts'
import { rotateSecret, showWebhook, updateWebhook } from '../../src/webhooks/webhooks.ts'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { useDnsServer } from '../support/dns.ts'
import { openReceiver, type Receiver } from '../support/receiver.ts'

let t: TestApp
let account: TestAccount
let receiver: Receiver
let loop: { stop(): Promise<void> }

const dns = useDnsServer()
beforeAll(async () => {
  const env = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.1/32', SVC_DNS_SERVERS: dns.address }
  t = await startApp({ env, development: true })
})
beforeEach(async () => {
  account = await t.account()
  receiver = await openReceiver()
  loop = startDeliveries(t.app)
})
afterEach(async () => {
  await receiver.close()
  await loop.stop()
})
afterAll(() => t?.close())

const deliveries = () => deliveriesOf(t.app, account.id)
const advanceTo = (time: Date) => t.advance(Math.max(0, time.getTime() - t.app.now().getTime()) + 5)
/**
 * Expects the wait from the last attempt of the first delivery to `dueAt` to be in a range of seconds. It begins when the attempt is
 * recorded: between its end and now.
 */
const expectWait = async (dueAt: Date, [least, most]: readonly [number, number]): Promise<void> => {
  const { at, durationMs } = (await deliveries())[0]!.attempts.at(-1)!
  const secondsTo = (ms: number) => (ms - at - durationMs) / 1000
  const sinceAttempt = secondsTo(t.app.now().getTime())
  expect(secondsTo(dueAt.getTime())).toBeGreaterThanOrEqual(least - 0.01)
  expect(secondsTo(dueAt.getTime())).toBeLessThanOrEqual(most + sinceAttempt + 0.01)
}
/** Waits for a delivery that was tried `tries` times and is not claimed, and returns it. */
const tried = (tries: number) =>
  eventually(async () => (await deliveries()).find((delivery) => delivery.tries === tries && delivery.worker === null))
const webhookOf = async (id: string) => (await t.app.sql('select * from delivery_targets where id = $1', [id]))[0]!

test('a delivery posts the stored event, signed, with the id of the event as the idempotency key', async () => {
  const { id, secret } = await subscribe(t.app, account.id, `${receiver.url}/hook`)
  await emitEvents(t.app, account.id)
  const [request] = await receiver.arrived(1)
  const [event] = await t.events(account.id)
  expect(request!.path).toBe('/hook')
  expect(JSON.parse(request!.body.toString())).toEqual(event)
  expect(request!.headers['x-service-idempotency-key']).toBe(event!.id)
  expect(verify(secret, request!.headers, request!.body, t.app.now().getTime())).toBe('ok')
  const delivery = await tried(1)
  expect(delivery).toMatchObject({ status: 'delivered', attempts: [{ status: 200, error: null, snippet: '' }] })
  expect(delivery.finishedAt).not.toBeNull()
  expect((await webhookOf(id)).last_delivery_at).not.toBeNull()
  expect(await webhookOf(id)).toMatchObject({ last_failure_at: null, last_error: null })
})

test('an event that five webhooks subscribe to is posted to each of them', async () => {
  for (let i = 0; i < 5; i++) await subscribe(t.app, account.id, `${receiver.url}/${i}`)
  await emitEvents(t.app, account.id)
  const requests = await receiver.arrived(5)
  expect(requests.map((request) => request.path).sort()).toEqual(['/0', '/1', '/2', '/3', '/4'])
  expect(new Set(requests.map((request) => request.headers['x-service-idempotency-key'])).size).toBe(1)
})

test('a failed delivery is tried 8 times over 7.4 hours, with the same body and key and a new signature each time', async () => {
  receiver.always({ status: 500 })
  const { secret } = await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id)
  const schedule = [10, 60, 300, 900, 3600, 7200, 14_400]
  for (const [i, seconds] of schedule.entries()) {
    const { dueAt, status } = await tried(i + 1)
    expect(status).toBe('pending')
    await expectWait(dueAt, [seconds * 0.8, seconds * 1.2])
    // The loop starts again after the clock has advanced, so that it uses the new time.
    await loop.stop()
    await advanceTo(dueAt)
    loop = startDeliveries(t.app)
  }
  expect(await tried(8)).toMatchObject({ status: 'exhausted', attempts: { length: 8 } })
  const of = (header: string) => new Set(receiver.requests.map((request) => request.headers[header]))
  expect(receiver.requests).toHaveLength(8)
  expect(of('x-service-idempotency-key').size).toBe(1)
  expect(of('x-service-timestamp').size).toBe(8)
  expect(new Set(receiver.requests.map((request) => request.body.toString())).size).toBe(1)
  for (const { headers, body } of receiver.requests) {
    expect(verify(secret, headers, body, Number(headers['x-service-timestamp']) * 1000)).toBe('ok')
  }
})

test('a retry is posted to the current URL of its webhook', async () => {
  receiver.next({ status: 503 })
  const { id } = await subscribe(t.app, account.id, `${receiver.url}/old`)
  await emitEvents(t.app, account.id)
  const { dueAt } = await tried(1)
  await t.app.sql('update delivery_targets set url = $2 where id = $1', [id, `${receiver.url}/new`])
  await advanceTo(dueAt)
  expect(await tried(2)).toMatchObject({ status: 'delivered' })
  expect(receiver.requests.map((request) => request.path)).toEqual(['/old', '/new'])
})

test('Retry-After lengthens the wait up to twice the interval', async () => {
  receiver.next({ status: 429, headers: { 'retry-after': '17' } }, { status: 429, headers: { 'retry-after': '9000' } })
  await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id)
  const first = await tried(1)
  await expectWait(first.dueAt, [17, 20])
  await advanceTo(first.dueAt)
  await expectWait((await tried(2)).dueAt, [120, 120])
})

/** Posts one event to the account's endpoint, which answers with a status and Retry-After, then one more there and one elsewhere. */
const postAfter = async (status: number) => {
  receiver.next({ status, headers: { 'retry-after': '30' } })
  const { id } = await subscribe(t.app, account.id, `${receiver.url}/asking`)
  await emitEvents(t.app, account.id)
  await tried(1)
  await emitEvents(t.app, account.id)
  const other = await t.account()
  await subscribe(t.app, other.id, `${receiver.url}/other`)
  await emitEvents(t.app, other.id)
  await eventually(() => receiver.requests.some(({ path }) => path === '/other'))
  return id
}
const asked = () => receiver.requests.filter(({ path }) => path === '/asking').length

test.each([429, 503])('%i with Retry-After quiets its endpoint: nothing is posted there before', async (status) => {
  const id = await postAfter(status)
  expect(asked()).toBe(1)
  const until = await eventually(async () => (await webhookOf(id)).quiet_until as Date | null)
  await expectWait(until, [30, 36])
  await advanceTo(until)
  await eventually(async () => (await deliveries()).every((delivery) => delivery.status === 'delivered'))
  expect(asked()).toBe(3)
})

test('500 with Retry-After does not quiet its endpoint', async () => {
  const id = await postAfter(500)
  expect((await webhookOf(id)).quiet_until).toBeNull()
  await eventually(() => asked() === 2)
})

test('410 is recorded, disables the webhook and cancels its pending deliveries; only posts in progress are completed', async () => {
  receiver.always({ status: 410 })
  const { id } = await subscribe(t.app, account.id, receiver.url)
  await emitEvents(t.app, account.id, 300)
  await eventually(async () => (await webhookOf(id)).status === 'disabled')
  expect(await webhookOf(id)).toMatchObject({ disabled_reason: 'gone', last_error: 'answered 410' })
  const rows = await deliveries()
  expect(rows.every((row) => row.status === 'cancelled' && row.finishedAt && row.worker === null)).toBe(true)
  expect(rows.filter((row) => row.attempts[0]?.status === 410).length).toBeGreaterThan(0)
  // The event of another account is due later.
  const other = await t.account()
  await subscribe(t.app, other.id, `${receiver.url}/other`)
  await emitEvents(t.app, other.id)
  await eventually(() => receiver.requests.some(({ path }) => path === '/other'))
  expect(receiver.requests.filter(({ path }) => path !== '/other').length).toBeLessThanOrEqual(16)
})

test('a host name that becomes private after the subscription is refused, and the receiver gets no connection', async () => {
  const other = await startApp({ env: { SVC_DNS_SERVERS: dns.address } })
  const stranger = await other.account()
  const others = startDeliveries(other.app)
  dns.set('rebind.test', { A: ['93.184.216.34'] })
  const { body, status } = await other.request('POST', '/webhooks', {
    key: stranger.key,
    body: { url: `http://rebind.test:${receiver.port}/`, events: ['contact.created'] },
  })
  expect([status, body.id]).toEqual([201, expect.stringMatching(/^whk_/)])
  dns.set('rebind.test', { A: ['127.0.0.1'] })
  await emitEvents(other.app, stranger.id)
  const [delivery] = await eventually(async () => {
    const rows = await deliveriesOf(other.app, stranger.id)
    return rows[0]!.tries === 1 && rows
  })
  expect(delivery).toMatchObject({
    status: 'pending',
    attempts: [{ error: 'host name leads to an address that is not public' }],
  })
  expect(receiver.connections).toBe(0)
  await others.stop()
  await other.close()
})

test('an attempt fails if the host name does not resolve, and a retry succeeds once it does', async () => {
  await subscribe(t.app, account.id, `http://later.test:${receiver.port}/`)
  await emitEvents(t.app, account.id)
  const { attempts, dueAt } = await tried(1)
  expect(attempts).toMatchObject([{ status: null, error: 'host name does not resolve' }])
  dns.set('later.test', { A: ['127.0.0.1'] })
  await advanceTo(dueAt)
  expect(await tried(2)).toMatchObject({ status: 'delivered' })
})

test('while a secret cannot be decrypted, nothing is posted and no attempt is counted', async () => {
  const { id } = await subscribe(t.app, account.id, receiver.url)
  const { sealed_secret: sealed } = await webhookOf(id)
  await loop.stop()
  const reported: unknown[] = []
  const stop = new AbortController()
  const running = runDeliveries(t.app, stop.signal, (fault) => reported.push(fault))
  await t.app.sql(`update delivery_targets set sealed_secret = 'v1.AAAA' where id = $1`, [id])
  await emitEvents(t.app, account.id)
  await eventually(() => reported.length > 0)
  await eventually(async () => (await deliveries())[0]!.worker === null)
  expect(await deliveries()).toMatchObject([{ status: 'pending', tries: 0, attempts: [] }])
  expect([receiver.requests.length, reported.length]).toEqual([0, 1])
  stop.abort()
  await running
  await t.app.sql('update delivery_targets set sealed_secret = $2 where id = $1', [id, sealed])
  loop = startDeliveries(t.app)
  expect(await tried(1)).toMatchObject({ status: 'delivered' })
})

/** Whether the last request verifies with each of the secrets. */
const verdictsOf = (...secrets: string[]) => {
  const { headers, body } = receiver.requests.at(-1)!
  const nowMs = Number(headers['x-service-timestamp']) * 1000
  return secrets.map((secret) => verifyWebhook(secret, headers, body, { nowMs }).verdict)
}
const rotate = (id: string, overlap?: string) =>
  t.app.work(account.id, 'cli:test', (work) => rotateSecret(work, t.app.box, id, overlap))
const formerOf = async (id: string) => {
  const { former_sealed_secret: sealed, former_secret_until: until } = await webhookOf(id)
  return { sealed, until }
}

test('during an overlap receivers with the old and with the new secret accept a delivery, and after it only the new one', async () => {
  receiver.always({ status: 500 })
  const { id, secret: old } = await subscribe(t.app, account.id, receiver.url)
  const { secret, oldSecretUntil } = await rotate(id, '40s')
  await emitEvents(t.app, account.id)
  const { dueAt } = await tried(1)
  expect(receiver.requests[0]!.headers['x-service-signature']).toMatch(/^v1=[0-9a-f]{64},v1=[0-9a-f]{64}$/)
  expect(verdictsOf(old, secret)).toEqual(['ok', 'ok'])
  await advanceTo(dueAt)
  const { dueAt: afterwards } = await tried(2)
  expect(verdictsOf(old, secret)).toEqual(['ok', 'ok'])
  expect(afterwards.getTime()).toBeGreaterThan(oldSecretUntil!)
  await advanceTo(afterwards)
  await tried(3)
  expect(receiver.requests[2]!.headers['x-service-signature']).toMatch(/^v1=[0-9a-f]{64}$/)
  expect(verdictsOf(old, secret)).toEqual(['signature mismatch', 'ok'])
  const now = t.app.now()
  expect(await forgetFormerSecrets(t.app, new Date(oldSecretUntil! - 1))).toBe(0)
  expect(await forgetFormerSecrets(t.app, now)).toBe(1)
  expect(await formerOf(id)).toEqual({ sealed: null, until: null })
})

test('at most one old secret signs, and a rotation without an overlap ends it', async () => {
  const { id, secret: first } = await subscribe(t.app, account.id, receiver.url)
  const { secret: second } = await rotate(id, '30d')
  const { secret: third } = await rotate(id, '1h')
  await emitEvents(t.app, account.id)
  await receiver.arrived(1)
  expect(verdictsOf(first, second, third)).toEqual(['signature mismatch', 'ok', 'ok'])
  for (const wrong of ['31d', '0s', 'soon']) {
    await expect(rotate(id, wrong)).rejects.toMatchObject({ kind: 'invalid' })
  }
  const { secret: fourth } = await rotate(id)
  expect(await formerOf(id)).toEqual({ sealed: null, until: null })
  await emitEvents(t.app, account.id)
  await receiver.arrived(2)
  expect(verdictsOf(second, third, fourth)).toEqual(['signature mismatch', 'signature mismatch', 'ok'])
})

test('an updated webhook keeps its id and secret, and pending deliveries are posted to the new URL', async () => {
  const { id, secret } = await subscribe(t.app, account.id, `${receiver.url}/old`)
  receiver.always({ status: 500 })
  await emitEvents(t.app, account.id)
  const [first] = await receiver.arrived(1)
  const before = await tried(1)
  const webhook = await updateWebhook(t.app, account.id, 'cli:test', id, { url: `${receiver.url}/new` })
  expect(webhook).toMatchObject({ id, url: `${receiver.url}/new`, events: ['contact.created'], status: 'active' })
  receiver.always({})
  expect(await deliveries()).toEqual([before])
  await advanceTo(before.dueAt)
  const [, second] = await receiver.arrived(2)
  expect([first!.path, second!.path]).toEqual(['/old', '/new'])
  expect(second!.body).toEqual(first!.body)
  expect(second!.headers['x-service-idempotency-key']).toBe(first!.headers['x-service-idempotency-key'])
  expect(verify(secret, second!.headers, second!.body, t.app.now().getTime())).toBe('ok')
  expect(await tried(2)).toMatchObject({ id: before.id, status: 'delivered' })
})

test('a webhook with new event types keeps its pending deliveries and gets no more events of its old types', async () => {
  const { id } = await subscribe(t.app, account.id, `${receiver.url}/hook`)
  receiver.always({ status: 500 })
  await emitEvents(t.app, account.id)
  const before = await tried(1)
  await updateWebhook(t.app, account.id, 'cli:test', id, { events: ['lead.hot', 'deal.created', 'lead.hot'] })
  const { events } = await t.app.work(account.id, 'cli:test', (work) => showWebhook(work, id))
  expect(events).toEqual(['lead.hot', 'deal.created'])
  await emitEvents(t.app, account.id)
  expect(await deliveries()).toEqual([before])
  receiver.always({})
  await advanceTo(before.dueAt)
  expect(await tried(2)).toMatchObject({ id: before.id, status: 'delivered' })
})

test('an update to a private URL or of another account’s webhook is refused and changes nothing', async () => {
  const { id } = await subscribe(t.app, account.id, `${receiver.url}/hook`)
  const other = await t.account()
  const update = (url: string, of = account.id) =>
    updateWebhook(t.app, of, 'cli:test', id, { url, events: ['lead.hot'] })
  await expect(update('http://10.0.0.1/')).rejects.toMatchObject({ kind: 'invalid' })
  await expect(update('https://example.com/', other.id)).rejects.toMatchObject({ kind: 'not_found' })
  const shown = await t.app.work(account.id, 'cli:test', (work) => showWebhook(work, id))
  expect(shown).toMatchObject({ url: `${receiver.url}/hook`, events: ['contact.created'] })
})
