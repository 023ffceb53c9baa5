import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import {
  eraseContact,
  joinList,
  leaveList,
  readContactsOf,
  updateContacts,
  writeContacts,
} from '../../../src/contacts/contacts.ts'
import { startImport, writeBatch } from '../../../src/contacts/imports/checkpoint.ts'
import { deleteList, finishListDeletions } from '../../../src/contacts/write/delete-list.ts'
import { countContacts } from '../../../src/contacts/write/write.count.ts'
import { isUnavailable, openDatabase, SerializationConflict } from '../../../src/store/database.ts'
import type { Work } from '../../../src/store/work.ts'
import type { TestAccount } from '../../support/app.ts'
import { ok } from '../../support/app.ts'
import { countsOf, untilLocked } from '../../support/database.ts'
import { randomOfTest } from '../../support/random.ts'
import { waitLimitMs } from '../../support/slowness.ts'
import { type ContactsApp, useContacts } from '../support.ts'
import { createBigList, exact, inexact } from './support.ts'

let account: TestAccount
let listId: string

const app = useContacts()
beforeEach(async () => {
  account = await app.account()
  listId = (await app.list(account)).id
})

const people = (count: number, from = 0) =>
  Array.from({ length: count }, (_, i) => ({ email: `person${String(from + i).padStart(6, '0')}@acme.test` }))
const inWork = <T>(run: (work: Work) => Promise<T>) => app.app.work(account.id, 'cli:test', run)
const removeList = (id: string) => deleteList(app.app, account.id, id, { actor: 'cli:test' })

const waitUntil = async (isSo: () => Promise<boolean>) => {
  for (
    const deadline = performance.now() + waitLimitMs;
    !(await isSo());
    await new Promise((resolve) => setTimeout(resolve, 5))
  )
    if (performance.now() > deadline) {
      const running = await app.app.sql(
        `select state, wait_event, now() - query_start as since, query from pg_stat_activity
         where datname = current_database() and pid <> pg_backend_pid()`,
      )
      throw new Error(`Not so after ${waitLimitMs} ms: ${isSo}; ${JSON.stringify(running)}`)
    }
}
const count = async (statement: string, params: string[] = []) =>
  (await app.app.sql<{ n: number }>(statement, params))[0]!.n
const rowsOf = (id: string) => count('select count(*) as n from contacts where list_id = $1', [id])
const isFirstDeleted = (id: string) =>
  count(`select count(*) as n from contacts where list_id = $1 and row_id = 'row_0'`, [id]).then((rows) => rows === 0)
const waiting = (statements: number) => untilLocked(app.app, statements)

const state = () => inexact(app, account.id)
const bigList = (count: number) => createBigList(app, account, count)

test('a list that is deleted while its addresses join another list leaves no contact without its address', async () => {
  const id = await bigList(20_000)
  const removing = removeList(id)
  await waitUntil(() => isFirstDeleted(id))
  const { status, body } = await app.post(account, { listId, contacts: people(50, 19_950) })
  expect([status, body]).toEqual([200, { created: 50, updated: 0, skipped: 0 }])
  await removing
  expect(await state()).toEqual(exact)
})

test('of two concurrent writes of one new address, with a capacity of one, the first creates it and the second updates it', async () => {
  account = await app.account({ plan: 'free' })
  const first = (await app.list(account, 'First')).id
  const second = (await app.list(account, 'Second')).id
  await app.app.sql(`update plans set contacts = 1 where name = 'free'`)
  const verifications = new Map()
  const email = 'ada@acme.test'
  for (const [list, expected] of [
    [first, { status: 200, body: { created: 0, updated: 1, skipped: 0 } }],
    [second, { status: 201, body: { created: 1, updated: 0, skipped: 0 } }],
  ] as const) {
    let answer: ReturnType<ContactsApp['post']> | undefined
    const outcomes = await inWork(async (work) => {
      const written = await writeContacts(work, first, [{ email, fields: {} }], verifications)
      answer = app.post(account, { listId: list, email })
      await waiting(1)
      return written
    })
    expect(outcomes.get(email)).toBe('created')
    expect(await answer).toMatchObject(expected)
    expect(await state()).toEqual(exact)
    await inWork((work) => eraseContact(work, email, { dryRun: false }))
  }
})

test('batches, erasures, removals and deletions of lists do not deadlock', async () => {
  const lists = [listId, (await app.list(account, 'B')).id, (await app.list(account, 'C')).id]
  const { next, pick, shuffled } = randomOfTest()
  const some = () => shuffled(people(60).filter(() => next() < 0.5))
  const endsAt = performance.now() + Number(process.env.RACE_MS ?? 1_500)
  const loop = async (run: () => Promise<unknown>) => {
    while (performance.now() < endsAt) await run()
  }
  let n = 0
  const answers = new Set<number>()
  const missing = (error: unknown) => {
    if ((error as { kind?: string }).kind !== 'not_found') throw error
  }
  const writing = async () => {
    const contacts = some().map((person) => ({ ...person, n: ++n % 7 }))
    const { status, body } = await app.post(account, { listId: pick(lists), contacts })
    answers.add(status)
    if (status === 200) expect(body.created + body.updated).toBe(contacts.length)
  }
  const writingOne = async () =>
    answers.add((await app.post(account, { listId: pick(lists), ...pick(people(60)), fields: { n: ++n % 7 } })).status)
  const replacing = async () => {
    const old = lists.pop()!
    lists.unshift((await app.list(account, `List ${++n}`)).id)
    await removeList(old)
  }
  await Promise.all([
    ...[1, 2, 3].map(() => loop(writing)),
    ...[1, 2].map(() => loop(writingOne)),
    loop(() => inWork((work) => eraseContact(work, pick(people(60)).email, { dryRun: false })).catch(missing)),
    loop(() => inWork((work) => leaveList(work, pick(lists), pick(people(60)).email))),
    loop(replacing),
  ])
  expect(await countsOf(app.app.database)).toMatchObject({ deadlocks: 0 })
  expect([...answers].filter((status) => ![200, 201, 404].includes(status))).toEqual([])
  expect(await state()).toEqual(exact)
})

test("writers that update a list's counter do not deadlock while a journey adds contacts to it", async () => {
  await app.post(account, { listId, email: 'ada@acme.test' })
  const to = (await app.list(account, 'B')).id
  const holdUntil = (end: Promise<void>, run: (work: Work) => Promise<unknown>) => {
    const { promise: begun, resolve } = Promise.withResolvers<void>()
    const done = inWork(async (work) => {
      await run(work)
      resolve()
      await end
    })
    return { begun, done }
  }
  const [joinerEnds, writerEnds] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  onTestFinished(() => {
    joinerEnds.resolve()
    writerEnds.resolve()
  })
  const contact = { email: 'ada@acme.test', fields: {}, status: 'active' } as const
  const joiner = holdUntil(joinerEnds.promise, (work) => joinList(work, to, [contact]))
  await joiner.begun
  const writer = holdUntil(writerEnds.promise, (work) =>
    work.sql('update contact_lists set updated_at = now() where id = $1', [to]),
  )
  await writer.begun
  let begun = 0
  const counting = []
  for (const rows of [1, -1]) {
    const count = async (work: Work) => {
      begun++
      countContacts(work, to, rows, 0)
    }
    counting.push(inWork(count))
    await waiting(counting.length)
  }
  writerEnds.resolve()
  await Promise.all(counting)
  // Each unit ran once: none was rolled back as a deadlock victim.
  expect(begun).toBe(2)
  joinerEnds.resolve()
  await Promise.all([joiner.done, writer.done])
  expect(await state()).toEqual(exact)
})

test('units of work that add columns to two lists in different orders do not deadlock', async () => {
  const lists = [listId, (await app.list(account, 'B')).id]
  const [ada, bob] = ['ada@acme.test', 'bob@acme.test']
  for (const list of lists)
    for (const email of [ada, bob]) await app.post(account, { listId: list, email, fields: { x: 1 } })
  let [begun, halfway] = [0, 0]
  const both = Promise.withResolvers<void>()
  const update = (email: string, [first, second]: readonly string[], fields: Record<string, string>) =>
    inWork(async (work) => {
      begun++
      await updateContacts(work, [{ listId: first!, email, fields }])
      if (++halfway === 2) both.resolve()
      await both.promise
      await updateContacts(work, [{ listId: second!, email, fields }])
      return (await readContactsOf(work, [email])).map((contact) => contact.fields)
    })
  const read = await Promise.all([
    update(ada, lists, { zeta: '1', constructor: '2' }),
    update(bob, lists.toReversed(), { alpha: '3' }),
  ])
  expect(begun).toBe(2)
  // A unit of work also reads its own writes.
  expect(read).toEqual([
    [
      { x: '1', zeta: '1', constructor: '2' },
      { x: '1', zeta: '1', constructor: '2' },
    ],
    [
      { x: '1', alpha: '3' },
      { x: '1', alpha: '3' },
    ],
  ])
  const { body } = await ok(app.request('GET', '/lists', { key: account.key }))
  for (const { fields } of body.lists) expect(fields.sort()).toEqual(['alpha', 'constructor', 'x', 'zeta'])
})

test('a unit of work with more new columns than a list can have writes nothing', async () => {
  const columns = (name: string, count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, i) => [`${name}${i}`, '1']))
  const [ada, bob] = ['ada@acme.test', 'bob@acme.test']
  for (const email of [ada, bob]) await app.post(account, { listId, email })
  const update = (work: Work, email: string, fields: Record<string, string>) =>
    updateContacts(work, [{ listId, email, fields }])
  const refused = 'A list can have at most 40 columns'
  // Another unit adds columns first, so the error appears only at the end.
  const later = inWork(async (work) => {
    await update(work, ada, columns('a', 20))
    await inWork((other) => update(other, bob, columns('b', 21)))
  })
  await expect(later).rejects.toThrow(refused)
  // The unit's own columns count immediately, before they are written.
  let steps = 0
  const inSteps = inWork(async (work) => {
    for (const name of ['c', 'd']) {
      await update(work, ada, columns(name, 10))
      steps++
    }
  })
  await expect(inSteps).rejects.toThrow(refused)
  expect(steps).toBe(1)
  const rows = await app.app.sql('select email, fields from contacts where list_id = $1 order by email', [listId])
  expect(rows).toEqual([
    { email: ada, fields: {} },
    { email: bob, fields: columns('b', 21) },
  ])
})

test('a deletion of a list that is stopped leaves exact counts, and the jobs finish it', async () => {
  const id = await bigList(3_000)
  const stop = new AbortController()
  const removed = await deleteList(app.app, account.id, id, {
    actor: 'cli:test',
    signal: stop.signal,
    onBatch: () => stop.abort(),
  })
  expect([removed.isDone, await rowsOf(id), await state()]).toEqual([false, 3_000 - removed.contacts, exact])
  expect(removed.contacts).toBeGreaterThan(0)
  await finishListDeletions(app.app, {})
  expect([await rowsOf(id), await state()]).toEqual([0, exact])
  expect(await app.app.sql('select 1 from deleted_lists where account_id = $1', [account.id])).toEqual([])
})

test('a wait for a lock times out as if the database were unavailable, on every connection of the pool', async () => {
  const { sql, close } = openDatabase(app.url, { max: 1, settings: { lock_timeout: '100ms' } })
  await inWork(async (work) => {
    await work.sql('select 1 from contact_lists where id = $1 for update', [listId])
    const fault = await sql('select 1 from contact_lists where id = $1 for key share', [listId]).catch((error) => error)
    expect(isUnavailable(fault)).toBe(true)
  })
  await close()
  const settings = await inWork((work) =>
    work.sql(
      `select current_setting('lock_timeout') as lock, current_setting('idle_in_transaction_session_timeout') as idle`,
    ),
  )
  expect(settings).toEqual([{ lock: '5s', idle: '30s' }])
})

test('a unit of work that conflicts runs again, and after twenty runs fails as if the database were unavailable', async () => {
  let tries = 0
  const conflictUntil = (last: number) =>
    inWork(async (work) => {
      await work.sql('update contact_lists set name = name || $2 where id = $1', [listId, `${++tries}`])
      if (tries < last) throw new SerializationConflict('Another transaction was first')
      return tries
    })
  expect(await conflictUntil(6)).toBe(6)
  const name = async () => (await app.app.sql('select name from contact_lists where id = $1', [listId]))[0]
  expect(await name()).toEqual({ name: 'Customers6' })
  tries = 0
  vi.spyOn(Math, 'random').mockReturnValue(0.1)
  onTestFinished(() => void vi.restoreAllMocks())
  const startedAt = performance.now()
  expect(isUnavailable(await conflictUntil(Number.POSITIVE_INFINITY).catch((error) => error))).toBe(true)
  expect([tries, await name()]).toEqual([20, { name: 'Customers6' }])
  // The delays between the runs add up to at most 2.5 s; the test requires a tenth of that.
  expect(performance.now() - startedAt).toBeGreaterThan(200)
})

test('coalesced single writes each get their own result and events, and a refused one affects no other', async () => {
  await app.subscribe(account)
  const columns = Object.fromEntries(Array.from({ length: 41 }, (_, i) => [`c${i}`, 'x']))
  const post = async (email: string, fields: object) => {
    const { status, body } = await app.post(account, { listId, email, fields })
    return [email, status, body.contact?.fields.n]
  }
  const answers = await Promise.all([
    post('bob@acme.test', { n: 9 }),
    post('ada@acme.test', { n: 1 }),
    post('ada@acme.test', { n: 2 }),
    post('many@acme.test', columns),
    post('ada@acme.test', { n: 3 }),
  ])
  const ada = answers.filter(([email]) => email === 'ada@acme.test')
  expect(ada.map(([, , n]) => n)).toEqual(['1', '2', '3'])
  expect(ada.map(([, status]) => status).sort()).toEqual([200, 200, 201])
  expect(answers[0]).toEqual(['bob@acme.test', 201, '9'])
  expect(answers[3]).toEqual(['many@acme.test', 400, undefined])
  // Each event has the state after its own write: its previous value is the value of the write before.
  const events = (await app.events<'contact.created' | 'contact.updated'>(account.id)).filter(
    ({ data }) => data.contact.email === 'ada@acme.test',
  )
  const changes = new Map(
    events.map(({ data }) => ['previous' in data ? data.previous.n : undefined, data.contact.fields.n]),
  )
  expect(events.map(({ type }) => type).sort()).toEqual(['contact.created', 'contact.updated', 'contact.updated'])
  const first = changes.get(undefined)
  expect([first, changes.get(first), changes.get(changes.get(first))].sort()).toEqual(['1', '2', '3'])
  expect(await app.events(account.id)).toHaveLength(4)
  expect(await state()).toEqual(exact)
})

test('single writes of one address hold no other lock while they wait for it', async () => {
  const [ada, bob] = ['ada@acme.test', 'bob@acme.test']
  for (const email of [ada, bob]) await app.post(account, { listId, email, fields: { n: 0 } })
  const hold = (work: Work, email: string, how = '') =>
    work.sql(`select 1 from contacts where account_id = $1 and email = $2 for no key update ${how}`, [
      account.id,
      email,
    ])
  const post = (email: string, fields: object) => app.post(account, { listId, email, fields })
  const answers: ReturnType<typeof post>[] = []
  let held: Promise<unknown> | undefined
  await inWork(async (work) => {
    await hold(work, ada)
    answers.push(post(ada, { n: 1 }))
    await waiting(1)
    // Waits next for the same row, like a batch that changes both contacts.
    held = inWork(async (batch) => {
      await hold(batch, ada)
      // The calls may have locked the row before the batch did: then none waits for it.
      await Promise.race([waiting(1), Promise.all(answers)])
      await hold(batch, bob, 'nowait')
    })
    await waiting(2)
    answers.push(post(bob, { n: 2 }), post(ada, {}), post(ada, { n: 2 }))
    // Time for the calls to be coalesced; without it, the test would still pass.
    await new Promise((resolve) => setTimeout(resolve, 100))
  })
  await held
  expect((await Promise.all(answers)).map(({ status, body }) => [status, body.contact.fields.n])).toEqual([
    [200, '1'],
    [200, '2'],
    [200, '1'],
    [200, '2'],
  ])
})

test('coalesced single writes near the limit fill it exactly; known addresses always pass', async () => {
  account = await app.account({ plan: 'free' })
  listId = (await app.list(account)).id
  await app.app.sql(`update plans set contacts = 3 where name = 'free'`)
  await app.post(account, { listId, email: 'known@acme.test' })
  const post = async (name: string) =>
    [name, (await app.post(account, { listId, email: `${name}@acme.test`, fields: { [name]: 'x' } })).status] as const
  const answers = await Promise.all(['a', 'known', 'b', 'c', 'd'].map(post))
  const named = (status: number) => answers.filter((answer) => answer[1] === status).map(([name]) => name)
  expect([named(200), named(201).length, named(409).length]).toEqual([['known'], 2, 2])
  const { body } = await ok(app.request('GET', '/lists', { key: account.key }))
  expect(body.lists[0]!.rowCount).toBe(3)
  expect(body.lists[0]!.fields.sort()).toEqual([...named(200), ...named(201)].sort())
  expect(await state()).toEqual(exact)
})

test('a batch of an import waits for the disk only if its events are reported', async () => {
  const options = { map: {}, encoding: 'utf-8', onConflict: 'upsert', events: true, rejectsFile: null } as const
  const batch = (email: string) =>
    inWork(async (work) => {
      await work.sql('set local synchronous_commit = on')
      const opened = await startImport(work, { listId, file: '-', sha256: null, options })
      const writes = [{ email, fields: {} }]
      await writeBatch(work, opened, 0, { rows: 1, writes, repeats: new Map(), rejects: [] }, new Map())
      const [row] = await work.sql<{ value: string }>(`select current_setting('synchronous_commit') as value`)
      return row!.value
    })
  expect(await batch('a@acme.test')).toBe('off')
  await app.subscribe(account)
  expect(await batch('b@acme.test')).toBe('on')
  expect(await batch('a@acme.test')).toBe('off')
})
