// biome-ignore-all lint/suspicious/noThenProperty: the contract's name for the side of a step
import { once } from 'node:events'
import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { changeDeal, createDeal, NewDeal } from '../../../src/deals/deals.ts'
import { useApp } from '../../support/app.ts'
import { eventually } from '../../support/eventually.ts'
import { day, type JourneyBench, journeyBench, testClock } from '../../support/journeys.ts'
import { useReceiver } from '../../support/receiver.ts'

const clock = testClock()
let bench: JourneyBench
let listId: string
const servers: Server[] = []

const receiver = useReceiver()
const target = useApp({ now: clock.now, env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeEach(async () => {
  bench = await journeyBench(target)
  listId = await bench.list('Leads')
})
afterEach(() => {
  for (const server of servers.splice(0)) server.close()
})

const onAdded = (steps: unknown[], more: object = {}) =>
  bench.apply({ name: 'J', trigger: { kind: 'list-added', list: 'Leads' }, ...more, steps })

const outcomes = async (journeyId: string) =>
  (await bench.runs(journeyId)).map(({ status, reason, log }) => ({
    status,
    reason,
    log: log.map(({ step, kind, outcome }) => `${step} ${kind}: ${outcome}`),
  }))

const deal = (email: string, title = 'T') =>
  bench.work((work) => createDeal(work, NewDeal.parse({ title, email }), { source: 'api' }))

/** Opens an HTTP server. */
const serve = async (listener: RequestListener): Promise<string> => {
  const server = createServer(listener).listen(0, '127.0.0.1')
  servers.push(server)
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

test('a webhook step posts once, with the key of run and step, and continues at 2xx', async () => {
  const journey = await onAdded([
    {
      kind: 'webhook',
      url: `${receiver.url}/one`,
      body: { hello: '{{ name }}', list: [1, '{{ email }}', '{{ nobody | "there" }}'] },
    },
    { kind: 'webhook', url: `${receiver.url}/two` },
  ])
  await bench.add(listId, ['ada@example.com'], { name: 'Ada' })
  await bench.drain()
  const [run] = await bench.runs(journey)
  expect(run).toMatchObject({ status: 'completed', log: [{ outcome: 'answered 200' }, { outcome: 'answered 200' }] })
  const [one, two] = receiver.requests.splice(0)
  expect(JSON.parse(String(one!.body))).toEqual({ hello: 'Ada', list: [1, 'ada@example.com', 'there'] })
  expect(one!.headers['x-service-idempotency-key']).toBe(`${run!.id}:0`)
  expect(JSON.parse(String(two!.body))).toMatchObject({
    journey: { id: journey, name: 'J' },
    runId: run!.id,
    contact: { email: 'ada@example.com' },
  })
})

const hour = 3_600_000

test('a webhook step that fails is tried again by the schedule of deliveries, with the same key, then fails the run', async () => {
  const journey = await onAdded([{ kind: 'webhook', url: receiver.url, body: {} }])
  receiver.always({ status: 500 })
  await bench.add(listId, ['ada@example.com'])
  for (let attempt = 1; attempt <= 8; attempt++) {
    await bench.drain()
    expect(receiver.requests).toHaveLength(attempt)
    clock.advance(5 * hour)
    await target.app.sql(
      `insert into development_clock (id, offset_ms) values (1, $1)
       on conflict (id) do update set offset_ms = development_clock.offset_ms + $1`,
      [5 * hour],
    )
  }
  await target.app.sql('delete from development_clock')
  receiver.always({})
  const keys = receiver.requests.splice(0).map(({ headers }) => headers['x-service-idempotency-key'])
  expect(new Set(keys).size).toBe(1)
  expect(await outcomes(journey)).toEqual([
    {
      status: 'failed',
      reason: 'webhook: answered 500 (8 attempts)',
      log: ['steps[0] webhook: answered 500 (8 attempts)'],
    },
  ])
})

const waitFor = (more: object = {}) => ({
  kind: 'wait-for',
  event: 'deal.created',
  timeout: '1d',
  then: [{ kind: 'update-field', field: 'side', value: 'then' }],
  else: [{ kind: 'update-field', field: 'side', value: 'else' }],
  ...more,
})

const emails = Array.from({ length: 10 }, (_, i) => `c${i}@example.com`)

const sides = async () => Promise.all(emails.map(async (email) => (await bench.contacts(email))[0]!.fields.side))

test('an event that the receiver causes before it answers wakes the wait-for that follows', async () => {
  await bench.stages()
  const url = await serve(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    await deal(JSON.parse(body).email)
    response.end()
  })
  await onAdded([{ kind: 'webhook', url, body: { email: '{{ email }}' } }, waitFor()])
  await bench.add(listId, emails)
  // On a slow machine a receiver's answer can come too late, and its call is repeated later.
  await eventually(async () => {
    await bench.drain()
    return (await sides()).every(Boolean)
  })
  expect(await sides()).toEqual(emails.map(() => 'then'))
})

test('an event before the answer must have the values of the wait-for, and the timeout counts from the answer', async () => {
  await bench.stages()
  const url = await serve(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    await deal(JSON.parse(body).email, 'Small')
    clock.advance(60_000)
    response.end()
  })
  const from = clock.now().getTime()
  const journey = await onAdded([
    { kind: 'webhook', url, body: { email: '{{ email }}' } },
    waitFor({ where: { 'deal.title': 'Big' } }),
  ])
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  expect((await bench.runs(journey))[0]).toMatchObject({ status: 'waiting', log: [{ outcome: 'answered 200' }] })
  clock.advance(from + day - clock.now().getTime())
  await bench.drain()
  expect((await bench.runs(journey))[0]!.status).toBe('waiting')
  await deal('ada@example.com', 'Big')
  await bench.drain()
  expect((await bench.contacts('ada@example.com'))[0]!.fields.side).toBe('then')
})

test('a run that an exit rule ends while it waits for an answer takes no further step, and its delivery is cancelled', async () => {
  const stages = await bench.stages()
  receiver.always({ status: 500 })
  const journey = await onAdded([{ kind: 'webhook', url: receiver.url, body: {} }, waitFor()], { exitOn: ['deal-won'] })
  await bench.add(listId, ['ada@example.com'])
  await bench.drain()
  const posts = receiver.requests.length
  const { deal: won } = await deal('ada@example.com')
  const wonStage = stages.find(({ name }) => name === 'Won')!.id
  await bench.work((work) => changeDeal(work, won.id, { stageId: wonStage }))
  expect(await outcomes(journey)).toEqual([{ status: 'exited', reason: 'exit rule: deal-won', log: [] }])
  clock.advance(day)
  await bench.drain()
  receiver.always({})
  expect(receiver.requests.splice(0)).toHaveLength(posts)
})
