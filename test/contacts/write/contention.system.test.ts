import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { eraseContact, leaveList } from '../../../src/contacts/contacts.ts'
import { isContended, noteContention, writeFairly } from '../../../src/contacts/write/contention.ts'
import { deleteList } from '../../../src/contacts/write/delete-list.ts'
import { isBusy, SerializationConflict } from '../../../src/store/database.ts'
import type { Work } from '../../../src/store/work.ts'
import type { TestAccount } from '../../support/app.ts'
import { type Ran, svc, svcProcess } from '../../support/cli.ts'
import { countsOf, holdContactsTicket, untilLocked } from '../../support/database.ts'
import { randomOfTest } from '../../support/random.ts'
import { prepareRun, useContacts } from '../support.ts'

/* Writers that add the same new addresses concurrently: every one makes progress, and no other account waits for them. */

let account: TestAccount
let listId: string
let folder: string

const app = useContacts()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-contention-'))
  await app.app.sql(`insert into mail_domains values ('acme.test', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  account = await app.account()
  listId = (await app.list(account)).id
})

const emailOf = (n: number) => `p${String(n).padStart(6, '0')}@acme.test`
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n)
const contactsOf = (numbers: readonly number[]) => numbers.map((n) => ({ email: emailOf(n), n: `${n}` }))

/** The differences between the rows and the counters of the account. */
const inexact = async () => {
  const [row] = await app.app.sql(
    `select
       (select count(*) from contacts c where account_id = $1
         and not exists (select from addresses a where a.account_id = $1 and a.email = c.email and a.row_id = c.row_id)) as "withoutAddress",
       (select count(*) from addresses a where account_id = $1
         and not exists (select from contacts c where c.account_id = $1 and c.email = a.email)) as "withoutContact",
       (select contact_count from accounts where id = $1) - (select count(*) from addresses where account_id = $1) as addresses,
       (select coalesce(sum(abs(l.row_count - (select count(*) from contacts c where c.list_id = l.id))), 0)::int8
         from contact_lists l where account_id = $1) as rows`,
    [account.id],
  )
  return row
}
const exact = { withoutAddress: 0, withoutContact: 0, addresses: 0, rows: 0 }

const counted = () => countsOf(app.app.database)

/** Holds the account's ticket in another session until the test releases it. */
const holdTicket = () => holdContactsTicket(app.app.database, account.id)

const csvOf = async (name: string, numbers: readonly number[]): Promise<string> => {
  const path = join(folder, `${name}.csv`)
  await writeFile(path, `email,n\n${numbers.map((n) => `${emailOf(n)},${n}\n`).join('')}`)
  return path
}

test('batches of 40 callers from one pool of new addresses are all written, with one event for each address', async () => {
  const { shuffled } = randomOfTest()
  await app.subscribe(account)
  const pool = upTo(6_000)
  const before = await counted()
  const drawn = new Set<number>()
  const statuses = new Map<number, number>()
  let created = 0
  const post = async () => {
    const numbers = shuffled(pool).slice(0, 300)
    const { status, body } = await app.post(account, { listId, contacts: contactsOf(numbers) })
    statuses.set(status, (statuses.get(status) ?? 0) + 1)
    expect(body.created + body.updated + body.skipped).toBe(300)
    created += body.created
    for (const n of numbers) drawn.add(n)
  }
  let calls = 0
  const caller = async () => {
    while (calls++ < 100) await post()
  }
  await Promise.all(Array.from({ length: 40 }, caller))
  expect([...statuses]).toEqual([[200, 100]])
  // Without the queue each call rolls back more than four times.
  expect((await counted()).rollbacks - before.rollbacks).toBeLessThan(200)
  expect(created).toBe(drawn.size)
  expect(await inexact()).toEqual(exact)
  const told = (await app.events<'contact.created' | 'contact.updated'>(account.id)).map(
    ({ type, data }) => `${type} ${data.contact.email}`,
  )
  expect(told.sort()).toEqual([...drawn].map((n) => `contact.created ${emailOf(n)}`).sort())
  expect((await counted()).deadlocks).toBe(0)
})

test('imports of the same rows in different orders, in separate processes, all succeed, and their counts add up', async () => {
  const { shuffled } = randomOfTest()
  const rows = upTo(3_000)
  await app.subscribe(account)
  const paths = await Promise.all(['a', 'b', 'c', 'd'].map((name) => csvOf(name, shuffled(rows))))
  const target = { env: { ...app.env, SVC_ACCOUNT: account.id } }
  // On a slow machine a batch can wait longer than it may; its import is then resumed.
  const importFrom = async (path: string, id?: string): Promise<Ran> => {
    const args = id
      ? ['imports', 'resume', id, '--json']
      : ['contacts', 'import', path, '--list', 'Customers', '--json']
    const ran = await svcProcess(target, args)
    return ran.status === 7 ? importFrom(path, /svc imports resume (\w+)/.exec(ran.stderr)?.[1] ?? id) : ran
  }
  const ended = await Promise.all(paths.map((path) => importFrom(path)))
  for (const { status, stderr } of ended) expect([status, stderr]).toEqual([0, expect.any(String)])
  const sum = (name: string) => ended.reduce((all, { json }) => all + json[name], 0)
  expect([sum('created'), sum('updated'), sum('unchanged'), sum('rows')]).toEqual([3_000, 0, 9_000, 12_000])
  expect(await inexact()).toEqual(exact)
  const told = (await app.events<'contact.created' | 'contact.updated'>(account.id)).map(
    ({ type, data }) => `${type} ${data.contact.email}`,
  )
  expect(told.sort()).toEqual(rows.map((n) => `contact.created ${emailOf(n)}`))
  expect((await counted()).deadlocks).toBe(0)
})

test('batches, imports, single writes, erasures and deletions of lists in one account do not deadlock and are not refused', async () => {
  const { next, pick, shuffled } = randomOfTest()
  const people = upTo(1_200)
  const lists = [listId, (await app.list(account, 'B')).id, (await app.list(account, 'C')).id]
  const endsAt = performance.now() + Number(process.env.RACE_MS ?? 2_500)
  const repeat = async (run: () => Promise<unknown>) => {
    while (performance.now() < endsAt || !answers.get(200)) await run()
  }
  const inWork = <T>(run: (work: Work) => Promise<T>) => app.app.work(account.id, 'cli:test', run)
  const answers = new Map<number, number>()
  const post = async (body: object) => {
    const { status } = await app.post(account, body)
    answers.set(status, (answers.get(status) ?? 0) + 1)
  }
  const batch = () => post({ listId: pick(lists), contacts: contactsOf(shuffled(people).slice(0, 200)) })
  const single = () => post({ listId: pick(lists), email: emailOf(pick(people)), fields: { n: `${next()}` } })
  const erase = () =>
    inWork((work) => eraseContact(work, emailOf(pick(people)), { dryRun: false })).catch((error) => {
      if (error.kind !== 'not_found') throw error
    })
  const leave = () => inWork((work) => leaveList(work, pick(lists), emailOf(pick(people))))
  let n = 0
  const replaceList = async () => {
    lists.push((await app.list(account, `List ${++n}`)).id)
    await deleteList(app.app, account.id, lists.splice(1, 1)[0]!, { actor: 'cli:test' })
  }
  const importAll = async () => {
    const { run } = await prepareRun(app, account.id, {
      list: 'Customers',
      path: await csvOf(`mixed${++n}`, shuffled(people)),
    })
    const { created, updated, unchanged, skipped, rejected } = await run()
    expect([created + updated + unchanged, skipped, rejected]).toEqual([people.length, 0, 0])
  }
  await Promise.all([
    ...upTo(6).map(() => repeat(batch)),
    ...upTo(3).map(() => repeat(single)),
    ...upTo(2).map(() => repeat(importAll)),
    repeat(erase),
    repeat(leave),
    repeat(replaceList),
  ])
  expect([...answers.keys()].filter((status) => ![200, 201, 404].includes(status))).toEqual([])
  expect(await inexact()).toEqual(exact)
  expect((await counted()).deadlocks).toBe(0)
})

test('a write without a conflict does not wait for the ticket', async () => {
  const ticket = await holdTicket()
  for (const from of [0, 100, 200, 300]) {
    const contacts = contactsOf(upTo(100).map((n) => from + n))
    expect((await app.post(account, { listId, contacts })).body).toEqual({ created: 100, updated: 0, skipped: 0 })
  }
  expect((await app.post(account, { listId, email: emailOf(1_000) })).status).toBe(201)
  await ticket.release()
})

test('queued writers of one account leave connections to others, and only those that add contacts wait for the ticket', async () => {
  await app.post(account, { listId, contacts: contactsOf([0, 1]) })
  const other = await app.account()
  const { id } = await app.list(other)
  const ticket = await holdTicket()
  noteContention(account.id)
  let answered = 0
  const pending = upTo(30).map(async (i) => {
    const { status } = await app.post(account, { listId, contacts: contactsOf([2 + i, 50 + i]) })
    answered++
    return status
  })
  await untilLocked(app.app, 2)
  expect((await app.post(other, { listId: id, contacts: contactsOf([1, 2, 3]) })).body.created).toBe(3)
  const { rows } = await app.app.database.transaction(async (sql) => ({
    rows: await sql(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`),
  }))
  expect([rows.length, answered]).toEqual([2, 0])
  await ticket.release()
  expect(new Set(await Promise.all(pending))).toEqual(new Set([200]))
  expect(await inexact()).toEqual(exact)
})

test('a queued write that adds nothing does not wait for the ticket', async () => {
  await app.post(account, { listId, contacts: contactsOf(upTo(50)) })
  const ticket = await holdTicket()
  noteContention(account.id)
  const changed = upTo(50).map((n) => ({ email: emailOf(n), n: 'changed' }))
  expect((await app.post(account, { listId, contacts: changed })).body).toEqual({ created: 0, updated: 50, skipped: 0 })
  await ticket.release()
})

test('queued units of work start in order, two at a time, and a failed one lets the next one start', async () => {
  noteContention(account.id)
  const started: number[] = []
  let [running, most] = [0, 0]
  const unit = (i: number, run: (work: Work) => Promise<unknown>) =>
    writeFairly(app.app, account.id, 'cli:test', async (work) => {
      started.push(i)
      most = Math.max(most, ++running)
      await run(work).finally(() => running--)
    })
  // One of the two places is occupied until the end, so the others run one after the other in the second one.
  const end = Promise.withResolvers<void>()
  const first = unit(0, () => end.promise)
  await expect.poll(() => started).toEqual([0])
  const fail = async () => {
    throw new Error('Refused')
  }
  const ended = await Promise.allSettled(
    upTo(20).map((i) => unit(i + 1, i % 3 === 0 ? fail : ({ sql }) => sql('select 1'))),
  )
  end.resolve()
  await first
  expect([started, most]).toEqual([upTo(21), 2])
  expect(ended.map(({ status }) => status)).toEqual(upTo(20).map((i) => (i % 3 === 0 ? 'rejected' : 'fulfilled')))
})

test('a full queue and a wait that is too long are refused as busy, and the queue continues', async () => {
  noteContention(account.id)
  const end = Promise.withResolvers<void>()
  const unit = (run: () => Promise<unknown>) => writeFairly(app.app, account.id, 'cli:test', run)
  const running = [unit(() => end.promise), unit(() => end.promise)]
  const waiting = Promise.allSettled(upTo(500).map(() => unit(async () => {})))
  let hasWaited = false
  void waiting.then(() => {
    hasWaited = true
  })
  await expect(unit(async () => {})).rejects.toSatisfy(isBusy)
  expect(hasWaited).toBe(false)
  for (const { status, reason } of (await waiting) as PromiseRejectedResult[]) {
    expect([status, isBusy(reason)]).toEqual(['rejected', true])
  }
  const late = unit(async () => 'done')
  end.resolve()
  expect(await late).toBe('done')
  await Promise.all(running)
})

test('a unit of work queues after its second conflict, not after the first', async () => {
  const conflicting = (conflicts: number) => {
    let runs = 0
    return writeFairly(app.app, account.id, 'cli:test', async () => {
      if (++runs <= conflicts) throw new SerializationConflict('Another transaction was first')
      return runs
    })
  }
  expect([await conflicting(1), isContended(account.id)]).toEqual([2, false])
  expect([await conflicting(2), isContended(account.id)]).toEqual([3, true])
  expect(await conflicting(10)).toBe(11)
})

test('a wait for the ticket that times out is 503 with Retry-After, or exit 7 with a hint, and nothing is written', async () => {
  // The plan's limit is near: every write that adds contacts takes the ticket.
  account = await app.account({ plan: 'free' })
  listId = (await app.list(account)).id
  const ticket = await holdTicket()
  const target = { env: { ...app.env, SVC_ACCOUNT: account.id } }
  const path = await csvOf('late', [1, 2])
  const [single, batch, imported] = await Promise.all([
    app.post(account, { listId, email: emailOf(1) }),
    app.post(account, { listId, contacts: contactsOf([2, 3]) }),
    svc(target, ['contacts', 'import', path, '--list', 'Customers']),
  ])
  for (const { status, body, headers } of [single, batch])
    expect([status, body, headers['retry-after']]).toEqual([503, { error: 'The database is too busy: try again' }, '2'])
  expect([imported.status, imported.stdout]).toEqual([7, ''])
  expect(imported.stderr).toMatch(/error: The database is too busy: try again\n {2}next: svc imports resume imp_\w+\n$/)
  expect(await app.app.sql('select 1 from addresses where account_id = $1', [account.id])).toEqual([])
  await ticket.release()
  const { status } = await svc(target, ['imports', 'resume', imported.stderr.match(/imp_\w+/)![0]])
  expect(status).toBe(0)
  expect(await inexact()).toEqual(exact)
})
