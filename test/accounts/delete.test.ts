import { setTimeout as sleep } from 'node:timers/promises'
import { beforeAll, expect, test } from 'vitest'
import { deleteAccount, finishAccountDeletions } from '../../src/accounts/accounts.delete.ts'
import { countOwned, createAccount } from '../../src/accounts/accounts.ts'
import { openApp } from '../../src/app/app.ts'
import { readConfig } from '../../src/app/config.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { createDeal, NewDeal } from '../../src/deals/deals.ts'
import { applyJourneys } from '../../src/journeys/journeys.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { countsOf, reportStatistics } from '../support/database.ts'
import { emitEvents, eventually, subscribe } from '../support/deliveries.ts'
import { addDeliveries, nothing, remains } from './support.ts'

const t = useApp()
beforeAll(async () => {
  await t.app.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('gone.example', 'mx', now() + interval '1 day')`,
  )
})

const journey = {
  name: 'Welcome',
  trigger: { kind: 'list-added', list: 'People' },
  steps: [
    { kind: 'delay', for: '1d' },
    { kind: 'update-field', field: 'a', value: 'b' },
  ],
}

/** Creates an account with rows in most tables. */
const furnish = async (): Promise<TestAccount & { listId: string }> => {
  const account = await t.account()
  await subscribe(t.app, account.id, 'https://example.com/hook')
  const listId = await t.app.work(account.id, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await applyJourneys(work, [journey])
    const writes = Array.from({ length: 20 }, (_, i) => ({ email: `p${i}@gone.example`, fields: { n: `${i}` } }))
    await writeContacts(work, id, writes, new Map())
    await createDeal(work, NewDeal.parse({ title: 'T', email: 'p1@gone.example' }), { source: 'api' })
    return id
  })
  await ok(t.request('GET', '/contacts?email=p1@gone.example', { key: account.key }))
  const event = { name: 'plan.upgraded', email: 'p1@gone.example' }
  await ok(t.request('POST', '/events', { key: account.key, body: event, headers: { 'idempotency-key': 'event-1' } }))
  return { ...account, listId }
}

const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0)

test('an account is deleted with every row, exactly counted; another account keeps everything', async () => {
  const account = await furnish()
  const neighbour = await furnish()
  const kept = await countOwned(t.app, neighbour.id)
  expect(Object.keys(kept).toSorted()).toEqual(
    `access_log activities activity_keys addresses api_keys contact_lists contacts day_tallies deal_history deals delivery_targets events journey_runs
     journey_versions journeys pending_deliveries pipelines stages webhooks`.split(/\s+/),
  )
  const dry = await svc(t, ['accounts', 'delete', account.id, '--dry-run', '--json'])
  expect(dry.json).toEqual({ id: account.id, name: account.name, deleted: kept })
  expect(await countOwned(t.app, account.id)).toEqual(kept)
  expect((await svc(t, ['accounts', 'delete', account.id])).status).toBe(2)
  const ran = await svc(t, ['accounts', 'delete', account.name, '--confirm', account.name, '--json'])
  expect(ran).toMatchObject({ status: 0, json: { id: account.id, name: account.name, deleted: kept } })
  expect(await remains(t, account)).toEqual(nothing)
  expect(await countOwned(t.app, neighbour.id)).toEqual(kept)
  expect((await svc(t, ['accounts', 'delete', account.id, '--confirm', account.name])).status).toBe(3)
})

test('keys, units of work and deliveries are refused from the start, while an earlier unit of work is still running', async () => {
  const account = await furnish()
  const hold = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const unit = t.app.work(account.id, 'cli:test', async (work) => {
    begun.resolve()
    await hold.promise
    await writeContacts(work, account.listId, [{ email: 'late@gone.example', fields: {} }], new Map())
  })
  await begun.promise
  const deletion = deleteAccount(t.app, account.id, { actor: 'cli:test' })
  const get = () => t.request('GET', '/lists', { key: account.key })
  await eventually(async () => (await get()).status === 401)
  await expect(t.app.work(account.id, 'cli:test', async () => {})).rejects.toMatchObject({ kind: 'not_found' })
  const webhooks = () => t.app.sql('select distinct status from delivery_targets where account_id = $1', [account.id])
  await eventually(async () => (await webhooks())[0]?.status === 'disabled')
  expect((await svc(t, ['accounts', 'list', '--json'])).stdout).not.toContain(account.id)
  expect((await svc(t, ['accounts', 'show', account.id])).status).toBe(3)
  expect((await svc(t, ['lists', '--account', account.name])).status).toBe(3)
  const again = await svc(t, ['accounts', 'create', '--name', account.name])
  expect(again.status).toBe(6)
  expect(again.stderr).toContain(`svc accounts delete ${account.id}`)
  expect(await countOwned(t.app, account.id)).toMatchObject({ contacts: 20 })
  hold.resolve()
  await unit
  expect((await deletion).deleted).toMatchObject({ contacts: 21, addresses: 21 })
  expect(await remains(t, account)).toEqual(nothing)
  await t.app.operate('cli:test', (operation) => createAccount(operation, { name: account.name, plan: 'free' }))
})

test('a deletion that is stopped ends after the current batch, and the next one continues it', async () => {
  const account = await t.account()
  await addDeliveries(t, account.id, 2_500)
  const owned = await countOwned(t.app, account.id)
  const stop = new AbortController()
  const stopped = await deleteAccount(t.app, account.id, {
    actor: 'cli:test',
    signal: stop.signal,
    onBatch: (rows) => rows >= 1_000 && stop.abort(),
  })
  const rest = await countOwned(t.app, account.id)
  const deleted = sum(stopped.deleted)
  expect(deleted).toBeLessThan(2_500)
  expect(sum(rest)).toBe(sum(owned) - deleted)
  const create = () => t.app.operate('cli:test', (work) => createAccount(work, { name: account.name, plan: 'free' }))
  await expect(create()).rejects.toMatchObject({
    kind: 'conflict',
    message: `The account ${account.name} is still being deleted`,
    detail: { hint: `svc accounts delete ${account.id}` },
  })
  expect((await deleteAccount(t.app, account.id, { actor: 'cli:test' })).deleted).toEqual(rest)
  expect(await remains(t, account)).toEqual(nothing)
})

test('each batch begins behind the one before it: it does not read again what that one deleted', async () => {
  const account = await t.account()
  await addDeliveries(t, account.id, 8_000)
  // While a snapshot sees the deleted rows, the index keeps their entries.
  const reader = await t.app.database.connect()
  await reader.query('begin isolation level repeatable read; select 1')
  const entries = async () => {
    await reportStatistics(t.app.database)
    const [row] = await t.app.sql<{ read: number }>(
      `select sum(idx_tup_read)::int8 as read from pg_stat_user_indexes where relname = 'ended_deliveries'`,
    )
    return row!.read
  }
  const before = await entries()
  expect((await deleteAccount(t.app, account.id, { actor: 'cli:test' })).deleted).toMatchObject({
    ended_deliveries: 8_000,
  })
  const read = (await entries()) - before
  await reader.end()
  // Once to delete the rows, and twice to see that none is left.
  expect(read).toBeLessThan(4 * 8_000)
})

test('the deletion waits for a locked row while it holds no lock itself', async () => {
  const account = await t.account()
  await addDeliveries(t, account.id, 3_000)
  const holder = await t.app.database.connect()
  const first = 'dlv_'.padEnd(29, '0').concat('1')
  const last = 'dlv_'.padEnd(26, '0').concat('3000')
  await holder.query(`begin; update ended_deliveries set tries = 1 where id = '${last}'`)
  const deletion = deleteAccount(t.app, account.id, { actor: 'cli:test' })
  await eventually(async () => (await countOwned(t.app, account.id)).ended_deliveries === 1)
  // If the deletion held a lock, this would be a deadlock or an endless wait.
  await holder.query(`update ended_deliveries set tries = 1 where id = '${first}'`)
  await holder.query('commit')
  await holder.end()
  expect((await deletion).deleted).toMatchObject({ ended_deliveries: 3_000, events: 3_000 })
  expect(await remains(t, account)).toEqual(nothing)
})

const percentile = (values: readonly number[], p: number) =>
  values.toSorted((a, b) => a - b)[Math.floor((values.length * p) / 100)]!

test('the deletion of 100,000 rows hardly slows down another account', async () => {
  const neighbour = await furnish()
  const account = await t.account()
  await addDeliveries(t, account.id, 50_000)
  let written = 0
  const post = async () => {
    const start = performance.now()
    const body = { listId: neighbour.listId, email: `n${++written}@gone.example`, fields: { n: written } }
    expect((await t.request('POST', '/contacts', { key: neighbour.key, body })).status).toBe(201)
    return performance.now() - start
  }
  const postWhile = async (isOn: () => boolean) => {
    const times: number[] = []
    while (isOn()) {
      times.push(await post())
      await sleep(2)
    }
    return times
  }
  await postWhile(() => written < 100)
  const alone = await postWhile(() => written < 400)
  let isGoing = true
  const start = performance.now()
  const ran = svc(t, ['accounts', 'delete', account.id, '--confirm', account.name, '--json']).finally(() => {
    isGoing = false
  })
  const beside = await postWhile(() => isGoing)
  const seconds = (performance.now() - start) / 1000
  expect(await ran).toMatchObject({ status: 0, json: { deleted: { ended_deliveries: 50_000, events: 50_000 } } })
  expect(await remains(t, account)).toEqual(nothing)
  const [p99Alone, p99Beside] = [percentile(alone, 99), percentile(beside, 99)]
  const figures = [p99Alone, p99Beside, percentile(alone, 50), percentile(beside, 50)].map((ms) => ms.toFixed(1))
  process.stderr.write(
    `p99 alone ${figures[0]} ms, beside ${figures[1]} ms; p50 ${figures[2]}, ${figures[3]}; gone in ${seconds.toFixed(1)} s\n`,
  )
  // No post waits for a considerable part of the deletion.
  expect(p99Beside).toBeLessThan(Math.max(8 * p99Alone, (seconds * 1000) / 30))
})

test('no row remains of an account that is deleted while eight writers emit events over two daemons', async () => {
  const other = await openApp(readConfig(t.env))
  const before = (await countsOf(t.app.database)).deadlocks
  for (let round = 0; round < 4; round++) {
    const account = await furnish()
    let written = 0
    const refused = new Set<unknown>()
    const writer = async (n: number) => {
      const app = n % 2 ? t.app : other
      const email = `w${round}-${n}@gone.example`
      for (let isAlive = true; isAlive; written++) {
        const replies = await Promise.all([
          emitEvents(app, account.id, 5).then(
            () => 'done',
            (problem) => problem.kind,
          ),
          t.request('POST', '/contacts', {
            key: account.key,
            body: { listId: account.listId, email: `${written}${email}` },
          }),
          t.request('GET', '/contacts?email=p1@gone.example', { key: account.key }),
          t.request('POST', '/deals', { key: account.key, body: { title: 'T', email: 'p1@gone.example' } }),
        ])
        const ends = replies.map((reply) => (typeof reply === 'string' ? reply : reply.status))
        for (const end of ends) if (!['done', 200, 201].includes(end as never)) refused.add(end)
        isAlive = ends[0] === 'done'
      }
    }
    const writers = Promise.all(Array.from({ length: 8 }, (_, n) => writer(n)))
    await eventually(() => written > 40)
    const { deleted } = await deleteAccount(other, account.id, { actor: 'cli:test' })
    await writers
    expect(deleted.pending_deliveries).toBeGreaterThan(200)
    expect([...refused].filter((end) => ![401, 404, 'not_found'].includes(end as never))).toEqual([])
    expect(await remains(t, account)).toEqual(nothing)
  }
  await other.close()
  expect((await countsOf(t.app.database)).deadlocks).toBe(before)
})

test('housekeeping continues an interrupted deletion, and deletes nothing of other accounts', async () => {
  const account = await furnish()
  const neighbour = await furnish()
  const kept = await countOwned(t.app, neighbour.id)
  const stop = new AbortController()
  const { isDone } = await deleteAccount(t.app, account.id, {
    actor: 'cli:test',
    signal: stop.signal,
    onBatch: () => stop.abort(),
  })
  expect(isDone).toBe(false)
  expect(await remains(t, account)).not.toEqual(nothing)
  await finishAccountDeletions(t.app, new AbortController().signal)
  expect(await remains(t, account)).toEqual(nothing)
  expect(await countOwned(t.app, neighbour.id)).toEqual(kept)
})

test('a deletion that fails is reported and does not delay that of another account', async () => {
  const [failing, other] = [await t.account(), await t.account()]
  await t.app.sql(
    `create function refuse() returns trigger as $$ begin raise exception 'refused'; end $$ language plpgsql`,
  )
  await t.app.sql(
    `create trigger refuse before delete on api_keys for each row when (old.account_id = '${failing.id}') execute function refuse()`,
  )
  await t.app.sql('update accounts set deleted_at = now() where id = any($1)', [[failing.id, other.id]])
  const reported: unknown[] = []
  await finishAccountDeletions({ ...t.app, report: (_, about) => reported.push(about) }, new AbortController().signal)
  expect(reported).toEqual([{ account: failing.id }])
  expect(await remains(t, other)).toEqual(nothing)
  await t.app.sql('drop function refuse cascade')
})
