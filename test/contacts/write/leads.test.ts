import { beforeEach, expect, test } from 'vitest'
import { addLead, confirmLead, createList, readContacts, writeContacts } from '../../../src/contacts/contacts.ts'
import type { Lead } from '../../../src/contacts/write/write.leads.ts'
import { applyJourneys } from '../../../src/journeys/journeys.ts'
import { createWebhook } from '../../../src/webhooks/webhooks.ts'
import { type TestAccount, useApp } from '../../support/app.ts'

let account: TestAccount
let listId: string

const t = useApp()
beforeEach(async () => {
  account = await t.account()
  listId = (await work((w) => createList(w, { name: 'Leads' }))).id
  await createWebhook(
    t.app,
    account.id,
    'cli:test',
    { url: 'http://192.0.2.1/', events: ['contact.created', 'contact.updated', 'lead.new'] },
    { createdVia: 'dashboard', trusted: true },
  )
})

const work: <T>(run: Parameters<typeof t.app.work<T>>[2]) => Promise<T> = (run) =>
  t.app.work(account.id, 'cli:test', run)
const cause = { source: 'email-form', form: { id: 'prj_1', name: 'Spring' } } as const
const lead = (more: Partial<Lead> = {}): Lead => ({
  ...cause,
  listId,
  email: 'ada@b.example',
  fields: { first_name: 'Ada' },
  verifications: new Map(),
  ...more,
})
const add = (more?: Partial<Lead>) => work((w) => addLead(w, lead(more)))
/** Sorted, because ids of the same millisecond have no order. */
const types = async () => (await t.events(account.id)).map(({ type }) => type).sort()
const newLead = async () => (await t.events(account.id, 'lead.new'))[0]!
const rowCount = async () => (await t.request('GET', '/lists', { key: account.key })).body.lists[0]!.rowCount
const onList = async (): Promise<string> => {
  const journey = { name: 'Hello', trigger: { kind: 'list-added', list: 'Leads' }, steps: [{ kind: 'exit' }] }
  return (await work((w) => applyJourneys(w, [journey])))[0]!.id!
}
const entered = (journeyId: string) =>
  t.app.sql('select email from journey_runs where account_id = $1 and journey_id = $2', [account.id, journeyId])

test('a new contact is active at once, and lead.new names the form', async () => {
  const added = await add()
  expect(added).toMatchObject({ isNew: true, contact: { listId, status: 'active', fields: { first_name: 'Ada' } } })
  expect((await newLead()).data).toEqual({ ...cause, contact: added!.contact })
  expect(await types()).toEqual(['contact.created', 'lead.new'])
})

test('a form that only fills empty fields leaves those of a contact that is added meanwhile', async () => {
  let isAdded = false
  const added = await work((w) => {
    const sql: typeof w.sql = async (query, ...values) => {
      const rows = await w.sql(query, ...values)
      if (isAdded) return rows
      isAdded = true
      const own = [{ email: 'ada@b.example', fields: { first_name: 'Augusta', company: '' } }]
      await work((other) => writeContacts(other, listId, own, new Map()))
      return rows
    }
    return addLead({ ...w, sql }, lead({ fillsOnly: true, fields: { first_name: 'Eve', company: 'B' } }))
  })
  expect(added).toMatchObject({ isNew: false, contact: { fields: { first_name: 'Augusta', company: 'B' } } })
})

test('an active contact stays active and is not a new lead; its fields change only without double opt-in', async () => {
  await work((w) => writeContacts(w, listId, [{ email: 'ada@b.example', fields: { a: '1' } }], new Map()))
  const before = { status: 'active', fields: { a: '1' } }
  expect(await add({ mustConfirm: true })).toMatchObject({ isNew: false, contact: before })
  expect(await types()).toEqual(['contact.created'])
  expect(await add()).toMatchObject({
    isNew: false,
    contact: { status: 'active', fields: { a: '1', first_name: 'Ada' } },
  })
  expect(await types()).toEqual(['contact.created', 'contact.updated'])
})

test('fields for whose columns the list has no room are left out, the later ones first', async () => {
  const columns = ['last_name', ...Array.from({ length: 38 }, (_, i) => `column ${i}`)]
  await t.app.sql('update contact_lists set fields = $2 where id = $1', [listId, columns])
  const fields = { first_name: 'Ada', company: 'Acme', Email: 'other@b.example', last_name: 'Lovelace' }
  const kept = { first_name: 'Ada', last_name: 'Lovelace' }
  expect(await add({ fields })).toMatchObject({ isNew: true, contact: { fields: kept } })
  expect((await add({ fields: { ...fields, last_name: 'Byron' } }))!.contact.fields).toEqual({
    ...kept,
    last_name: 'Byron',
  })
  const { lists } = (await t.request('GET', '/lists', { key: account.key })).body
  expect(lists[0]!.fields).toEqual([...columns, 'first_name'])
})

test('with double opt-in the contact is pending: no lead.new fires and no list-added journey starts until the confirmation', async () => {
  const journeyId = await onList()
  const added = await add({ mustConfirm: true })
  expect(added).toMatchObject({ isNew: false, contact: { status: 'pending' } })
  expect(await add({ mustConfirm: true })).toEqual(added)
  const [created] = await t.events<'contact.created'>(account.id)
  expect(created!.data.contact).toEqual(added!.contact)
  expect([await types(), await entered(journeyId), await rowCount()]).toEqual([['contact.created'], [], 1])

  const confirmed = await work((w) => confirmLead(w, added!.contact, cause))
  expect(confirmed).toMatchObject({ rowId: added!.contact.rowId, status: 'active', fields: { first_name: 'Ada' } })
  expect(await work((w) => confirmLead(w, added!.contact, cause))).toBeNull()
  expect((await newLead()).data).toEqual({ ...cause, contact: confirmed })
  expect([await types(), await entered(journeyId), await rowCount()]).toEqual([
    ['contact.created', 'lead.new'],
    [{ email: 'ada@b.example' }],
    1,
  ])
})

test('the API changes a pending contact, which stays pending', async () => {
  await add({ mustConfirm: true })
  const body = { listId, email: 'ada@b.example', fields: { first_name: 'Bea' } }
  const reply = await t.request('POST', '/contacts', { key: account.key, body })
  expect(reply.body).toMatchObject({ updated: 1, contact: { status: 'pending', fields: { first_name: 'Bea' } } })
})

test('a form without double opt-in activates a pending contact', async () => {
  const journeyId = await onList()
  await add({ mustConfirm: true })
  expect(await add()).toMatchObject({ isNew: true, contact: { status: 'active' } })
  expect([await types(), await entered(journeyId)]).toEqual([
    ['contact.created', 'lead.new'],
    [{ email: 'ada@b.example' }],
  ])
})

test('twenty concurrent confirmations activate a contact once', async () => {
  const { contact } = (await add({ mustConfirm: true }))!
  const confirmed = await Promise.all(Array.from({ length: 20 }, () => work((w) => confirmLead(w, contact, cause))))
  expect(confirmed.filter(Boolean)).toHaveLength(1)
  expect(await types()).toEqual(['contact.created', 'lead.new'])
})

test('twenty concurrent submissions of a new address make one contact and one new lead', async () => {
  const added = await Promise.all(Array.from({ length: 20 }, () => add()))
  expect(added.filter((one) => one?.isNew)).toHaveLength(1)
  expect([await types(), await rowCount()]).toEqual([['contact.created', 'lead.new'], 1])
})

test('beyond the plan’s contact limit no address is added and no event fires; a known address still joins', async () => {
  const full = await t.account({ plan: 'free' })
  account = full
  listId = (await work((w) => createList(w, { name: 'Full' }))).id
  const other = (await work((w) => createList(w, { name: 'Other' }))).id
  const writes = Array.from({ length: 1_000 }, (_, i) => ({ email: `p${i}@b.example`, fields: {} }))
  await work((w) => writeContacts(w, other, writes, new Map()))
  expect(await add()).toBeNull()
  expect(await add({ email: 'p1@b.example' })).toMatchObject({ isNew: true })
  expect(await work((w) => readContacts(w, 'ada@b.example'))).toEqual([])
})

test('another account’s list is not found, and its contact can’t be confirmed', async () => {
  const { contact } = (await add({ mustConfirm: true }))!
  account = await t.account()
  await expect(add()).rejects.toMatchObject({ kind: 'not_found' })
  expect(await work((w) => confirmLead(w, contact, cause))).toBeNull()
})
