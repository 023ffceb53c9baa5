import { beforeEach, expect, test } from 'vitest'
import { advanceBroadcast } from '../../src/broadcasts/broadcasts.step.ts'
import {
  BroadcastChanges,
  createBroadcast,
  NewBroadcast,
  planBroadcast,
  sendBroadcast,
  showBroadcast,
  testBroadcast,
  updateBroadcast,
} from '../../src/broadcasts/broadcasts.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { createSegment, deleteSegment, updateSegment } from '../../src/segments/segments.ts'
import type { Work } from '../../src/store/work.ts'
import { applyProjects } from '../../src/studio/studio.ts'
import { suppressAddresses } from '../../src/suppressions/suppressions.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { sendingAccount } from '../support/messages.ts'
import { plainProject } from '../support/projects.ts'
import { randomOfTest } from '../support/random.ts'
import { useSink } from '../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url }, development: true }))
let account: TestAccount
const lists: Record<string, string> = {}

interface Member {
  email: string
  list: string
  status: 'active' | 'pending'
  plan: string
  updatedAt: number
}

beforeEach(async () => {
  account = await sendingAccount(t, { plan: 'unlimited' })
  await run(async (work) => {
    await applyProjects(work, [plainProject('Spring')])
    for (const name of ['A', 'B', 'C']) lists[name] = (await createList(work, { name, fields: ['plan', 'n'] })).id
  })
})

const run = <T>(operation: (work: Work) => Promise<T>) => t.app.work(account.id, 'cli:test', operation)

const add = async (members: readonly Member[]) => {
  const emails = [...new Set(members.map(({ email }) => email))]
  const of = (name: keyof Member) => members.map((member) => (name === 'list' ? lists[member.list]! : member[name]))
  await t.app.sql(
    `with known as (
       insert into addresses (account_id, email, row_id, domain)
       select $1, e, 'row_' || md5($1 || e), 'people.example' from unnest($2::text[]) e
     )
     insert into contacts (account_id, row_id, list_id, email, fields, status, created_at, updated_at)
     select $1, 'row_' || md5($1 || email), list, email, jsonb_build_object('plan', plan, 'list', list), status, svc_now(),
       svc_now() - at * interval '1 minute'
     from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::int[]) m(email, list, status, plan, at)`,
    [account.id, emails, of('email'), of('list'), of('status'), of('plan'), of('updatedAt')],
  )
}

const create = (more: object) =>
  run((work) => createBroadcast(work, NewBroadcast.parse({ project: 'Spring', ...more })))
const steps = async (id: string) => {
  while ((await run((work) => advanceBroadcast(t.app, work, id)))?.isMore);
}
const begin = async (more: object) => {
  const { id } = await create(more)
  await run((work) => sendBroadcast(t.app, work, id))
  await run((work) => advanceBroadcast(t.app, work, id))
  return id
}
/** Returns address and list of the merge data of each message of a broadcast. */
const sentTo = async (id: string): Promise<[string, string][]> => {
  const rows = await t.app.sql<{ email: string; list: string }>(
    `select email, merge_data ->> 'list' as list from messages
     where account_id = $1 and key like 'broadcast:' || $2 || ':%' order by email`,
    [account.id, id],
  )
  const names = new Map(Object.entries(lists).map(([name, listId]) => [listId, name]))
  return rows.map(({ email, list }) => [email, names.get(list) ?? list])
}
const member = (n: number, list: string, more: Partial<Member> = {}): Member => ({
  ...{ email: `p${n}@people.example`, list, status: 'active', plan: 'free', updatedAt: 0 },
  ...more,
})

test('lists and segments add up, exclusions are left out, and each address gets one email, as computed in JavaScript', async () => {
  const random = randomOfTest()
  const members = Array.from({ length: 1500 }, (_, n) =>
    ['A', 'B', 'C'].flatMap((list) =>
      random.next() < 0.5
        ? member(n, list, {
            status: random.next() < 0.2 ? 'pending' : 'active',
            plan: random.pick(['free', 'pro']),
            updatedAt: random.between(0, 9999),
          })
        : [],
    ),
  ).flat()
  await add(members)
  await run((work) => createSegment(work, { name: 'Pros of B', list: 'B', where: 'plan = pro' }))
  await run((work) => createSegment(work, { name: 'Pros of C', list: 'C', where: 'plan = pro' }))
  const active = (list: string, plan?: string) =>
    members.filter((one) => one.list === list && one.status === 'active' && (!plan || one.plan === plan))
  const any = (list: string, plan?: string) =>
    members.filter((one) => one.list === list && (!plan || one.plan === plan))
  const expected = (included: Member[][], excluded: Member[][] = []) => {
    const out = new Set(excluded.flat().map(({ email }) => email))
    const chosen = new Map<string, string>()
    for (const { email, list } of included.flat()) if (!out.has(email) && !chosen.has(email)) chosen.set(email, list)
    return [...chosen].sort(([a], [b]) => (a < b ? -1 : 1))
  }
  const cases: [object, [string, string][]][] = [
    [{ list: ['B', 'A'] }, expected([active('B'), active('A')])],
    [
      { list: 'A', segment: ['Pros of B', 'Pros of C'] },
      expected([active('A'), active('B', 'pro'), active('C', 'pro')]),
    ],
    [{ list: ['A', 'B'], where: 'plan = pro' }, expected([active('A', 'pro'), active('B', 'pro')])],
    [{ list: 'A', excludeList: ['B', 'C'] }, expected([active('A')], [any('B'), any('C')])],
    [
      { list: ['A', 'C'], excludeSegment: 'Pros of B', excludeList: [] },
      expected([active('A'), active('C')], [any('B', 'pro')]),
    ],
    [
      { all: true, excludeList: 'C' },
      expected(
        [
          members
            .filter(({ status }) => status === 'active')
            .toSorted((a, b) => a.updatedAt - b.updatedAt || (lists[a.list]! < lists[b.list]! ? -1 : 1)),
        ],
        [any('C')],
      ),
    ],
  ]
  for (const [input, people] of cases) {
    const { id, recipients } = await create(input)
    expect(recipients).toBe(people.length)
    await run((work) => sendBroadcast(t.app, work, id))
    await steps(id)
    expect(await sentTo(id)).toEqual(people)
    expect(await run((work) => showBroadcast(work, id))).toMatchObject({
      recipients: people.length,
      queued: people.length,
    })
  }
})

test('who joins an excluded list after the beginning still gets the email; who leaves each named list does not', async () => {
  await add(Array.from({ length: 1200 }, (_, n) => [member(n, 'A'), member(n, 'B')]).flat())
  const id = await begin({ list: ['A', 'B'], excludeList: 'C' })
  const waiting = Array.from({ length: 1200 }, (_, n) => `p${n}@people.example`)
  const queued = new Set((await sentTo(id)).map(([email]) => email))
  expect(queued.size).toBe(500)
  const [one, two, three, four] = waiting.filter((email) => !queued.has(email))
  await t.app.sql('delete from contacts where account_id = $1 and email = $2', [account.id, one])
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email = $2 and list_id = $3`, [
    ...[account.id, two, lists.A],
  ])
  await run((work) => eraseContact(work, three!, { dryRun: false }))
  await run((work) => suppressAddresses(work, [four!], 'unsubscribed'))
  await steps(id)
  const sent = await sentTo(id)
  expect(sent).toHaveLength(1198)
  expect(sent.find(([email]) => email === one || email === three)).toBeUndefined()
  expect(sent.find(([email]) => email === two)).toEqual([two, 'B'])
  expect(sent.filter(([, list]) => list === 'A')).toHaveLength(1197)
  expect(await run((work) => showBroadcast(work, id))).toMatchObject({ suppressed: 1, queued: 1197 })
})

test('a list that is deleted during the sending takes those away who are only in it', async () => {
  await add([
    ...Array.from({ length: 600 }, (_, n) => member(n, 'A')),
    ...Array.from({ length: 600 }, (_, n) => member(n + 590, 'B')),
  ])
  const id = await begin({ list: ['A', 'B'] })
  const before = await sentTo(id)
  expect(before).toHaveLength(500)
  await deleteList(t.app, account.id, lists.A!, { actor: 'cli:test' })
  await steps(id)
  const gone = 590 - before.filter(([email]) => Number(/\d+/.exec(email)![0]) < 590).length
  expect(await sentTo(id)).toHaveLength(1190 - gone)
})

test('a named or an excluded list that is deleted before the beginning cancels the broadcast', async () => {
  await add([member(1, 'A'), member(2, 'B')])
  const at = new Date(t.app.now().getTime() + 3_600_000).toISOString()
  const ids: string[] = []
  for (const more of [{ list: ['A', 'B'] }, { list: 'A', excludeList: 'B' }]) {
    const { id } = await create({ ...more, at })
    await run((work) => sendBroadcast(t.app, work, id))
    ids.push(id)
  }
  await deleteList(t.app, account.id, lists.B!, { actor: 'cli:test' })
  await t.advance(3_600_000)
  for (const id of ids) {
    await steps(id)
    expect(await run((work) => showBroadcast(work, id))).toMatchObject({
      ...{ status: 'cancelled', reason: 'Its list was deleted', queued: 0 },
    })
  }
})

test('a draft shows its audience, which update changes part by part; test takes the data of the first list', async () => {
  await add([member(1, 'A', { plan: 'pro' }), member(1, 'B'), member(2, 'B'), member(3, 'C')])
  const segment = await run((work) => createSegment(work, { name: 'Pros', list: 'A', where: 'plan = pro' }))
  const { id } = await create({ list: ['B', 'A'], excludeSegment: 'Pros' })
  const { B, A, C } = lists
  expect(await run((work) => showBroadcast(work, id))).toMatchObject({
    ...{ listId: B, listIds: [B, A], excludeSegmentIds: [segment.id], recipients: 1 },
  })
  await expect(run((work) => deleteSegment(work, 'Pros'))).rejects.toMatchObject({ kind: 'conflict' })
  const plan = await run((work) => planBroadcast(t.app, work, id))
  expect(plan).toMatchObject({
    recipients: 1,
    mails: 1,
    audience: 'the list B and the list A, without the segment Pros',
  })
  const update = (changes: object) => run((work) => updateBroadcast(work, id, BroadcastChanges.parse(changes)))
  expect(await update({ excludeSegment: [] })).toMatchObject({ recipients: 2, listIds: [B, A] })
  expect(await update({ where: 'plan = pro' })).toMatchObject({ recipients: 1, listIds: [B, A], where: 'plan = pro' })
  expect(await update({ all: true, excludeList: 'C' })).toMatchObject({
    recipients: 2,
    listId: null,
    all: true,
    excludeListIds: [C],
  })
  const one = await update({ list: 'A', excludeList: [] })
  expect(one).toMatchObject({ listId: A, recipients: 1 })
  expect(Object.keys(one)).not.toContain('listIds')
  await update({ list: ['B', 'A'], subject: '{{ list }}' })
  await testBroadcast(t.app, account.id, 'cli:test', id, 'p1@people.example')
  expect(sink.mails.at(-1)!.header('subject')).toBe(`[Test] ${B}`)
  const other = await run((work) => createSegment(work, { name: 'Others', list: 'C', where: 'plan = free' }))
  await update({ segment: ['Pros', other.id] })
  await testBroadcast(t.app, account.id, 'cli:test', id, 'p3@people.example')
  expect(sink.mails.at(-1)!.header('subject')).toBe(`[Test] ${C}`)
  for (const input of [{}, { all: true, list: 'A' }, { segment: 'Pros', where: 'plan = pro' }, { excludeList: 'A' }])
    await expect(create(input)).rejects.toMatchObject({ kind: 'usage' })
  for (const input of [{ list: ['A', 'X'] }, { all: true, excludeList: 'X' }, { list: 'A', excludeSegment: 'X' }])
    await expect(create(input)).rejects.toMatchObject({ kind: 'not_found' })
})

test('a change of the exclusions leaves the filter with what it named when it was stored', async () => {
  await add([member(1, 'A', { plan: 'pro' }), member(2, 'A'), member(3, 'A')])
  await run((work) => createSegment(work, { name: 'Chosen', list: 'A', where: 'plan = pro' }))
  const { id } = await create({ list: 'A', where: 'segment = Chosen' })
  await run((work) => updateSegment(work, 'Chosen', { name: 'Pros' }))
  await run((work) => createSegment(work, { name: 'Chosen', list: 'A', where: 'plan = free' }))
  const update = (changes: object) => run((work) => updateBroadcast(work, id, BroadcastChanges.parse(changes)))
  expect(await update({ excludeList: 'C' })).toMatchObject({ recipients: 1, excludeListIds: [lists.C] })
  expect(await update({ where: 'segment = Chosen' })).toMatchObject({ recipients: 2, excludeListIds: [lists.C] })
})

test('an erased address is replaced in the filters of an audience', async () => {
  await add([member(1, 'A'), member(2, 'B')])
  await run((work) => createSegment(work, { name: 'Left out', list: 'B', where: 'email = P1@people.example' }))
  const where = 'email in (eve@people.example,\np1@people.example)'
  const { id } = await create({
    list: ['A', 'B'],
    where,
    excludeList: 'C',
    excludeSegment: 'Left out',
    replyTo: 'p1@people.example',
  })
  const person = await run((work) => readPerson(t.app, work, 'p1@people.example'))
  expect(person.broadcasts).toEqual([
    {
      ...{ id, name: 'Spring', replyTo: 'p1@people.example' },
      filters: [
        { list: 'A', where },
        { list: 'B', where },
        { list: 'B', segment: 'Left out', where: 'email = P1@people.example' },
      ],
    },
  ])
  await run((work) => eraseContact(work, 'p1@people.example', { dryRun: false }))
  expect(await run((work) => showBroadcast(work, id))).toMatchObject({
    where: 'email in (eve@people.example,\n@gone@)',
    replyTo: null,
  })
})
