import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { revokeKey } from '../../src/accounts/accounts.keys.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import type { DeliveryFilter } from '../../src/deliveries/deliveries.find.ts'
import { cancelBatch, type Run, replayBatch } from '../../src/deliveries/deliveries.replay.ts'
import { verify } from '../../src/lib/signature.ts'
import { disableWebhook, enableWebhook, rotateSecret } from '../../src/webhooks/webhooks.ts'
import { ok } from '../support/app.ts'
import { countsOf, reportStatistics } from '../support/database.ts'
import {
  deliveriesOf,
  emitEvents,
  eventually,
  latePosts,
  startDeliveries,
  subscribe,
  tally,
} from '../support/deliveries.ts'
import { settlesWithin } from '../support/eventually.ts'
import { opened } from '../support/fixture.ts'
import { startJob } from '../support/jobs.ts'
import {
  answeredAtOnce,
  backlog,
  claimHundreds,
  momentMs,
  postsAfterMoment,
  repeatsOf,
  subscribeMany,
} from '../support/neighbours.ts'
import { openReceiver } from '../support/receiver.ts'
import { endStarted } from '../support/scope.ts'
import { useWorkers } from '../support/workers.ts'

// What is still posted after a webhook ends, what is left in the queue, and results that the database refuses to record.

const { t, account, receiver } = useWorkers()
const other = opened(() => openApp(readConfig(t.env)))

const work = <T>(run: Parameters<typeof t.app.work<T>>[2]) => t.app.work(account.id, 'cli:test', run)
const isDone = async () => (await t.app.sql('select from pending_deliveries limit 1')).length === 0

describe('an endpoint with hundreds of claimed deliveries', () => {
  // Threads get their notices through the database, as another process does.
  const useWorker = () =>
    opened(async () => {
      const { kill: close } = await startJob(t, 'deliveries')
      return { close }
    })
  useWorker()
  useWorker()

  const earn = async () => {
    const webhook = await subscribe(t.app, account.id, receiver.url, account.keyId)
    return { ...webhook, ...(await claimHundreds(t.app, account.id, webhook.id, receiver)) }
  }

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['DELETE', (id) => ok(t.request('DELETE', `/webhooks/${id}`, { key: account.key }))],
    ['disabling', (id) => work((w) => disableWebhook(w, id))],
    ['the revocation of its key', () => work((w) => revokeKey(w, account.keyId))],
  ])('gets only the posts in flight after %s, and nothing a moment later', async (_, end) => {
    const { id, answer } = await earn()
    await end(id)
    const posts = await postsAfterMoment(receiver)
    answer()
    expect(await settlesWithin(eventually(isDone), 5000)).toBe(true)
    // A worker that has kept its other claims posts them now.
    expect(await postsAfterMoment(receiver)).toBe(posts)
  })

  test('gets nothing signed with its old secret a moment after a rotation', async () => {
    const { id, answer } = await earn()
    const claims = 'select id from pending_deliveries where account_id = $1 and worker is not null and claim = 1'
    const ofClaims = async (sql = t.app.sql) => (await sql<{ id: string }>(claims, [account.id])).map((row) => row.id)
    // Read by the rotation itself: until then workers claim with the old secret.
    const [{ secret }, old] = await work(async (w) => [
      await rotateSecret(w, t.app.box, id),
      new Set(await ofClaims(w.sql)),
    ])
    // On a busy machine posts in flight time out meanwhile.
    const failures = async () => {
      const text = 'select coalesce(sum(tries), 0)::int as count from pending_deliveries where account_id = $1'
      return (await t.app.sql<{ count: number }>(text, [account.id]))[0]!.count
    }
    // Only those in flight are not returned. A delivery that is claimed again has a second claim.
    const areReturned = async () => {
      const held = (await ofClaims()).filter((one) => old.has(one)).length
      return held <= receiver.requests.length - answeredAtOnce - (await failures())
    }
    expect(await settlesWithin(eventually(areReturned), momentMs)).toBe(true)
    const posts = receiver.requests.length
    answer()
    await emitEvents(t.app, account.id, 100)
    await eventually(isDone)
    const late = receiver.requests.slice(posts)
    expect(late.length).toBeGreaterThanOrEqual(100)
    expect(late.filter(({ headers, body }) => verify(secret, headers, body, Date.now()) !== 'ok')).toEqual([])
    expect(repeatsOf(receiver)).toBe(0)
  })
})

test('many concurrent 410 answers during other changes of the queue cause no deadlock and leave no delivery pending', async () => {
  const gone = await openReceiver()
  gone.always({ status: 410, delayMs: 20 })
  const fine = await subscribeMany(t.app, account.id, receiver.url, 4)
  startDeliveries(t.app)
  startDeliveries(other)
  const before = (await countsOf(t.app.database)).deadlocks
  let isOver = false
  // With pauses, in which the others change the queue: what a bulk change cancels is not posted, so answers nothing.
  const again = async (run: () => Promise<unknown>, pauseMs = 100) => {
    while (!isOver) {
      await run()
      await sleep(pauseMs)
    }
  }
  // On a slow machine the other changes can hold a webhook for longer than the lock time-out of 5 s.
  const unlessBusy = (error: { code?: string }) => {
    if (error.code !== '55P03') throw error
  }
  const bulkPauseMs = 300
  /** Changes all deliveries that match, as the commands do. */
  const bulk = async (change: typeof cancelBatch, filter: DeliveryFilter) => {
    const run: Run = { startedAt: t.app.now(), changed: 0 }
    for (;;) {
      const batch = await work((w) => change(w, filter, run)).catch(unlessBusy)
      if (!batch || batch.next === null) return
      run.next = batch.next
      run.changed += batch.changed
    }
  }
  const rounds = async () => {
    for (let round = 0; round < 2; round++) {
      const ids = await subscribeMany(t.app, account.id, gone.url, 20)
      await backlog(t.app, account.id, ids, 100)
      await eventually(async () => {
        // A webhook whose deliveries were cancelled before their post receives the next event.
        await emitEvents(t.app, account.id)
        const active = await t.app.sql(`select from delivery_targets where id = any($1) and status = 'active'`, [ids])
        return active.length === 0
      })
      await t.app.sql('delete from webhooks where id = any($1)', [ids])
    }
  }
  await Promise.all([
    rounds().finally(() => {
      isOver = true
    }),
    again(() => emitEvents(t.app, account.id, 5)),
    again(() => emitEvents(t.app, account.id)),
    again(() => bulk(replayBatch, { status: 'cancelled' }), bulkPauseMs),
    again(() => bulk(replayBatch, { status: 'exhausted' }), bulkPauseMs),
    again(() => bulk(cancelBatch, { type: 'contact.created' }), bulkPauseMs),
    again(async () => {
      await work((w) => disableWebhook(w, fine[0]!)).catch(unlessBusy)
      await work((w) => enableWebhook(w, fine[0]!)).catch(unlessBusy)
    }),
  ])
  await eventually(isDone)
  // An unexpected error of a worker fails the test here.
  await endStarted()
  await reportStatistics(other.database)
  expect((await countsOf(t.app.database)).deadlocks - before).toBe(0)
  await gone.close()
})

test('a result that the database refuses is reported and retried with growing delays, and other deliveries continue', async () => {
  const { id } = await subscribe(t.app, account.id, receiver.url)
  await backlog(t.app, account.id, [id], 20)
  const [{ refused } = { refused: '' }] = await t.app.sql<{ refused: string }>(
    'select min(id) as refused from pending_deliveries where account_id = $1',
    [account.id],
  )
  await t.app.sql(
    `create function refuse() returns trigger language plpgsql as $$ begin
       if new.id = '${refused}' then raise 'refused'; end if;
       return new;
     end $$`,
  )
  await t.app.sql('create trigger refuse before insert on ended_deliveries for each row execute function refuse()')
  const reports: { at: number; message: string; delivery?: string }[] = []
  startDeliveries(t.app, (error, about) => {
    reports.push({ at: performance.now(), message: (error as Error).message, ...about })
  })
  const delivered = (count: number) => eventually(async () => (await tally(t.app, account.id)).delivered === count)
  expect(await settlesWithin(delivered(19), 5000)).toBe(true)
  await emitEvents(t.app, account.id, 200)
  expect(await settlesWithin(delivered(219), 5000)).toBe(true)
  await eventually(() => reports.length >= 4)
  expect(reports.slice(0, 4)).toMatchObject(Array(4).fill({ message: 'refused', delivery: refused }))
  // Each report follows two attempts, a second apart. The waits before them are 0 s, 1 s and 2 s.
  expect(reports[3]!.at - reports[0]!.at).toBeGreaterThan(5_900)
  await t.app.sql('drop trigger refuse on ended_deliveries')
  await delivered(220)
  expect(receiver.requests).toHaveLength(220 + (await latePosts(t.app, account.id)))
  const [row] = await deliveriesOf(t.app, account.id)
  expect(row!.attempts.at(-1)).toMatchObject({ status: 200, error: null, snippet: '' })
})
