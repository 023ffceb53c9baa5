import { beforeEach, expect, test } from 'vitest'
import { deleteSender, findSender, makeDefaultSender } from '../../src/senders/senders.change.ts'
import { addSender, listSenders } from '../../src/senders/senders.ts'
import type { Work } from '../../src/store/work.ts'
import { type TestAccount, useApp } from '../support/app.ts'

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
