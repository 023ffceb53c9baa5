import { describe, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { verify } from '../../src/lib/signature.ts'
import { callDaemon } from '../support/daemon.ts'
import { deliveriesOf, emitEvents, eventually, startDeliveries, subscribe } from '../support/deliveries.ts'
import { settlesWithin } from '../support/eventually.ts'
import { startApi } from '../support/jobs.ts'
import { backlog, keyOf, repeatsOf, subscribeMany } from '../support/neighbours.ts'
import { useWorkers, workersOf } from '../support/workers.ts'

// Several workers on one database: their clocks differ, or they are killed, stopped, frozen or disconnected during their work.

const { t, account, receiver, start, counts, delivered, claimed } = useWorkers()

test('the death of a process between the commit of a call and the claim: the acknowledged event is delivered', async () => {
  await t.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('load.example', 'mx', now() + interval '1 day')`,
  )
  await subscribe(t.app, account.id, receiver.url)
  const { id: listId } = await t.app.work(account.id, 'cli:test', (work) => createList(work, { name: 'People' }))
  const api = await startApi(t)
  const body = { listId, email: 'ada@load.example' }
  expect((await callDaemon(api, 'POST', '/contacts', { key: account.key, body })).status).toBe(201)
  await api.kill()
  expect(receiver.requests).toHaveLength(0)
  startDeliveries(t.app)
  const [request] = await receiver.arrived(1)
  expect(JSON.parse(request!.body.toString())).toMatchObject({
    type: 'contact.created',
    data: { contact: { email: 'ada@load.example' } },
  })
})

describe('the death of a worker', () => {
  /**
   * Queues 600 deliveries for one receiver and waits until the first worker has claimed deliveries ahead of its posts. On a machine so
   * slow that answers take longer than 100 ms it never does: then it waits until half of them are delivered.
   */
  const busy = async () => {
    receiver.always({ delayMs: 50 })
    const { id } = await subscribe(t.app, account.id, receiver.url)
    await backlog(t.app, account.id, [id], 600)
    await eventually(async () => {
      const [count = 0] = await claimed()
      return count > 64 || (count > 0 && ((await counts()).delivered ?? 0) >= 300)
    })
  }

  test('between a POST and its record: the next worker posts the same body with the same key', async () => {
    const { secret } = await subscribe(t.app, account.id, receiver.url)
    receiver.next({ mode: 'hang' })
    const first = await start()
    await emitEvents(t.app, account.id)
    await receiver.arrived(1)
    await first.kill()
    expect(await deliveriesOf(t.app, account.id)).toMatchObject([
      { status: 'pending', tries: 0, attempts: [], claim: 1 },
    ])
    startDeliveries(t.app)
    const [before, after] = await receiver.arrived(2)
    expect(after!.body).toEqual(before!.body)
    expect(keyOf(after!)).toBe(keyOf(before!))
    expect(verify(secret, after!.headers, after!.body, Date.now())).toBe('ok')
    await delivered(1)
    expect(await deliveriesOf(t.app, account.id)).toMatchObject([{ tries: 1, claim: 3, attempts: [{ status: 200 }] }])
  })

  test('of one of two: the other delivers its claims within 5 s', async () => {
    const first = await start()
    await busy()
    startDeliveries(t.app)
    await first.kill()
    expect(await settlesWithin(delivered(600), 5000)).toBe(true)
  })

  test('of the only one: the next one delivers the rest within 5 s of its start', async () => {
    const first = await start()
    await busy()
    await first.kill()
    startDeliveries(t.app)
    expect(await settlesWithin(delivered(600), 5000)).toBe(true)
  })

  test('while one of its deliveries is locked: the others are delivered, and that one once it is unlocked', async () => {
    receiver.always({ delayMs: 1500 })
    await subscribeMany(t.app, account.id, receiver.url, 6)
    const first = await start()
    await emitEvents(t.app, account.id)
    await eventually(async () => (await claimed())[0] === 6)
    await t.app.database.transaction(async (sql) => {
      await sql('select from pending_deliveries where worker is not null order by id limit 1 for update')
      await first.kill()
      startDeliveries(t.app)
      expect(await settlesWithin(delivered(5), 8000)).toBe(true)
    })
    expect(await settlesWithin(delivered(6), 6000)).toBe(true)
  })

  test('during a claim that the server completes after the worker is declared dead: another one delivers within 15 s', async () => {
    await subscribeMany(t.app, account.id, receiver.url, 6)
    const first = await start()
    const second = await start()
    const [dead, living] = await workersOf(t)
    // After this long the second worker looks for orphaned claims only every 30 s.
    await eventually(async () => {
      const now = (await workersOf(t)).find(({ id }) => id === living!.id)!
      return now.seenAt.getTime() - living!.seenAt.getTime() > 13_000
    })
    await Promise.all([first.freeze(), second.freeze()])
    await emitEvents(t.app, account.id)
    await t.app.database.transaction(async (sql) => {
      await sql('lock table pending_deliveries in share mode')
      const waitingForLock = `select from pg_locks join pg_database d on d.oid = database
        where relation = 'pending_deliveries'::regclass and not granted and datname = current_database()`
      first.thaw()
      await eventually(async () => (await sql(waitingForLock)).length > 0)
      await first.kill()
      second.thaw()
      const oldest = `select min(id) as id from workers where job = 'deliveries'`
      await eventually(async () => (await t.app.sql<{ id: number }>(oldest))[0]!.id !== dead!.id)
      expect((await sql(waitingForLock)).length).toBeGreaterThan(0)
    })
    expect(await settlesWithin(delivered(6), 15_000)).toBe(true)
  })
})

/** A worker has at most this many posts to an endpoint in flight. */
const inFlight = 64

test('if a worker freezes for 20 s, another one delivers its claims, its late results change nothing, and it continues', async () => {
  receiver.always({ delayMs: 100 })
  await subscribe(t.app, account.id, receiver.url)
  const first = await start()
  await emitEvents(t.app, account.id, 300)
  // By now the worker claims deliveries ahead of its posts.
  await receiver.arrived(200)
  await emitEvents(t.app, account.id, 300)
  await receiver.arrived(350)
  await first.freeze()
  // Read while it stands still: before, it may claim and post more.
  const [had = 0] = await claimed()
  const second = await start()
  expect(await settlesWithin(delivered(600), 28_000)).toBe(true)
  const posts = receiver.requests.length
  const [{ id, seenAt } = { id: 0, seenAt: new Date() }] = await workersOf(t)
  first.thaw()
  await eventually(async () => {
    const rows = await t.app.sql('select from workers where id > $1 or seen_at > $2', [id, seenAt])
    return rows.length > 1
  })
  // Posts in flight may be repeated, of which some may not have arrived when it froze; waiting deliveries are not.
  expect(receiver.requests.length - posts).toBeLessThanOrEqual(inFlight)
  expect(repeatsOf(receiver)).toBeLessThanOrEqual(had)
  const rows = await deliveriesOf(t.app, account.id)
  expect(rows.filter(({ attempts }) => attempts.length !== 1)).toEqual([])
  const [target] = await t.app.sql('select timeouts, last_error as error from delivery_targets where account_id = $1', [
    account.id,
  ])
  expect(target).toEqual({ timeouts: 0, error: null })
  await second.kill()
  await emitEvents(t.app, account.id, 50)
  await delivered(650)
})

test('repeatedly terminated connections of two workers under load lose no delivery and repeat few', async () => {
  receiver.always({ delayMs: 20 })
  const [ids, rounds, count] = [await subscribeMany(t.app, account.id, receiver.url, 2), 3, 400]
  await Promise.all([start(), start()])
  for (let round = 1; round <= rounds; round++) {
    await emitEvents(t.app, account.id, count)
    await receiver.arrived(round * count)
    await t.app.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^svc (?!app )' and datname = current_database()`,
    )
  }
  expect(await settlesWithin(delivered(ids.length * rounds * count), 40_000)).toBe(true)
  expect(new Set(receiver.requests.map(keyOf)).size).toBe(rounds * count)
  // In each round, at most the posts in flight of two workers are repeated, 64 for each endpoint.
  expect(receiver.requests.length - ids.length * rounds * count).toBeLessThanOrEqual(rounds * 2 * 64 * ids.length)
})
