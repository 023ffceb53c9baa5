import { afterEach, expect, test } from 'vitest'
import { createBroadcast, NewBroadcast, sendBroadcast, showBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { leaveTopics, suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { createTopic, deleteTopic } from '../../src/suppressions/topics.change.ts'
import { type TestApp, useApp } from '../support/app.ts'
import { addPeople, audience } from '../support/broadcasts.ts'
import { eventually } from '../support/eventually.ts'
import { holdUp } from '../support/hold.ts'
import { startJob, type Thread } from '../support/jobs.ts'
import { plainProject } from '../support/projects.ts'
import { randomOfTest } from '../support/random.ts'
import { useSink } from '../support/smtp.ts'

// Workers of the mail job queue broadcasts and send their emails. They are threads of the test; daemon/drill kills daemons.

const sink = useSink()
const t: TestApp = useApp(() => ({ env: { SVC_SMTP_URL: sink.url } }))

/** The connections of a daemon to the relay: a killed daemon leaves at most one email on each in doubt. */
const relayConnections = 5

// Both tests use the same addresses: what a failed test leaves must not be sent in the next one.
afterEach(() => t.app.sql('delete from message_queue'))

const countQueued = async (accountId: string): Promise<number> => {
  const [row] = await t.app.sql<{ count: number }>('select count(*) as count from messages where account_id = $1', [
    accountId,
  ])
  return row!.count
}

test('two workers that are killed in the middle of a batch: each address of two lists gets one email of one version, nobody excluded gets any', async () => {
  const people = 2000
  const excluded = 300
  const who = await audience(t, people)
  const { id: accountId } = who.account
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(accountId, 'cli:test', operation)
  const lists = await run(async (work) => ({
    both: (await createList(work, { name: 'Both' })).id,
    never: (await createList(work, { name: 'Never' })).id,
  }))
  const copyTo = (list: string, most: number) =>
    t.app.sql(
      `insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
       select account_id, row_id, $2, email, fields, status, created_at, updated_at from contacts
       where account_id = $1 and list_id = $3 order by row_id limit $4`,
      [accountId, list, who.listId, most],
    )
  await copyTo(lists.both, people)
  await copyTo(lists.never, excluded)
  await addPeople(t, { ...who, listId: lists.both }, people, people + 500)
  const { id } = await run(async (work) => {
    const input = { list: ['People', 'Both'], excludeList: 'Never', project: 'Spring', subject: ['A', 'B'] }
    const made = await createBroadcast(work, NewBroadcast.parse(input))
    return sendBroadcast(t.app, work, made.id)
  })
  const change = (n: number) =>
    run((work) => applyProjects(work, [{ ...plainProject(`Spring ${n}`), id: who.projectId }]))
  for (const n of [1, 2, 3]) {
    const hold = await holdUp(t, 'update on broadcasts', { after: 1 })
    const workers = [await startJob(t, 'mail'), await startJob(t, 'mail')]
    await hold.reached()
    await change(n)
    for (const worker of workers) await worker.kill()
    await hold.end()
  }
  expect(await countQueued(accountId)).toBeGreaterThan(0)
  expect(await countQueued(accountId)).toBeLessThan(people + 500 - excluded)
  await startJob(t, 'mail')
  await eventually(async () => (await run((work) => showBroadcast(work, id))).status === 'done')
  const { recipients, sent, failed } = await run((work) => showBroadcast(work, id))
  expect([recipients, sent + failed]).toEqual([people + 500 - excluded, people + 500 - excluded])
  const [row] = await t.app.sql(
    `select count(*) as count, count(distinct email) as people, array_agg(distinct project_version) as versions,
       count(*) filter (where email in (select email from contacts where account_id = $1 and list_id = $2)) as excluded
     from messages where account_id = $1`,
    [accountId, lists.never],
  )
  expect(row).toEqual({ count: recipients, people: recipients, versions: [1], excluded: 0 })
  const arrived = sink.mails.map(({ to }) => to[0])
  expect(new Set(arrived).size).toBe(arrived.length)
  // A killed worker leaves at most its open connections in doubt.
  expect(arrived.length).toBeGreaterThanOrEqual(sent)
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [accountId])
  expect(use).toEqual({ used: recipients })
})

test('killed at any moment, with erasures, a deleted list, people who leave and a changed project: one email for each who should get it, none for the others', async () => {
  const random = randomOfTest()
  // Slows the queueing down, so that a kill hits it halfway.
  await t.app.sql(`create function linger() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.5); return new; end $$`)
  await t.app.sql('create trigger linger before update on broadcasts for each row execute function linger()')
  // An erased message no longer tells whether a connection had taken it.
  await t.app.sql('create table taken_and_removed (id text)')
  await t.app.sql(`create function remember() returns trigger language plpgsql as $$
    begin insert into taken_and_removed values (old.id); return old; end $$`)
  await t.app.sql(
    'create trigger remember before delete on message_queue for each row when (old.is_handing) execute function remember()',
  )
  sink.mails.length = 0
  const people = 3000
  const who = await audience(t, people)
  const { id: accountId } = who.account
  const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(accountId, 'cli:test', operation)
  const addressOf = (n: number) => `c${n}@people.example`
  // People 0 to 2,999 are in the first list, 2,000 to 6,999 in the second, whose turn comes last: most of them leave with it.
  const second = (await run((work) => createList(work, { name: 'Second' }))).id
  const inBoth = 2000
  const all = 7000
  await t.app.sql(
    `insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select account_id, row_id, $2, email, fields, status, created_at, updated_at from contacts
     where account_id = $1 and list_id = $3 and substr(email, 2, length(email) - 16)::int >= $4`,
    [accountId, second, who.listId, inBoth],
  )
  await addPeople(t, { ...who, listId: second }, people, all)
  const topic = (await run((work) => createTopic(work, { name: 'News', description: '' }))).id
  const { id } = await run(async (work) => {
    const input = { list: ['People', 'Second'], project: 'Spring', topic: 'News', subject: ['A', 'B', 'C'] }
    return sendBroadcast(t.app, work, (await createBroadcast(work, NewBroadcast.parse(input))).id)
  })
  const arrived = () => sink.mails.map(({ to }) => to[0]!)
  const messages = () =>
    t.app.sql<{ email: string; status: string; error: string | null; version: number; row: string }>(
      `select email, status, error, project_version as version, split_part(key, ':', 3) as row from messages where account_id = $1`,
      [accountId],
    )

  /** Who must get no further email: what they have got when no worker runs stays. */
  const barred = new Map<string, string>()
  /** Whose contact is gone, although they may get the email. */
  const gone = new Set<string>()
  const some = (count: number) => {
    const got = new Set(arrived())
    return random
      .shuffled(Array.from({ length: all }, (_, n) => addressOf(n)))
      .filter((email) => !barred.has(email) && !gone.has(email) && !got.has(email))
      .slice(0, count)
  }
  const bar = async (why: string, emails: readonly string[], change: (email: string) => Promise<unknown>) => {
    for (const email of emails) {
      await change(email)
      barred.set(email, why)
    }
  }
  const personalData = await t.app.personalData()
  const erase = (email: string) => run((work) => eraseContact(work, email, { dryRun: false, personalData }))
  const changeProject = (n: number) =>
    run((work) => applyProjects(work, [{ ...plainProject(`Spring ${n}`), id: who.projectId }]))
  const alive: Thread[] = []
  const kill = async () => {
    await alive.splice(random.between(0, alive.length - 1), 1)[0]!.kill()
  }
  const whileDown = [
    () => bar('erased', some(20), erase),
    () => bar('left the topic', some(20), (email) => run((work) => leaveTopics(work, [email], [topic]))),
    () => bar('unsubscribed', some(20), (email) => run((work) => suppressAddresses(work, [email], 'unsubscribed'))),
    async () => {
      const waiting = new Set((await messages()).map(({ email }) => email))
      await deleteList(t.app, accountId, second, { actor: 'cli:test' })
      for (let n = people; n < all; n++) {
        gone.add(addressOf(n))
        if (!waiting.has(addressOf(n))) barred.set(addressOf(n), 'the list is gone')
      }
    },
  ]
  for (const [n, change] of random.shuffled(whileDown).entries()) {
    alive.push(await startJob(t, 'mail'), await startJob(t, 'mail'))
    const most = Math.min(people - 500, (await countQueued(accountId)) + random.between(1, 700))
    await eventually(async () => (await countQueued(accountId)) >= most)
    await kill()
    await changeProject(n)
    await expect(run((work) => deleteTopic(work, 'News'))).rejects.toMatchObject({ kind: 'conflict' })
    // These may be on a connection at this moment, so they may get one.
    for (const email of some(3)) {
      await erase(email)
      gone.add(email)
    }
    await kill()
    await change()
  }
  const before = new Set(arrived())
  expect([...barred.keys()].filter((email) => before.has(email))).toEqual([])
  expect(barred.size).toBeGreaterThan(60)
  await startJob(t, 'mail')
  await eventually(async () => (await run((work) => showBroadcast(work, id))).status === 'done')

  const got = new Set(arrived())
  expect(sink.mails.length).toBe(got.size)
  expect([...got].filter((email) => barred.has(email)).map((email) => [email, barred.get(email)])).toEqual([])
  const rows = await messages()
  expect(new Set(rows.map(({ row }) => row)).size).toBe(rows.length)
  expect(new Set(rows.map(({ version }) => version))).toEqual(new Set([1]))
  const inDoubt = rows.filter(({ error }) => error === 'delivery state unknown')
  expect(inDoubt.length).toBeLessThanOrEqual(2 * whileDown.length * relayConnections)
  // Everybody else got one, or is in doubt.
  const contacts = await t.app.sql<{ email: string }>('select distinct email from contacts where account_id = $1', [
    accountId,
  ])
  const doubtful = new Set(inDoubt.map(({ email }) => email))
  const missing = contacts.filter(({ email }) => !barred.has(email) && !got.has(email) && !doubtful.has(email))
  expect(missing).toEqual([])
  const { recipients, sent, failed, suppressed, queued: open } = await run((work) => showBroadcast(work, id))
  expect([recipients, open]).toEqual([rows.length, 0])
  const counted = Map.groupBy(rows, ({ status }) => status)
  expect([sent, failed, suppressed]).toEqual(
    ['sent', 'failed', 'suppressed'].map((status) => counted.get(status)?.length ?? 0),
  )
  // What no connection had taken returned its volume.
  const [erasedMidway] = await t.app.sql<{ count: number }>(
    `select count(*) as count from messages
     where account_id = $1 and error = 'The contact was erased' and id in (select id from taken_and_removed)`,
    [accountId],
  )
  const [use] = await t.app.sql<{ used: number }>(
    `select used from quota_uses where account_id = $1 and quota = 'sends'`,
    [accountId],
  )
  expect(use!.used).toBe(sent + inDoubt.length + erasedMidway!.count)
})
