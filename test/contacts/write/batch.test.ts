import { beforeEach, describe, expect, test } from 'vitest'
import { writeContacts } from '../../../src/contacts/contacts.ts'
import type { TestAccount } from '../../support/app.ts'
import { ok } from '../../support/app.ts'
import { useContacts } from '../support.ts'

let account: TestAccount
let listId: string

const app = useContacts()
beforeEach(async () => {
  account = await app.account()
  listId = (await app.list(account)).id
})

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ email: `person${from + i}@acme.test`, n: from + i }))
const batch = (contacts: unknown) => app.post(account, { listId, contacts })
const counts = async () => {
  const [row] = await app.app.sql<{ contacts: number; rows: number; addresses: number; counted: number }>(
    `select (select count(*) from contacts where account_id = $1) as contacts,
       (select coalesce(sum(row_count), 0) from contact_lists where account_id = $1) as rows,
       (select count(*) from addresses where account_id = $1) as addresses,
       (select contact_count from accounts where id = $1)::int8 as counted`,
    [account.id],
  )
  return row
}
const all = (n: number) => ({ contacts: n, rows: n, addresses: n, counted: n })

describe('POST /contacts with a batch', () => {
  test('counts new and existing contacts, and returns no contact', async () => {
    await batch(people(2))
    expect(await batch(people(4))).toMatchObject({ status: 200, body: { created: 2, updated: 2, skipped: 0 } })
    expect((await batch(people(1))).body).not.toHaveProperty('contact')
    expect(await counts()).toEqual(all(4))
  })

  test('duplicate addresses are merged in order and counted once', async () => {
    const contacts = [
      { email: 'ada@acme.test', a: 1, b: 1 },
      { email: 'bob@acme.test' },
      { email: ' ADA@acme.test', b: 2, c: null },
    ]
    expect((await batch(contacts)).body).toEqual({ created: 2, updated: 0, skipped: 0 })
    const { body } = await app.get(account, 'email=ada@acme.test')
    expect(body.contacts[0].fields).toEqual({ a: '1', b: '2', c: '' })
  })

  test('500 contacts with 40 columns are accepted', async () => {
    const fields = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`column ${i}`, 'x'.repeat(150)]))
    const { status, body } = await batch(people(500).map(({ email }) => ({ email, ...fields })))
    expect([status, body]).toEqual([200, { created: 500, updated: 0, skipped: 0 }])
  })

  test.each([
    ['no items', [], 'contacts must have 1 to 500 items'],
    ['501 items', people(501), 'contacts must have 1 to 500 items'],
    ['a value that is not a list', 'all', 'contacts must be an array'],
    ['null', null, 'contacts must be an array'],
    ['an item that is not an object', ['a@b.c'], 'contacts[0] must be an object'],
    ['an item without email', [{ email: 'a@b.c' }, {}], 'contacts[1].email is required'],
    ['an item with an email that is not a string', [{ email: 1 }], 'contacts[0].email must be a string'],
    ['a long value', [{ email: 'a@b.c', x: 'y'.repeat(10_001) }], 'contacts[0].x must be at most 10,000 characters'],
  ])('%s returns 400', async (_, contacts, error) => {
    expect(await batch(contacts)).toMatchObject({ status: 400, body: { error } })
  })

  test('a body with contacts is a batch, which can’t have an email of its own', async () => {
    const single = { listId, fields: { n: 1 } }
    const error = 'contacts must have 1 to 500 items'
    expect(await app.post(account, { ...single, contacts: [] })).toMatchObject({ status: 400, body: { error } })
    expect(await counts()).toEqual(all(0))
    const { body } = await app.post(account, { ...single, contacts: people(2) })
    expect(body).toEqual({ created: 2, updated: 0, skipped: 0 })
    for (const email of ['ada@acme.test', null])
      expect(await app.post(account, { listId, email, contacts: people(3) })).toMatchObject({
        status: 400,
        body: { error: "email can't be combined with contacts" },
      })
    expect(await counts()).toMatchObject({ contacts: 2 })
  })

  test('one invalid item refuses the whole batch, and nothing is written', async () => {
    expect((await batch([...people(3), { email: '' }])).status).toBe(400)
    expect(await counts()).toEqual(all(0))
  })

  test('new names become columns in order of first appearance', async () => {
    await batch([{ email: 'a@acme.test', zeta: 1, alpha: 2 }])
    await batch([{ email: 'b@acme.test', beta: 1, alpha: 3 }])
    const { body } = await ok(app.request('GET', '/lists', { key: account.key }))
    expect(body.lists[0]!.fields).toEqual(['zeta', 'alpha', 'beta'])
  })

  test('the 41st column returns 400 and writes nothing', async () => {
    const columns = (from: number, count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, i) => [`c${from + i}`, 1]))
    expect((await batch([{ email: 'a@acme.test', ...columns(0, 40) }])).status).toBe(200)
    const refused = await batch([{ email: 'b@acme.test', ...columns(1, 40) }])
    expect(refused).toMatchObject({ status: 400, body: { error: 'A list can have at most 40 columns' } })
    expect(await counts()).toEqual(all(1))
  })

  test('identical data changes no row', async () => {
    await batch(people(50))
    const rows = () =>
      app.app.sql(
        `select 'c' as of, email, ctid::text, xmin::text, xmax::text from contacts where account_id = $1
         union all select 'a', email, ctid::text, xmin::text, xmax::text from addresses where account_id = $1
         union all select 'l', id, ctid::text, xmin::text, '' from contact_lists where account_id = $1 order by 1, 2`,
        [account.id],
      )
    const before = await rows()
    expect((await batch(people(50))).body).toEqual({ created: 0, updated: 50, skipped: 0 })
    expect(await rows()).toEqual(before)
  })

  test('beyond the plan limit new contacts are skipped in order, known ones still written', async () => {
    account = await app.account({ plan: 'free' })
    listId = (await app.list(account)).id
    await app.app.sql(`update plans set contacts = 4 where name = 'free'`)
    await batch(people(2))
    expect((await batch([...people(2), ...people(5, 10)])).body).toEqual({ created: 2, updated: 2, skipped: 3 })
    const { body } = await app.get(account, 'email=person12@acme.test')
    expect(body.contacts).toEqual([])
    expect(await counts()).toEqual(all(4))
  })
})

describe('events of a batch', () => {
  test('each created and each changed contact fires once, an unchanged one never', async () => {
    await batch(people(3))
    await app.subscribe(account)
    await batch([...people(2), { email: 'person2@acme.test', n: 'other' }, { email: 'new@acme.test' }])
    const seen = (await app.events<'contact.created' | 'contact.updated'>(account.id)).map(
      ({ type, data }) => `${type} ${data.contact.email}`,
    )
    expect(seen.sort()).toEqual(['contact.created new@acme.test', 'contact.updated person2@acme.test'])
  })

  const write = (count: number, options: object) =>
    app.app.work(account.id, 'cli:test', (work) => {
      const writes = people(count).map(({ email }) => ({ email, fields: {} }))
      return writeContacts(work, listId, writes, new Map(), options)
    })

  test('an event has the contact as a read returns it, whether it is new to the account, new to the list, or changed', async () => {
    const other = await app.list(account, 'Others')
    await app.post(account, { listId: other.id, contacts: [{ email: 'known@acme.test', z: 1 }] })
    await batch([{ email: 'member@acme.test', z: 1 }])
    await app.subscribe(account)
    await batch([
      { email: 'new@acme.test', b: '2', a: 1, z: null },
      { email: 'known@acme.test', a: 'x', c: true },
      { email: 'member@acme.test', b: 'y' },
      { email: 'info@acme.test' },
      { email: 'nobody@nowhere.test', a: 1 },
    ])
    const events = await app.events<'contact.created' | 'contact.updated'>(account.id)
    expect(events.map(({ data }) => data.contact.email).sort()).toEqual([
      'info@acme.test',
      'known@acme.test',
      'member@acme.test',
      'new@acme.test',
      'nobody@nowhere.test',
    ])
    for (const { data } of events) {
      const { email } = data.contact
      const { body } = await app.get(account, `email=${email}&listId=${listId}`)
      expect(JSON.stringify(data.contact)).toBe(JSON.stringify(body.contacts[0]))
    }
  })

  test('a single write of 501 contacts fires none, one of 500 fires all', async () => {
    await app.subscribe(account)
    await write(501, {})
    expect(await app.events(account.id)).toEqual([])
    listId = (await app.list(account, 'Second')).id
    await write(500, {})
    expect(await app.events(account.id)).toHaveLength(500)
  })

  test('a write with events: false fires none', async () => {
    await app.subscribe(account)
    await write(3, { events: false })
    expect(await app.events(account.id)).toEqual([])
  })

  test('keepExisting leaves contacts of the list unchanged and reports them as skipped', async () => {
    await batch([{ email: 'person0@acme.test', n: 'kept' }])
    const writes = [
      { email: 'person0@acme.test', fields: { n: 'lost' } },
      { email: 'new@acme.test', fields: {} },
    ]
    const outcomes = await app.app.work(account.id, 'cli:test', (work) =>
      writeContacts(work, listId, writes, new Map(), { keepExisting: true }),
    )
    expect(Object.fromEntries(outcomes)).toEqual({ 'person0@acme.test': 'skipped', 'new@acme.test': 'created' })
    const { body } = await app.get(account, 'email=person0@acme.test')
    expect(body.contacts[0].fields).toEqual({ n: 'kept' })
  })
})

describe('concurrently', () => {
  test('two batches with the same new addresses create each once, and every count is exact', async () => {
    await app.subscribe(account)
    for (let round = 0; round < 5; round++) {
      const contacts = people(200, round * 200)
      const replies = await Promise.all([batch(contacts), batch([...contacts].reverse()), batch(contacts)])
      const sum = replies.reduce((total, { body }) => total + body.created, 0)
      expect(sum).toBe(200)
      for (const { body } of replies) expect(body.created + body.updated).toBe(200)
    }
    expect(await counts()).toEqual(all(1000))
    expect(await app.events(account.id)).toHaveLength(1000)
  })

  test('two batches that change the same contacts both take effect: no field is lost', async () => {
    await batch(people(100))
    const contacts = people(100)
    await Promise.all([
      batch(contacts.map(({ email }) => ({ email, left: 'l' }))),
      batch(contacts.toReversed().map(({ email }) => ({ email, right: 'r' }))),
    ])
    const rows = await app.app.sql<{ fields: object }>('select fields from contacts where account_id = $1', [
      account.id,
    ])
    for (const { fields } of rows) expect(fields).toMatchObject({ left: 'l', right: 'r' })
    expect(rows).toHaveLength(100)
  })

  test('batches near the plan limit fill it exactly', async () => {
    account = await app.account({ plan: 'free' })
    listId = (await app.list(account)).id
    await app.app.sql(`update plans set contacts = 150 where name = 'free'`)
    const replies = await Promise.all([0, 50, 100, 150].map((from) => batch(people(100, from))))
    expect(replies.reduce((total, { body }) => total + body.created, 0)).toBe(150)
    expect(await counts()).toEqual(all(150))
  })

  test('two batches with 25 new columns each: one is refused as a whole', async () => {
    const columns = (prefix: string) => Object.fromEntries(Array.from({ length: 25 }, (_, i) => [`${prefix}${i}`, 1]))
    const replies = await Promise.all(
      ['a', 'b'].map((prefix) =>
        batch(people(20, prefix === 'a' ? 0 : 100).map((p) => ({ ...p, ...columns(prefix) }))),
      ),
    )
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 400])
    expect(await counts()).toEqual(all(20))
  })
})
