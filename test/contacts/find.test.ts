import { beforeEach, describe, expect, test } from 'vitest'
import { listAccess } from '../../src/contacts/access-log.ts'
import { exportContacts, findContacts } from '../../src/contacts/contacts.find.ts'
import { listContacts, showContact } from '../../src/contacts/contacts.ts'
import type { Sql } from '../../src/store/database.ts'
import type { TestAccount } from '../support/app.ts'
import { useContacts } from './support.ts'

let account: TestAccount
let listId: string

const app = useContacts()
beforeEach(async () => {
  account = await app.account()
  listId = (await app.list(account)).id
})

const inWork = <T>(run: Parameters<typeof app.app.work<T>>[2]) => app.app.work(account.id, 'cli:test', run)
const access = async () => (await inWork((work) => listAccess(work, { limit: 50 }))).rows

describe('GET /contacts', () => {
  test("returns the address's contact in each list, most recently updated first", async () => {
    const other = await app.list(account, 'Other')
    await app.post(account, { listId, email: 'ada@acme.test' })
    await app.post(account, { listId: other.id, email: 'ada@acme.test', fields: { z: 1, a: 2 } })
    await new Promise((resolve) => setTimeout(resolve, 5))
    await app.post(account, { listId, email: 'ada@acme.test', fields: { x: 1 } })
    const { status, body } = await app.get(account, 'email=Ada%40acme.test')
    expect(status).toBe(200)
    expect(body.contacts.map((contact: { listId: string }) => contact.listId)).toEqual([listId, other.id])
    expect(Object.keys(body.contacts[1].fields)).toEqual(['z', 'a'])
    const one = await app.get(account, `email=ada@acme.test&listId=${other.id}`)
    expect(one.body.contacts).toEqual([body.contacts[1]])
  })

  test("returns an empty array for an address that is in no list, or only in another account's", async () => {
    const stranger = await app.account()
    const theirs = await app.list(stranger)
    await app.post(stranger, { listId: theirs.id, email: 'ada@acme.test' })
    expect(await app.get(account, 'email=ada@acme.test')).toMatchObject({ status: 200, body: { contacts: [] } })
  })

  test.each([
    ['', 'email is required'],
    ['email=', 'email must be an email address'],
    ['email=ada', 'email must be an email address'],
    ['email=a@b@acme.test', 'email must be an email address'],
    ['email=a@acme.test&email=b@acme.test', 'email must be given only once'],
    ['email=a%00@acme.test', 'email must be an email address'],
    ['email=a@acme.test&listId=%00', 'listId must not contain NUL characters'],
  ])('?%s returns 400', async (query, error) => {
    expect(await app.get(account, query)).toMatchObject({ status: 400, body: { error } })
  })

  test('concurrent reads each return their own contacts, and each read is recorded', async () => {
    const people = Array.from({ length: 20 }, (_, i) => `p${i}@acme.test`)
    for (const email of people.slice(0, 10)) await app.post(account, { listId, email })
    const stranger = await app.account()
    const queries = people.flatMap((email) => [
      `email=${email}`,
      `email=${email}&listId=${listId}`,
      `email=${email}&listId=lst_none`,
    ])
    const [answers] = await Promise.all([
      Promise.all(queries.map((query) => app.get(account, query))),
      Promise.all(people.map((email) => app.get(stranger, `email=${email}`))),
    ])
    for (const [i, { status, body }] of answers.entries()) {
      const email = people[Math.floor(i / 3)]!
      expect(status).toBe(i % 3 === 2 ? 404 : 200)
      if (status === 200)
        expect(body.contacts.map((contact: { email: string }) => contact.email)).toEqual(i < 30 ? [email] : [])
    }
    const read = await access()
    expect(read.map(({ email, found }) => `${email} ${found}`).sort()).toEqual(
      people.flatMap((email, i) => [`${email} ${i < 10 ? 1 : 0}`, `${email} ${i < 10 ? 1 : 0}`]).sort(),
    )
  })

  test('reads of different accounts share statements, but each returns and records only its own contacts', async () => {
    const accounts = [account, await app.account(), await app.account()]
    const lists = [listId, (await app.list(accounts[1]!)).id, (await app.list(accounts[2]!)).id]
    for (const [i, owner] of accounts.entries())
      await app.post(owner, { listId: lists[i], email: 'ada@acme.test', fields: { of: owner.id } })
    const dead = { id: 'acc_none', keyId: 'key_none' }
    let statements = 0
    const sql: Sql = (query, ...values) => {
      statements++
      return app.app.sql(query, ...values)
    }
    const { database } = app.app
    const now = new Date()
    const read = (owner: { id: string }, actor: string) =>
      findContacts({ sql, database, accountId: owner.id, actor, now }, { email: 'ada@acme.test' })
    const answers = await Promise.allSettled(
      Array.from({ length: 40 }, (_, i) => read(i % 4 === 3 ? dead : accounts[i % 4]!, `key:${i}`)),
    )
    expect(statements).toBe(2)
    for (const [i, answer] of answers.entries()) {
      if (i % 4 === 3) expect(answer).toMatchObject({ status: 'rejected', reason: { kind: 'not_found' } })
      else
        expect(answer).toMatchObject({
          value: [{ listId: lists[i % 4], email: 'ada@acme.test', fields: { of: accounts[i % 4]!.id } }],
        })
    }
    for (const [n, { id }] of accounts.entries()) {
      const { rows } = await app.app.work(id, 'cli:test', (work) => listAccess(work, { limit: 50 }))
      expect(rows.map(({ actor, found }) => `${actor} ${found}`).sort()).toEqual(
        Array.from({ length: 10 }, (_, k) => `key:${4 * k + n} 1`).sort(),
      )
    }
    expect(await app.app.sql('select from access_log where account_id = $1', [dead.id])).toEqual([])
  })

  test('a read that waits for others is recorded with the time of its own call', async () => {
    const { sql, database } = app.app
    const times = [0, 1000, 2000].map((ms) => new Date(Date.now() + ms))
    await Promise.all(
      times.map((now) =>
        findContacts({ sql, database, accountId: account.id, actor: 'key:test', now }, { email: 'ada@acme.test' }),
      ),
    )
    expect((await access()).map(({ at }) => at).sort()).toEqual(times.map((time) => time.getTime()))
  })

  test('an unknown or foreign listId returns 404, and the read is not recorded', async () => {
    const theirs = await app.list(await app.account())
    for (const id of ['lst_none', theirs.id]) {
      expect((await app.get(account, `email=ada@acme.test&listId=${id}`)).status).toBe(404)
    }
    expect(await access()).toEqual([])
  })

  test('each read is recorded with its key, address, list and number of contacts', async () => {
    await app.post(account, { listId, email: 'ada@acme.test' })
    await app.get(account, 'email=ada@acme.test')
    await app.get(account, `email=bob@acme.test&listId=${listId}`)
    const actor = `key:${account.keyId}`
    expect((await access()).toSorted((a, b) => (a.email < b.email ? -1 : 1))).toEqual([
      {
        id: expect.stringMatching(/^log_/),
        at: expect.any(Number),
        actor,
        email: 'ada@acme.test',
        listId: null,
        found: 1,
      },
      { id: expect.stringMatching(/^log_/), at: expect.any(Number), actor, email: 'bob@acme.test', listId, found: 0 },
    ])
  })
})

describe('lists of contacts', () => {
  const emails = Array.from({ length: 7 }, (_, i) => `p${i}@acme.test`)
  beforeEach(async () => {
    await app.post(account, { listId, contacts: emails.map((email) => ({ email })) })
  })

  test.each([[undefined], ['Customers']])('page to the end without gap or repeat (list %s)', async (list) => {
    const seen: string[] = []
    for (let cursor: string | undefined, page = 0; page < 10; page++) {
      const { rows, nextCursor } = await inWork((work) => listContacts(work, { list, cursor, limit: 3 }))
      seen.push(...rows.map((row) => row.email))
      if (nextCursor === null) break
      cursor = nextCursor
    }
    expect(seen.toSorted()).toEqual(emails)
  })

  test.each([
    '',
    '!',
    'bm90IGpzb24',
    Buffer.from('["a",1]').toString('base64url'),
    Buffer.from('[]').toString('base64url'),
  ])('the cursor %j is refused', async (cursor) => {
    const bad = inWork((work) => listContacts(work, { cursor, limit: 3 }))
    await expect(bad).rejects.toMatchObject({ kind: 'invalid', message: 'cursor is not valid' })
  })

  test('a malformed address that is stored is shown', async () => {
    await app.post(account, { listId, email: 'no address' })
    const [contact] = await inWork((work) => showContact(work, 'no address'))
    expect(contact).toMatchObject({ email: 'no address', verification: { status: 'invalid' } })
    await expect(inWork((work) => showContact(work, 'none@acme.test'))).rejects.toMatchObject({ kind: 'not_found' })
  })

  test('an export contains the whole list, and nothing of another account', async () => {
    const collect = async (accountId: string) => {
      const seen: string[] = []
      for await (const page of exportContacts(app.app, accountId, listId)) seen.push(...page.map((row) => row.email))
      return seen.toSorted()
    }
    expect(await collect(account.id)).toEqual(emails)
    expect(await collect((await app.account()).id)).toEqual([])
  })
})
