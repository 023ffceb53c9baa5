import { beforeEach, expect, test } from 'vitest'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { noteContention } from '../../src/contacts/write/contention.ts'
import { dropRunData } from '../../src/journeys/journeys.purge.ts'
import { applyJourneys, switchJourney, triggerJourney } from '../../src/journeys/journeys.ts'
import type { Sql } from '../../src/store/database.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { holdContactsTicket, untilLocked } from '../support/database.ts'
import { useDnsServer } from '../support/dns.ts'
import type { Query } from '../support/replies.ts'

let account: TestAccount
let listId: string
let clockMs = Date.parse('2026-11-20T08:00:00Z')

const dns = useDnsServer()
const t = useApp(() => ({ env: { SVC_DNS_SERVERS: dns.address }, now: () => new Date(clockMs) }))
beforeEach(async () => {
  account = await t.account()
  listId = await newList(account)
})

const newList = async (of: TestAccount) =>
  (await t.app.work(of.id, 'cli:test', (work) => createList(work, { name: 'Customers' }))).id

/** Applies a journey, at a later time than the previous one. */
const apply = async (changes: object = {}, of = account): Promise<string> => {
  clockMs++
  const journey = { name: 'Welcome', trigger: { kind: 'api' }, steps: [{ kind: 'delay', for: '1d' }], ...changes }
  return (await t.app.work(of.id, 'cli:test', (work) => applyJourneys(work, [journey])))[0]!.id!
}
const list = async (query: Query = '', of = account) => {
  const reply = await t.request('GET', `/journeys${query}`, { key: of.key })
  expect(reply.status).toBe(200)
  return reply.body.journeys
}
const trigger = (id: string, body: unknown = { email: 'ada@example.com', listId }) =>
  t.request('POST', `/journeys/${id}/trigger`, { key: account.key, body })

const runs = () =>
  t.app.sql<{ email: string; listId: string; version: number }>(
    'select email, list_id as "listId", version from journey_runs where account_id = $1 order by id',
    [account.id],
  )
const contacts = () => t.app.sql('select email from contacts where account_id = $1', [account.id])

test('a journey has exactly the properties of the contract', async () => {
  const id = await apply()
  expect(await list()).toEqual([
    { id, name: 'Welcome', enabled: true, triggerKind: 'api', createdAt: clockMs, updatedAt: clockMs },
  ])
})

test('journeys are listed most recently updated first, optionally of one trigger kind', async () => {
  const [a, b, c] = [
    await apply({ name: 'A' }),
    await apply({ name: 'B', trigger: { kind: 'manual' } }),
    await apply({ name: 'C' }),
  ]
  clockMs += 1_000
  await t.app.work(account.id, 'cli:test', (work) => switchJourney(work, a, false))
  expect((await list()).map(({ id }) => id)).toEqual([a, c, b])
  expect((await list('?trigger=api')).map(({ id }) => id)).toEqual([a, c])
  expect(await list('?trigger=lead-hot')).toEqual([])
  expect(await list('', await t.account())).toEqual([])
})

test('a trigger adds the address to the list, normalised and verified, and enters it', async () => {
  const id = await apply()
  const reply = await trigger(id, { email: '  Ada@Example.COM ', listId })
  expect(reply).toMatchObject({ status: 200, body: { ok: true } })
  expect(await runs()).toEqual([{ email: 'ada@example.com', listId, version: 1 }])
  const [added] = await t.app.sql<{ status: string | null }>(
    'select verification_status as status from addresses where account_id = $1',
    [account.id],
  )
  expect(added!.status).not.toBeNull()
})

test('an address that is already in the list stays unchanged', async () => {
  const id = await apply()
  const body = { listId, email: 'ada@example.com', fields: { plan: 'pro' } }
  await ok(t.request('POST', '/contacts', { key: account.key, body }))
  const before = await t.app.sql('select * from contacts where account_id = $1', [account.id])
  clockMs += 1_000
  expect((await trigger(id)).status).toBe(200)
  expect(await t.app.sql('select * from contacts where account_id = $1', [account.id])).toEqual(before)
  expect(await runs()).toHaveLength(1)
})

test('a contact in the journey does not enter again: 200 and no second run, also for concurrent calls', async () => {
  const id = await apply()
  const replies = await Promise.all(Array.from({ length: 10 }, () => trigger(id)))
  expect(replies.map(({ status, body }) => [status, body])).toEqual(Array(10).fill([200, { ok: true }]))
  expect(await runs()).toHaveLength(1)
  expect(await contacts()).toHaveLength(1)
})

test('with reentry always, each trigger starts a run', async () => {
  const id = await apply({ reentry: 'always' })
  for (let i = 0; i < 2; i++) expect((await trigger(id)).status).toBe(200)
  expect(await runs()).toHaveLength(2)
})

test('a contact enters the newest version', async () => {
  const id = await apply()
  await ok(trigger(id))
  await apply({ steps: [{ kind: 'delay', for: '2d' }] })
  await ok(trigger(id, { email: 'bob@example.com', listId }))
  expect((await runs()).map(({ version }) => version)).toEqual([1, 2])
})

const dataOfRuns = () =>
  t.app.sql<{ context: object }>('select context from journey_runs where account_id = $1 order by id', [account.id])

test('data is kept with its run as flat text, and exported and erased with the address', async () => {
  const id = await apply()
  const data = { plan: 'pro', count: 2, gift: true, none: null, nested: { a: 1 }, list: [1] }
  expect((await trigger(id, { email: 'ada@example.com', listId, data })).status).toBe(200)
  const kept = { plan: 'pro', count: '2', gift: 'true', none: '' }
  expect(await dataOfRuns()).toEqual([{ context: { data: kept } }])
  const parts = await t.app.personalData()
  const read = () =>
    t.app.work(account.id, 'cli:test', (work) =>
      parts.find(({ name }) => name === 'journeyRuns')!.read(work, 'ada@example.com'),
    )
  expect(await read()).toMatchObject([{ context: { data: kept } }])
  await t.app.work(account.id, 'cli:test', (work) => eraseContact(work, 'ada@example.com', { dryRun: false }))
  expect(await dataOfRuns()).toEqual([{ context: {} }])
})

test.each<[string, unknown, string]>([
  ['101 fields', Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`f${i}`, i])), "can't have more than 100"],
  ['a text', 'plan=pro', 'data must be an object'],
  ['a long value', { a: 'x'.repeat(10_001) }, 'data.a'],
  ['long values', Object.fromEntries(Array.from({ length: 8 }, (_, i) => [i, 'x'.repeat(9000)])), 'at most 64 KB'],
])('data with %s returns 400, and nothing is added', async (_, data, error) => {
  const reply = await trigger(await apply(), { email: 'ada@example.com', listId, data })
  expect([reply.status, reply.body.error]).toEqual([400, expect.stringContaining(error)])
  expect([await runs(), await contacts()]).toEqual([[], []])
})

test('data of ended runs is dropped after the retention of messages, and the runs stay', async () => {
  const id = await apply({ steps: [{ kind: 'exit' }], reentry: 'always' })
  for (const data of [{ a: '1' }, { b: '2' }]) {
    clockMs++
    await ok(trigger(id, { email: 'ada@example.com', listId, data }))
  }
  const [first] = await t.app.sql<{ id: string }>('select id from journey_runs where account_id = $1 order by id', [
    account.id,
  ])
  const day = 86_400_000
  const endedAt = new Date(clockMs - 90 * day)
  await t.app.sql(`update journey_runs set status = 'exited', cursor = null, ended_at = $2 where id = $1`, [
    first!.id,
    endedAt,
  ])
  expect(await dropRunData(t.app, endedAt)).toBe(0)
  expect(await dropRunData(t.app, new Date(endedAt.getTime() + 1))).toBe(1)
  expect((await dataOfRuns()).map(({ context }) => context)).toEqual([{}, { data: { b: '2' } }])
})

test.each<[string, object, string]>([
  ['is not enabled', { enabled: false }, 'Journey is not enabled'],
  ['has another trigger', { trigger: { kind: 'lead-hot' } }, 'Journey is not triggered by the API'],
  ['is started by the operator', { trigger: { kind: 'manual' } }, 'Journey is not triggered by the API'],
])('a journey that %s takes no contacts, and nothing is added', async (_, changes, error) => {
  expect(await trigger(await apply(changes))).toMatchObject({ status: 400, body: { error } })
  expect([await runs(), await contacts()]).toEqual([[], []])
})

test('a manual entry into a journey with another trigger is a conflict', async () => {
  const id = await apply({ trigger: { kind: 'lead-hot' } })
  const by = { accountId: account.id, actor: 'cli:test', by: 'operator' as const }
  await expect(triggerJourney(t.app, by, id, { email: 'ada@example.com', listId })).rejects.toMatchObject({
    kind: 'conflict',
    message: 'Journey is not triggered by hand',
  })
  expect(await contacts()).toEqual([])
})

test.each<[string, unknown, string]>([
  ['no email', { listId: 'x' }, 'email is required'],
  ['a malformed email', { email: 'ada', listId: 'x' }, 'email must be an email address'],
  ['an email that is not a string', { email: 1, listId: 'x' }, 'email must be a string'],
  ['no list', { email: 'a@example.com' }, 'listId is required'],
  ['no object', [], 'body must be a JSON object'],
])('%s returns 400', async (_, body, error) => {
  const reply = await trigger(await apply(), body)
  expect(reply.status).toBe(400)
  expect(reply.body.error).toBe(error)
})

test('an unknown or foreign journey or list returns 404, and nothing is added', async () => {
  const stranger = await t.account()
  const id = await apply()
  const theirs = await apply({}, stranger)
  const theirList = await newList(stranger)
  const body = { email: 'ada@example.com', listId: theirList }
  const replies = [
    await trigger('jrn_none'),
    await trigger(theirs),
    await trigger(id, body),
    await trigger(id, { ...body, listId: 'lst_none' }),
  ]
  expect(replies.map(({ status, body }) => [status, body.error])).toEqual([
    [404, 'There is no such journey'],
    [404, 'There is no such journey'],
    [404, 'There is no such list'],
    [404, 'There is no such list'],
  ])
  expect([await runs(), await contacts()]).toEqual([[], []])
})

test('a new address on a full plan returns 409 and nothing is added; a known address enters', async () => {
  account = await t.account({ plan: 'free' })
  listId = await newList(account)
  const id = await apply()
  await ok(t.request('POST', '/contacts', { key: account.key, body: { listId, email: 'ada@example.com' } }))
  await t.app.sql('update accounts set contact_count = 1000 where id = $1', [account.id])
  const refused = await trigger(id, { email: 'new@example.com', listId })
  expect(refused).toMatchObject({ status: 409, body: { error: "The plan's contact limit is reached" } })
  expect(await contacts()).toHaveLength(1)
  expect((await trigger(id)).status).toBe(200)
  expect(await runs()).toHaveLength(1)
})

test('a contact that others add and remove while it enters is added again: the plan is not full', async () => {
  const id = await apply()
  const { key } = account
  const email = 'ada@example.com'
  const others: Record<string, (() => Promise<unknown>)[]> = {
    'read-contacts': [async () => {}, () => ok(t.request('POST', '/contacts', { key, body: { listId, email } }))],
    'probe-contacts': [() => ok(t.request('DELETE', `/lists/${listId}/contacts/${email}`, { key }))],
  }
  const work: typeof t.app.work = (of, actor, run) =>
    t.app.work(of, actor, (inner) => {
      const sql = (async (...[query, params]: Parameters<Sql>) => {
        const rows = await inner.sql(query, params)
        if (typeof query !== 'string') await others[query.name]?.shift()?.()
        return rows
      }) as Sql
      return run({ ...inner, sql })
    })
  const caller = { accountId: account.id, actor: 'key:test', by: 'api' } as const
  expect(await triggerJourney({ ...t.app, work }, caller, id, { email, listId })).toBe(true)
  expect([Object.values(others), await contacts()]).toEqual([[[], []], [{ email }]])
})

test('while writers of new contacts queue, a trigger queues too, before it locks the journey', async () => {
  const id = await apply()
  const ticket = await holdContactsTicket(t.app.database, account.id)
  noteContention(account.id)
  const pending = trigger(id)
  await untilLocked(t.app, 1)
  await t.app.work(account.id, 'cli:test', async (work) => {
    await work.sql(`set local lock_timeout = '500ms'`)
    await switchJourney(work, id, true)
    await work.sql('select from journeys where id = $1 for update', [id])
  })
  await ticket.release()
  expect((await pending).body).toEqual({ ok: true })
})
