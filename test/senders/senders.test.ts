import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import { deleteSender, findSender, makeDefaultSender } from '../../src/senders/senders.change.ts'
import { addSender, listSenders } from '../../src/senders/senders.ts'
import type { Work } from '../../src/store/work.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { countsOf, untilLocked } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'

let account: TestAccount

const t = useApp()
beforeEach(async () => {
  account = await t.account()
})

const inAccount = <T>(run: (work: Work) => Promise<T>, of = account) => t.app.work(of.id, 'cli:test', run)
const add = (email: string, of = account) => inAccount((work) => addSender(work, { email, name: 'Shop' }), of)
const defaults = async () => (await inAccount(listSenders)).map(({ email, isDefault }) => [email, isDefault])

test('the first sender is the default; a second one with its address is refused', async () => {
  const first = await add('Hello@Shop.Example')
  expect(first).toEqual({
    id: expect.stringMatching(/^snd_/),
    email: 'hello@shop.example',
    name: 'Shop',
    replyTo: null,
    isDefault: true,
    createdAt: expect.any(Number),
  })
  await add('other@shop.example')
  await expect(add('hello@shop.example')).rejects.toMatchObject({
    kind: 'conflict',
    message: 'hello@shop.example is a sender already',
  })
  expect(await defaults()).toEqual([
    ['hello@shop.example', true],
    ['other@shop.example', false],
  ])
  expect(await inAccount((work) => findSender(work, first.id))).toEqual(first)
})

test('of senders that are added at once, one is the default', async () => {
  const emails = Array.from({ length: 6 }, (_, i) => `s${i}@shop.example`)
  await Promise.all(emails.map((email) => add(email)))
  expect((await inAccount(listSenders)).filter(({ isDefault }) => isDefault)).toHaveLength(1)
})

test('the default changes in both directions, and can be deleted', async () => {
  const emails = ['a@shop.example', 'b@shop.example', 'c@shop.example']
  for (const email of emails) await add(email)
  for (const email of ['c@shop.example', 'a@shop.example', 'b@shop.example', 'b@shop.example']) {
    expect(await inAccount((work) => makeDefaultSender(work, email))).toMatchObject({ email, isDefault: true })
    expect(await defaults()).toEqual(emails.map((each) => [each, each === email]))
  }
  await inAccount((work) => deleteSender(work, 'b@shop.example'))
  expect(await defaults()).toEqual([
    ['a@shop.example', false],
    ['c@shop.example', false],
  ])
  await add('d@shop.example')
  expect((await defaults()).at(-1)).toEqual(['d@shop.example', true])
})

test('senders of another account can neither be found, made default nor deleted', async () => {
  const other = await t.account()
  const { id } = await add('hello@other.example', other)
  for (const change of [findSender, makeDefaultSender, deleteSender])
    await expect(inAccount((work) => change(work, id))).rejects.toMatchObject({ kind: 'not_found' })
  await add('hello@other.example')
  expect(await inAccount(listSenders, other)).toMatchObject([{ id, isDefault: true }])
})

test('of two deletions of a sender at once, one deletes it', async () => {
  const { id } = await add('twice@shop.example')
  const remove = () => inAccount((work) => deleteSender(work, id))
  const done = await Promise.allSettled([remove(), remove()])
  expect(done.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
  expect(await inAccount(listSenders)).toEqual([])
})

test('a sender is found by its address in any case, and with blanks around it', async () => {
  const { id } = await add('hello@shop.example')
  expect(await inAccount((work) => findSender(work, ' HELLO@Shop.example '))).toMatchObject({ id })
  expect(await inAccount((work) => makeDefaultSender(work, 'Hello@shop.example'))).toMatchObject({ id })
  expect(await inAccount((work) => deleteSender(work, 'hello@SHOP.example'))).toMatchObject({ id })
})

test('an erasure clears the Reply-To of senders; the senders of the address stay, and its export names them', async () => {
  const ada = 'ada@shop.example'
  const other = await t.account()
  const shop = (more: object, of = account) =>
    inAccount((work) => addSender(work, { email: 'hello@shop.example', name: 'Shop', ...more }), of)
  const erase = async () => {
    const personalData = await t.app.personalData()
    return inAccount((work) => eraseContact(work, ada, { dryRun: false, personalData }))
  }
  const { createdAt: _, ...own } = await add(ada)
  await expect(erase()).rejects.toMatchObject({ kind: 'not_found' })
  const { createdAt, ...naming } = await shop({ replyTo: ada })
  await shop({ replyTo: ada }, other)
  const person = () => inAccount((work) => readPerson(t.app, work, ada))
  const { isDefault: _isDefault, ...shown } = own
  const { isDefault: _isOther, ...shownNaming } = naming
  expect(await person()).toMatchObject({ senders: [shown], sendersNaming: [shownNaming] })
  await erase()
  expect(await person()).toMatchObject({ senders: [shown], sendersNaming: [] })
  expect(await inAccount((work) => findSender(work, naming.id))).toEqual({ ...naming, createdAt, replyTo: null })
  expect((await inAccount(listSenders, other))[0]!.replyTo).toBe(ada)
  await expect(erase()).rejects.toMatchObject({ kind: 'not_found' })
})

test('an erasure and a change of the default do not wait for each other in a circle', async () => {
  const ada = 'ada@shop.example'
  for (const name of ['a', 'b'])
    await inAccount((work) => addSender(work, { email: `${name}@shop.example`, name, replyTo: ada }))
  await inAccount(async (work) => {
    const { id } = await createList(work, { name: 'People' })
    await writeContacts(work, id, [{ email: ada, fields: {} }], new Map())
  })
  const { promise: until, resolve: release } = Promise.withResolvers<void>()
  onTestFinished(() => release())
  const before = await countsOf(t.app.database)
  const erased = inAccount(async (work) => {
    await eraseContact(work, ada, { dryRun: false })
    await until
  })
  const unlocked = 'select from senders where account_id = $1 for update skip locked'
  await eventually(async () => (await t.app.sql(unlocked, [account.id])).length === 0)
  const changed = inAccount((work) => makeDefaultSender(work, 'b@shop.example'))
  await untilLocked(t.app.database, 1)
  release()
  await Promise.all([erased, changed])
  expect((await countsOf(t.app.database)).deadlocks).toBe(before.deadlocks)
  expect(await defaults()).toEqual([
    ['a@shop.example', false],
    ['b@shop.example', true],
  ])
})
