import { beforeEach, expect, test } from 'vitest'
import { applyProjects } from '../../src/studio/studio.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { sendingAccount } from '../support/messages.ts'
import { plainProject } from '../support/projects.ts'
import { useSink } from '../support/smtp.ts'

let account: TestAccount

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.mails.length = 0
})

const run = (args: string[], options: object = {}) => svc(t, ['--account', account.id, ...args], options)
const json = async (...args: string[]) => (await run([...args, '--json'])).json
const ada = 'ada@people.example'

test('topics are created, listed by name, and deleted', async () => {
  const news = await json('topics', 'create', '--name', ' News ', '--description', 'Once a\nmonth')
  expect(news).toEqual({
    id: expect.stringMatching(/^top_/),
    name: 'News',
    description: 'Once a month',
    createdAt: expect.any(Number),
  })
  const courses = await json('topics', 'create', '--name', 'Courses')
  expect(courses).toMatchObject({ description: '' })
  expect(await json('topics')).toEqual({ topics: [courses, news] })
  expect((await run(['topics', 'list'])).stdout).toContain('Once a month')

  await json('suppressions', 'add', ada, '--topic', 'News')
  expect(await run(['topics', 'delete', 'News'])).toMatchObject({ status: 2, stdout: '' })
  const dry = await run(['topics', 'delete', 'News', '--dry-run', '--json'])
  expect(dry.json).toEqual({ dryRun: true, ...news, left: 1 })
  expect(dry.stderr).toContain('delete the topic News, which 1 person left')
  expect((await json('topics')).topics).toHaveLength(2)
  expect(await json('topics', 'delete', news.id, '--yes')).toEqual({ ...news, left: 1 })
  expect((await json('suppressions')).suppressions).toEqual([])
  expect(await run(['topics', 'delete', 'News', '--yes'])).toMatchObject({ status: 3, stdout: '' })
  // The name is free again, and who left it has left the new one.
  expect((await json('topics', 'create', '--name', 'News')).id).not.toBe(news.id)
})

test('a name is unique in the account, bounded, and not empty; a dry run creates nothing', async () => {
  expect(await json('topics', 'create', '--name', 'News', '--dry-run')).toMatchObject({ dryRun: true, name: 'News' })
  expect((await json('topics')).topics).toEqual([])
  await json('topics', 'create', '--name', 'News')
  expect(await run(['topics', 'create', '--name', 'News'])).toMatchObject({ status: 6, stdout: '' })
  expect((await run(['topics', 'create', '--name', 'news'])).status).toBe(0)
  expect((await svc(t, ['topics', 'create', '--name', 'News', '--account', (await t.account()).id])).status).toBe(0)
  for (const name of ['', '  ', 'x'.repeat(101)])
    expect(await run(['topics', 'create', '--name', name])).toMatchObject({ status: 2, stdout: '' })
  const description = 'x'.repeat(501)
  expect((await run(['topics', 'create', '--name', 'Long', '--description', description])).status).toBe(2)
  expect(await run(['topics', 'create'])).toMatchObject({ status: 2, stdout: '' })
})

test('two at once make one topic, and an account has at most 50', async () => {
  const both = await Promise.all(['a', 'a'].map((name) => run(['topics', 'create', '--name', name])))
  expect(both.map(({ status }) => status).sort()).toEqual([0, 6])
  await t.app.sql(
    `insert into topics (id, account_id, name, description, created_at)
     select 'top_' || n || $1, $1, 'Topic ' || n, '', now() from generate_series(1, 48) n`,
    [account.id],
  )
  const last = await Promise.all(['b', 'c'].map((name) => run(['topics', 'create', '--name', name])))
  expect(last.map(({ status }) => status).sort()).toEqual([0, 6])
  expect(last.map(({ stderr }) => stderr).join()).toContain('An account can have 50 topics')
  expect((await json('topics')).topics).toHaveLength(50)
})

test('suppressions are added, listed and removed by topic', async () => {
  const { id } = await json('topics', 'create', '--name', 'News')
  await json('topics', 'create', '--name', 'Courses')
  const left = { email: ada, reason: 'unsubscribed', createdAt: expect.any(Number), topicId: id, topic: 'News' }
  expect(await json('suppressions', 'add', 'Ada@people.example', '--topic', 'News')).toEqual({ ...left, added: true })
  const again = ['suppressions', 'add', ada, '--topic', id, '--reason', 'unsubscribed']
  expect(await json(...again)).toEqual({ ...left, added: false })
  expect(await run(['suppressions', 'add', ada, '--topic', 'News', '--reason', 'manual'])).toMatchObject({ status: 2 })
  expect((await run(['suppressions', 'add', ada, '--topic', 'Nothing'])).status).toBe(3)
  expect(await json('suppressions', 'add', 'bob@people.example', '--topic', id, '--dry-run')).toMatchObject({
    dryRun: true,
  })
  await json('suppressions', 'add', ada, '--topic', 'Courses')
  await json('suppressions', 'add', ada)

  const { suppressions } = await json('suppressions')
  expect(suppressions).toEqual([
    { email: ada, reason: 'manual', createdAt: expect.any(Number), topicId: null, topic: null },
    { ...left, createdAt: expect.any(Number) },
    { ...left, topicId: expect.stringMatching(/^top_/), topic: 'Courses', createdAt: expect.any(Number) },
  ])
  expect((await json('suppressions', 'list', '--topic', 'News')).suppressions).toEqual([suppressions[1]])
  const pages = [await json('suppressions', 'list', '--limit', '2')]
  pages.push(await json('suppressions', 'list', '--limit', '2', '--cursor', pages[0].nextCursor))
  expect(pages.flatMap((page) => page.suppressions)).toEqual(suppressions)

  const remove = ['suppressions', 'remove', ada, '--topic', 'News']
  expect((await run([...remove, '--dry-run'])).stderr).toContain('although it was unsubscribed from News')
  expect(await json(...remove, '--yes')).toEqual({ email: ada, removed: ['unsubscribed'] })
  expect((await run([...remove, '--yes'])).status).toBe(3)
  expect((await run([...remove, '--reason', 'manual', '--yes'])).status).toBe(2)
  expect(await json('suppressions', 'remove', ada, '--yes')).toEqual({
    email: ada,
    removed: expect.arrayContaining(['manual', 'unsubscribed']),
  })
  expect((await json('suppressions')).suppressions).toEqual([])
})

test('the list of suppressions can be imported again', async () => {
  await json('topics', 'create', '--name', 'News')
  await json('suppressions', 'add', ada, '--topic', 'News')
  await json('suppressions', 'add', 'bob@people.example', '--reason', 'bounced')
  const rows: { email: string; reason: string; topic: string | null }[] = (await json('suppressions')).suppressions
  const csv = ['email,reason,topic', ...rows.map((row) => `${row.email},${row.reason},${row.topic ?? ''}`)].join('\n')
  await json('suppressions', 'remove', ada, '--yes')
  await json('suppressions', 'remove', 'bob@people.example', '--yes')
  const more = '\neve@people.example,,News\nmax@people.example,,Nothing\nzoe@people.example,bounced,News\n'
  const stdin = csv + more
  const dry = await run(['suppressions', 'import', '-', '--dry-run', '--json'], { stdin })
  expect([dry.status, dry.json]).toEqual([5, { dryRun: true, rows: 5, added: 3, known: 0, rejected: 2, warnings: [] }])
  const ran = await run(['suppressions', 'import', '-', '--json'], { stdin })
  expect([ran.status, ran.json]).toEqual([5, { rows: 5, added: 3, known: 0, rejected: 2, warnings: [] }])
  const found = (await json('suppressions')).suppressions
  expect(found).toMatchObject([
    { email: ada, reason: 'unsubscribed', topic: 'News' },
    { email: 'bob@people.example', reason: 'bounced', topic: null },
    { email: 'eve@people.example', reason: 'unsubscribed', topic: 'News' },
  ])
})

test('svc send --topic is for marketing; who has left it gets nothing, with the command that undoes it', async () => {
  await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [plainProject('Spring')]))
  const { id } = await json('topics', 'create', '--name', 'News')
  const send = ['send', '--to', ada, '--project', 'Spring', '--topic', 'News']
  expect(await run(send)).toMatchObject({ status: 2, stdout: '' })
  expect((await run([...send, '--type', 'marketing', '--topic', 'Nothing'])).status).toBe(3)
  const sent = await json(...send, '--type', 'marketing')
  // The relay of a slow machine may not answer within 10 s.
  expect(sent).toMatchObject({ status: expect.toBeOneOf(['sent', 'pending']) })
  expect(await json('sends', 'show', sent.id)).toMatchObject({ topicId: id })
  await json('suppressions', 'add', ada, '--topic', 'News')
  const ran = await run([...send, '--type', 'marketing'])
  expect(ran.stderr).toContain('not sent: the address has left the topic News')
  expect(ran.stderr).toContain(`svc suppressions remove ${ada} --topic ${id}`)
  await json('suppressions', 'add', ada, '--reason', 'unsubscribed')
  expect((await run([...send, '--type', 'marketing'])).stderr).toContain('the address is suppressed (unsubscribed)')
  expect(sink.mails.length).toBeOneOf(sent.status === 'sent' ? [1] : [0, 1])
})

test('broadcasts create --topic names the topic in its question and its output; the topic stays then', async () => {
  await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [plainProject('Spring')]))
  await json('lists', 'create', '--name', 'People')
  const { id } = await json('topics', 'create', '--name', 'News')
  const create = ['broadcasts', 'create', '--list', 'People', '--project', 'Spring', '--topic', 'News']
  const dry = await run([...create, '--dry-run', '--json'])
  expect(dry.json).toMatchObject({ dryRun: true, topicId: id })
  expect(dry.stderr).toContain('of the list People, about News:')
  const draft = await json(...create)
  expect(draft).toMatchObject({ status: 'draft', topicId: id })
  expect(await json('broadcasts', 'show', draft.id)).toMatchObject({ topicId: id })
  const refused = await run(['topics', 'delete', 'News', '--yes'])
  expect([refused.status, refused.stderr]).toEqual([
    6,
    expect.stringContaining('1 unsent broadcast will use the topic'),
  ])
  expect(await run(['topics', 'delete', 'News', '--dry-run'])).toMatchObject({ status: 6 })
  await json('broadcasts', 'cancel', draft.id)
  expect((await run(['topics', 'delete', 'News', '--yes'])).status).toBe(0)
})
