import { beforeEach, expect, test } from 'vitest'
import { insertCalls } from '../../src/deliveries/deliveries.insert.ts'
import { purgeDeliveries, purgeTargets } from '../../src/deliveries/deliveries.purge.ts'
import type { Work } from '../../src/store/work.ts'
import { deleteWebhook } from '../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { untilLocked } from '../support/database.ts'
import { emitEvents, endPending, subscribe } from '../support/deliveries.ts'

// These tests run a call and the purge of its target at the same moment, on separate connections.

const day = 86_400_000
const url = 'https://hooks.example.com/step'

let nowMs = Date.now() - 1000 * day
let account: TestAccount

const t = useApp(() => ({ now: () => new Date(nowMs) }))

beforeEach(async () => {
  account = await t.account()
  await t.app.sql('delete from delivery_targets')
  await work((w) => call(w, 'first'))
  await endPending(t.app, account.id, 'delivered')
  await t.app.sql('update ended_deliveries set finished_at = $1', [new Date(nowMs)])
  nowMs += 40 * day
})

const work = <T>(run: (work: Work) => Promise<T>) => t.app.work(account.id, 'journey:jrn_1', run)
const call = (w: Work, key: string) => insertCalls(w, { kind: 'journey', id: 'jrn_1' }, [{ url, key, body: '{}' }])
const purge = () => purgeDeliveries(t.app, new Date(t.app.now().getTime() - 30 * day))

/** Returns the pending deliveries of the account, and whether each has an active target. */
const pending = () =>
  t.app.sql(
    `select d.key, exists (select from delivery_targets t where t.id = d.target_id and t.status = 'active') as "hasTarget"
     from pending_deliveries d where d.account_id = $1`,
    [account.id],
  )

const gate = () => {
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

test('a target that nothing else refers to is deleted with its last delivery', async () => {
  await purge()
  expect(await t.app.sql('select from delivery_targets')).toEqual([])
})

test('a call that uses its target before the purge keeps the target', async () => {
  const [inserted, release] = [gate(), gate()]
  const calling = work(async (w) => {
    await call(w, 'second')
    inserted.open()
    await release.opened
  })
  await inserted.opened
  const purging = purge()
  await Promise.race([purging, untilLocked(t.app, 1)])
  release.open()
  await Promise.all([calling, purging])
  expect(await pending()).toEqual([{ key: 'second', hasTarget: true }])
})

test('a call that arrives while the purge deletes its target creates the target again', async () => {
  const holder = await t.app.database.connect()
  await holder.query('select pg_advisory_lock(1)')
  await t.app.sql(
    `create function hinder() returns trigger language plpgsql as $$ begin perform pg_advisory_xact_lock(1); return old; end $$`,
  )
  await t.app.sql('create trigger hinder before delete on delivery_targets for each row execute function hinder()')
  const purging = purge()
  await untilLocked(t.app, 1)
  const calling = work((w) => call(w, 'second'))
  await Promise.race([calling, untilLocked(t.app, 2)])
  await holder.end()
  await Promise.all([calling, purging])
  expect(await pending()).toEqual([{ key: 'second', hasTarget: true }])
  await t.app.sql('drop function hinder cascade')
})

test('the target of a deleted subscription is deleted 30 days later, once its deliveries are deleted', async () => {
  const { id } = await subscribe(t.app, account.id, 'https://hooks.example.com/')
  await subscribe(t.app, account.id, 'https://hooks.example.com/other')
  await emitEvents(t.app, account.id)
  await work((w) => deleteWebhook(w, id))
  const targets = async () => {
    const rows = await t.app.sql<{ id: string }>(
      `select id from delivery_targets where kind = 'subscription' order by id`,
    )
    return rows.map((row) => (row.id === id ? 'deleted' : 'active')).sort()
  }
  const before = (days: number) => new Date(nowMs - days * day)
  await purgeTargets(t.app, before(0))
  expect(await targets()).toEqual(['active', 'deleted'])
  nowMs += 31 * day
  await purgeTargets(t.app, before(30))
  expect(await targets()).toEqual(['active', 'deleted'])
  await t.app.sql(`delete from ended_deliveries where target_id = $1`, [id])
  await purgeTargets(t.app, before(32))
  expect(await targets()).toEqual(['active', 'deleted'])
  await purgeTargets(t.app, before(30))
  expect(await targets()).toEqual(['active'])
})
