import { parse } from 'csv-parse/sync'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'

let account: TestAccount

const t = useApp()
beforeAll(async () => {
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
beforeEach(async () => {
  account = await t.account()
})

const run = (args: string[], stdin = '') => svc(t, ['--account', account.id, ...args], { stdin })
const json = async (args: string[], stdin = '') => (await run([...args, '--json'], stdin)).json

test('a list is created, shown by id and by name, renamed and listed', async () => {
  const made = await json(['lists', 'create', '--name', 'News', '--field', 'city', '--field', 'plan'])
  expect(made).toMatchObject({ name: 'News', fields: ['city', 'plan'], rowCount: 0 })
  expect(await json(['lists', 'show', 'News'])).toEqual(made)
  expect(await json(['lists', 'rename', made.id, 'Weekly'])).toMatchObject({ id: made.id, name: 'Weekly' })
  expect((await json(['lists'])).lists).toMatchObject([{ id: made.id, name: 'Weekly' }])
  expect(await run(['lists', 'create', '--name', 'Weekly'])).toMatchObject({ status: 6, stdout: '' })
  expect(await run(['lists', 'show', 'News'])).toMatchObject({ status: 3, stdout: '' })
  expect((await run(['lists', '-q'])).stdout).toBe(`${made.id}\n`)
})

test('an error repeats at most 100 characters of the input', async () => {
  const long = 'x'.repeat(5_000)
  await run(['lists', 'create', '--name', 'A'])
  for (const args of [
    ['lists', 'show', long],
    ['contacts', 'show', `${long}@example.org`],
    ['contacts', 'upsert', '--list', 'A', '--email', 'a@example.org', '--field', long],
    ['contacts', 'import', '-', '--list', 'A', '--map', long],
    ['contacts', 'import', '-', '--list', 'A', '--encoding', long],
    ['deals', 'show', long],
    ['webhooks', 'show', long],
    ['contacts', long],
    ['lists', '--fields', long],
    ['events', 'sample', long],
  ]) {
    const { status, stdout, stderr } = await run(args, 'email\na@example.org\n')
    expect([args.slice(0, 3).join(' ').slice(0, 40), status === 0, stdout]).toEqual([expect.any(String), false, ''])
    expect(stderr).not.toContain('x'.repeat(101))
  }
})

test('remove takes an address out of one list, asks first, and fires nothing', async () => {
  const [news, other] = [
    await json(['lists', 'create', '--name', 'News']),
    await json(['lists', 'create', '--name', 'Other']),
  ]
  const email = 'ada@example.org'
  for (const { id } of [news, other]) await json(['contacts', 'upsert', '--list', id, '--email', email])
  await json([
    'webhooks',
    'create',
    '--url',
    'https://hooks.example.com/',
    '--events',
    'contact.created,contact.updated',
  ])
  const before = await t.events(account.id)
  const remove = ['contacts', 'remove', ' ADA@example.org', '--list']
  const planned = { email, listId: news.id, contacts: 1, addresses: 0 }
  expect(await json([...remove, 'News', '--dry-run'])).toEqual({ dryRun: true, ...planned })
  expect(await run([...remove, 'News'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining(
      'This would remove ada@example.org from the list News; it stays in its other lists; no event fires: it needs --yes',
    ),
  })
  expect((await json(['contacts', 'show', email])).contacts).toHaveLength(2)
  expect(await json([...remove, 'News', '--yes'])).toEqual(planned)
  expect((await json(['contacts', 'show', email])).contacts).toMatchObject([{ listId: other.id }])
  expect((await json(['lists'])).lists).toMatchObject([
    { name: 'News', rowCount: 0 },
    { name: 'Other', rowCount: 1 },
  ])
  expect(await run([...remove, 'News', '--yes'])).toMatchObject({
    status: 3,
    stderr: expect.stringContaining('ada@example.org is not in the list News'),
  })
  expect(await run([...remove, 'Nowhere', '--yes'])).toMatchObject({ status: 3, stdout: '' })
  expect(await run(['contacts', 'remove', email, '--yes'])).toMatchObject({ status: 2, stdout: '' })
  expect((await run([...remove, 'Other'])).stderr).toContain('its last one, so it leaves the account')
  expect(await json([...remove, 'Other', '--yes'])).toEqual({ ...planned, listId: other.id, addresses: 1 })
  expect(await run(['contacts', 'show', email])).toMatchObject({ status: 3 })
  expect(await t.events(account.id)).toEqual(before)
})

test('contacts remove names the deals that get another list and the runs that end, and --dry-run changes none of them', async () => {
  const [news, other] = [
    await json(['lists', 'create', '--name', 'News']),
    await json(['lists', 'create', '--name', 'Other']),
  ]
  const email = 'ada@example.org'
  for (const { id } of [other, news]) await json(['contacts', 'upsert', '--list', id, '--email', email])
  const file = 'name: Hand\ntrigger: { kind: manual }\nexitOn: [list-removed]\nsteps: [{ kind: delay, for: 1h }]\n'
  await json(['journeys', 'apply', '-f', '-'], file)
  await json(['journeys', 'enable', 'Hand'])
  await json(['journeys', 'trigger', 'Hand', '--list', 'News', '--email', email])
  const { runs } = await json(['journeys', 'runs', 'Hand'])
  const { id } = await json(['deals', 'create', '--title', 'Roof', '--email', email])
  await t.app.sql('update deals set list_id = $2 where id = $1', [id, news.id])
  const remove = ['contacts', 'remove', email, '--list', 'News']
  const planned = {
    ...{ email, listId: news.id, contacts: 1, addresses: 0 },
    ...{ deals: [{ id, title: 'Roof', listId: other.id }], runs: [runs[0].id] },
  }
  expect(await json([...remove, '--dry-run'])).toEqual({ dryRun: true, ...planned })
  expect((await run(remove)).stderr).toContain('1 deal will name another list; 1 journey run will end; no event fires')
  expect(await json(['deals', 'show', id])).toMatchObject({ listId: news.id })
  expect((await json(['journeys', 'runs', 'Hand'])).runs).toEqual(runs)
  expect(await json([...remove, '--yes'])).toEqual(planned)
  expect(await json(['deals', 'show', id])).toMatchObject({ listId: other.id })
  expect((await json(['journeys', 'runs', 'Hand'])).runs).toMatchObject([{ status: 'exited' }])
})

test('a missing flag is named, exit 2, and no question is asked in a pipe', async () => {
  expect(await run(['lists', 'create'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--name'),
  })
  const ran = await run(['contacts', 'upsert'])
  expect(ran).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(/--list.*--email/) })
})

test('a contact is upserted, shown in each of its lists, and listed page by page', async () => {
  await run(['lists', 'create', '--name', 'A'])
  await run(['lists', 'create', '--name', 'B'])
  const made = await json([
    'contacts',
    'upsert',
    '--list',
    'A',
    '--email',
    ' Ann@Example.org',
    '--field',
    'city=Rome=x',
  ])
  expect(made).toMatchObject({ created: 1, updated: 0, skipped: 0 })
  expect(made.contact).toMatchObject({ email: 'ann@example.org', fields: { city: 'Rome=x' }, listName: 'A' })
  expect(await json(['contacts', 'upsert', '--list', 'A', '--email', 'ann@example.org'])).toMatchObject({ updated: 1 })
  await run(['contacts', 'upsert', '--list', 'B', '--email', 'ann@example.org'])
  await run(['contacts', 'upsert', '--list', 'B', '--email', 'bob@example.org'])
  const shown = (await json(['contacts', 'show', 'ANN@example.org'])).contacts
  expect(shown.map((contact: { listName: string }) => contact.listName)).toEqual(['B', 'A'])
  const first = await json(['contacts', 'list', '--limit', '2'])
  expect(first.contacts).toHaveLength(2)
  const second = await json(['contacts', 'list', '--limit', '2', '--cursor', first.nextCursor])
  expect(second.contacts).toMatchObject([{ email: 'bob@example.org' }])
  expect(second.nextCursor).toBeUndefined()
  expect((await json(['contacts', '--list', 'A'])).contacts).toHaveLength(1)
  expect(await run(['contacts', 'show', 'none@example.org'])).toMatchObject({ status: 3, stdout: '' })
  expect(await run(['contacts', 'upsert', '--list', 'A', '--email', '', '--field', 'x'])).toMatchObject({ status: 2 })
  expect(await run(['contacts', '--limit', '0'])).toMatchObject({ status: 2, stdout: '' })
  expect(await run(['contacts', '--cursor', 'nonsense'])).toMatchObject({ status: 2, stdout: '' })
})

test('an upsert fires the same events as the API; with --no-events none, and no journey starts', async () => {
  const list = await json(['lists', 'create', '--name', 'A'])
  await createWebhook(
    t.app,
    account.id,
    'cli:test',
    { url: 'https://example.com/', events: ['contact.created', 'contact.updated'] },
    { createdVia: 'api', trusted: true },
  )
  const upsert = (email: string, city: string, ...more: string[]) =>
    run(['contacts', 'upsert', '--list', 'A', '--email', email, '--field', `city=${city}`, ...more])
  const api = (email: string, city: string) =>
    t.request('POST', '/contacts', { key: account.key, body: { listId: list.id, email, fields: { city } } })
  await upsert('ann@example.org', 'Rome')
  await upsert('ann@example.org', 'Rome')
  await upsert('ann@example.org', 'Oslo')
  const fired = (await t.events<'contact.created' | 'contact.updated'>(account.id)).map(({ type, data }) => [
    type,
    data.contact.fields,
    'previous' in data ? data.previous : {},
  ])
  await ok(api('bob@example.org', 'Rome'))
  await ok(api('bob@example.org', 'Rome'))
  await ok(api('bob@example.org', 'Oslo'))
  const byApi = (await t.events<'contact.created' | 'contact.updated'>(account.id)).slice(fired.length)
  expect(fired).toEqual(
    byApi.map(({ type, data }) => [type, data.contact.fields, 'previous' in data ? data.previous : {}]),
  )
  expect(fired.map(([type]) => type)).toEqual(['contact.created', 'contact.updated'])
  expect((await upsert('cyd@example.org', 'Rome', '--no-events')).status).toBe(0)
  expect((await upsert('ann@example.org', 'Bern', '--no-events')).status).toBe(0)
  expect(await t.events(account.id)).toHaveLength(4)
  expect(
    await run(['contacts', 'upsert', '--list', 'A', '--email', 'a@example.org', '--field', 'email=x']),
  ).toMatchObject({ status: 2, stderr: expect.stringContaining('a field named email') })
  expect(await run(['lists', 'create', '--name', 'C', '--field', 'email'])).toMatchObject({ status: 2 })
})

const awkward = 'email,note,city\n1@example.org,"a, ""b""; c\r\nd",Łódź\n2@example.org, blanks ,\n'

test('an exported list imports unchanged, and its JSON forms are whole contacts', async () => {
  await run(['contacts', 'import', '-', '--list', 'A', '--create-list'], awkward)
  const csv = await run(['contacts', 'export', '--list', 'A'])
  expect(csv).toMatchObject({ status: 0, stderr: '' })
  // Contacts of the same write have no defined order.
  const lines = ['1@example.org,"a, ""b""; c\r\nd",Łódź,\r\n', '2@example.org," blanks ",,\r\n']
  const head = 'email,note,city,suppression\r\n'
  expect([head + lines.join(''), head + lines.reverse().join('')]).toContain(csv.stdout)
  expect(await json(['contacts', 'import', '-', '--list', 'A'], csv.stdout)).toMatchObject({ unchanged: 2, rows: 2 })
  const whole = (await json(['contacts', 'list', '--list', 'A'])).contacts
  expect((await json(['contacts', 'export', '--list', 'A'])).contacts).toEqual(whole)
  const objects = (await run(['contacts', 'export', '--list', 'A', '--format', 'jsonl'])).stdout.trim().split('\n')
  expect(objects.map((line) => JSON.parse(line))).toEqual(whole)
})

test('lists, show and exports say why an address gets no marketing; the API does not', async () => {
  await run(['lists', 'create', '--name', 'A', '--field', 'city'])
  const names = ['ada', 'bob', 'cid', 'dan', 'eve', 'fay']
  for (const name of names)
    await run(['contacts', 'upsert', '--list', 'A', '--email', `${name}@example.org`, '--field', `city=${name}`])
  await json(['topics', 'create', '--name', 'News'])
  await run(['suppressions', 'add', 'ada@example.org', '--reason', 'unsubscribed'])
  await run(['suppressions', 'add', 'bob@example.org', '--reason', 'manual'])
  await run(['suppressions', 'add', 'bob@example.org', '--reason', 'unsubscribed'])
  await run(['suppressions', 'add', 'cid@example.org', '--topic', 'News'])
  await t.app.sql(
    `update addresses set verification_status = 'invalid', verification_reasons = '{no_mx}', verified_at = now()
     where account_id = $1 and email = 'dan@example.org'`,
    [account.id],
  )
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email in ($2, $3)`, [
    account.id,
    'eve@example.org',
    'fay@example.org',
  ])
  // In another list it is active.
  await run(['lists', 'create', '--name', 'B'])
  await run(['contacts', 'upsert', '--list', 'B', '--email', 'fay@example.org'])
  const expected = ['unsubscribed', 'manual', '', 'invalid', 'pending', '']
  const reasons = (contacts: { email: string; suppression: string }[]) =>
    names.map((name) => contacts.find(({ email }) => email.startsWith(name))!.suppression)
  expect(reasons((await json(['contacts', 'list', '--list', 'A'])).contacts)).toEqual(expected)
  expect(reasons((await json(['contacts', 'export', '--list', 'A'])).contacts)).toEqual(expected)
  const shown = await Promise.all(names.map((name) => json(['contacts', 'show', `${name}@example.org`])))
  expect(reasons(shown.flatMap(({ contacts }) => contacts))).toEqual(expected)
  const { stdout } = await run(['contacts', 'export', '--list', 'A'])
  const [head, ...rows] = parse(stdout)
  expect(head).toEqual(['email', 'city', 'suppression'])
  expect(rows.map(([, city, reason]: string[]) => [city, reason]).sort()).toEqual(
    names.map((name, i) => [name, expected[i]]),
  )
  // An import leaves the column out, unless it is mapped.
  expect(await json(['contacts', 'import', '-', '--list', 'A'], stdout)).toMatchObject({ unchanged: 6 })
  expect((await json(['lists', 'show', 'A'])).fields).toEqual(['city'])
  await json(['contacts', 'import', '-', '--list', 'A', '--map', 'suppression=suppression'], stdout)
  expect((await run(['contacts', 'export', '--list', 'A'])).stdout.split('\r\n')[0]).toBe(
    'email,city,suppression,suppression_reason',
  )
  const { body } = await ok(t.request('GET', '/contacts?email=ada@example.org', { key: account.key }))
  expect((body as { contacts: object[] }).contacts[0]).not.toHaveProperty('suppression')
})

test('--safe puts a quote before cells that a spreadsheet would run, in CSV only; without it they are as stored', async () => {
  const cells = [
    '=HYPERLINK("http://x.example")',
    '+1+cmd',
    '-2+3',
    '@SUM(A1)',
    '\t=1',
    '＝1',
    '-12.5',
    '+49',
    'a=b',
    '',
  ]
  const fields = cells.flatMap((cell, i) => ['--field', `f${i}=${cell}`])
  await run(['lists', 'create', '--name', 'Sheet'])
  await run(['contacts', 'upsert', '--list', 'Sheet', '--email', '=a@example.org', ...fields])
  const rowOf = async (...flags: string[]) =>
    parse((await run(['contacts', 'export', '--list', 'Sheet', ...flags])).stdout, { relax_column_count: true })[1]
  expect(await rowOf()).toEqual(['=a@example.org', ...cells, ''])
  const safe = cells.map((cell, i) => (i < 6 ? `'${cell}` : cell))
  expect(await rowOf('--safe')).toEqual(["'=a@example.org", ...safe, ''])
  expect((await run(['contacts', 'export', '--list', 'Sheet', '--safe', '--format', 'jsonl'])).status).toBe(2)
  const onTerminal = async (...flags: string[]) =>
    (await svc(t, ['contacts', 'export', '--list', 'Sheet', '--account', account.id, ...flags], { tty: {} })).stdout
  expect(await onTerminal()).toContain("'=HYPERLINK")
  expect(await onTerminal('--raw')).not.toContain("'=HYPERLINK")
  expect((await run(['contacts', 'export', '--list', 'Sheet', '--safe', '--raw'])).status).toBe(2)
})

test('a list is deleted only with --yes, and --dry-run counts the contacts to delete', async () => {
  await run(['contacts', 'import', '-', '--list', 'A', '--create-list'], awkward)
  await run(['contacts', 'import', '-', '--list', 'B', '--create-list'], 'email\n1@example.org\n')
  expect(await run(['lists', 'delete', 'A'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--yes'),
  })
  expect(await json(['lists', 'delete', 'A', '--dry-run'])).toMatchObject({ contacts: 2, addresses: 1, dryRun: true })
  expect((await json(['lists'])).lists).toHaveLength(2)
  expect(await json(['lists', 'delete', 'A', '--yes'])).toMatchObject({ name: 'A', contacts: 2, addresses: 1 })
  expect((await json(['contacts'])).contacts).toMatchObject([{ email: '1@example.org', listName: 'B' }])
})

test('an address is erased from every list only with --yes', async () => {
  for (const list of ['A', 'B']) await run(['contacts', 'import', '-', '--list', list, '--create-list'], awkward)
  expect(await run(['contacts', 'erase', '1@example.org'])).toMatchObject({ status: 2, stdout: '' })
  expect(await json(['contacts', 'erase', '1@example.org', '--dry-run'])).toMatchObject({ contacts: 2, dryRun: true })
  expect(await json(['contacts', 'erase', '1@Example.org', '--yes'])).toEqual({
    email: '1@example.org',
    contacts: 2,
    rejects: 0,
  })
  expect(await run(['contacts', 'show', '1@example.org'])).toMatchObject({ status: 3 })
  expect((await json(['lists'])).lists.map((list: { rowCount: number }) => list.rowCount)).toEqual([1, 1])
})

test('a list is verified again, with the count of each verification status', async () => {
  await run(
    ['contacts', 'import', '-', '--list', 'A', '--create-list'],
    'email\na@example.org\nadmin@example.org\nnone\n',
  )
  const counts = { verified: 3, valid: 1, risky: 1, invalid: 1, unknown: 0 }
  expect(await json(['contacts', 'verify', '--list', 'A'])).toEqual(counts)
  expect(await json(['contacts', 'verify', 'A@example.org'])).toMatchObject({ verified: 1, valid: 1 })
  expect(await run(['contacts', 'verify'])).toMatchObject({ status: 2, stdout: '' })
})

test('each read with a key is in the access log, newest first', async () => {
  await run(['contacts', 'import', '-', '--list', 'A', '--create-list'], awkward)
  await ok(t.request('GET', '/contacts?email=1@example.org', { key: account.key }))
  await ok(t.request('GET', '/contacts?email=none@example.org', { key: account.key }))
  const { accessLog } = await json(['access-log'])
  const actor = `key:${account.keyId}`
  expect(accessLog).toMatchObject([
    { actor, email: 'none@example.org', found: 0 },
    { actor, email: '1@example.org', found: 1 },
  ])
})

test('a write that waits too long for a lock is exit 7 with a reason, and writes nothing', async () => {
  const { id } = await json(['lists', 'create', '--name', 'A'])
  await t.app.work(account.id, 'cli:test', async ({ sql }) => {
    await sql('select from contact_lists where id = $1 for update', [id])
    expect(await run(['contacts', 'upsert', '--list', 'A', '--email', 'ann@example.org'])).toMatchObject({
      ...{ status: 7, stdout: '' },
      stderr: 'error: The database is too busy: try again\n  next: svc doctor\n',
    })
  })
  expect(await run(['contacts', 'show', 'ann@example.org'])).toMatchObject({ status: 3 })
})
