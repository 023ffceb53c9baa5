import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { listEvents, showEvent } from '../../src/deliveries/deliveries.events.ts'
import { deliveryStats, findLastError, listDeliveries, showDelivery } from '../../src/deliveries/deliveries.find.ts'
import { deliveriesChannel } from '../../src/deliveries/deliveries.notices.ts'
import { purgeDeliveries } from '../../src/deliveries/deliveries.purge.ts'
import { cancelBatch, countDeliveries, replayBatch, requireDeliveries } from '../../src/deliveries/deliveries.replay.ts'
import { lockTargets, reviveTarget } from '../../src/deliveries/targets/end.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Work } from '../../src/store/work.ts'
import { createWebhook, deleteWebhook, disableWebhook, testWebhook } from '../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'

const minute = 60_000
const day = 1440 * minute

let account: TestAccount
let now = Date.UTC(2026, 10, 20)

const t = useApp(() => ({ now: () => new Date(now) }))
beforeEach(async () => {
  account = await t.account()
  now = Date.UTC(2026, 10, 20)
})

const work = <T>(run: (work: Work) => Promise<T>): Promise<T> => t.app.work(account.id, 'cli:test', run)

const subscribe = async (): Promise<string> => {
  const input = { url: 'http://127.0.0.1:9/hook', events: ['contact.created' as const] }
  return (await createWebhook(t.app, account.id, 'cli:test', input, { createdVia: 'api', trusted: true })).id
}

/** Creates one delivery at `madeAt` with the given status and columns; returns its id. */
const deliver = async (webhookId: string, columns: Record<string, unknown> = {}, madeAt = now): Promise<string> => {
  const before = now
  now = madeAt
  const { id } = await work((w) => testWebhook(w, webhookId))
  now = before
  const { status, ...others } = columns
  await t.app.sql('update pending_deliveries set due_at = $2 where id = $1', [id, new Date(madeAt)])
  if (status) await end(id, status as string, new Date(now))
  for (const [column, value] of Object.entries(others)) {
    const table = status ? 'ended_deliveries' : 'pending_deliveries'
    await t.app.sql(`update ${table} set ${column} = $2 where id = $1`, [id, value])
  }
  return id
}

const end = (id: string, status: string, at: Date) =>
  t.app.sql(
    `with gone as (delete from pending_deliveries where id = $1 returning *)
     insert into ended_deliveries (account_id, id, target_id, key, type, status, claim, created_at, finished_at)
     select account_id, id, target_id, key, type, $2, claim, created_at, $3 from gone`,
    [id, status, at],
  )

const failed = (status: number) =>
  JSON.stringify([{ at: 5, status, error: `answered ${status}`, durationMs: 7, snippet: 'no' }])
const exhausted = () => ({ status: 'exhausted', tries: 8, attempts: failed(500), finished_at: new Date(now) })
const first = { limit: 50 }
const show = (id: string) => work((w) => showDelivery(w, id))
const start = () => ({ startedAt: new Date(now), changed: 0 })

describe('deliveries', () => {
  test('are listed newest first in pages, each exactly once', async () => {
    const id = await subscribe()
    const made: string[] = []
    for (let i = 0; i < 7; i++) made.unshift(await deliver(id, {}, now + i))
    const seen: string[] = []
    let cursor: string | null = null
    let pages = 0
    do {
      const page = await work((w) => listDeliveries(w, {}, { limit: 3, ...(cursor && { cursor }) }))
      seen.push(...page.rows.map((row) => row.id))
      cursor = page.nextCursor
      pages++
    } while (cursor)
    expect(seen).toEqual(made)
    expect(pages).toBe(3)
  })

  test('are listed with their status, attempts and times', async () => {
    const id = await deliver(await subscribe())
    expect((await work((w) => listDeliveries(w, {}, first))).rows).toEqual([
      {
        id,
        eventId: expect.stringMatching(/^evt_/),
        webhookId: expect.stringMatching(/^whk_/),
        type: 'contact.created',
        status: 'pending',
        attempts: 0,
        nextAttemptAt: now,
        createdAt: now,
        finishedAt: null,
        lastStatus: null,
        lastError: null,
      },
    ])
  })

  test('show every attempt and the event when read by id', async () => {
    const id = await deliver(await subscribe(), exhausted())
    const { history, event, ...view } = await show(id)
    expect(view).toMatchObject({ status: 'exhausted', attempts: 1, lastStatus: 500, lastError: 'answered 500' })
    expect(view).toMatchObject({ nextAttemptAt: null, finishedAt: now })
    expect(history).toEqual(JSON.parse(failed(500)))
    expect(event).toEqual(await work((w) => showEvent(w, view.eventId)))
  })

  test('can be filtered by status, webhook, type and age, also in combination', async () => {
    const [a, b] = [await subscribe(), await subscribe()]
    const old = await deliver(a, exhausted(), now - day)
    const young = await deliver(a, exhausted())
    const other = await deliver(b, { type: 'lead.hot' })
    const ids = async (filter: Parameters<typeof listDeliveries>[1]) =>
      (await work((w) => listDeliveries(w, filter, first))).rows.map((row) => row.id)
    expect(await ids({ status: 'exhausted' })).toEqual([young, old])
    expect(await ids({ webhook: b })).toEqual([other])
    expect(await ids({ type: 'lead.hot' })).toEqual([other])
    expect(await ids({ since: now - day + 1 })).toEqual(expect.not.arrayContaining([old]))
    expect(await ids({ status: 'exhausted', webhook: a, type: 'contact.created', since: now - minute })).toEqual([
      young,
    ])
    expect(await ids({ status: 'pending', webhook: a })).toEqual([])
  })

  test('and events of another account are not found', async () => {
    const id = await deliver(await subscribe())
    const { eventId } = await show(id)
    account = await t.account()
    await expect(show(id)).rejects.toMatchObject({ kind: 'not_found' })
    await expect(work((w) => showEvent(w, eventId))).rejects.toMatchObject({ kind: 'not_found' })
    await expect(work((w) => requireDeliveries(w, [id]))).rejects.toMatchObject({ kind: 'not_found' })
    expect((await work((w) => listDeliveries(w, {}, first))).rows).toEqual([])
    expect((await work((w) => replayBatch(w, { ids: [id] }, start()))).changed).toBe(0)
    expect((await work((w) => cancelBatch(w, { ids: [id] }, start()))).changed).toBe(0)
  })

  test('have the error of their own last attempt, or none', async () => {
    const webhook = await subscribe()
    const failing = await deliver(webhook, { attempts: failed(500) })
    const others = [await deliver(webhook), await deliver(webhook, { attempts: '[]' })]
    const errors: (string | null)[] = []
    for (const id of [failing, ...others]) errors.push(await work((w) => findLastError(w, id)))
    expect(errors).toEqual(['answered 500', null, null])
  })

  test.each(['x', 'bm8', Buffer.from('["a","b"]').toString('base64url')])(
    'and events refuse the invalid cursor %j',
    async (cursor) => {
      const refusal = { kind: 'invalid', message: 'cursor is not valid' }
      await expect(work((w) => listDeliveries(w, {}, { limit: 1, cursor }))).rejects.toMatchObject(refusal)
      await expect(work((w) => listEvents(w, {}, { limit: 1, cursor }))).rejects.toMatchObject(refusal)
    },
  )

  test('are counted by status, in total and for each webhook, including deleted webhooks', async () => {
    const [a, b] = [await subscribe(), await subscribe()]
    await deliver(a, exhausted())
    await deliver(a, { due_at: new Date(now + minute) })
    await deliver(a)
    await deliver(b)
    await work((w) => deleteWebhook(w, b))
    const counts = { pending: 2, delivered: 0, exhausted: 1, cancelled: 0 }
    const stats = await work((w) => deliveryStats(w, {}))
    expect(stats).toMatchObject({ ...counts, cancelled: 1, oldestDueAt: now })
    expect(stats.webhooks).toHaveLength(2)
    expect(stats.webhooks).toContainEqual({ id: a, url: 'http://127.0.0.1:9/hook', ...counts, oldestDueAt: now })
    expect(stats.webhooks).toContainEqual({
      ...counts,
      id: b,
      url: null,
      pending: 0,
      exhausted: 0,
      cancelled: 1,
      oldestDueAt: null,
    })
    expect(await work((w) => deliveryStats(w, { webhook: 'whk_none' }))).toMatchObject({
      pending: 0,
      oldestDueAt: null,
    })
  })
})

describe('events', () => {
  test('are listed newest first in their delivered form, and can be filtered by type and age', async () => {
    const id = await subscribe()
    await deliver(id, {}, now - day)
    await work((w) => testWebhook(w, id, 'lead.hot'))
    const all = await t.events(account.id)
    expect(await work((w) => listEvents(w, {}, first))).toEqual({ rows: all.toReversed(), nextCursor: null })
    expect((await work((w) => listEvents(w, { type: 'contact.created' }, first))).rows).toEqual([all[0]])
    expect((await work((w) => listEvents(w, { since: now - minute }, first))).rows).toEqual([all[1]])
    const { rows, nextCursor } = await work((w) => listEvents(w, {}, { limit: 1 }))
    expect(rows).toEqual([all[1]])
    expect((await work((w) => listEvents(w, {}, { limit: 1, cursor: nextCursor! }))).rows).toEqual([all[0]])
  })
})

describe('a replay', () => {
  test('makes a delivery due now with the same event and a full schedule; older attempts can record nothing', async () => {
    const id = await deliver(await subscribe(), { ...exhausted(), claim: 8 }, now - day)
    const { eventId, event } = await show(id)
    expect(await work((w) => replayBatch(w, { ids: [id] }, start()))).toEqual({ matched: 1, changed: 1, next: id })
    expect(await show(id)).toMatchObject({
      status: 'pending',
      eventId,
      event,
      nextAttemptAt: now,
      finishedAt: null,
      attempts: 1,
    })
    const [row] = await t.app.sql('select tries, claim, worker from deliveries where id = $1', [id])
    expect(row).toEqual({ tries: 0, claim: 9, worker: null })
  })

  test('skips deliveries to a deleted or disabled webhook', async () => {
    const [on, off, gone] = [await subscribe(), await subscribe(), await subscribe()]
    const id = await deliver(on, exhausted())
    for (const webhook of [off, gone]) await deliver(webhook, exhausted())
    await work((w) => disableWebhook(w, off))
    await work((w) => deleteWebhook(w, gone))
    const filter = { status: 'exhausted' } as const
    expect(await work((w) => countDeliveries(w, filter))).toEqual({ matched: 3, leftOut: 2 })
    expect(await work((w) => replayBatch(w, filter, start()))).toMatchObject({ matched: 3, changed: 1 })
    expect((await work((w) => listDeliveries(w, { status: 'pending' }, first))).rows.map((row) => row.id)).toEqual([id])
  })

  test('leaves no pending delivery for a webhook that is disabled at the same time', async () => {
    const webhook = await subscribe()
    await deliver(webhook, exhausted())
    const held = Promise.withResolvers<void>()
    const replayed = Promise.withResolvers<void>()
    const replaying = work(async (w) => {
      await replayBatch(w, { webhook }, start())
      replayed.resolve()
      await held.promise
    })
    await replayed.promise
    const disabling = work((w) => disableWebhook(w, webhook))
    await untilLocked(t.app, 1)
    held.resolve()
    await replaying
    expect((await disabling).cancelled).toBe(1)
  })

  /** Returns the result, and how many rows of deliveries were read for it. */
  const countingReads = <T>(run: (work: Work) => Promise<T>): Promise<[result: T, read: number]> => {
    const reads = `select sum(seq_tup_read + idx_tup_fetch)::int8 as read from pg_stat_xact_user_tables
      where relname in ('pending_deliveries', 'ended_deliveries')`
    return work(async (w) => {
      // The session also counts transactions that it has not reported yet.
      const [before] = await w.sql<{ read: number }>(reads)
      const result = await run(w)
      const [after] = await w.sql<{ read: number }>(reads)
      return [result, after!.read - before!.read]
    })
  }

  test('of 20,000 deliveries runs in batches at its rate, reads no delivery of other batches, and replays each once', async () => {
    // The statistics of the planner are older than the rows of this account.
    for (const table of ['pending_deliveries', 'ended_deliveries'])
      await t.app.sql(`alter table ${table} set (autovacuum_enabled = off)`)
    await deliver(await subscribe(), exhausted())
    await t.app.sql('analyze ended_deliveries')
    account = await t.account()
    const webhook = await subscribe()
    await t.app.sql(
      `insert into ended_deliveries (account_id, id, target_id, key, type, status, created_at, finished_at, body)
       select $1, $2 || lpad(n::text, 16, '0'), $3, 'evt_x', 'contact.created', 'exhausted', $4, $4, '{}'
       from generate_series(1, 20000) n`,
      [account.id, newId('dlv', now - day).slice(0, 14), webhook, new Date(now - day)],
    )
    const run: Parameters<typeof replayBatch>[2] = start()
    for (;;) {
      const [batch, read] = await countingReads((w) => replayBatch(w, { status: 'exhausted' }, run, 1000))
      if (batch.next === null) break
      expect(batch.changed).toBeLessThanOrEqual(2000)
      // Each is read three times, and none of the batches before.
      expect(read).toBeLessThan(4 * batch.matched)
      run.next = batch.next
      run.changed += batch.changed
    }
    expect(run.changed).toBe(20_000)
    const [target] = await t.app.sql('select next_due_at from delivery_targets where id = $1', [webhook])
    expect(target).toEqual({ next_due_at: new Date(now) })
    const seconds = await t.app.sql<{ second: number; count: number }>(
      `select extract(epoch from date_trunc('second', due_at) - $2)::int as second, count(*) from deliveries
       where account_id = $1 and status = 'pending' and claim = 1 group by 1 order by 1`,
      [account.id, new Date(now)],
    )
    expect(seconds).toEqual(Array.from({ length: 20 }, (_, second) => ({ second, count: 1000 })))
  })
})

test('replaying what is pending has the jobs return what they have claimed ahead of their posts', async () => {
  const [claimed, done] = [await subscribe(), await subscribe()]
  await deliver(claimed, { claim: 1, worker: 7 })
  await deliver(done, { status: 'delivered' })
  const heard: string[] = []
  onTestFinished(t.app.database.notices.hear([deliveriesChannel], ({ payload }) => heard.push(payload)))
  await work((w) => replayBatch(w, {}, start()))
  expect(heard).toEqual([`-${claimed}`, ''])
})

describe('cancelling', () => {
  test('ends only pending deliveries, and an attempt in progress can record nothing', async () => {
    const webhook = await subscribe()
    const id = await deliver(webhook, { claim: 2, worker: 7 })
    const done = await deliver(webhook, { status: 'delivered' })
    expect(await work((w) => cancelBatch(w, { webhook }, start()))).toEqual({ matched: 1, changed: 1, next: id })
    const [row] = await t.app.sql('select status, claim, worker, finished_at from deliveries where id = $1', [id])
    expect(row).toEqual({ status: 'cancelled', claim: 3, worker: null, finished_at: expect.any(Date) })
    expect((await show(done)).status).toBe('delivered')
  })

  test('has the jobs return what they have claimed ahead of their posts', async () => {
    const [webhook, other] = [await subscribe(), await subscribe()]
    for (const target of [webhook, webhook, other]) await deliver(target, { claim: 1, worker: 7 })
    const heard: string[] = []
    onTestFinished(t.app.database.notices.hear([deliveriesChannel], ({ payload }) => heard.push(payload)))
    await work((w) => cancelBatch(w, { webhook }, start()))
    expect(heard).toEqual([`-${webhook}`])
    await work((w) => cancelBatch(w, { webhook }, start()))
    expect(heard).toHaveLength(1)
  })

  test('can be undone by a replay', async () => {
    const id = await deliver(await subscribe())
    await work((w) => cancelBatch(w, { ids: [id] }, start()))
    await work((w) => replayBatch(w, { ids: [id] }, start()))
    expect((await show(id)).status).toBe('pending')
  })
})

test('a webhook is made active only after a transaction that has locked it, which can still lock its deliveries', async () => {
  const webhook = await subscribe()
  const id = await deliver(webhook)
  await t.app.sql(`update delivery_targets set status = 'disabled' where id = $1`, [webhook])
  const enabling = await t.app.database.transaction(async (sql) => {
    await lockTargets(sql, account.id, [webhook])
    const enabled = work((w) => reviveTarget(w, webhook))
    await untilLocked(t.app, 1)
    await sql('select from pending_deliveries where id = $1 for update nowait', [id])
    return [enabled]
  })
  await Promise.all(enabling)
  expect((await show(id)).status).toBe('cancelled')
})

describe('the purge', () => {
  // Without those of other tests.
  beforeEach(() => purgeDeliveries(t.app, new Date(now - 30 * day)))

  test('removes deliveries that finished before a time, in small batches, then the events without deliveries', async () => {
    const webhook = await subscribe()
    const finished = { status: 'delivered', finished_at: new Date(now - 31 * day) }
    for (let i = 0; i < 5; i++) await deliver(webhook, finished, now - 31 * day)
    const waiting = await deliver(webhook, {}, now - 31 * day)
    const replayed = await deliver(webhook, { ...finished, finished_at: new Date(now - day) }, now - 31 * day)
    const young = await deliver(webhook, finished, now - 29 * day)
    const other = account
    account = await t.account()
    await deliver(await subscribe(), finished, now - 31 * day)
    expect(await purgeDeliveries(t.app, new Date(now - 30 * day), { batchSize: 2 })).toBe(12)
    expect(await t.events(account.id)).toEqual([])
    account = other
    const kept = (await work((w) => listDeliveries(w, {}, first))).rows
    expect(kept.map((row) => row.id).sort()).toEqual([waiting, replayed, young].sort())
    const events = await t.events(account.id)
    expect(events.map((event) => event.id).sort()).toEqual(kept.map((row) => row.eventId).sort())
  })

  test('stops when its signal is aborted', async () => {
    const webhook = await subscribe()
    await deliver(webhook, { status: 'delivered', finished_at: new Date(now - 31 * day) }, now - 31 * day)
    expect(await purgeDeliveries(t.app, new Date(now), { signal: AbortSignal.abort() })).toBe(0)
  })
})
