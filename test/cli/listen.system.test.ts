import { once } from 'node:events'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { EventType } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { verify } from '../../src/lib/signature.ts'
import { deliverEvents } from '../../src/webhooks/webhooks.listeners.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { startSvc } from '../support/cli.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { retryNow } from '../support/deliveries.ts'
import { eventually } from '../support/eventually.ts'
import { openReceiver } from '../support/receiver.ts'
import { outOfScope } from '../support/scope.ts'

let daemon: Daemon
let account: TestAccount
const running = new Set<{ end(signal?: NodeJS.Signals): Promise<number | null> }>()
const mayReachLoopback = { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' }

const target = useApp()
/** Starts the daemon of the file, also in a test. */
const restart = () => outOfScope(() => startDaemon(target, { env: mayReachLoopback }))
beforeAll(async () => {
  daemon = await restart()
})
afterAll(() => daemon?.stop())
beforeEach(async () => {
  account = await target.account()
})
afterEach(async () => {
  await Promise.all([...running].map((listener) => listener.end('SIGKILL')))
  running.clear()
})

/** Starts a real `svc listen` with an account of its own. */
const startListener = async (args: string[] = [], env: Record<string, string> = {}) => {
  const child = startSvc(target, ['listen', '--account', account.id, ...args], { env })
  let stdout = ''
  let stderr = ''
  child.stdout.setEncoding('utf8').on('data', (text) => {
    stdout += text
  })
  child.stderr.setEncoding('utf8').on('data', (text) => {
    stderr += text
  })
  const exited = once(child, 'close').then(([status]) => status as number | null)
  const listener = {
    child,
    exited,
    stderr: () => stderr,
    lines: () => stdout.split('\n').filter(Boolean),
    heard: (): Record<string, unknown>[] => listener.lines().map((line) => JSON.parse(line)),
    arrived: (count: number) => eventually(() => listener.lines().length >= count),
    end(signal: NodeJS.Signals = 'SIGINT') {
      child.kill(signal)
      return exited
    },
  }
  running.add(listener)
  await eventually(() => {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error(`It ended: ${stderr}`)
    return /^Ready/m.test(stderr)
  })
  return listener
}

const emit = (type: EventType, count = 1) =>
  target.app.work(account.id, 'cli:test', async (work) => {
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
  target.app.sql<{ id: string; url: string; events: string[] }>(
    'select w.id, t.url, w.events from webhooks w join delivery_targets t using (id) where w.account_id = $1 order by w.id',
    [account.id],
  )
const urlOf = async () => (await subscriptions())[0]!.url

test('deliveries are verified and printed, one line each, with the answer', async () => {
  const listener = await startListener()
  const [event] = await emit('contact.created')
  await listener.arrived(1)
  expect(listener.lines()).toHaveLength(1)
  expect(listener.lines()[0]).toMatch(
    new RegExp(`^\\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z contact\\.created ${event!.id} → 200 in \\d+ ms$`),
  )
  expect(await listener.end()).toBe(130)
  expect(listener.stderr()).toMatch(/1 event, 1 distinct, 0 not verified\n$/)
})

test('with --jsonl a delivery is one JSON object a line, and a repeated id is marked', async () => {
  const listener = await startListener(['--jsonl', '--reply', '500,204'])
  const [event] = await emit('deal.created')
  await listener.arrived(1)
  await retryNow(target.app, account.id, event!.id)
  await listener.arrived(2)
  expect(listener.heard()).toMatchObject([
    { type: 'deal.created', id: event!.id, status: 500, verified: true, duplicate: false, event },
    { type: 'deal.created', id: event!.id, status: 204, verified: true, duplicate: true, event },
  ])
  await listener.end()
  expect(listener.stderr()).toMatch(/2 events, 1 distinct, 0 not verified/)
})

test('control characters in a request never reach the terminal', async () => {
  const listener = await startListener()
  await fetch(await urlOf(), { method: 'POST', body: '{"id":"evt_\\u001b[2Jx","type":"a\\nb"}' })
  await listener.arrived(1)
  expect(listener.lines()).toHaveLength(1)
  expect(listener.lines()[0]).not.toContain('\u001b')
})

test('--forward-to forwards the request unchanged and returns the answer', async () => {
  const receiver = await openReceiver()
  receiver.always({ status: 418, body: 'short and stout', headers: { 'retry-after': '7' } })
  const listener = await startListener(['--jsonl', '--print-secret', '--forward-to', `${receiver.url}/in?a=1`])
  const { secret } = JSON.parse(listener.lines()[0]!)
  expect(secret).toMatch(/^whsec_/)
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
  await listener.arrived(2)
  expect(JSON.parse(listener.lines()[1]!)).toMatchObject({ status: 418, error: null })
  const [row] = await eventually(() =>
    target.app
      .sql<{ attempts: { snippet: string }[] }>(`select attempts from deliveries where key = $1 and attempts <> '[]'`, [
        event!.id,
      ])
      .then((rows) => (rows.length > 0 ? rows : null)),
  )
  expect(row!.attempts[0]).toMatchObject({ status: 418, snippet: 'short and stout' })
  await receiver.close()

  await emit('contact.created')
  await listener.arrived(3)
  expect(JSON.parse(listener.lines()[2]!)).toMatchObject({ status: 502, error: 'connection refused' })
})

test('its end deletes its subscription and the pending deliveries; its ping leaves no trace', async () => {
  const listener = await startListener(['--reply', 'timeout', '--jsonl'])
  const [event] = await emit('contact.created')
  await listener.arrived(1)
  expect(listener.heard()[0]).toMatchObject({ status: null })
  expect(await listener.end('SIGTERM')).toBe(0)
  expect(await subscriptions()).toEqual([])
  const rows = await target.app.sql<{ status: string }>('select status from deliveries where key = $1', [event!.id])
  expect(rows).toEqual([{ status: 'cancelled' }])
  const [tests] = await target.app.sql<{ n: number }>(
    `select count(*) as n from events where account_id = $1 and payload like '%"test":true%'`,
    [account.id],
  )
  expect(tests).toEqual({ n: 0 })
})

test('the next listener removes the subscription of a killed one and keeps that of a running one', async () => {
  const killed = await startListener()
  await killed.end('SIGKILL')
  const left = await subscriptions()
  expect(left).toHaveLength(1)
  await startListener()
  const living = await subscriptions()
  expect(living).toHaveLength(1)
  expect(living[0]!.id).not.toBe(left[0]!.id)
  await startListener()
  const both = await subscriptions()
  expect(both).toHaveLength(2)
  expect(both[0]).toEqual(living[0])
})

test('a 410 disables the subscription: the listener reports it and ends', async () => {
  const listener = await startListener(['--reply', '410'])
  await emit('contact.created')
  expect(await listener.exited).toBe(1)
  expect(listener.stderr()).toContain('answered with 410')
  expect(await subscriptions()).toEqual([])
})

test('when the reader closes the pipe, the listener ends without an error and deletes its subscription', async () => {
  const listener = await startListener()
  listener.child.stdout.destroy()
  await emit('contact.created', 3)
  expect(await listener.exited).toBe(0)
  expect(listener.stderr()).not.toContain('error')
  expect(await subscriptions()).toEqual([])
})

test('it survives a restart of the daemon, and reports deliveries that wait for a daemon', async () => {
  const listener = await startListener(['--jsonl'])
  await daemon.kill('SIGKILL')
  const [event] = await emit('contact.created')
  await eventually(() => listener.stderr().includes('no daemon sends them'))
  daemon = await restart()
  await listener.arrived(1)
  expect(listener.heard()[0]).toMatchObject({ id: event!.id, verified: true })
  await eventually(() => listener.stderr().includes('Deliveries can arrive again'))
})

test('1,500 deliveries in a burst are all received, each once', async () => {
  const listener = await startListener(['--jsonl'])
  for (let n = 0; n < 3; n++) await emit('contact.created', 500)
  await eventually(() => listener.lines().length >= 1500)
  expect(new Set(listener.heard().map(({ id }) => id)).size).toBe(1500)
  await listener.end()
  expect(listener.stderr()).toMatch(/1,500 events, 1,500 distinct, 0 not verified/)
})
