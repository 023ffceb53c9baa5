import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { useAccount, useApp } from '../support/app.ts'
import { type Daemon, startDaemon } from '../support/daemon.ts'
import { eventually, subscribe } from '../support/deliveries.ts'
import { useDnsServer } from '../support/dns.ts'
import { settlesWithin } from '../support/eventually.ts'
import { openProxy, type TcpProxy } from '../support/proxy.ts'
import { useReceiver } from '../support/receiver.ts'
import { limit } from '../support/slowness.ts'

// All connections of a daemon to PostgreSQL go silent at once: they stay open without traffic, and new ones work.

let proxy: TcpProxy
let daemon: Daemon
let listId: string

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const account = useAccount(t)
const receiver = useReceiver()
const dns = useDnsServer()
beforeAll(async () => {
  dns.set('mailbox.org', { MX: [[10, 'mx.mailbox.org']] })
  await subscribe(t.app, account.id, receiver.url)
  listId = (await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People' }))).id
  proxy = await openProxy(t.url)
  daemon = await startDaemon(t, { env: { DATABASE_URL: proxy.through(t.url), SVC_DNS_SERVERS: dns.address } })
})
afterAll(async () => {
  await daemon?.kill('SIGKILL')
  await proxy.close()
})

interface Answered {
  status: number
  ms: number
}

/** A call is refused within 10 s if the database does not answer. */
const longestMs = limit(11_000)

test('every call is answered within 11 s, and all jobs continue', async () => {
  const answers: Answered[] = []
  const acknowledged: string[] = []
  const call = async (method: string, path: string, body?: object): Promise<number> => {
    const at = performance.now()
    const reply = await fetch(`${daemon.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${account.key}`, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
    await reply.arrayBuffer()
    answers.push({ status: reply.status, ms: performance.now() - at })
    return reply.status
  }
  let isOver = false
  let written = 0
  const write = async () => {
    while (!isOver) {
      const email = `person-${++written}@mailbox.org`
      if ((await call('POST', '/api/v1/contacts', { listId, email, fields: {} })) < 300) acknowledged.push(email)
      await sleep(250)
    }
  }
  const read = async () => {
    while (!isOver) {
      await call('GET', '/api/v1/lists')
      await sleep(500)
    }
  }
  const states: Record<string, string>[] = []
  const watch = async () => {
    while (!isOver) {
      const at = performance.now()
      const reply = await fetch(`${daemon.url}/readyz`)
      const body = (await reply.json()) as { jobs?: Record<string, string> }
      expect(performance.now() - at).toBeLessThan(longestMs)
      if (reply.ok) states.push(body.jobs!)
      await sleep(250)
    }
  }
  const running = Promise.all([write(), write(), write(), write(), read(), read(), watch()])

  await eventually(() => acknowledged.length > 20)
  await eventually(() => proxy.connections() > 5)
  const before = acknowledged.length
  expect(proxy.silence()).toBeGreaterThan(5)
  await eventually(() => answers.some(({ status }) => status === 503))
  const recovered = eventually(() => answers.slice(-200).every(({ status }) => status < 300))
  expect(await settlesWithin(recovered, 30_000)).toBe(true)
  isOver = true
  await running

  const slow = answers.filter(({ ms }) => ms > longestMs)
  const other = answers.filter(({ status }) => status >= 300 && status !== 503)
  expect({ slow, other }).toEqual({ slow: [], other: [] })
  expect(acknowledged.length).toBeGreaterThan(before)

  // Jobs may be stalled for a while, but work at the end.
  expect(states.at(-1)).toMatchObject({ deliveries: 'ok', mail: 'ok', journeys: 'ok' })
  const delivered = () =>
    new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).data.contact.email as string))
  await eventually(() => {
    const seen = delivered()
    return acknowledged.every((email) => seen.has(email))
  })

  // A new event is delivered at once.
  const email = 'the-last-one@mailbox.org'
  expect(await call('POST', '/api/v1/contacts', { listId, email, fields: {} })).toBe(201)
  await eventually(() => delivered().has(email))
})

test.each([
  ['goes on', true],
  ['never goes on, and another one takes over', false],
])('after a server that was frozen %s, everything is delivered within 30 s of the first write', async (_, goesOn) => {
  const write = async (email: string): Promise<boolean> => {
    const body = JSON.stringify({ listId, email, fields: {} })
    const headers = { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' }
    const reply = await fetch(`${daemon.url}/api/v1/contacts`, { method: 'POST', headers, body })
    await reply.arrayBuffer()
    return reply.ok
  }
  let written = 0
  let isThawed = false
  const run = goesOn ? 'on' : 'over'
  /** Writes until a write succeeds after the freeze. */
  const writer = async () => {
    while (!(await write(`frozen-${run}-${++written}@mailbox.org`)) || !isThawed) await sleep(20)
  }
  const writing = Promise.all(Array.from({ length: 8 }, writer))
  await eventually(() => written > 50)
  proxy.hold()
  expect(proxy.silence()).toBeGreaterThan(5)
  await sleep(25_000)
  isThawed = true
  proxy.pass()
  if (goesOn) proxy.resume()
  await writing
  const isAllDelivered = async () => {
    const events = await t.events(account.id, 'contact.created')
    const seen = new Set(receiver.requests.map(({ body }) => JSON.parse(body.toString()).id as string))
    return events.every(({ id }) => seen.has(id))
  }
  expect(await settlesWithin(eventually(isAllDelivered), 30_000)).toBe(true)
})

test('a job whose worker completes no heartbeat is stalled in /readyz, and ok again after the next one', async () => {
  const jobs = async () => {
    const reply = await fetch(`${daemon.url}/readyz`)
    return reply.ok ? ((await reply.json()) as { jobs: Record<string, string> }).jobs : {}
  }
  const working = { deliveries: 'ok', mail: 'ok', journeys: 'ok' }
  await expect.poll(jobs).toMatchObject(working)
  const locked = Promise.withResolvers<void>()
  const locking = t.app.database.transaction(async (sql) => {
    await sql('lock table workers in access exclusive mode')
    await locked.promise
  })
  try {
    await expect.poll(jobs, { interval: 200 }).toMatchObject({ deliveries: 'stalled', mail: 'stalled' })
    expect((await jobs()).journeys).toBe('ok')
  } finally {
    locked.resolve()
    await locking
  }
  await expect.poll(jobs, { interval: 200 }).toMatchObject(working)
})
