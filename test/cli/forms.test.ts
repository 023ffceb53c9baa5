import { beforeEach, expect, test } from 'vitest'
import { type FormBench, formBench, publicUrl, useForms } from '../forms/support.ts'
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
const columns = async () => (await t.request('GET', '/lists', { key: bench.account.key })).body.lists[0].fields

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
  expect((await apply({ name: 'X', list: 'Nobody' })).stderr).toContain('list: there is no list Nobody')
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

test('delete asks, and deletes only the form', async () => {
  const { id } = await bench.form({ name: 'News' })
  await t.request('POST', `/f/${id}`, { body: { email: 'ada@acme.test' } })
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
