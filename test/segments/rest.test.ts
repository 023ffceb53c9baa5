import { beforeEach, expect, test } from 'vitest'
import { personalData } from '../../src/app/personal-data.ts'
import { createBroadcast, NewBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { listAccess } from '../../src/contacts/access-log.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, writeContacts } from '../../src/contacts/contacts.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { audience } from '../support/broadcasts.ts'

let account: TestAccount
let key: string
let listId: string

const t = useApp({ env: { SVC_RATE_LIMIT: '0' } })
const names = ['ada', 'bob', 'cy', 'dee', 'eve']
beforeEach(async () => {
  account = await t.account()
  key = account.key
  listId = await work((w) => createList(w, { name: 'People' })).then(({ id }) => id)
  const contacts = names.map((name, i) => ({
    email: `${name}@people.example`,
    fields: { plan: i < 2 ? 'pro' : 'free' },
  }))
  await work((w) => writeContacts(w, listId, contacts, new Map()))
})

const work = <T>(run: Parameters<typeof t.app.work<T>>[2], of = account) => t.app.work(of.id, 'cli:test', run)
const contactsOf = async (query = '') =>
  (await ok(t.request('GET', `/lists/${listId}/contacts?${query}`, { key }))).body
const emails = (page: { contacts: { email: string }[] }) => page.contacts.map(({ email }) => email.split('@')[0])
const create = (body: object) => t.request('POST', '/segments', { key, body })
const pros = () => create({ name: 'Pros', listId, where: 'plan = pro' })

test('the contacts of a list are pages of the Contact of the API, narrowed by a filter', async () => {
  const all = await contactsOf()
  expect(emails(all)).toEqual(names)
  expect(all.next).toBeNull()
  const [ada] = (await ok(t.request('GET', '/contacts?email=ada@people.example', { key }))).body.contacts
  expect(all.contacts[0]).toEqual(ada)
  expect(emails(await contactsOf('where=plan%20%3D%20pro'))).toEqual(['ada', 'bob'])
  const first = await contactsOf('limit=2')
  await ok(t.request('DELETE', `/lists/${listId}/contacts/ada@people.example`, { key }))
  const second = await contactsOf(`limit=2&cursor=${first.next}`)
  expect([emails(first), emails(second)]).toEqual([
    ['ada', 'bob'],
    ['cy', 'dee'],
  ])
  expect(emails(await contactsOf(`limit=2&cursor=${second.next}`))).toEqual(['eve'])
})

test('a page with a filter reads 10,000 contacts at most: it may be empty although another one follows', async () => {
  const rowId = `'row_' || lpad(n::text, 26, '0')`
  await t.app.sql(
    `insert into addresses (account_id, email, row_id, domain) select $1, 'c' || n || '@people.example', ${rowId}, 'people.example'
     from generate_series(1, 10001) n`,
    [account.id],
  )
  await t.app.sql(
    `insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select $1, ${rowId}, $2, 'c' || n || '@people.example', '{}', 'active', svc_now(), svc_now() from generate_series(1, 10001) n`,
    [account.id, listId],
  )
  const where = `where=${encodeURIComponent('plan = pro')}`
  const first = await contactsOf(where)
  expect(emails(first)).toEqual([])
  const second = await contactsOf(`${where}&cursor=${first.next}`)
  expect([emails(second), second.next]).toEqual([['ada', 'bob'], null])
  // A full page ends with its last row, and one without a filter is full.
  const full = await contactsOf(`where=${encodeURIComponent('plan is empty')}&limit=2`)
  expect(emails(full)).toEqual(['c1', 'c2'])
  expect(emails(await contactsOf(`limit=2&cursor=${full.next}`))).toEqual(['c3', 'c4'])
  expect(emails(await contactsOf(`limit=1&cursor=${first.next}`))).toEqual(['c10001'])
})

test('the contacts of a list with a bad filter, limit or cursor are 400, and an unknown list is 404', async () => {
  for (const query of ['where=plan%20%3D', 'limit=501', 'cursor=x'])
    expect((await t.request('GET', `/lists/${listId}/contacts?${query}`, { key })).status).toBe(400)
  expect((await t.request('GET', '/lists/lst_none/contacts', { key })).status).toBe(404)
  // A name is no id.
  expect((await t.request('GET', '/lists/People/contacts', { key })).status).toBe(404)
})

test('each contact of a page is recorded in the access log, and a refused read is not', async () => {
  await contactsOf('limit=2')
  expect((await t.request('GET', '/lists/lst_none/contacts', { key })).status).toBe(404)
  const { rows } = await work((w) => listAccess(w, { limit: 10 }))
  const entries = rows.map(({ actor, email, listId, found }) => ({ actor, email, listId, found }))
  const by = expect.stringMatching(/^key:key_/)
  expect(entries.toSorted((a, b) => (a.email < b.email ? -1 : 1))).toEqual([
    { actor: by, email: 'ada@people.example', listId, found: 1 },
    { actor: by, email: 'bob@people.example', listId, found: 1 },
  ])
})

test('an address is removed from a list once, without an event', async () => {
  const path = `/lists/${listId}/contacts/ada%40people.example` as const
  const before = await t.events(account.id)
  expect((await ok(t.request('DELETE', path, { key }))).body).toEqual({ deleted: true })
  expect((await ok(t.request('DELETE', path, { key }))).body).toEqual({ deleted: false })
  expect((await t.request('DELETE', '/lists/lst_none/contacts/a@b.example', { key })).status).toBe(404)
  expect((await t.request('DELETE', `/lists/${listId}/contacts/${'a'.repeat(330)}`, { key })).status).toBe(400)
  expect(emails(await contactsOf())).toEqual(names.slice(1))
  expect(await t.events(account.id)).toEqual(before)
})

test('an erasure leaves nothing of the address, and the second one finds nothing', async () => {
  const erase = () => t.request('POST', '/erasures', { key, body: { email: 'Ada@People.example' } })
  expect((await ok(erase())).body).toEqual({ erased: true })
  expect((await ok(erase())).body).toEqual({ erased: false })
  expect((await t.request('POST', '/erasures', { key, body: {} })).status).toBe(400)
  await expect(
    work((w) => readPerson({ personalData: async () => personalData }, w, 'ada@people.example')),
  ).rejects.toMatchObject({ kind: 'not_found' })
  expect(emails(await contactsOf())).toEqual(names.slice(1))
})

test('a segment is created, counted, changed and deleted', async () => {
  const { segment } = (await ok(pros())).body
  expect(segment).toEqual({
    ...{ id: expect.stringMatching(/^seg_/), name: 'Pros', listId, where: 'plan = pro' },
    createdAt: expect.any(Number),
  })
  const path = `/segments/${segment.id}` as const
  expect((await ok(t.request('GET', path, { key }))).body).toEqual({ segment: { ...segment, count: 2 } })
  const body = { name: 'Free', where: 'plan = free' }
  expect((await ok(t.request('PATCH', path, { key, body }))).body).toEqual({ segment: { ...segment, ...body } })
  expect((await ok(t.request('GET', path, { key }))).body.segment).toMatchObject({ ...body, count: 3 })
  expect((await ok(t.request('DELETE', path, { key }))).body).toEqual({ deleted: true })
  expect((await ok(t.request('DELETE', path, { key }))).body).toEqual({ deleted: false })
  expect((await t.request('GET', path, { key })).status).toBe(404)
  expect((await t.request('PATCH', path, { key, body })).status).toBe(404)
})

test('segments are listed in pages, oldest first; a bad cursor is 400', async () => {
  const one = (await ok(pros())).body.segment
  const two = (await ok(create({ name: 'All', listId, where: 'plan is not empty' }))).body.segment
  const first = (await ok(t.request('GET', '/segments?limit=1', { key }))).body
  const second = (await ok(t.request('GET', `/segments?limit=1&cursor=${first.next}`, { key }))).body
  expect([first.segments, second]).toEqual([[one], { segments: [two], next: null }])
  expect((await t.request('GET', '/segments?cursor=x', { key })).status).toBe(400)
})

test.each([
  ['no name', { where: 'plan = pro' }],
  ['a blank name', { name: ' ', where: 'plan = pro' }],
  ['no filter', { name: 'x' }],
  ['a bad filter', { name: 'x', where: 'plan =' }],
])('POST /segments with %s is 400 and writes nothing', async (_, body) => {
  expect((await create({ listId, ...body })).status).toBe(400)
  expect((await ok(t.request('GET', '/segments', { key }))).body.segments).toEqual([])
})

test('a taken name is 409, an unknown list 404, and a bad change 400', async () => {
  const { id } = (await ok(pros())).body.segment
  await ok(create({ name: 'Other', listId, where: 'plan = free' }))
  expect((await pros()).status).toBe(409)
  expect((await create({ name: 'x', listId: 'lst_none', where: 'plan = pro' })).status).toBe(404)
  const change = async (body: object) => (await t.request('PATCH', `/segments/${id}`, { key, body })).status
  expect(await change({ name: 'Other' })).toBe(409)
  for (const bad of [{ where: 'plan =' }, { name: ' ' }, {}]) expect(await change(bad)).toBe(400)
})

test('a segment that an unsent broadcast uses is not deleted: 409', async () => {
  const who = await audience(t, 1)
  const mine = who.account.key
  const body = { name: 'First', listId: who.listId, where: 'email is not empty' }
  const { id } = (await ok(t.request('POST', '/segments', { key: mine, body }))).body.segment
  const draft = NewBroadcast.parse({ segment: 'First', project: 'Spring' })
  await t.app.work(who.account.id, 'cli:test', (w) => createBroadcast(w, draft))
  const { status, body: refusal } = await t.request('DELETE', `/segments/${id}`, { key: mine })
  expect([status, refusal.error]).toEqual([409, '1 unsent broadcast will use the segment First'])
  expect((await ok(t.request('GET', `/segments/${id}`, { key: mine }))).body.segment.count).toBe(1)
})
