import { beforeAll, expect, test } from 'vitest'
import { createBroadcast, NewBroadcast, sendBroadcast, showBroadcast } from '../../src/broadcasts/broadcasts.ts'
import { createList } from '../../src/contacts/contacts.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { type TestApp, useApp } from '../support/app.ts'
import { addPeople, audience } from '../support/broadcasts.ts'
import { startDaemon } from '../support/daemon.ts'
import { eventually } from '../support/deliveries.ts'
import { plainProject } from '../support/projects.ts'
import { useSink } from '../support/smtp.ts'

const people = 3000
const excluded = 300

const sink = useSink()
const t: TestApp = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_LOG_LEVEL: 'error' } }))

beforeAll(async () => {
  // Slows the queueing down, so that a kill hits it halfway.
  await t.app.sql(`create function linger() returns trigger language plpgsql as $$
    begin perform pg_sleep(0.1); return new; end $$`)
  await t.app.sql('create trigger linger before update on broadcasts for each row execute function linger()')
})

test('kill -9 of two daemons between batches: each address of two lists gets one email of one version, nobody excluded gets any', async () => {
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
  const queued = async () => {
    const [row] = await t.app.sql<{ count: number }>('select count(*) as count from messages where account_id = $1', [
      accountId,
    ])
    return row!.count
  }
  const change = (n: number) =>
    run((work) => applyProjects(work, [{ ...plainProject(`Spring ${n}`), id: who.projectId }]))
  for (const [n, most] of [500, 1000, 2000].entries()) {
    const daemons = [await startDaemon(t), await startDaemon(t)]
    await eventually(async () => (await queued()) >= most)
    await change(n)
    for (const daemon of daemons) await daemon.kill('SIGKILL')
  }
  expect(await queued()).toBeLessThan(people + 500 - excluded)
  await startDaemon(t)
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
  // A killed daemon leaves at most its open connections in doubt.
  expect(arrived.length).toBeGreaterThanOrEqual(sent)
  const [use] = await t.app.sql(`select used from quota_uses where account_id = $1 and quota = 'sends'`, [accountId])
  expect(use).toEqual({ used: recipients })
})
