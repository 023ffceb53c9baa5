import { beforeEach, expect, test } from 'vitest'
import { findList } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

let account: TestAccount

const t = useApp()
beforeEach(async () => {
  await t.app.sql(
    `insert into mail_domains values ('example.org', 'mx', now() + interval '1 day') on conflict do nothing`,
  )
  account = await t.account()
  await run('lists', 'create', '--name', 'People', '--field', 'plan')
  for (const [email, plan] of [
    ['ada@example.org', 'pro'],
    ['bob@example.org', 'free'],
    ['eve@example.org', 'pro'],
  ])
    await run('contacts', 'upsert', '--list', 'People', '--email', email!, '--field', `plan=${plan}`)
})

const run = (...args: string[]) => svc(t, ['--account', account.id, ...args])
const json = async (...args: string[]) => (await run(...args, '--json')).json
const emails = async (...args: string[]): Promise<string[]> =>
  (await json('contacts', 'list', ...args)).contacts.map((contact: { email: string }) => contact.email)
const create = (where: string, name = 'Pros') =>
  run('segments', 'create', '--name', name, '--list', 'People', '--where', where, '--json')

test('a segment is created, listed, shown with its count, used by id and name, and deleted', async () => {
  const { json: made } = await create('plan = pro')
  const list = await json('lists', 'show', 'People')
  const segment = { name: 'Pros', listId: list.id, where: 'plan = pro' }
  expect(made).toEqual({ id: expect.stringMatching(/^seg_/), ...segment, createdAt: expect.any(Number) })
  expect(await json('segments')).toEqual({ segments: [made] })
  expect(await json('segments', 'show', 'Pros')).toEqual({ ...made, count: 2 })
  for (const ref of ['Pros', made.id])
    expect(await emails('--segment', ref)).toEqual(['ada@example.org', 'eve@example.org'])
  expect((await run('contacts', 'export', '--segment', 'Pros')).stdout).toBe(
    'email,plan,suppression\r\nada@example.org,pro,\r\neve@example.org,pro,\r\n',
  )
  await run('contacts', 'upsert', '--list', 'People', '--email', 'bob@example.org', '--field', 'plan=pro')
  expect((await json('segments', 'show', made.id)).count).toBe(3)
  expect(await run('segments', 'delete', 'Pros')).toMatchObject({ status: 2, stdout: '' })
  expect(await json('segments', 'delete', 'Pros', '--dry-run')).toMatchObject({ dryRun: true, id: made.id })
  expect((await json('segments')).segments).toHaveLength(1)
  expect(await json('segments', 'delete', 'Pros', '--yes')).toEqual(made)
  expect(await run('segments', 'show', 'Pros')).toMatchObject({ status: 3, stdout: '' })
  expect(await emails('--list', 'People')).toHaveLength(3)
})

test('--where narrows lists, pages, exports, and all lists', async () => {
  expect(await emails('--list', 'People', '--where', 'plan != pro')).toEqual(['bob@example.org'])
  expect(await emails('--where', 'plan = pro')).toEqual(['ada@example.org', 'eve@example.org'])
  const first = await json('contacts', 'list', '--list', 'People', '--where', 'plan = pro', '--limit', '1')
  expect(first.contacts).toMatchObject([{ email: 'ada@example.org' }])
  const rest = ['--where', 'plan = pro', '--limit', '1', '--cursor', first.nextCursor]
  expect(await emails('--list', 'People', ...rest)).toEqual(['eve@example.org'])
  const { stdout } = await run('contacts', 'export', '--list', 'People', '--where', 'email ~ BOB', '--json')
  expect(JSON.parse(stdout).contacts).toMatchObject([{ email: 'bob@example.org' }])
  const all = await run('contacts', 'list', '--list', 'People', '--where', 'plan = pro', '--jsonl')
  expect(all.stdout.trim().split('\n')).toHaveLength(2)
})

test('a mistake is exit 2 and names the column', async () => {
  const refused = async (where: string, message: string) => {
    const expected = { status: 2, stdout: '', stderr: expect.stringContaining(message) }
    expect(await run('contacts', 'list', '--list', 'People', '--where', where)).toMatchObject(expected)
    expect(await run('contacts', 'export', '--list', 'People', '--where', where)).toMatchObject(expected)
    expect(await create(where)).toMatchObject(expected)
  }
  await refused('field.plan = ', 'filter, column 14: expected a value after')
  await refused('mood = good', 'filter, column 1: unknown term')
  await refused('topic = News', 'filter, column 9: There is no topic News')
  await refused(
    'town = Vienna',
    'available: email, domain, status, created, updated, sample, sample.<salt>, verification, list, sent, bounced, suppression, opened',
  )
  await refused(`${'plan = a or '.repeat(9_999)}plan = a`, 'filter, column 4001: ')
  await refused('x'.repeat(4_001), 'filter, column 4001: ')
  expect((await json('segments')).segments).toEqual([])
  const combined = [
    ['--segment', 'Pros', '--where', 'plan = pro'],
    ['--segment', 'Pros', '--list', 'People'],
  ]
  for (const flags of combined) {
    expect(await run('contacts', 'list', ...flags)).toMatchObject({ status: 2, stdout: '' })
    expect(await run('contacts', 'export', ...flags)).toMatchObject({ status: 2, stdout: '' })
  }
  expect(await run('contacts', 'export', '--email', 'ada@example.org', '--where', 'plan = pro')).toMatchObject({
    status: 2,
  })
})

test('a name is used once; a segment of another account does not exist', async () => {
  await create('plan = pro')
  expect(await create('plan = free')).toMatchObject({ status: 6, stdout: '' })
  expect(await create('plan = free', ' ')).toMatchObject({ status: 2, stdout: '' })
  const { id } = await json('segments', 'show', 'Pros')
  account = await t.account()
  for (const ref of [id, 'Pros']) {
    expect(await run('segments', 'show', ref)).toMatchObject({ status: 3, stdout: '' })
    expect(await run('segments', 'delete', ref, '--yes')).toMatchObject({ status: 3, stdout: '' })
    expect(await run('contacts', 'list', '--segment', ref)).toMatchObject({ status: 3, stdout: '' })
  }
  expect((await json('segments')).segments).toEqual([])
})

test('a segment outlives its list, and says so', async () => {
  await create('plan = pro')
  const { id } = await t.app.work(account.id, 'cli:test', (work) => findList(work, 'People'))
  await deleteList(t.app, account.id, id, {
    actor: 'cli:test',
    signal: new AbortController().signal,
    onBatch: () => {},
  })
  const gone = { status: 3, stdout: '', stderr: expect.stringContaining('The list of the segment Pros was deleted') }
  expect(await run('segments', 'show', 'Pros')).toMatchObject(gone)
  expect(await run('contacts', 'list', '--segment', 'Pros')).toMatchObject(gone)
  expect(await run('contacts', 'export', '--segment', 'Pros')).toMatchObject(gone)
  expect((await json('segments')).segments).toHaveLength(1)
  expect(await json('segments', 'delete', 'Pros', '--yes')).toMatchObject({ name: 'Pros' })
})
