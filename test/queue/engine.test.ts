import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { lockClasses } from '../../src/lib/locks.ts'
import { type Claim, claimsJson, ownedRows } from '../../src/queue/claims.ts'
import { openQueue } from '../../src/queue/engine.ts'
import { useApp } from '../support/app.ts'

const t = useApp()
beforeAll(async () => {
  await t.app.sql('create table items (account_id text, id text, worker int, claim int not null default 0)')
})

const openItems = () => {
  const free = vi.fn(async (claims: readonly Claim[]) => {
    await t.app.sql(
      `update items q set worker = null from ${ownedRows('items')} where q.ctid = l.row and q.worker = c.worker`,
      [claimsJson(claims)],
    )
  })
  const queue = openQueue<Claim>(t.app, t.app.report, () => ({
    job: 'mail',
    queue: 'sends',
    table: 'items',
    channels: [],
    notice() {},
    missed() {},
    claim: async () => {},
    hold() {},
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
  // Not a connection of the product, which gives up a connection that seems silent.
  const returned = new pg.Client({ connectionString: t.url })
  await returned.connect()
  const beat = () => returned.query('update workers set seen_at = clock_timestamp() where id = $1', [worker])
  const beating = setInterval(() => void beat().catch(() => {}), 1000)
  const { queue, free } = openItems()
  /** Waits for heartbeats of the queue, each of which looks for dead workers. */
  const rounds = async (count: number) => {
    const seenAt = async () =>
      (await t.app.sql<{ at: string }>('select seen_at::text as at from workers where id <> $1', [worker]))[0]?.at
    for (let round = 0; round < count; round++) {
      const last = await seenAt()
      await expect.poll(() => seenAt()).not.toBe(last)
    }
  }
  try {
    await t.app.database.transaction(async (sql) => {
      // Its claim is locked, so that it can't be freed when the worker is found dead.
      await sql('select from items for update')
      await expect.poll(() => free).toHaveBeenCalled()
      await returned.query('select pg_advisory_lock($1, $2)', [lockClasses.worker, worker])
    })
    // A round that began before the worker returned may still free the claim: later heartbeats see the session.
    await rounds(3)
    await t.app.sql('update items set worker = $1', [worker])
    free.mockClear()
    queue.reconcileSoon()
    await rounds(5)
    expect(free).not.toHaveBeenCalled()
    expect(await t.app.sql('select worker from items')).toEqual([{ worker }])
  } finally {
    clearInterval(beating)
    await returned.end()
    await queue.close()
  }
})
