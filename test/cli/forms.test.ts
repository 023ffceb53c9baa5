import { beforeEach, expect, test } from 'vitest'
import { createList } from '../../src/contacts/contacts.ts'
import { deleteList } from '../../src/contacts/write/delete-list.ts'
import { type FormBench, formBench, publicUrl, useForms } from '../forms/support.ts'
import { ok } from '../support/app.ts'
import { svc } from '../support/cli.ts'

let bench: FormBench

const t = useForms()
beforeEach(async () => {
  bench = await formBench(t)
})

const run = (args: string[], stdin?: string) =>
  svc(t, ['forms', ...args, '--account', bench.account.id], { ...(stdin !== undefined && { stdin }) })
const json = async (...args: string[]) => {
  const ran = await run([...args, '--json'])
  expect([ran.stderr, ran.status]).toEqual(['', 0])
  return ran.json
}
const apply = (document: unknown, ...flags: string[]) => run(['apply', '-f', '-', ...flags], JSON.stringify(document))
const columns = async () => (await t.request('GET', '/lists', { key: bench.account.key })).body.lists[0]!.fields

test('create makes a form and shows its URL; its fields become columns of the list', async () => {
  const flags = ['--field', 'first_name', '--field', 'company', '--double-opt-in', '--origin', 'https://Shop.example/']
  const form = await json('create', '--name', 'News', '--list', 'Leads', ...flags)
  expect(form).toEqual({
    id: expect.stringMatching(/^frm_/),
    name: 'News',
    listId: bench.listId,
    fields: [
      { name: 'first_name', label: 'First name', type: 'text' },
      { name: 'company', label: 'Company', type: 'text' },
    ],
    doubleOptIn: true,
    origins: ['https://shop.example'],
    url: `${publicUrl}/f/${form.id}`,
    createdAt: expect.any(Number),
    updatedAt: expect.any(Number),
  })
  expect(await columns()).toEqual(['first_name', 'company'])
  expect(await json()).toEqual({ forms: [form] })
  expect((await run(['list', '-q'])).stdout).toBe(`${form.id}\n`)
})

test('create refuses a missing name or list (2), an unknown list (3), a taken name (6), an invalid field or origin (2)', async () => {
  const create = async (...flags: string[]) => (await run(['create', ...flags])).status
  const lacking = await run(['create'])
  expect([lacking.status, lacking.stdout, lacking.stderr]).toEqual([2, '', expect.stringContaining('--name, --list')])
  await bench.form({ name: 'News' })
  expect(await create('--name', 'Other', '--list', 'Nobody')).toBe(3)
  expect(await create('--name', 'News', '--list', 'Leads')).toBe(6)
  expect(await create('--name', 'Other', '--list', 'Leads', '--field', 'email', '--origin', '*')).toBe(2)
  expect((await json()).forms).toHaveLength(1)
})

test('apply creates forms from a file, updates them by name or id, and leaves unchanged ones', async () => {
  const plan = { name: 'plan', label: 'Your plan', type: 'select', options: ['Small', 'Large'], required: true }
  const file = { name: 'News', list: 'Leads', fields: ['first_name', plan] }
  const dry = await apply(file, '--dry-run', '--json')
  expect(dry.json).toMatchObject({ id: null, url: null, outcome: 'created', dryRun: true })
  expect([await columns(), (await json()).forms]).toEqual([[], []])
  const made = (await apply(file, '--json')).json
  expect(made).toMatchObject({ outcome: 'created', fields: [{ label: 'First name' }, plan], doubleOptIn: false })
  const changed = (await apply({ ...file, id: made.id, name: 'Letters', doubleOptIn: true }, '--json')).json
  expect(changed).toMatchObject({ id: made.id, name: 'Letters', doubleOptIn: true, outcome: 'updated' })
  // The output of show is valid input of apply.
  const { url, createdAt, updatedAt, ...shown } = await json('show', made.id)
  expect((await apply(shown, '--json')).json).toMatchObject({ outcome: 'unchanged', url, createdAt, updatedAt })
  expect(await columns()).toEqual(['first_name', 'plan'])
})

test('apply reports every error with its path, all or nothing; ids and names are separate for each account', async () => {
  const faulty = {
    name: 'X',
    list: 'Nobody',
    fields: [{ name: 'a', type: 'colour' }, 'email'],
    origins: ['x'],
    color: 1,
  }
  const ran = await run(
    ['apply', '-f', '-'],
    `${JSON.stringify({ name: 'Good', list: 'Leads' })}\n---\n${JSON.stringify(faulty)}`,
  )
  expect([ran.status, ran.stdout]).toEqual([2, ''])
  for (const part of ['fields[0].type must be one of', 'origins[0] must be an origin', 'unknown property color'])
    expect(ran.stderr).toContain(part)
  const lost = await apply({ name: 'X', list: 'Nobody' })
  expect(lost.stderr).toContain('list: there is no list Nobody')
  expect(lost.stderr).toContain('next: svc lists list')
  expect((await json()).forms).toEqual([])
  const { id } = (await apply({ name: 'Good', list: 'Leads' }, '--json')).json
  const stranger = await formBench(t)
  bench = stranger
  expect((await apply({ id, name: 'Mine', list: 'Leads' })).status).toBe(3)
  expect((await run(['submit', id, '--email', 'a@acme.test'])).status).toBe(3)
})

test('submit does the same as the page, and prints the status', async () => {
  const { id } = await bench.form({ name: 'News', doubleOptIn: true })
  const fields = ['--field', 'first_name=Ada=', '--field', 'role=admin']
  const ran = await run(['submit', 'News', '--email', ' ADA@acme.test', ...fields, '--json'])
  expect([ran.status, ran.json]).toEqual([0, { ok: true, status: 'pending' }])
  expect(ran.stderr).toBe('Ignored role: the form has no such field.\n')
  expect(await bench.contact()).toMatchObject({ status: 'pending', fields: { first_name: 'Ada=' } })
  expect(await bench.types()).toEqual(['contact.created', 'form.submitted'])
  expect(await bench.mails()).toHaveLength(1)
  expect((await run(['submit', id, '--email', 'nobody'])).status).toBe(2)
  expect(await run(['submit', id])).toMatchObject({ status: 2, stderr: expect.stringContaining('--email') })
})

test('update changes what is named: the rest, the id, the URL and the types of known fields stay', async () => {
  const plan = { name: 'plan', label: 'Your plan', type: 'select', options: ['Small', 'Large'], required: true }
  await t.app.work(bench.account.id, 'cli:test', (w) => createList(w, { name: 'Members' }))
  const before = await bench.form({ name: 'News', fields: ['first_name', plan], origins: ['https://shop.example'] })
  const other = await bench.form({ name: 'Other' })
  const update = (...flags: string[]) => json('update', before.id, ...flags)

  const dry = await run(['update', 'News', '--name', 'Letters', '--field', 'city', '--dry-run', '--json'])
  expect([dry.stderr, dry.json]).toEqual([
    'Nothing was changed.\n',
    expect.objectContaining({ dryRun: true, name: 'Letters' }),
  ])
  expect([await json('show', 'News'), await columns()]).toEqual([before, ['first_name', 'plan']])

  expect(await update('--name', 'Letters')).toEqual({ ...before, name: 'Letters', updatedAt: expect.any(Number) })
  const fielded = await update('--field', 'city', '--field', 'plan', '--yes')
  expect(fielded.fields).toEqual([{ name: 'city', label: 'City', type: 'text' }, plan])
  expect(await columns()).toEqual(['first_name', 'plan', 'city'])
  expect(await update('--double-opt-in', 'yes')).toMatchObject({ doubleOptIn: true, fields: fielded.fields })
  expect(await update('--double-opt-in', 'no')).toMatchObject({ doubleOptIn: false })
  expect(await update('--origin', 'https://a.example', '--origin', 'https://B.example/')).toMatchObject({
    origins: ['https://a.example', 'https://b.example'],
  })
  const bare = await update('--origin', 'none', '--field', 'none')
  expect(bare).toEqual({ ...before, name: 'Letters', fields: [], origins: [], updatedAt: expect.any(Number) })
  expect(await update('--origin', 'none')).toEqual(bare)
  const moved = await update('--list', 'Members', '--field', 'size')
  expect(moved.listId).not.toBe(before.listId)
  const { lists } = (await t.request('GET', '/lists', { key: bench.account.key })).body
  expect(lists.find(({ id }) => id === moved.listId)!.fields).toEqual(['size'])
  expect(await json('show', other.id)).toEqual(other)
})

test('update refuses nothing named (2), an unknown form or list (3), a taken name (6) and invalid values (2), and changes nothing', async () => {
  const { id } = await bench.form({ name: 'News' })
  await bench.form({ name: 'Other' })
  const stranger = await t.account()
  const before = await json()
  const status = async (...args: string[]) => (await run(['update', ...args])).status
  expect(await status(id)).toBe(2)
  expect(await status('Nothing', '--name', 'X')).toBe(3)
  expect(await status(id, '--list', 'Nobody', '--name', 'X')).toBe(3)
  expect(await status(id, '--name', 'Other')).toBe(6)
  expect(await status(id, '--name', ' ')).toBe(2)
  expect(await status(id, '--field', 'email')).toBe(2)
  expect(await status(id, '--field', 'a', '--field', 'none')).toBe(2)
  expect(await status(id, '--field', 'a', '--field', 'a')).toBe(2)
  expect(await status(id, '--origin', 'shop.example')).toBe(2)
  expect(await status(id, '--double-opt-in', 'maybe')).toBe(2)
  expect(await status(id, '--double-opt-in')).toBe(2)
  const many = Array.from({ length: 41 }, (_, n) => ['--field', `f${n}`])
  expect(await status(id, ...many.flat())).toBe(2)
  expect((await svc(t, ['forms', 'update', id, '--name', 'X', '--account', stranger.id])).status).toBe(3)
  expect(await json()).toEqual(before)
})

test('a form whose list was deleted can be renamed, and gets another list', async () => {
  const { id } = await bench.form({ name: 'News' })
  await deleteList(t.app, bench.account.id, bench.listId, { actor: 'cli:test' })
  expect(await json('update', id, '--name', 'Letters')).toMatchObject({ name: 'Letters' })
  expect((await run(['update', id, '--field', 'city'])).status).toBe(3)
  const list = await t.app.work(bench.account.id, 'cli:test', (w) => createList(w, { name: 'New' }))
  expect(await json('update', id, '--list', 'New')).toMatchObject({ name: 'Letters', listId: list.id })
  expect((await t.request('GET', `/f/${id}`)).status).toBe(200)
})

test('delete asks, and deletes only the form', async () => {
  const { id } = await bench.form({ name: 'News' })
  await ok(t.request('POST', `/f/${id}`, { body: { email: 'ada@acme.test' } }))
  expect(await run(['delete', 'News'])).toMatchObject({
    status: 2,
    stdout: '',
    stderr: expect.stringContaining('--yes'),
  })
  expect((await run(['delete', 'News', '--dry-run', '--json'])).json).toEqual({ id, name: 'News', dryRun: true })
  expect(await json('delete', 'News', '--yes')).toEqual({ id, name: 'News' })
  expect((await json()).forms).toEqual([])
  expect((await bench.contact()).status).toBe('active')
})

test('show --stats has its numbers by day beside the form', async () => {
  const { id } = await bench.form({ name: 'News' })
  for (const email of ['ada@acme.test', 'ada@acme.test', 'bob@acme.test'])
    await run(['submit', 'News', '--email', email])
  const numbers = { submissions: 3, confirmed: 3, people: 2 }
  const stats = { ...numbers, days: [{ date: expect.stringMatching(/^\d{4}-\d\d-\d\d$/), ...numbers }] }
  expect(await json('show', 'News', '--stats')).toEqual({ ...(await json('show', id)), stats })
})
