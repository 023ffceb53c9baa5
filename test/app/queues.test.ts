import { expect, test } from 'vitest'
import { readQueues } from '../../src/app/queues.ts'
import { useApp } from '../support/app.ts'
import { emitEvents, subscribe } from '../support/deliveries.ts'
import { journeyBench } from '../support/journeys.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'

const minute = 60_000

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' }, development: true })

const queues = async () =>
  Object.fromEntries(
    (await readQueues(t.app)).map(({ queue, depth, oldestSeconds }) => [queue, [depth, Math.round(oldestSeconds)]]),
  )

test('each queue reports its due items and the age of the oldest; an empty queue reports 0', async () => {
  expect(await queues()).toEqual({ deliveries: [0, 0], journeys: [0, 0], sends: [0, 0] })
  const account = await sendingAccount(t)
  const from = t.app.now().getTime()
  await subscribe(t.app, account.id, 'https://hooks.example.com/x')
  await emitEvents(t.app, account.id, 1)
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
  expect((await queues()).deliveries![0]).toBe(3)
  await t.app.sql(`update delivery_targets set status = 'disabled'`)
  expect((await queues()).deliveries).toEqual([0, 0])
})
