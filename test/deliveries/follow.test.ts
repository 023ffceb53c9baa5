import { beforeEach, expect, test } from 'vitest'
import { newEvents } from '../../src/deliveries/deliveries.events.ts'
import { deliveryChanges } from '../../src/deliveries/deliveries.follow.ts'
import { replayBatch } from '../../src/deliveries/deliveries.replay.ts'
import type { Work } from '../../src/store/work.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { deliveriesOf, emitEvents, endPending, subscribe } from '../support/deliveries.ts'

let account: TestAccount

const t = useApp({ env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
beforeEach(async () => {
  account = await t.account()
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', run)
const hook = () => subscribe(t.app, account.id, 'http://127.0.0.1:1/hook')
const idsOf = async () => (await deliveriesOf(t.app, account.id)).map(({ id }) => id)
const now = () => t.app.now().getTime()
const replay = (ids: string[]) => work((w) => replayBatch(w, { ids }, { startedAt: t.app.now(), changed: 0 }))

test('deliveries: returns each change once, oldest first, and no earlier change', async () => {
  await hook()
  await emitEvents(t.app, account.id, 2)
  const old = (await idsOf()).sort()
  await new Promise((resolve) => setTimeout(resolve, 2))
  const changes = deliveryChanges({}, now())
  const look = async () => (await work(changes)).map(({ id, status }) => `${status} ${id}`)
  expect(await look()).toEqual([])
  await emitEvents(t.app, account.id, 2)
  const [first, second] = (await idsOf()).filter((id) => !old.includes(id)).sort()
  expect(await look()).toEqual([`pending ${first}`, `pending ${second}`])
  expect(await look()).toEqual([])
  await t.app.sql(`update pending_deliveries set attempts = '[{"at":1,"status":500,"error":null}]' where id = $1`, [
    old[0],
  ])
  expect(await look()).toEqual([`pending ${old[0]}`])
  await endPending(t.app, account.id, 'exhausted')
  expect(await look()).toEqual([...old, first, second].map((id) => `exhausted ${id}`))
  expect(await look()).toEqual([])
  await replay([old[1]!])
  expect(await look()).toEqual([`pending ${old[1]}`])
  await endPending(t.app, account.id, 'delivered')
  expect(await look()).toEqual([`delivered ${old[1]}`])
  // Created and ended between two look-ups.
  await emitEvents(t.app, account.id)
  await endPending(t.app, account.id, 'delivered')
  expect(await look()).toEqual([expect.stringMatching(/^delivered /)])
  expect(await look()).toEqual([])
})

test('deliveries: returns only those that match the filter with their current status, and none of another account', async () => {
  const other = await t.account()
  await subscribe(t.app, other.id, 'http://127.0.0.1:1/hook')
  const [mine] = [await hook(), await hook()]
  const all = deliveryChanges({}, now())
  const toMine = deliveryChanges({ webhook: mine.id }, now())
  const exhausted = deliveryChanges({ status: 'exhausted' }, now())
  const none = deliveryChanges({ type: 'deal.created' }, now())
  for (const changes of [all, toMine, exhausted, none]) expect(await work(changes)).toEqual([])
  await emitEvents(t.app, account.id)
  await emitEvents(t.app, other.id)
  expect((await work(all)).map(({ id }) => id)).toEqual((await idsOf()).sort())
  expect((await work(toMine)).map(({ webhookId }) => webhookId)).toEqual([mine.id])
  expect(await work(exhausted)).toEqual([])
  await endPending(t.app, account.id, 'exhausted')
  expect(await work(exhausted)).toHaveLength(2)
  expect(await work(toMine)).toHaveLength(1)
  expect(await work(none)).toEqual([])
})

test('deliveries and events: returns those since the given time at first', async () => {
  await hook()
  await emitEvents(t.app, account.id, 3)
  const since = now() - 60_000
  expect(await work(deliveryChanges({ since }, since))).toHaveLength(3)
  expect(await work(newEvents({}, since))).toEqual(await t.events(account.id))
})

test('deliveries: returns a delivery to a disabled webhook once as cancelled', async () => {
  const { id } = await hook()
  await emitEvents(t.app, account.id)
  const changes = deliveryChanges({}, now())
  await work(changes)
  await t.app.sql(`update delivery_targets set status = 'disabled' where id = $1`, [id])
  expect((await work(changes)).map(({ status }) => status)).toEqual(['cancelled'])
  await endPending(t.app, account.id, 'cancelled')
  expect(await work(changes)).toEqual([])
})

test('events: returns each once, even after a long transaction, and none that is earlier or of another type', async () => {
  await hook()
  await emitEvents(t.app, account.id, 2)
  await new Promise((resolve) => setTimeout(resolve, 2))
  const [news, deals] = [newEvents({}, now()), newEvents({ type: 'deal.created' }, now())]
  expect([await work(news), await work(deals)]).toEqual([[], []])
  const before = (await t.events(account.id)).length
  let commit = () => {}
  const held = new Promise<void>((resolve) => {
    commit = resolve
  })
  const { emit } = await import('../../src/events/emit.ts')
  const { sampleEvent } = await import('../../src/events/samples.ts')
  const { contact } = sampleEvent('contact.created', { now: now() }).data
  const long = work(async (w) => {
    await emit(w, 'contact.created', () => [{ contact }])
    await held
  })
  await emitEvents(t.app, account.id, 2)
  expect(await work(news)).toHaveLength(2)
  commit()
  await long
  expect(await work(news)).toHaveLength(1)
  expect(await work(news)).toEqual([])
  expect((await t.events(account.id)).length).toBe(before + 3)
  expect(await work(deals)).toEqual([])
})
