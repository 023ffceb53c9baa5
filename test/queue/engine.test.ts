import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { lockClasses } from '../../src/lib/locks.ts'
import { type Claim, claimsJson, ownedRows } from '../../src/queue/claims.ts'
import { openQueue } from '../../src/queue/engine.ts'
import { startApp, type TestApp } from '../support/app.ts'

let t: TestApp

beforeAll(async () => {
  t = await startApp()
  await t.app.sql('create table items (account_id text, id text, worker int, claim int not null default 0)')
})
afterAll(() => t?.close())

const openItems = () => {
  const free = vi.fn(async (claims: readonly Claim[]) => {
    await t.app.sql(
      `update items q set worker = null from ${ownedRows('items')} where q.ctid = l.row and q.worker = c.worker`,
      [claimsJson(claims)],
    )
  })
  const queue = openQueue<Claim>(t.app, t.app.report, () => ({
    job: 'mail',
    table: 'items',
    channels: [],
    notice() {},
    missed() {},
    claim: async () => {},
    isStuck: false,
    release: async () => new Set<string>(),
    free,
    finish: async () => {},
  }))
  return { queue, free }
}

test('a worker that returns after it was found dead keeps its claims', async () => {
  const [{ worker }] = (await t.app.sql<{ worker: number }>(
    `insert into workers (id, job, seen_at) values (nextval('workers_id_seq'), 'mail', svc_now()) returning id as worker`,
  )) as [{ worker: number }]
  await t.app.sql(`insert into items values ('acc', 'one', $1, 1)`, [worker])
  const returned = await t.app.database.connect()
  const beating = setInterval(() => void returned.query('update workers set seen_at = clock_timestamp()'), 1000)
  const { queue, free } = openItems()
  try {
    await t.app.database.transaction(async (sql) => {
      // Its claim is locked, so that it can't be freed when the worker is found dead.
      await sql('select from items for update')
      await vi.waitFor(() => expect(free).toHaveBeenCalled(), { timeout: 20_000 })
      await returned.query('select pg_advisory_lock($1, $2)', [lockClasses.worker, worker])
    })
    // A round that began before the worker returned may still free the claim: the next heartbeat sees the session.
    await t.app.sql('update items set worker = $1', [worker])
    await sleep(3000)
    free.mockClear()
    queue.reconcileSoon()
    await sleep(5000)
    expect(free).not.toHaveBeenCalled()
    expect(await t.app.sql('select worker from items')).toEqual([{ worker }])
  } finally {
    clearInterval(beating)
    await returned.end()
    await queue.close()
  }
}, 60_000)
