import { beforeEach, expect, test } from 'vitest'
import { writeContacts } from '../../../src/contacts/contacts.ts'
import { addAddressSignal } from '../../../src/contacts/verification/signals.ts'
import { areLikelyNew } from '../../../src/contacts/write/new-addresses.ts'
import type { TestAccount } from '../../support/app.ts'
import { useContacts } from '../support.ts'

let account: TestAccount
let listId: string

const size = 100
const people = (from: number, count = size) =>
  Array.from({ length: count }, (_, i) => ({ email: `p${from + i}@acme.test`, n: `${from + i}` }))
const post = async (contacts: object[], list = listId) => (await app.post(account, { listId: list, contacts })).body
const isStreak = () => areLikelyNew(listId, size)
const contactsOf = async (email: string) => (await app.get(account, `email=${email}`)).body.contacts
/** The counters, and their differences from the rows, which must be 0. */
const counted = async () => {
  const [row] = await app.app.sql(
    `select a.contact_count as addresses, a.contact_count - (select count(*) from addresses where account_id = $1) as lost,
       l.row_count as rows, l.row_count - (select count(*) from contacts where list_id = $2) as missing
     from accounts a, contact_lists l where a.id = $1 and l.id = $2`,
    [account.id, listId],
  )
  return row
}
const all = (n: number) => ({ addresses: n, lost: 0, rows: n, missing: 0 })

const startStreak = async () => {
  for (const from of [0, size]) expect(await post(people(from))).toEqual({ created: size, updated: 0, skipped: 0 })
  expect(isStreak()).toBe(true)
}

const app = useContacts()
beforeEach(async () => {
  account = await app.account()
  listId = (await app.list(account)).id
})

/** Writes without the API; returns whether the write has looked up existing contacts. */
const hasLooked = async (from: number): Promise<boolean> => {
  const names: (string | undefined)[] = []
  await app.app.work(account.id, 'cli:test', (work) => {
    const sql: typeof work.sql = (query, ...values) => {
      names.push(typeof query === 'string' ? undefined : query.name)
      return work.sql(query, ...values)
    }
    const writes = people(from).map(({ email, n }) => ({ email, fields: { n } }))
    return writeContacts({ ...work, sql }, listId, writes, new Map())
  })
  expect(names).toContain('add-contacts')
  return names.includes('probe-contacts')
}

test('the third batch of new addresses is inserted without a lookup, and after a conflict each batch looks up', async () => {
  expect([await hasLooked(0), await hasLooked(size), await hasLooked(2 * size)]).toEqual([true, true, false])
  expect(await post([...people(3 * size), people(0)[0]!])).toEqual({ created: size, updated: 1, skipped: 0 })
  expect([await hasLooked(4 * size), await hasLooked(5 * size), await hasLooked(6 * size)]).toEqual([true, true, true])
  expect(await counted()).toEqual(all(7 * size))
})

test('a known batch among many new ones is found, however often the heuristic applies', async () => {
  await startStreak()
  const known = [people(0), people(size)]
  const batches = [...known, ...Array.from({ length: 10 }, (_, i) => people((2 + i) * size)), ...known]
  const answers = await Promise.all(batches.map((batch) => app.post(account, { listId, contacts: batch })))
  expect(answers.map(({ status }) => status)).toEqual(batches.map(() => 200))
  expect(answers.reduce((sum, { body }) => sum + body.created, 0)).toBe(10 * size)
  expect(await counted()).toEqual(all(12 * size))
})

test('batches that the heuristic assumes to be new are added, each contact with its event', async () => {
  await startStreak()
  await app.subscribe(account)
  expect(await post(people(2 * size))).toEqual({ created: size, updated: 0, skipped: 0 })
  expect(isStreak()).toBe(true)
  expect(await counted()).toEqual(all(3 * size))
  const events = await app.events<'contact.created' | 'contact.updated'>(account.id)
  expect(events.map(({ type, data }) => [type, data.contact.fields.n]).sort()).toEqual(
    people(2 * size).map(({ n }) => ['contact.created', n]),
  )
})

test('known addresses that the heuristic assumes to be new are found: in the list, in other lists, and unchanged ones', async () => {
  const other = (await app.list(account, 'Other')).id
  await post([{ email: 'elsewhere@acme.test', n: 'x' }], other)
  await startStreak()
  await app.subscribe(account)
  const [same, changed] = [
    { email: 'p1@acme.test', n: '1' },
    { email: 'p2@acme.test', n: 'new' },
  ]
  const batch = [...people(2 * size), same, changed, { email: 'elsewhere@acme.test', n: 'here' }]
  expect(await post(batch)).toEqual({ created: size + 1, updated: 2, skipped: 0 })
  expect(isStreak()).toBe(false)
  expect(await counted()).toEqual(all(3 * size + 1))
  expect((await contactsOf('p2@acme.test'))[0].fields).toEqual({ n: 'new' })
  expect((await contactsOf('elsewhere@acme.test')).map(({ fields }: { fields: object }) => fields)).toEqual([
    { n: 'here' },
    { n: 'x' },
  ])
  const types = (await app.events(account.id)).map(({ type }) => type)
  expect([types.length, types.filter((type) => type === 'contact.updated').length]).toEqual([size + 2, 1])
})

test('signals of an address are added to its result when the heuristic assumes it to be new', async () => {
  await app.app.work(account.id, 'cli:test', (work) => addAddressSignal(work, 'p205@acme.test', 'hard_bounced'))
  await startStreak()
  await post(people(2 * size))
  expect(isStreak()).toBe(true)
  expect((await contactsOf('p205@acme.test'))[0].verification).toMatchObject({
    status: 'invalid',
    reasons: ['hard_bounced'],
  })
  expect((await contactsOf('p206@acme.test'))[0].verification).toMatchObject({ status: 'valid', reasons: [] })
})

test("the heuristic ends near the plan's limit: addresses beyond the limit are skipped, in order", async () => {
  account = await app.account({ plan: 'free' })
  listId = (await app.list(account)).id
  await startStreak()
  await app.app.sql(`update plans set contacts = $1 where name = 'free'`, [2 * size + 1])
  expect(await post(people(2 * size))).toEqual({ created: 1, updated: 0, skipped: size - 1 })
  expect(await contactsOf('p200@acme.test')).toHaveLength(1)
  expect(await counted()).toEqual(all(2 * size + 1))
})
