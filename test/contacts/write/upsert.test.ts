import { beforeEach, describe, expect, test } from 'vitest'
import { renameList } from '../../../src/contacts/lists/lists.ts'
import { upsertContact } from '../../../src/contacts/write/upsert.ts'
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

const rowOf = (email: string) =>
  app.app.sql('select ctid, xmin, updated_at from contacts where account_id = $1 and email = $2', [account.id, email])

describe('POST /contacts with one contact', () => {
  test('returns 201 for a new contact, with exactly the properties of a Contact', async () => {
    const { status, body } = await app.post(account, { listId, email: ' Ada@ACME.test ', fields: { name: 'Ada' } })
    expect(status).toBe(201)
    expect(body).toEqual({
      created: 1,
      updated: 0,
      skipped: 0,
      contact: {
        listId,
        listName: 'Customers',
        rowId: expect.stringMatching(/^row_/),
        email: 'ada@acme.test',
        fields: { name: 'Ada' },
        status: 'active',
        verification: { status: 'valid', reasons: [], checkedAt: expect.any(Number) },
        createdAt: expect.any(Number),
        updatedAt: body.contact.createdAt,
      },
    })
  })

  test('returns 200 for an existing contact, whose other fields stay', async () => {
    await app.post(account, { listId, email: 'ada@acme.test', fields: { name: 'Ada', city: 'Porto' } })
    const { status, body } = await app.post(account, { listId, email: 'ADA@acme.test', fields: { city: 'Faro' } })
    expect([status, body.created, body.updated]).toEqual([200, 0, 1])
    expect(body.contact.fields).toEqual({ name: 'Ada', city: 'Faro' })
    expect(body.contact.updatedAt).toBeGreaterThanOrEqual(body.contact.createdAt)
  })

  test('scalars are stored as strings, null as the empty string, nested values are ignored', async () => {
    const fields = { s: 'x', n: 1.5, yes: true, none: null, list: [1], object: { a: 1 }, ' padded ': 'p' }
    const { body } = await app.post(account, { listId, email: 'ada@acme.test', fields })
    expect(body.contact.fields).toEqual({ s: 'x', n: '1.5', yes: 'true', none: '', padded: 'p' })
  })

  test('an emoji is one character of an address, a name or a value', async () => {
    const [name, value] = ['🎈'.repeat(100), '🎈'.repeat(10_000)]
    const first = await app.post(account, { listId, email: `Ada ${'🎈'.repeat(316)}`, fields: { [name]: value } })
    const second = await app.post(account, { listId, email: `ADA ${'🎈'.repeat(316)}` })
    expect([first.status, second.status]).toEqual([201, 200])
    expect(second.body.contact.fields).toEqual({ [name]: value })
    expect(second.body.contact.email).toBe(`ada ${'🎈'.repeat(316)}`)
    const more = await app.post(account, { listId, email: 'a@b.c', fields: { [`${name}🎈`]: '' } })
    expect([more.status, more.body.error]).toEqual([400, 'fields has a field name of over 100 characters'])
  })

  test.each([
    [
      'one contact',
      (listId: string) => `{"listId":"${listId}","email":"ada@acme.test","fields":{"n":-1e400}}`,
      'fields.n',
    ],
    [
      'a batch',
      (listId: string) =>
        `{"listId":"${listId}","contacts":[{"email":"eve@acme.test"},{"email":"ada@acme.test","n":1e400}]}`,
      'contacts[1].n',
    ],
  ])('a number that is infinite for JSON is refused in %s, and nothing is written', async (_, bodyOf, field) => {
    const { status, body } = await app.post(account, bodyOf(listId))
    expect([status, body.error]).toEqual([400, `${field} must be a number between -1.7e308 and 1.7e308`])
    expect([await rowOf('ada@acme.test'), await rowOf('eve@acme.test')]).toEqual([[], []])
  })

  test("names of Object's own properties are normal columns", async () => {
    const fields = { constructor: 'c', toString: 't', hasOwnProperty: 'h' }
    const { status, body } = await app.post(account, { listId, email: 'ada@acme.test', fields })
    expect(status).toBe(201)
    expect(body.contact.fields).toEqual(fields)
  })

  test('identical data counts as updated and writes nothing', async () => {
    await app.subscribe(account)
    const input = { listId, email: 'ada@acme.test', fields: { name: 'Ada', n: 1 } }
    await app.post(account, input)
    const before = await rowOf('ada@acme.test')
    const { status, body } = await app.post(account, { ...input, fields: { n: '1' } })
    expect([status, body.updated]).toEqual([200, 1])
    expect(await rowOf('ada@acme.test')).toEqual(before)
    expect(await app.events(account.id)).toHaveLength(1)
  })

  test('a known address has the same rowId in every list', async () => {
    const other = await app.list(account, 'Other')
    const first = await app.post(account, { listId, email: 'ada@acme.test' })
    const second = await app.post(account, { listId: other.id, email: 'ada@acme.test' })
    expect(second.status).toBe(201)
    expect(second.body.contact.rowId).toBe(first.body.contact.rowId)
  })

  test('the same address in two accounts is two contacts', async () => {
    const stranger = await app.account()
    const theirs = await app.list(stranger)
    const mine = await app.post(account, { listId, email: 'ada@acme.test', fields: { name: 'mine' } })
    const other = await app.post(stranger, { listId: theirs.id, email: 'ada@acme.test' })
    expect(other.status).toBe(201)
    expect(other.body.contact.rowId).not.toBe(mine.body.contact.rowId)
    expect((await app.get(account, 'email=ada@acme.test')).body.contacts[0].fields).toEqual({ name: 'mine' })
  })

  test.each([
    ['no body', {}, 'listId is required'],
    ['a listId that is not a string', { listId: 7 }, 'listId must be a string'],
    ['no email', { listId: 'lst_1' }, 'email is required'],
    ['an email that is not a string', { listId: 'lst_1', email: 7 }, 'email must be a string'],
    ['an empty email', { listId: 'lst_1', email: '  ' }, 'email must not be empty'],
    [
      'an email of 321 characters',
      { listId: 'lst_1', email: `${'a'.repeat(317)}@b.c` },
      'email must be at most 320 characters',
    ],
    ['NUL in the email', { listId: 'lst_1', email: 'a\0@b.c' }, 'email must not contain NUL characters'],
    ['fields that are a list', { listId: 'lst_1', email: 'a@b.c', fields: [] }, 'fields must be an object'],
    ['an unnamed field', { listId: 'lst_1', email: 'a@b.c', fields: { ' ': 1 } }, 'fields has a field without a name'],
    [
      'a field named email',
      { listId: 'lst_1', email: 'a@b.c', fields: { ' email ': 'x@y.z' } },
      'fields has a field named email, which is the address itself',
    ],
    [
      'a name of 101',
      { listId: 'lst_1', email: 'a@b.c', fields: { ['n'.repeat(101)]: 1 } },
      'fields has a field name of over 100 characters',
    ],
    [
      'a value of 10,001',
      { listId: 'lst_1', email: 'a@b.c', fields: { bio: 'x'.repeat(10_001) } },
      'fields.bio must be at most 10,000 characters',
    ],
    [
      'NUL in a value',
      { listId: 'lst_1', email: 'a@b.c', fields: { bio: '\0' } },
      'fields.bio must not contain NUL characters or broken Unicode',
    ],
    [
      'NUL in a name',
      { listId: 'lst_1', email: 'a@b.c', fields: { 'a\0': 1 } },
      'fields has a field name with characters that are not allowed',
    ],
  ])('%s returns 400', async (_, body, error) => {
    expect(await app.post(account, body)).toMatchObject({ status: 400, body: { error } })
  })

  test.each([`{"polluted":"yes"}`, `"yes"`, 'null'])(
    'a property __proto__ (%s) is dropped and changes no prototype; the other fields are written',
    async (value) => {
      for (const name of ['__proto__', '\\u005f_proto__']) {
        const body = `{"listId":"${listId}","email":"a@acme.test","fields":{"${name}":${value},"city":"Rome"},"${name}":${value}}`
        const reply = await app.post(account, body)
        expect([200, 201]).toContain(reply.status)
        expect(reply.body.contact.fields).toEqual({ city: 'Rome' })
      }
      expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    },
  )

  test('properties named like those of Object.prototype are normal fields, in one contact and in a batch', async () => {
    const fields = { constructor: 'a', valueOf: 'b', toString: 'c', hasOwnProperty: 'd' }
    const one = await app.post(account, { listId, email: 'a@acme.test', fields })
    expect([one.status, one.body.contact.fields]).toEqual([201, fields])
    const batch = { listId, contacts: [{ email: 'a@acme.test', ...fields, valueOf: 'x' }, { email: 'b@acme.test' }] }
    expect((await app.post(account, batch)).body).toEqual({ created: 1, updated: 1, skipped: 0 })
    const empty = await app.post(account, { listId, email: 'b@acme.test', fields: { constructor: null } })
    expect([empty.status, empty.body.contact.fields]).toEqual([200, { constructor: '' }])
  })

  test('an unknown and a foreign list return the same 404, write no row and look up no domain', async () => {
    const theirs = await app.list(await app.account())
    app.dns.queries.length = 0
    const unknown = await app.post(account, { listId: 'lst_none', email: 'a@never-asked.test' })
    const foreign = await app.post(account, { listId: theirs.id, email: 'a@never-asked.test' })
    expect(unknown).toMatchObject({ status: 404, body: { error: 'There is no such list' } })
    expect(foreign.body).toEqual(unknown.body)
    expect(app.dns.queries).toEqual([])
    expect(await app.app.sql('select 1 from contacts where list_id = $1', [theirs.id])).toEqual([])
  })

  test('a malformed address is stored, with the reason bad_syntax', async () => {
    const { status, body } = await app.post(account, { listId, email: 'not an address' })
    expect(status).toBe(201)
    expect(body.contact.verification).toMatchObject({ status: 'invalid', reasons: ['bad_syntax'] })
  })
})

describe('contact events', () => {
  test('a new contact fires contact.created, and nothing else', async () => {
    await app.subscribe(account)
    const { body } = await app.post(account, { listId, email: 'ada@acme.test', fields: { b: 1, a: 2 } })
    const events = await app.events<'contact.created'>(account.id)
    expect(events).toEqual([
      {
        id: expect.any(String),
        type: 'contact.created',
        createdAt: expect.any(Number),
        data: { contact: body.contact },
      },
    ])
    expect(Object.keys(events[0]!.data.contact.fields)).toEqual(['b', 'a'])
  })

  test('a change fires contact.updated with the changed fields and their previous values, "" if one was not set', async () => {
    await app.post(account, { listId, email: 'ada@acme.test', fields: { name: 'Ada', plan: 'free' } })
    await app.subscribe(account)
    const { body } = await app.post(account, { listId, email: 'ada@acme.test', fields: { plan: 'pro', city: 'Faro' } })
    expect((await app.events(account.id)).map(({ type, data }) => ({ type, data }))).toEqual([
      {
        type: 'contact.updated',
        data: { contact: body.contact, changed: ['plan', 'city'], previous: { plan: 'free', city: '' } },
      },
    ])
  })

  test('a known address that joins another list fires contact.created for that list', async () => {
    const other = await app.list(account, 'Other')
    await app.post(account, { listId, email: 'ada@acme.test' })
    await app.subscribe(account)
    const { body } = await app.post(account, { listId: other.id, email: 'ada@acme.test' })
    expect((await app.events(account.id)).map(({ type, data }) => [type, data])).toEqual([
      ['contact.created', { contact: body.contact }],
    ])
  })

  test('without a subscription the outbox stays empty', async () => {
    await app.post(account, { listId, email: 'ada@acme.test' })
    expect(await app.events(account.id)).toEqual([])
  })

  test('a refused call fires nothing', async () => {
    await app.subscribe(account)
    await app.post(account, { listId, email: '' })
    await app.post(account, { listId: 'lst_none', email: 'ada@acme.test' })
    expect(await app.events(account.id)).toEqual([])
  })
})

describe('the plan limit', () => {
  const fill = (count: number, used: number) =>
    Promise.all([
      app.app.sql(`update plans set contacts = $1 where name = 'free'`, [count]),
      app.app.sql('update accounts set contact_count = $2 where id = $1', [account.id, used]),
    ])

  beforeEach(async () => {
    account = await app.account({ plan: 'free' })
    listId = (await app.list(account)).id
  })

  test('a new address on a full plan returns 409 and nothing is written, not even its columns', async () => {
    await fill(3, 3)
    const { status, body } = await app.post(account, { listId, email: 'ada@acme.test', fields: { name: 'Ada' } })
    expect([status, body]).toEqual([409, { error: "The plan's contact limit is reached" }])
    const { body: lists } = await ok(app.request('GET', '/lists', { key: account.key }))
    expect(lists.lists).toMatchObject([{ fields: [], rowCount: 0 }])
  })

  test('a known address can change and join another list on a full plan', async () => {
    await fill(1, 0)
    const other = await app.list(account, 'Other')
    await app.post(account, { listId, email: 'ada@acme.test' })
    expect((await app.post(account, { listId, email: 'ada@acme.test', fields: { a: 1 } })).status).toBe(200)
    expect((await app.post(account, { listId: other.id, email: 'ada@acme.test' })).status).toBe(201)
  })

  test('of fifty concurrent callers for the last contact of the plan, one succeeds', async () => {
    await fill(10, 9)
    const calls = Array.from({ length: 50 }, (_, i) => app.post(account, { listId, email: `p${i}@acme.test` }))
    const statuses = (await Promise.all(calls)).map((reply) => reply.status).sort()
    expect(statuses).toEqual([201, ...new Array(49).fill(409)])
    const [row] = await app.app.sql('select contact_count from accounts where id = $1', [account.id])
    expect(row).toEqual({ contact_count: 10 })
  })
})

test('a renamed list shows its new name in its contacts', async () => {
  await app.post(account, { listId, email: 'ada@acme.test' })
  await app.app.work(account.id, 'cli:test', (work) => renameList(work, listId, 'Renamed'))
  const input = { listId, email: 'ada@acme.test', fields: {} }
  expect((await upsertContact(app.app, account.id, 'cli:test', input)).contact.listName).toBe('Renamed')
})
