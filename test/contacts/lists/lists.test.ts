import { beforeEach, describe, expect, test } from 'vitest'
import { createList, eraseContact, findList } from '../../../src/contacts/contacts.ts'
import { renameList } from '../../../src/contacts/lists/lists.ts'
import {
  countRemoval,
  deleteList,
  findDeletable,
  finishListDeletions,
} from '../../../src/contacts/write/delete-list.ts'
import type { TestAccount } from '../../support/app.ts'
import { useContacts } from '../support.ts'

let account: TestAccount

const app = useContacts()
beforeEach(async () => {
  account = await app.account()
})

const inWork = <T>(run: Parameters<typeof app.app.work<T>>[2], id = account.id) => app.app.work(id, 'cli:test', run)
const remove = (id: string) => deleteList(app.app, account.id, id, { actor: 'cli:test' })
const lists = async () => (await app.request('GET', '/lists', { key: account.key })).body.lists
const contactCount = async () =>
  (await app.app.sql<{ n: number }>('select contact_count as n from accounts where id = $1', [account.id]))[0]!.n
const addressCount = async () =>
  (await app.app.sql<{ n: number }>('select count(*) as n from addresses where account_id = $1', [account.id]))[0]!.n

describe('GET /lists', () => {
  test('returns every list of the account by name, and none of another account', async () => {
    await app.list(await app.account(), 'Theirs')
    for (const name of ['zebra', 'Éclair', 'beta', 'Zoo', 'Alpha']) await app.list(account, name)
    expect(await lists()).toEqual(
      ['Alpha', 'beta', 'Éclair', 'zebra', 'Zoo'].map((name) => ({
        id: expect.stringMatching(/^lst_/),
        name,
        fields: [],
        rowCount: 0,
        createdAt: expect.any(Number),
        updatedAt: expect.any(Number),
      })),
    )
  })
})

describe('lists', () => {
  test('a taken name is a conflict, when creating and renaming', async () => {
    const { id } = await app.list(account, 'One')
    await app.list(account, 'Two')
    await expect(app.list(account, ' One ')).rejects.toMatchObject({ kind: 'conflict' })
    await expect(inWork((work) => renameList(work, id, 'Two'))).rejects.toMatchObject({ kind: 'conflict' })
    expect((await inWork((work) => renameList(work, 'One', 'Three'))).name).toBe('Three')
  })

  test('names that differ only by case are the same, when creating and renaming, also at the same time', async () => {
    const { id } = await app.list(account, 'People')
    const taken = { kind: 'conflict', message: 'There is already a list named People' }
    await expect(app.list(account, 'people')).rejects.toMatchObject(taken)
    const { id: other } = await app.list(account, 'Été')
    await expect(app.list(account, 'ÉTÉ')).rejects.toMatchObject({ kind: 'conflict' })
    await expect(inWork((work) => renameList(work, other, 'PEOPLE'))).rejects.toMatchObject(taken)
    expect((await inWork((work) => renameList(work, id, 'PEOPLE'))).name).toBe('PEOPLE')
    expect((await app.list(await app.account(), 'people')).name).toBe('people')

    const names = ['news', 'News', 'NEWS', 'nEWS']
    const made = await Promise.allSettled([
      ...names.map((name) => app.list(account, name)),
      inWork((work) => renameList(work, other, 'neWs')),
    ])
    expect(made.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    expect((await lists()).filter(({ name }) => name.toLowerCase() === 'news')).toHaveLength(1)
  })

  test('lists whose names have differed only by case so far keep working', async () => {
    const { id } = await app.list(account, 'People')
    const { id: second } = await app.list(account, 'Second')
    await app.app.sql(`update contact_lists set name = 'people' where id = $1`, [second])
    expect((await inWork((work) => findList(work, 'people'))).id).toBe(second)
    expect((await inWork((work) => findList(work, 'People'))).id).toBe(id)
    await expect(inWork((work) => renameList(work, 'people', 'PEOPLE'))).rejects.toMatchObject({ kind: 'conflict' })
    expect((await inWork((work) => renameList(work, 'people', 'Others'))).name).toBe('Others')
    expect((await inWork((work) => renameList(work, 'People', 'people'))).name).toBe('people')
  })

  test('a new column can’t be called email in any case; a list that has one keeps it', async () => {
    const error = "A list can't have a column named Email: email is the address itself"
    await expect(inWork((work) => createList(work, { name: 'L', fields: ['a', 'Email'] }))).rejects.toThrow(error)
    const { id } = await app.list(account, 'People')
    const bodies = [
      { listId: id, email: 'ada@acme.test', fields: { Email: 'x' } },
      { listId: id, contacts: [{ email: 'ada@acme.test', Email: 'x' }] },
    ]
    for (const body of bodies) expect(await app.post(account, body)).toMatchObject({ status: 400, body: { error } })
    expect((await lists())[0]).toMatchObject({ fields: [], rowCount: 0 })
    await app.app.sql(`update contact_lists set fields = '{Email}' where id = $1`, [id])
    for (const body of bodies) expect((await app.post(account, body)).status).toBeLessThan(300)
    expect((await lists())[0]!.fields).toEqual(['Email'])
  })

  test('a list can be created with at most 40 columns, which keep their order and have no duplicates', async () => {
    const make = (fields: string[]) => inWork((work) => createList(work, { name: `L${fields.length}`, fields }))
    expect((await make(['b', ' a ', 'b'])).fields).toEqual(['b', 'a'])
    await expect(make(Array.from({ length: 41 }, (_, i) => `c${i}`))).rejects.toMatchObject({ kind: 'invalid' })
    await expect(make(['__proto__'])).rejects.toMatchObject({ kind: 'invalid' })
  })

  test("another account's list is not found", async () => {
    const { id } = await app.list(await app.account())
    await expect(inWork((work) => findList(work, id))).rejects.toMatchObject({ kind: 'not_found' })
    await expect(inWork((work) => findDeletable(work, id))).rejects.toMatchObject({ kind: 'not_found' })
    await remove(id)
    expect((await app.app.sql('select 1 from contact_lists where id = $1', [id])).length).toBe(1)
  })
})

describe('removing', () => {
  let one: string
  let two: string
  beforeEach(async () => {
    one = (await app.list(account, 'One')).id
    two = (await app.list(account, 'Two')).id
    await app.post(account, { listId: one, contacts: [{ email: 'a@acme.test' }, { email: 'b@acme.test' }] })
    await app.post(account, { listId: two, contacts: [{ email: 'b@acme.test' }, { email: 'c@acme.test' }] })
  })

  test('deleting a list deletes addresses that are in no other list, and updates the count', async () => {
    expect(await inWork((work) => countRemoval(work, one))).toEqual({ contacts: 2, addresses: 1 })
    expect(await contactCount()).toBe(3)
    expect(await remove(one)).toEqual({ contacts: 2, addresses: 1, isDone: true })
    expect([await contactCount(), await addressCount()]).toEqual([2, 2])
    expect((await lists()).map((list: { name: string }) => list.name)).toEqual(['Two'])
  })

  test('erasing removes the address from every list, and updates the counts', async () => {
    const erase = (dryRun: boolean) => inWork((work) => eraseContact(work, 'b@acme.test', { dryRun }))
    expect(await erase(true)).toEqual({ email: 'b@acme.test', contacts: 2, rejects: 0 })
    expect(await contactCount()).toBe(3)
    expect(await erase(false)).toEqual({ email: 'b@acme.test', contacts: 2, rejects: 0 })
    expect([await contactCount(), await addressCount()]).toEqual([2, 2])
    expect((await lists()).map((list: { rowCount: number }) => list.rowCount)).toEqual([1, 1])
    await expect(erase(false)).rejects.toMatchObject({ kind: 'not_found' })
  })

  test("erasing does not change another account's contact", async () => {
    const stranger = await app.account()
    await expect(
      inWork((work) => eraseContact(work, 'a@acme.test', { dryRun: false }), stranger.id),
    ).rejects.toMatchObject({ kind: 'not_found' })
    expect(await addressCount()).toBe(3)
  })

  test('a contact that joins another list while its own is deleted keeps its address', async () => {
    for (let round = 0; round < 10; round++) {
      const { id } = await app.list(account, `Round ${round}`)
      const contacts = Array.from({ length: 50 }, (_, i) => ({ email: `r${round}.${i}@acme.test` }))
      await app.post(account, { listId: id, contacts })
      const [joined] = await Promise.all([app.post(account, { listId: two, contacts }), remove(id)])
      expect(joined.body).toEqual({ created: 50, updated: 0, skipped: 0 })
    }
    const [lost] = await app.app.sql(
      `select count(*) as n from contacts c where account_id = $1
         and not exists (select from addresses a where a.account_id = $1 and a.email = c.email and a.row_id = c.row_id)`,
      [account.id],
    )
    expect(lost).toEqual({ n: 0 })
    expect(await contactCount()).toBe(await addressCount())
  })

  test('a list with an interrupted deletion is invisible, accepts nothing, frees its name, and the jobs finish the deletion', async () => {
    const { id } = await app.list(account, 'Big')
    const contacts = Array.from({ length: 500 }, (_, i) => ({ email: `big${i}@acme.test` }))
    const more = Array.from({ length: 500 }, (_, i) => ({ email: `more${i}@acme.test` }))
    for (const batch of [contacts, more, [{ email: 'b@acme.test' }]])
      await app.post(account, { listId: id, contacts: batch })
    const stop = new AbortController()
    const deletion = { actor: 'cli:test', signal: stop.signal, onBatch: () => stop.abort() }
    expect(await deleteList(app.app, account.id, id, deletion)).toEqual({
      contacts: 1000,
      addresses: 999,
      isDone: false,
    })
    const [left] = await app.app.sql<{ email: string }>('select email from contacts where list_id = $1', [id])
    expect((await lists()).map((list: { name: string }) => list.name)).toEqual(['One', 'Two'])
    expect((await app.post(account, { listId: id, email: 'new@acme.test' })).status).toBe(404)
    expect((await app.get(account, `email=${left!.email}&listId=${id}`)).status).toBe(404)
    const shown = (await app.get(account, `email=${left!.email}`)).body.contacts
    expect(shown.filter((contact: { listId: string }) => contact.listId === id)).toEqual([])
    const again = await app.list(account, 'Big')
    expect((await inWork((work) => findDeletable(work, 'Big'))).id).toBe(again.id)
    await remove(again.id)
    expect(await inWork((work) => findDeletable(work, 'Big'))).toEqual({ id, name: 'Big' })
    await finishListDeletions(app.app, {})
    expect(await app.app.sql('select 1 from contacts where list_id = $1', [id])).toEqual([])
    expect([await contactCount(), await addressCount()]).toEqual([3, 3])
    await expect(inWork((work) => findDeletable(work, 'Big'))).rejects.toMatchObject({ kind: 'not_found' })
  })
})
