import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Counts } from '../../../src/contacts/imports/counts.ts'
import { findOrCreateList } from '../../../src/contacts/imports/prepare.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { untilLocked } from '../../support/database.ts'
import { prepareRun } from '../support.ts'

let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-concurrent-'))
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let files = 0
/** Writes a file of these people, with one row that is rejected. */
const file = async (people: readonly number[], note: string): Promise<string> => {
  const path = join(folder, `${++files}.csv`)
  await writeFile(path, `email,note\n,nobody\n${people.map((n) => `p${n}@example.org,${note}\n`).join('')}`)
  return path
}

/** The file of each batch, in the order in which the batches were written. */
type Order = string[]

const importInto = async ({ id }: TestAccount, list: string, path: string, order: Order = []) => {
  const { run } = await prepareRun(t, id, { list, path })
  return run({ onBatch: () => void order.push(path) })
}

const sum = (results: readonly Counts[], name: keyof Counts) => results.reduce((all, counts) => all + counts[name], 0)

/** The counters of the account and of the list `L`, with the real numbers of rows. */
const counted = async ({ id }: TestAccount) =>
  (
    await t.app.sql(
      `select a.contact_count as addresses, l.row_count as rows,
         (select count(*) from addresses where account_id = a.id) as "realAddresses",
         (select count(*) from contacts where list_id = l.id) as "realRows"
       from accounts a join contact_lists l on l.account_id = a.id and l.name = 'L' where a.id = $1`,
      [id],
    )
  )[0]

/** Whether the batches of two imports were interleaved. */
const areMixed = (order: Order, a: string, b: string) =>
  order.indexOf(a) < order.lastIndexOf(b) && order.indexOf(b) < order.lastIndexOf(a)

const upTo = (count: number, from = 0) => Array.from({ length: count }, (_, i) => from + i)

test('concurrent imports of the same people into a list that each may create: every row counts once, and all counts are exact', async () => {
  const account = await t.account()
  const paths = await Promise.all([
    file(upTo(2_000), 'one'),
    file(upTo(2_000, 500).reverse(), 'two'),
    file(upTo(2_000, 500), 'three'),
  ])
  const order: Order = []
  const results = await Promise.all(paths.map((path) => importInto(account, 'L', path, order)))
  expect(areMixed(order, paths[0]!, paths[1]!) && areMixed(order, paths[1]!, paths[2]!)).toBe(true)
  for (const { created, updated, unchanged, skipped, rejected, rows } of results) {
    expect(created + updated + unchanged).toBe(2_000)
    expect([skipped, rejected, rows]).toEqual([0, 1, 2_001])
  }
  expect(sum(results, 'created')).toBe(2_500)
  expect(results.filter(({ created }) => created > 0).length).toBeGreaterThan(1)
  expect(await counted(account)).toEqual({ addresses: 2_500, rows: 2_500, realAddresses: 2_500, realRows: 2_500 })
})

test('an import uses a list that another import creates concurrently', async () => {
  const { id } = await t.account()
  const open = () => t.app.work(id, 'cli:test', (work) => findOrCreateList(work, 'L', true, { email: 0, fields: [] }))
  const { first, second } = await t.app.work(id, 'cli:test', async (work) => {
    const first = await findOrCreateList(work, 'L', true, { email: 0, fields: [] })
    const second = open()
    await untilLocked(t.app, 1)
    // Wrapped in an object, so that the second promise is not awaited before this unit commits.
    return { first, second }
  })
  expect((await second).id).toBe(first.id)
})

test("two imports into two lists beyond the plan's limit: the plan is filled, not exceeded", async () => {
  const account = await t.account({ plan: 'free' })
  const results = await Promise.all([
    importInto(account, 'L', await file(upTo(800), 'one')),
    importInto(account, 'M', await file(upTo(800, 400).reverse(), 'two')),
  ])
  const { addresses, realAddresses, rows, realRows } = (await counted(account)) as Record<string, number>
  expect([addresses, realAddresses, rows]).toEqual([1_000, 1_000, realRows])
  for (const { created, updated, unchanged, skipped } of results)
    expect([created + skipped, updated, unchanged]).toEqual([800, 0, 0])
  expect(results[0]!.created).toBe(rows)
})

test('a concurrent import and API batches, with a subscription: counts and events are exact', async () => {
  const account = await t.account()
  await ok(
    t.request('POST', '/webhooks', {
      key: account.key,
      body: { url: 'https://hooks.example.org/', events: ['contact.created'] },
    }),
  )
  const { id: listId } = await t.app.work(account.id, 'cli:test', (work) =>
    findOrCreateList(work, 'L', true, { email: 0, fields: [] }),
  )
  const order: Order = []
  const post = async (from: number) => {
    const contacts = upTo(250, from).map((n) => ({ email: `p${n}@example.org`, note: 'api' }))
    const { status, body } = await t.request('POST', '/contacts', { key: account.key, body: { listId, contacts } })
    order.push('api')
    expect(status).toBe(200)
    return body
  }
  const path = await file(upTo(2_000), 'file')
  const batches = (async () => {
    const replies = []
    for (let from = 2_000; from >= 0; from -= 250) replies.push(await post(from))
    return replies
  })()
  const imported = await importInto(account, 'L', path, order)
  const replies = await batches
  expect(areMixed(order, path, 'api')).toBe(true)
  for (const { created, updated, skipped } of replies) expect([created + updated, skipped]).toEqual([250, 0])
  const created = imported.created + replies.reduce((all, reply) => all + reply.created, 0)
  expect(created).toBe(2_250)
  expect(imported.created + imported.updated + imported.unchanged).toBe(2_000)
  expect(await counted(account)).toEqual({ addresses: 2_250, rows: 2_250, realAddresses: 2_250, realRows: 2_250 })
  expect(
    new Set((await t.events<'contact.created' | 'contact.updated'>(account.id)).map(({ data }) => data.contact.email))
      .size,
  ).toBe(2_250)
  expect(await t.events(account.id)).toHaveLength(2_250)
})
