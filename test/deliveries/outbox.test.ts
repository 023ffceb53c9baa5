import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { listDeliveries } from '../../src/deliveries/deliveries.find.ts'
import { deliveriesChannel } from '../../src/deliveries/deliveries.notices.ts'
import { emit, isWanted } from '../../src/events/emit.ts'
import type { EventType } from '../../src/events/events.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import type { Work } from '../../src/store/work.ts'
import {
  createWebhook,
  deleteWebhook,
  disableWebhook,
  enableWebhook,
  testWebhook,
} from '../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { eventually, startDeliveries } from '../support/deliveries.ts'

let account: TestAccount

const t = useApp()
beforeEach(async () => {
  account = await t.account()
})

interface Row {
  id: string
  key: string
  target_id: string
  type: string
  status: string
  tries: number
  claim: number
  worker: number | null
  finished_at: Date | null
}

const work = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)

const subscribe = async (events: EventType[], apiKeyId?: string): Promise<string> => {
  const origin = { createdVia: 'api', trusted: true, ...(apiKeyId && { apiKeyId }) } as const
  return (await createWebhook(t.app, account.id, 'cli:test', { url: 'http://127.0.0.1:9/hook', events }, origin)).id
}

const { contact } = sampleEvent('contact.created', { now: Date.now() }).data
const contacts = (count: number) =>
  Array.from({ length: count }, (_, i) => ({ contact: { ...contact, rowId: `row_${i}` } }))
const created = (count = 1) => work((w) => emit(w, 'contact.created', () => contacts(count)))

const deliveries = () => t.app.sql<Row>('select * from deliveries where account_id = $1 order by id', [account.id])
const tally = async () => {
  const counts: Record<string, number> = {}
  for (const { target_id, status } of await deliveries()) {
    const key = `${target_id} ${status}`
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

describe('an event', () => {
  test('without a subscription is not built and leaves no row', async () => {
    await subscribe(['deal.created'])
    expect(await work((w) => isWanted(w, 'contact.created'))).toBe(false)
    await work((w) => emit(w, 'contact.created', () => expect.unreachable('built for nobody')))
    expect([await t.events(account.id), await deliveries()]).toEqual([[], []])
  })

  test('is stored as one row, with a pending delivery for each active webhook that subscribes to its type', async () => {
    const first = await subscribe(['contact.created', 'deal.created'])
    const second = await subscribe(['contact.created'])
    await subscribe(['contact.updated'])
    const off = await subscribe(['contact.created'])
    await work((w) => disableWebhook(w, off))
    await created()
    const events = await t.events(account.id)
    expect(events).toEqual([
      {
        id: expect.stringMatching(/^evt_/),
        type: 'contact.created',
        createdAt: expect.any(Number),
        data: contacts(1)[0],
      },
    ])
    const rows = await deliveries()
    expect(rows.map((row) => row.target_id).sort()).toEqual([first, second].sort())
    for (const row of rows) {
      expect(row.id).toMatch(/^dlv_[0-9a-z]{26}$/)
      expect(row).toMatchObject({
        key: events[0]!.id,
        type: 'contact.created',
        status: 'pending',
        tries: 0,
        claim: 0,
      })
    }
  })

  test('never reaches the webhooks of another account', async () => {
    const other = account
    await subscribe(['contact.created'])
    account = await t.account()
    await subscribe(['contact.created'])
    await created()
    expect(await deliveries()).toHaveLength(1)
    account = other
    expect(await deliveries()).toEqual([])
  })

  test('is rolled back with the transaction that caused it', async () => {
    await subscribe(['contact.created'])
    const failing = work(async (w) => {
      await emit(w, 'contact.created', () => contacts(1))
      throw new Error('no')
    })
    await expect(failing).rejects.toThrow('no')
    expect([await t.events(account.id), await deliveries()]).toEqual([[], []])
  })

  test('wakes the delivery job when it is committed', async () => {
    await subscribe(['contact.created'])
    const heard: string[] = []
    onTestFinished(t.app.database.notices.hear([deliveriesChannel], ({ payload }) => heard.push(payload)))
    await created(3)
    expect(heard).toEqual([expect.stringContaining(account.id)])
    await work((w) => emit(w, 'deal.created', () => []))
    expect(heard).toHaveLength(1)
  })

  test('is stored once for ten webhooks, even if one write causes 500 events', async () => {
    const ids = []
    for (let i = 0; i < 10; i++) ids.push(await subscribe(['contact.created']))
    await created(500)
    expect(await t.events(account.id)).toHaveLength(500)
    expect(await tally()).toEqual(Object.fromEntries(ids.map((id) => [`${id} pending`, 500])))
    expect(new Set((await deliveries()).map((row) => row.id)).size).toBe(5000)
  })
})

const endings: [name: string, end: (id: string) => Promise<unknown>][] = [
  ['deleting the webhook', (id) => work((w) => deleteWebhook(w, id))],
  ['disabling the webhook', (id) => work((w) => disableWebhook(w, id))],
  ['revoking the key that created the webhook', () => work((w) => revokeKey(w, account.keyId))],
]

describe.each(endings)('%s', (_, end) => {
  test('cancels its pending deliveries, so that an attempt in progress can record nothing', async () => {
    const id = await subscribe(['contact.created'], account.keyId)
    const other = await subscribe(['contact.created'])
    await created(20)
    await t.app.sql('update pending_deliveries set claim = 3, worker = 1 where target_id = $1', [id])
    await t.app.sql(
      `with gone as (
         delete from pending_deliveries where id = (select min(id) from pending_deliveries where target_id = $1) returning *
       )
       insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at)
       select account_id, id, target_id, key, type, 'delivered', created_at, now() from gone`,
      [id],
    )
    await end(id)
    expect(await tally()).toEqual({ [`${id} delivered`]: 1, [`${id} cancelled`]: 19, [`${other} pending`]: 20 })
    for (const row of (await deliveries()).filter((row) => row.status === 'cancelled')) {
      expect(row).toMatchObject({ claim: 4, worker: null, finished_at: expect.any(Date) })
    }
  })

  test('prevents new deliveries', async () => {
    const id = await subscribe(['contact.created'], account.keyId)
    await end(id)
    await created()
    expect([await t.events(account.id), await deliveries()]).toEqual([[], []])
  })

  test('does not wait for a transaction that writes deliveries, and cancels those deliveries too', async () => {
    const id = await subscribe(['contact.created'], account.keyId)
    const held = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const writing = work(async (w) => {
      await emit(w, 'contact.created', () => contacts(5))
      written.resolve()
      await held.promise
    })
    await written.promise
    await end(id)
    held.resolve()
    await writing
    expect(await tally()).toEqual({ [`${id} cancelled`]: 5 })
    expect((await work((w) => listDeliveries(w, { status: 'pending' }, { limit: 9 }))).rows).toEqual([])
    expect((await work((w) => listDeliveries(w, { status: 'cancelled' }, { limit: 9 }))).rows).toHaveLength(5)
    const loop = startDeliveries(t.app)
    await eventually(
      async () => (await t.app.sql('select from pending_deliveries where target_id = $1', [id])).length === 0,
    )
    await loop.stop()
    expect(await tally()).toEqual({ [`${id} cancelled`]: 5 })
  })

  test('leaves no pending delivery under concurrent events', async () => {
    const id = await subscribe(['contact.created'], account.keyId)
    const events = Array.from({ length: 30 }, async (_, i) => {
      await new Promise((resolve) => setTimeout(resolve, i * 3))
      await created(5)
    })
    await events[5]
    await end(id)
    await Promise.all(events)
    const { [`${id} cancelled`]: cancelled = 0, ...rest } = await tally()
    expect(cancelled).toBeGreaterThan(0)
    expect(rest).toEqual({})
  })
})

test('an event does not wait for the deletion of its webhook, and its deliveries are cancelled', async () => {
  const id = await subscribe(['contact.created'])
  const held = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const deleting = work(async (w) => {
    await deleteWebhook(w, id)
    locked.resolve()
    await held.promise
  })
  await locked.promise
  await created(5)
  held.resolve()
  await deleting
  expect(await tally()).toEqual({ [`${id} cancelled`]: 5 })
})

test('sixteen writers with transactions of 60 ms do not block the deletion of a webhook', async () => {
  const id = await subscribe(['contact.created'])
  let isOver = false
  let written = 0
  const writers = Array.from({ length: 16 }, async () => {
    while (!isOver) {
      await work(async (w) => {
        await emit(w, 'contact.created', () => contacts(1))
        await new Promise((resolve) => setTimeout(resolve, 60))
      })
      written++
    }
  })
  await eventually(async () => (await t.events(account.id)).length > 32)
  const before = written
  await work((w) => deleteWebhook(w, id))
  const overtook = written - before
  isOver = true
  await Promise.all(writers)
  expect(overtook).toBeLessThan(16 * 40)
})

test('the result of a delivery is recorded without waiting for a transaction that writes deliveries', async () => {
  const id = await subscribe(['contact.created'])
  await work(async (w) => {
    await emit(w, 'contact.created', () => contacts(1))
    await t.app.sql(
      `set statement_timeout = 2000; update delivery_targets set last_delivery_at = now() where id = '${id}'; set statement_timeout = 0`,
    )
  })
})

test('revoking a key disables its own webhooks, and not those created in the terminal', async () => {
  const mine = await subscribe(['contact.created'], account.keyId)
  const terminal = await subscribe(['contact.created'])
  await work((w) => revokeKey(w, account.keyId))
  const rows = await t.app.sql<{ id: string; status: string; reason: string | null }>(
    'select id, status, disabled_reason as reason from delivery_targets where account_id = $1 order by id',
    [account.id],
  )
  expect(rows.find((row) => row.id === mine)).toMatchObject({ status: 'disabled', reason: 'api-key-revoked' })
  expect(rows.find((row) => row.id === terminal)).toMatchObject({ status: 'active', reason: null })
})

describe('a test send', () => {
  test('is delivered only to that webhook, with any event type, and has test: true inside data', async () => {
    const id = await subscribe(['deal.created'])
    await subscribe(['deal.created', 'lead.hot'])
    const delivery = await work((w) => testWebhook(w, id, 'lead.hot'))
    expect(delivery).toMatchObject({ webhookId: id, type: 'lead.hot', status: 'pending', attempts: 0 })
    expect(await tally()).toEqual({ [`${id} pending`]: 1 })
    expect((await t.events(account.id))[0]!.data.test).toBe(true)
  })

  test('uses the first subscribed type, in the order of the contract, unless a type is given', async () => {
    const id = await subscribe(['lead.new', 'lead.hot'])
    expect((await work((w) => testWebhook(w, id))).type).toBe('lead.hot')
  })

  test('to a disabled webhook is refused until the webhook is enabled', async () => {
    const id = await subscribe(['lead.new'])
    await work((w) => disableWebhook(w, id))
    await expect(work((w) => testWebhook(w, id))).rejects.toMatchObject({ kind: 'conflict' })
    expect([await t.events(account.id), await deliveries()]).toEqual([[], []])
    await work((w) => enableWebhook(w, id))
    expect((await work((w) => testWebhook(w, id))).status).toBe('pending')
  })
})
