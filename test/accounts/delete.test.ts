import { expect, test } from 'vitest'
import { deleteAccount, finishAccountDeletions } from '../../src/accounts/accounts.delete.ts'
import { countOwned, createAccount } from '../../src/accounts/accounts.ts'
import { writeContacts } from '../../src/contacts/contacts.ts'
import { useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { reportStatistics } from '../support/database.ts'
import { eventually } from '../support/deliveries.ts'
import { addDeliveries, furnish, nothing, remains } from './support.ts'

const t = useApp()
const sum = (counts: Record<string, number>) => Object.values(counts).reduce((a, b) => a + b, 0)

test('an account is deleted with every row, exactly counted; another account keeps everything', async () => {
  const account = await furnish(t)
  const neighbour = await furnish(t)
  const kept = await countOwned(t.app, neighbour.id)
  expect(Object.keys(kept).toSorted()).toEqual(
    `access_log activities activity_keys addresses api_keys contact_lists contacts day_tallies deal_history deals delivery_targets events journey_runs
     journey_versions journeys pending_deliveries pipelines stages webhooks`.split(/\s+/),
  )
  const dry = await svc(t, ['accounts', 'delete', account.id, '--dry-run', '--json'])
  expect(dry.json).toEqual({ dryRun: true, id: account.id, name: account.name, deleted: kept })
  expect(await countOwned(t.app, account.id)).toEqual(kept)
  expect((await svc(t, ['accounts', 'delete', account.id])).status).toBe(2)
  const ran = await svc(t, ['accounts', 'delete', account.name, '--confirm', account.name, '--json'])
  expect(ran).toMatchObject({ status: 0, json: { id: account.id, name: account.name, deleted: kept } })
  expect(await remains(t, account)).toEqual(nothing)
  expect(await countOwned(t.app, neighbour.id)).toEqual(kept)
  expect((await svc(t, ['accounts', 'delete', account.id, '--confirm', account.name])).status).toBe(3)
})

test('keys, units of work and deliveries are refused from the start, while an earlier unit of work is still running', async () => {
  const account = await furnish(t)
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

test('housekeeping continues an interrupted deletion, and deletes nothing of other accounts', async () => {
  const account = await furnish(t)
  const neighbour = await furnish(t)
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
