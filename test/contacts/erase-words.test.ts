import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'

/*
 * A malformed address is stored as any other, so an erasure can name a word. That word stands in titles, in filters and in the names of
 * properties, where it is no address.
 */

const dns = useDnsServer()
const t = useApp(() => ({
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))
useOneApp()

let folder: string
let account: TestAccount
let own: Things

beforeAll(async () => {
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  folder = await mkdtemp(join(tmpdir(), 'svc-words-'))
  account = await t.account({ name: 'Harbour' })
  own = await furnish(t, account, folder)
  await t.app.sql(
    `update payment_orders set items = '[{"name":"Plan","quantity":1,"amount":5}]' where account_id = $1`,
    [account.id],
  )
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const tables =
  `addresses bookings broadcasts contacts deals events import_rejects journey_runs journey_versions messages
  payment_orders pending_deliveries segments suppressions`.split(/\s+/)

const rows = async () =>
  Object.fromEntries(
    await Promise.all(
      tables.map(async (table) => [
        table,
        await t.app.sql(`select to_jsonb(r) as row from ${table} r where account_id = $1 order by r::text`, [
          account.id,
        ]),
      ]),
    ),
  )

const erase = async (email: string) =>
  (await ok(t.request('POST', '/erasures', { key: account.key, body: { email } }))).body

test.each(['plan', 'pro', 'email', 'lists', 'kind', 'id', 'a', '@', 'deal', 'quantity', '1', 'harbour'])(
  'nothing is known about the address %j, and its erasure changes nothing',
  async (word) => {
    const before = await rows()
    expect(await erase(word)).toEqual({ erased: false })
    expect(await rows()).toEqual(before)
  },
)

test('of a malformed address its contact, its events and its deals are erased, and nothing else', async () => {
  const before = await rows()
  const post = (path: string, body: object) => ok(t.request('POST', path, { key: account.key, body }))
  const listId = own.list![0]!
  await post('/contacts', { listId, email: 'plan' })
  const [{ rowId } = { rowId: '' }] = await t.app.sql<{ rowId: string }>(
    `select row_id as "rowId" from addresses where account_id = $1 and email = 'plan'`,
    [account.id],
  )
  await post('/deals', { title: 'A plan', listId, rowId })
  const made = await rows()
  expect(JSON.stringify(made)).toContain(String.raw`\"email\":\"plan\"`)
  expect(await erase('plan')).toEqual({ erased: true })
  const after = await rows()
  expect(JSON.stringify(after)).not.toMatch(/email\\*":\\*"plan/)
  // Only the deal and its event are left of it.
  for (const table of tables) expect(after[table]).toEqual(expect.arrayContaining(before[table]!))
  expect(tables.filter((table) => after[table]!.length > before[table]!.length)).toEqual(['deals', 'events'])
})
