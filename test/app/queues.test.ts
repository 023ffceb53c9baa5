import { afterEach, beforeEach, expect, test } from 'vitest'
import { readQueues } from '../../src/app/queue-depths.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { emitEvents, subscribe } from '../support/deliveries.ts'
import { journeyBench } from '../support/journeys.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'

const minute = 60_000

let t: TestApp
beforeEach(async () => {
  t = await startApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })
})
afterEach(() => t.close())

const queues = async () =>
  Object.fromEntries(
    (await readQueues(t.app)).map(({ queue, depth, oldestSeconds }) => [queue, [depth, Math.round(oldestSeconds)]]),
  )

/** Creates an account that can send, with `count` due deliveries. */
const accountWithDeliveries = async (count: number) => {
  const account = await sendingAccount(t)
  await subscribe(t.app, account.id, 'https://hooks.example.com/x')
  await emitEvents(t.app, account.id, count)
  return account
}

test('each queue reports its due items and the age of the oldest; an empty queue reports 0', async () => {
  expect(await queues()).toEqual({ deliveries: [0, 0], journeys: [0, 0], sends: [0, 0] })
  const from = t.app.now().getTime()
  const account = await accountWithDeliveries(1)
  await queueMany(t.app, account.id, 2)
  await t.advance(10 * minute)
  await emitEvents(t.app, account.id, 2)
  const now = await queues()
  expect(now).toMatchObject({ deliveries: [3, expect.any(Number)], sends: [2, expect.any(Number)], journeys: [0, 0] })
  for (const queue of ['deliveries', 'sends']) {
    expect(now[queue]![1]).toBeGreaterThanOrEqual(600)
    expect(now[queue]![1]).toBeLessThanOrEqual((t.app.now().getTime() - from) / 1000)
  }
})

test('items that wait for their time are not counted: a back-off, a journey’s wait, a held email', async () => {
  await queueMany(t.app, (await accountWithDeliveries(3)).id, 2)
  await t.app.sql('update pending_deliveries set due_at = svc_now() + $1::interval', ['1 hour'])
  await t.app.sql('update message_queue set due_at = svc_now() + $1::interval', ['1 hour'])
  const bench = await journeyBench(t)
  const listId = await bench.list('Leads')
  await bench.apply({
    name: 'Patient',
    trigger: { kind: 'list-added', list: 'Leads' },
    steps: [{ kind: 'delay', for: '2h' }],
  })
  await bench.add(listId, ['a@example.com'])
  expect((await queues()).journeys![0]).toBe(1)
  await bench.drain()
  expect(await queues()).toEqual({ deliveries: [0, 0], journeys: [0, 0], sends: [0, 0] })
  await t.advance(3 * 60 * minute)
  const later = await queues()
  expect(later).toMatchObject({ deliveries: [3, expect.any(Number)], journeys: [1, expect.any(Number)] })
  expect(later.journeys![1]).toBeGreaterThanOrEqual(3600)
})

test('deliveries to a webhook that is not active are counted in no queue', async () => {
  await accountWithDeliveries(3)
  expect((await queues()).deliveries![0]).toBe(3)
  await t.app.sql(`update delivery_targets set status = 'disabled'`)
  expect((await queues()).deliveries).toEqual([0, 0])
})
