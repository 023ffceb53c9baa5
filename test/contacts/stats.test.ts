import { expect, test } from 'vitest'
import { Migration20261123233300_contact_counts as Counting } from '../../migrations/Migration20261123233300_contact_counts.ts'
import { contactsByDay, createList, eraseContact, leaveList, writeContacts } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { addUpTallies } from '../../src/store/tallies.ts'
import type { Work } from '../../src/store/work.ts'
import { removeSuppressions } from '../../src/suppressions/suppressions.add.ts'
import { leaveTopics, type SuppressionReason, suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { createTopic } from '../../src/suppressions/topics.change.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Random, randomOfTest } from '../support/random.ts'

const t = useApp({ development: true })
const dayMs = 86_400_000
const reasons: readonly SuppressionReason[] = ['bounced', 'complained', 'manual', 'unsubscribed']

const inWork = <T>(account: TestAccount, run: (work: Work) => Promise<T>): Promise<T> =>
  t.app.work(account.id, 'cli:test', run)
const stats = (account: TestAccount, from = '2000-01-01') => inWork(account, (work) => contactsByDay(work, from))
const today = () => t.app.now().toISOString().slice(0, 10)
const add = (account: TestAccount, listId: string, ...emails: string[]) =>
  inWork(account, (work) =>
    writeContacts(
      work,
      listId,
      emails.map((email) => ({ email, fields: {} })),
      new Map(),
    ),
  )
const listOf = (account: TestAccount, name = 'People') => inWork(account, (work) => createList(work, { name }))
const suppress = (account: TestAccount, email: string, reason: SuppressionReason) =>
  inWork(account, (work) => suppressAddresses(work, [email], reason))

/** What happened in the test, in the order in which it happened to each address. */
interface Log {
  added: { day: string }[]
  left: { email: string; how: 'removed' | 'suppressed'; day: string }[]
}
/** Counts what happened without the product: after its suppression an address does not leave again. */
const recount = ({ added, left }: Log, from: string) => {
  const suppressed = new Set<string>()
  let count = 0
  for (const { email, how } of left.filter(({ day }) => day >= from)) {
    if (!suppressed.has(email)) count++
    if (how === 'suppressed') suppressed.add(email)
  }
  return { added: added.filter(({ day }) => day >= from).length, left: count }
}

interface Person {
  email: string
  isAdded: boolean
}

/** Adds, removes, erases and suppresses the worker's own addresses at random. */
const change = async (account: TestAccount, listId: string, people: readonly Person[], random: Random, log: Log) => {
  for (let i = 0; i < 25; i++) {
    const person = random.pick(people)
    const { email } = person
    const leave = (how: 'removed' | 'suppressed') => log.left.push({ email, how, day: today() })
    if (!person.isAdded) {
      await add(account, listId, email)
      person.isAdded = true
      log.added.push({ day: today() })
    } else if (random.next() < 0.5) {
      if ((await suppress(account, email, random.pick(reasons))).length > 0) leave('suppressed')
    } else {
      await inWork(account, async (work) =>
        random.next() < 0.5 ? leaveList(work, listId, email) : eraseContact(work, email, { dryRun: false }),
      )
      leave('removed')
      person.isAdded = false
    }
  }
}

test('each address that leaves, unsubscribes or is suppressed counts once in a period, as a recount finds it', async () => {
  const [account, other] = [await t.account(), await t.account()]
  const [{ id: listId }, { id: foreign }] = [await listOf(account), await listOf(other)]
  await add(other, foreign, 'w0p0@people.example', 'someone@people.example')
  const random = randomOfTest()
  const log: Log = { added: [], left: [] }
  const workers = [0, 1, 2].map((worker) => ({
    random: random.fork(`${worker}`),
    people: Array.from({ length: 12 }, (_, i): Person => ({ email: `w${worker}p${i}@people.example`, isAdded: false })),
  }))
  const days: string[] = []
  for (let day = 0; day < 3; day++) {
    days.push(today())
    await Promise.all(workers.map((worker) => change(account, listId, worker.people, worker.random, log)))
    // One address in several ways at once.
    const email = `raced${day}@people.example`
    await add(account, listId, email)
    log.added.push({ day: today() })
    await Promise.all([
      ...reasons.map((reason) => suppress(account, email, reason)),
      inWork(account, (work) => leaveList(work, listId, email)),
    ])
    log.left.push({ email, how: 'suppressed', day: today() })
    if (day === 1) await addUpTallies(t.app)
    await t.advance(dayMs)
  }
  for (const from of [...days, today(), '2000-01-01']) {
    const { added, left } = await stats(account, from)
    expect({ from, added, left }).toEqual({ from, ...recount(log, from) })
  }
  const { added, left, days: found } = await stats(account)
  expect(found.reduce((sum, day) => sum + day.added, 0)).toBe(added)
  expect(found.reduce((sum, day) => sum + day.left, 0)).toBe(left)
  expect(await stats(other)).toEqual({ added: 2, left: 0, days: [{ date: days[0], added: 2, left: 0 }] })
})

test('addresses that are no contacts, known addresses, and removals from one of two lists count nothing', async () => {
  const account = await t.account()
  const [{ id: one }, { id: two }] = [await listOf(account, 'One'), await listOf(account, 'Two')]
  await suppress(account, 'stranger@people.example', 'manual')
  await add(account, one, 'ada@people.example', 'bob@people.example')
  await add(account, two, 'ada@people.example')
  await add(account, two, 'ada@people.example')
  await inWork(account, (work) => leaveList(work, one, 'ada@people.example'))
  expect(await stats(account)).toMatchObject({ added: 2, left: 0 })
  // The same reason again, also after its removal on the same day, and in a unit of work that fails.
  await suppress(account, 'ada@people.example', 'manual')
  await suppress(account, 'ada@people.example', 'manual')
  expect(await stats(account)).toMatchObject({ added: 2, left: 1 })
  await inWork(account, async (work) => {
    await suppressAddresses(work, ['bob@people.example'], 'manual')
    throw new Error('Undo')
  }).catch(() => {})
  expect(await stats(account)).toMatchObject({ added: 2, left: 1 })
})

test('the deletion of a list counts its addresses, except those that left before or are in another list', async () => {
  const account = await t.account()
  const [{ id: one }, { id: two }] = [await listOf(account, 'One'), await listOf(account, 'Two')]
  const emails = Array.from({ length: 60 }, (_, i) => `p${i}@people.example`)
  await add(account, one, ...emails)
  await add(account, two, ...emails.slice(0, 10))
  for (const email of emails.slice(5, 15)) await suppress(account, email, 'unsubscribed')
  await deleteList(t.app, account.id, one, { actor: 'cli:test' })
  // 50 removed, of which 5 were suppressed; and 5 others were suppressed.
  expect(await stats(account)).toMatchObject({ added: 60, left: 55 })
  await t.advance(dayMs)
  await deleteList(t.app, account.id, two, { actor: 'cli:test' })
  expect(await stats(account)).toMatchObject({ added: 60, left: 60 })
  expect(await stats(account, today())).toMatchObject({ added: 0, left: 10 })
})

test('leaving a topic does not count, and does not hide that the address unsubscribes later', async () => {
  const account = await t.account()
  const { id } = await listOf(account)
  await add(account, id, 'ada@people.example')
  const leave = async (work: Work) =>
    leaveTopics(work, ['ada@people.example'], [(await createTopic(work, { name: 'News', description: '' })).id])
  await inWork(account, leave)
  expect(await stats(account)).toMatchObject({ left: 0 })
  await suppress(account, 'ada@people.example', 'unsubscribed')
  expect(await stats(account)).toMatchObject({ left: 1 })
})

test('a removed suppression takes nothing back', async () => {
  const account = await t.account()
  const { id } = await listOf(account)
  await add(account, id, 'ada@people.example')
  await suppress(account, 'ada@people.example', 'manual')
  await inWork(account, (work) => removeSuppressions(work, 'ada@people.example', null))
  expect(await stats(account)).toMatchObject({ added: 1, left: 1 })
})

test('the migration counts existing addresses and suppressions', async () => {
  const account = await t.account()
  const { id } = await listOf(account)
  const emails = ['a', 'b', 'c'].map((name) => `${name}@people.example`)
  await add(account, id, ...emails)
  await suppress(account, emails[0]!, 'manual')
  await suppress(account, emails[0]!, 'bounced')
  await t.advance(dayMs)
  await suppress(account, emails[0]!, 'complained')
  await suppress(account, emails[1]!, 'complained')
  await addUpTallies(t.app)
  const read = () => t.app.sql('select * from day_counts where account_id = $1 order by day', [account.id])
  const counted = await read()
  expect(counted).toHaveLength(2)
  await t.app.sql('delete from day_counts')
  const migration = new Counting(undefined as never, undefined as never)
  migration.up()
  for (const query of migration.getQueries()) await t.app.sql(String(query))
  expect(await read()).toEqual(counted)
})
