import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { drawTree, type TreeStep } from '../../src/journeys/journeys.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { addPeople } from '../support/broadcasts.ts'
import { svc } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'

let account: TestAccount
let folder: string

const dns = useDnsServer()
const t = useApp(() => ({ env: { SVC_DNS_SERVERS: dns.address } }))
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-journeys-'))
})
beforeEach(async () => {
  account = await t.account()
  await json('lists', 'create', '--name', 'Customers')
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (args: string[], stdin?: string) =>
  svc(t, [...args, '--account', account.id], { ...(stdin !== undefined && { stdin }) })
const json = async (...args: string[]) => {
  const ran = await run([...args, '--json'])
  expect(ran.stderr).toBe('')
  expect(ran.status).toBe(0)
  return ran.json
}
const journeys = async (...args: string[]) => json('journeys', ...args)
const apply = (source: string, ...flags: string[]) => run(['journeys', 'apply', '-f', '-', ...flags], source)
const count = async () =>
  (await t.app.sql<{ count: number }>('select count(*) from journeys where account_id = $1', [account.id]))[0]!.count

const welcome = `
name: Welcome
trigger: { kind: api }
exitOn: [list-removed]
steps:
  - kind: delay
    for: 2d
  - kind: branch
    if: { field: plan, equals: pro }
    then:
      - { kind: add-to-list, list: Customers }
`

test('apply creates a journey from a file, updates it by name, and leaves it as it is if nothing changed', async () => {
  const file = join(folder, 'welcome.yaml')
  await writeFile(file, welcome)
  const made = await journeys('apply', '-f', file)
  expect(made).toMatchObject({ name: 'Welcome', enabled: true, triggerKind: 'api', version: 1, outcome: 'created' })
  expect(await journeys('apply', '-f', file)).toEqual({ ...made, outcome: 'unchanged' })
  await writeFile(file, welcome.replace('2d', '3d'))
  expect(await journeys('apply', '-f', file)).toMatchObject({ id: made.id, version: 2, outcome: 'updated' })
})

test('show keeps the id of a stage on a terminal, with its name beside it: another pipeline may have that name, too', async () => {
  const { stages } = await json('pipelines', 'create', '--name', 'Renewals')
  const stage = stages.find((one: { name: string }) => one.name === 'Won').id
  const source = `{name: Renew, trigger: {kind: api}, steps: [{kind: move-deal, stage: ${stage}}]}`
  expect((await apply(source)).status).toBe(0)
  const shown = await svc(t, ['journeys', 'show', 'Renew', '--account', account.id], { tty: {} })
  expect(shown.stdout).toContain(`stage: ${stage} # Won\n`)
})

test('test shows each step with its time, and leaves nothing behind', async () => {
  await json('contacts', 'upsert', '--email', 'ada@example.com', '--list', 'Customers')
  const test = (...flags: string[]) => run(['journeys', 'test', '-f', '-', ...flags], welcome)
  const ran = await test('--contact', 'Ada@example.com', '--data', 'plan=pro', '--json')
  expect(ran.json).toMatchObject({
    journey: 'Welcome',
    email: 'ada@example.com',
    status: 'completed',
    steps: [
      { step: 'steps[0]', kind: 'delay', outcome: 'waits', until: expect.any(Number) },
      { step: 'steps[1]', kind: 'branch', outcome: 'then', detail: 'plan is "pro"; the condition is equals "pro"' },
      { step: 'steps[1].then[0]', kind: 'add-to-list', outcome: 'was in the list', detail: 'Customers' },
    ],
  })
  const fields = join(folder, 'fields.json')
  await writeFile(fields, JSON.stringify({ plan: 'pro' }))
  const byFile = await test('--contact', 'ada@example.com', '--data', `@${fields}`, '--json')
  expect(byFile.json.steps).toMatchObject(
    ran.json.steps.map(({ kind, outcome }: { kind: string; outcome: string }) => ({ kind, outcome })),
  )
  expect(ran.stderr).toMatch(/^The run would end at .*: completed\. Nothing was sent or changed\.\n$/)
  expect(await count()).toBe(0)
  expect((await test('--contact', 'none@example.com')).status).toBe(3)
  const file = welcome.replace('Customers', 'Nobody')
  const lost = await run(['journeys', 'test', '-f', '-', '--contact', 'ada@example.com'], file)
  expect(lost.stderr).toMatch(/there is no list Nobody\n {2}next: svc lists list\n$/)
  expect((await test('--contact', 'ada@example.com', '--data', 'plan')).status).toBe(2)
})

test('show --tree counts the open runs at each step, of older versions too', async () => {
  const { id } = (await apply(welcome, '--json')).json
  const insert = (version: number, cursor: unknown, status: string, many: number) =>
    t.app.sql(
      `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, cursor, due_at, context, entered_at)
       select $1, concat('run_', $3::text, $4::text, $5::text, n), $2, $3::int, 'lst', 'row' || n, '', $5, $4::jsonb, now() + interval '1 day', '{}', now()
       from generate_series(1, $6::int) n`,
      [account.id, id, String(version), cursor === null ? null : JSON.stringify(cursor), status, many],
    )
  await insert(1, [0], 'waiting', 3)
  await insert(1, [1, 'then', 0], 'running', 2)
  await insert(1, null, 'completed', 4)
  const before = await journeys('show', 'Welcome', '--tree')
  expect(before).toMatchObject({ id, name: 'Welcome', version: 1, openRuns: 5 })
  expect(before.steps).toEqual([
    { version: 1, step: 'steps[0]', id: null, kind: 'delay', summary: '2d', runs: 3 },
    { version: 1, step: 'steps[1]', id: null, kind: 'branch', summary: 'plan equals "pro"', runs: 0 },
    { version: 1, step: 'steps[1].then[0]', id: null, kind: 'add-to-list', summary: expect.any(String), runs: 2 },
  ])
  await apply(welcome.replace('2d', '3d'))
  const { steps } = await journeys('show', 'Welcome', '--tree')
  expect(steps.map(({ version, runs }: { version: number; runs: number }) => [version, runs])).toEqual([
    ...[
      [2, 0],
      [2, 0],
      [2, 0],
    ],
    ...[
      [1, 3],
      [1, 0],
      [1, 2],
    ],
  ])
})

test('show --tree names lists, projects and stages; one that was deleted has its id, as all have in JSON', async () => {
  const project = { name: 'Spring mail', theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: 'Hi' } }] }
  const { json: made } = await run(['projects', 'apply', '-f', '-', '--json'], JSON.stringify(project))
  await json('lists', 'create', '--name', 'Gone')
  const steps = [
    { kind: 'add-to-list', list: 'Customers' },
    { kind: 'remove-from-list', list: 'Gone' },
    { kind: 'send-email', project: 'Spring mail', type: 'transactional' },
    { kind: 'create-deal', title: 'Annual plan' },
    { kind: 'move-deal', stage: 'Won' },
  ]
  await apply(JSON.stringify({ name: 'Names', trigger: { kind: 'manual' }, steps }))
  const ids = (await journeys('show', 'Names', '--tree')).steps.map(({ summary }: TreeStep) => summary)
  expect(ids[2]).toBe(made.id)
  await t.app.sql(`delete from contact_lists where account_id = $1 and id = $2`, [account.id, ids[1]])
  const { stdout } = await run(['journeys', 'show', 'Names', '--tree'])
  const summaries = stdout
    .trimEnd()
    .split('\n')
    .map((line) => line.split('\t')[3])
  expect(summaries).toEqual(['Customers', ids[1], 'Spring mail', 'Annual plan', 'Won'])
})

test('show --tree has the filter of a wait', async () => {
  const step = '{ kind: wait-for, event: deal.created, where: deal.value >= 1000, timeout: "2d", then: [], else: [] }'
  await apply(`{ name: Waits, trigger: { kind: manual }, steps: [${step}] }`)
  const { steps } = await journeys('show', 'Waits', '--tree')
  expect(steps[0].summary).toBe('deal.created, deal.value >= 1000, at most 2d')
})

test('the tree draws which steps belong to a side', () => {
  const step = (path: string, kind: TreeStep['kind']): TreeStep => ({
    version: 1,
    step: path,
    id: null,
    kind,
    summary: '',
    runs: 0,
  })
  const steps = [
    step('steps[0]', 'branch'),
    step('steps[0].then[0]', 'split'),
    step('steps[0].then[0].a[0]', 'exit'),
    step('steps[0].else[0]', 'exit'),
    step('steps[1]', 'delay'),
  ]
  expect([...drawTree(steps, false).values()]).toEqual([
    '├─ branch',
    '│  ├─ then: split',
    '│  │  └─ a: exit',
    '│  └─ else: exit',
    '└─ delay',
  ])
})

test('--dry-run says what would change, and changes nothing', async () => {
  const ran = await apply(welcome, '--dry-run', '--json')
  expect(ran.json).toMatchObject({ id: null, outcome: 'created', dryRun: true })
  expect(ran.stderr).toBe('Nothing was changed.\n')
  expect(await count()).toBe(0)
})

test('several documents in one file are applied all or nothing', async () => {
  const both = `${welcome}---\n{"name": "Second", "trigger": {"kind": "manual"}, "steps": [{"kind": "exit"}]}`
  expect((await apply(both.replace('exit', 'leave'))).status).toBe(2)
  expect(await count()).toBe(0)
  const ran = await apply(both, '--json')
  expect(ran.json.journeys.map((one: { name: string; outcome: string }) => [one.name, one.outcome])).toEqual([
    ['Welcome', 'created'],
    ['Second', 'created'],
  ])
})

test('all errors are reported at once on stderr, each with its path, and the exit status is 2', async () => {
  const ran = await apply(welcome.replace('Customers', 'Nobody').replace('2d', 'soon'))
  expect(ran).toMatchObject({ status: 2, stdout: '' })
  expect(ran.stderr).toContain('steps[0].for must be a duration')
  expect(ran.stderr).toContain('steps[1].then[0].list: there is no list Nobody')
  const asJson = await apply('name: [', '--json')
  expect(asJson).toMatchObject({ status: 2, stdout: '' })
  expect(JSON.parse(asJson.stderr).error).toMatch(/^The file can't be read/)
})

test('a missing file is exit 3, a folder exit 2, no file exit 2, an unknown id exit 3', async () => {
  expect((await run(['journeys', 'apply', '-f', join(folder, 'nope.yaml')])).status).toBe(3)
  expect((await run(['journeys', 'apply', '-f', folder])).status).toBe(2)
  const none = await run(['journeys', 'apply'])
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('--file') })
  expect((await apply(`id: jrn_none${welcome}`)).status).toBe(3)
})

test('apply accepts the output of show as unchanged', async () => {
  const made = (await apply(welcome, '--json')).json
  const shown = await run(['journeys', 'show', 'Welcome'])
  expect(shown.stdout).toContain('for: 2d')
  expect((await apply(shown.stdout, '--json')).json).toEqual({ ...made, outcome: 'unchanged' })
  expect(await journeys('show', made.id)).toMatchObject({ id: made.id, version: 1, definition: { reentry: 'never' } })
  expect((await run(['journeys', 'show', 'Nobody'])).status).toBe(3)
})

test('stored text that show prints can not move the cursor', async () => {
  const title = '"\\u001b[31mred\\u009b2J"'
  await apply(`{name: Colours, trigger: {kind: manual}, steps: [{kind: create-deal, title: ${title}}]}`)
  const { stdout } = await run(['journeys', 'show', 'Colours'])
  expect(stdout).toContain('red')
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain control characters
  expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/)
})

test('the bare noun lists, optionally by trigger', async () => {
  await apply(`${welcome}---\n{name: Hand, trigger: {kind: manual}, steps: [{kind: exit}]}`)
  const names = ({ journeys }: { journeys: { name: string }[] }) => journeys.map(({ name }) => name).sort()
  expect(names(await journeys())).toEqual(['Hand', 'Welcome'])
  expect(names(await journeys('list', '--trigger', 'manual'))).toEqual(['Hand'])
  const plain = await run(['journeys', 'list', '-q'])
  expect(plain.stdout).toMatch(/^(jrn_\w+\n){2}$/)
})

test('disable stops new entries, enable allows them again', async () => {
  await apply(welcome)
  expect(await journeys('disable', 'Welcome')).toMatchObject({ enabled: false })
  const refused = await run(['journeys', 'trigger', 'Welcome', '--email', 'ada@example.com', '--list', 'Customers'])
  expect(refused).toMatchObject({ status: 6, stderr: expect.stringContaining('Journey is not enabled') })
  expect(await journeys('enable', 'Welcome')).toMatchObject({ enabled: true })
  expect((await run(['journeys', 'enable', 'Nobody'])).status).toBe(3)
})

test('trigger enters an address once, by hand as by API, and runs lists it', async () => {
  await apply(welcome.replace('kind: api', 'kind: manual'))
  const args = ['trigger', 'Welcome', '--email', 'Ada@example.com', '--list', 'Customers']
  expect(await journeys(...args)).toEqual({ ok: true, entered: true })
  const again = await run(['journeys', ...args, '--json'])
  expect(again).toMatchObject({ status: 0, json: { ok: true, entered: false } })
  const { runs } = await journeys('runs', 'Welcome')
  expect(runs).toEqual([
    expect.objectContaining({
      email: 'ada@example.com',
      status: 'running',
      reason: null,
      step: 'steps[0]',
      endedAt: null,
    }),
  ])
  expect(await journeys('runs', 'Welcome', '--run', runs[0].id)).toEqual({ ...runs[0], log: [] })
  const missing = await run(['journeys', 'runs', 'Welcome', '--run', 'run_none'])
  expect(missing.status).toBe(3)
})

test('trigger with only a list asks, and enters each active contact once', async () => {
  await apply(welcome)
  const { id: listId } = (await json('lists', 'show', 'Customers')) as { id: string }
  await addPeople(t, { account, listId, projectId: '' }, 0, 1203)
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email like 'c7@%'`, [account.id])
  const trigger = (...flags: string[]) => run(['journeys', 'trigger', 'Welcome', '--list', 'Customers', ...flags])
  const runs = async () => (await t.app.sql('select from journey_runs where account_id = $1', [account.id])).length
  await journeys('trigger', 'Welcome', '--list', 'Customers', '--email', 'c3@people.example')
  const asked = await trigger()
  expect([asked.status, asked.stdout, asked.stderr]).toEqual([
    2,
    '',
    expect.stringContaining('let 1,201 of 1,202 active contacts of Customers into the journey Welcome: it needs --yes'),
  ])
  const dry = await trigger('--dry-run', '--json')
  expect([dry.status, dry.json, await runs()]).toEqual([
    0,
    { dryRun: true, contacts: 1202, entered: 1201, emails: 0 },
    1,
  ])
  const done = await trigger('--yes', '--json')
  expect([done.status, done.json, await runs()]).toEqual([0, { ok: true, contacts: 1202, entered: 1201 }, 1202])
  // Without --yes: nobody enters, so there is nothing to confirm.
  expect((await trigger('--json')).json).toEqual({ ok: true, contacts: 1202, entered: 0 })
  const { rowId } = (await json('contacts', 'show', 'c1100@people.example')).contacts[0]
  expect((await trigger('--yes', '--json', '--after', rowId)).json).toEqual({ ok: true, contacts: 102, entered: 0 })
})

test('trigger with a filter or a segment enters only active contacts that meet it', async () => {
  await apply(welcome)
  for (const [email, plan] of Object.entries({ ada: 'pro', bob: 'free', eve: 'pro', kim: 'pro' }))
    await run([
      'contacts',
      'upsert',
      '--list',
      'Customers',
      '--email',
      `${email}@example.com`,
      '--field',
      `plan=${plan}`,
    ])
  await t.app.sql(`update contacts set status = 'pending' where account_id = $1 and email = 'kim@example.com'`, [
    account.id,
  ])
  await run(['segments', 'create', '--name', 'Pros', '--list', 'Customers', '--where', 'plan = pro'])
  const trigger = (...flags: string[]) => run(['journeys', 'trigger', 'Welcome', ...flags])
  const where = ['--list', 'Customers', '--where', 'email ~ EVE and plan = pro']
  const asked = await trigger('--segment', 'Pros')
  expect(asked).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('2 active contacts of Customers in the segment Pros'),
  })
  expect((await trigger(...where, '--dry-run', '--json')).json).toMatchObject({ contacts: 1, entered: 1 })
  expect((await journeys('runs', 'Welcome')).runs).toEqual([])
  expect((await trigger(...where, '--yes', '--json')).json).toEqual({ ok: true, contacts: 1, entered: 1 })
  expect((await trigger('--segment', 'Pros', '--yes', '--json')).json).toEqual({ ok: true, contacts: 2, entered: 1 })
  const entered = (await journeys('runs', 'Welcome')).runs.map(({ email }: { email: string }) => email)
  expect(entered.sort()).toEqual(['ada@example.com', 'eve@example.com'])
  for (const flags of [
    ['--segment', 'Pros', '--list', 'Customers'],
    ['--segment', 'Pros', '--email', 'bob@example.com'],
    ['--where', 'plan = pro', '--list', 'Customers', '--email', 'bob@example.com'],
    ['--where', 'plan = pro'],
    ['--list', 'Customers', '--where', 'plan ='],
  ])
    expect(await trigger(...flags, '--yes')).toMatchObject({ status: 2, stdout: '' })
  expect(await trigger('--segment', 'Nobody', '--yes')).toMatchObject({ status: 3, stdout: '' })
})

test('trigger with a list: unknown ids are exit 3, a disabled journey exit 6; --dry-run adds nothing', async () => {
  await apply(welcome)
  const trigger = (...args: string[]) => run(['journeys', 'trigger', ...args])
  expect((await trigger('Nobody', '--list', 'Customers', '--yes')).status).toBe(3)
  expect((await trigger('Welcome', '--list', 'Nobody', '--yes')).status).toBe(3)
  const one = ['Welcome', '--list', 'Customers', '--email', 'new@example.com', '--dry-run', '--json']
  expect((await trigger(...one)).json).toEqual({ dryRun: true, ok: true, entered: true, emails: 0 })
  expect((await json('lists', 'show', 'Customers')).rowCount).toBe(0)
  await journeys('disable', 'Welcome')
  const refused = await trigger('Welcome', '--list', 'Customers', '--yes')
  expect(refused).toMatchObject({ status: 6, stderr: expect.stringContaining('Journey is not enabled') })
})

test('trigger says how many emails the steps can send: of each fork the side with the most', async () => {
  const project = { name: 'Letter', blocks: [{ id: 'hello', type: 'text', props: { text: 'Hello' } }] }
  expect((await run(['projects', 'apply', '-f', '-'], JSON.stringify(project))).status).toBe(0)
  const mail = { kind: 'send-email', project: 'Letter' }
  const half = { kind: 'split', percent: 50, a: [mail], b: [mail] }
  // biome-ignore lint/suspicious/noThenProperty: the contract's name for one side of a step
  const branch = { kind: 'branch', if: { field: 'plan', equals: 'pro' }, then: [mail, half, mail], else: [mail] }
  const steps = [mail, { kind: 'delay', for: '2d' }, branch]
  await apply(JSON.stringify({ name: 'Letters', trigger: { kind: 'manual' }, steps }))
  for (const name of ['ada', 'bob'])
    await run(['contacts', 'upsert', '--list', 'Customers', '--email', `${name}@example.com`])
  const trigger = (...flags: string[]) => run(['journeys', 'trigger', 'Letters', '--list', 'Customers', ...flags])
  expect((await trigger('--dry-run', '--json')).json).toEqual({ dryRun: true, contacts: 2, entered: 2, emails: 8 })
  expect((await trigger()).stderr).toContain(
    'into the journey Letters, whose steps can send up to 8 emails: it needs --yes',
  )
  const one = ['--email', 'ada@example.com', '--json']
  expect((await trigger(...one, '--dry-run')).json).toEqual({ dryRun: true, ok: true, entered: true, emails: 4 })
  expect((await trigger(...one)).json).toEqual({ ok: true, entered: true })
  expect((await trigger(...one, '--dry-run')).json).toEqual({ dryRun: true, ok: true, entered: false, emails: 0 })
})

test('trigger refuses other triggers, a malformed address and an unknown list, and names every missing flag', async () => {
  await apply(welcome.replace('kind: api', 'kind: lead-hot'))
  const trigger = (email: string, list = 'Customers') =>
    run(['journeys', 'trigger', 'Welcome', '--email', email, '--list', list])
  expect((await trigger('ada@example.com')).stderr).toContain('Journey is not triggered by hand')
  expect(await trigger('ada')).toMatchObject({ status: 2, stderr: expect.stringContaining('email address') })
  expect((await trigger('ada@example.com', 'Nobody')).status).toBe(3)
  const none = await run(['journeys', 'trigger', 'Welcome'])
  expect(none).toMatchObject({ status: 2, stderr: expect.stringContaining('--email, --list') })
})

test('delete asks with the number of open runs, cancels them, and deletes the journey', async () => {
  const { id } = (await apply(welcome, '--json')).json
  for (const name of ['ada', 'bob'])
    await journeys('trigger', 'Welcome', '--email', `${name}@example.com`, '--list', 'Customers')
  const dry = await run(['journeys', 'delete', 'Welcome', '--dry-run', '--json'])
  expect(dry.json).toEqual({ dryRun: true, id, name: 'Welcome', cancelled: 2, calls: 0, emails: 0 })
  const asked = await run(['journeys', 'delete', 'Welcome'])
  expect([asked.status, asked.stdout, asked.stderr]).toEqual([
    2,
    '',
    expect.stringContaining(
      'This would delete the journey Welcome and cancel 2 open runs, with 0 emails and 0 calls not sent yet; no event fires: it needs --yes',
    ),
  ])
  expect((await journeys('runs', 'Welcome', '--status', 'running')).runs).toHaveLength(2)
  expect((await run(['journeys', 'delete', 'Welcome', '--yes', '--json'])).json).toEqual({
    id,
    name: 'Welcome',
    cancelled: 2,
    calls: 0,
    emails: 0,
  })
  expect((await journeys()).journeys).toEqual([])
  for (const args of [
    ['runs', id],
    ['show', id],
    ['delete', id, '--yes'],
    ['enable', id],
  ])
    expect((await run(['journeys', ...args])).status).toBe(3)
  const person = (await run(['contacts', 'export', '--email', 'ada@example.com', '--json'])).json
  expect(person.journeyRuns).toMatchObject([{ journeyId: id, status: 'cancelled', reason: 'the journey was deleted' }])
})

test('end-run ends one run as cancelled; --dry-run ends none; a run that has ended is exit 6', async () => {
  await apply(welcome)
  await journeys('trigger', 'Welcome', '--email', 'ada@example.com', '--list', 'Customers')
  const [{ id }] = (await journeys('runs', 'Welcome')).runs
  const dry = await run(['journeys', 'end-run', id, '--dry-run', '--json'])
  expect([dry.status, dry.json]).toEqual([0, expect.objectContaining({ dryRun: true, id, status: 'cancelled' })])
  expect((await journeys('runs', 'Welcome', '--run', id)).status).toBe('running')
  const ended = await journeys('end-run', id)
  expect(ended).toMatchObject({
    id,
    status: 'cancelled',
    step: null,
    log: [],
    reason: expect.stringMatching(/^ended by cli:/),
  })
  expect(await journeys('runs', 'Welcome', '--run', id)).toEqual(ended)
  expect((await journeys('runs', 'Welcome', '--status', 'cancelled')).runs).toHaveLength(1)
  const again = await run(['journeys', 'end-run', id])
  expect([again.status, again.stderr]).toEqual([
    6,
    `error: The run ${id} has ended: it is cancelled\n  next: svc journeys end-run --help\n`,
  ])
  expect((await run(['journeys', 'end-run', 'run_none'])).status).toBe(3)
})

test('runs are paged, newest first, optionally by status, with the reason for the end of each', async () => {
  const { id } = (await apply(welcome, '--json')).json
  const insert = `insert into journey_runs (account_id, id, journey_id, version, list_id, row_id, email, status, reason, cursor,
      due_at, context, entered_at, ended_at)
    select $1, 'run_' || n, $2, 1, 'lst_x', 'row_' || n, n || '@example.com', case when n = 3 then 'exited' else 'waiting' end,
      case when n = 3 then 'exit rule: deal-won' end, '[1,"then",0]', now(), '{}', now(), case when n = 3 then now() end
    from generate_series(1, 5) n`
  await t.app.sql(insert, [account.id, id])
  const first = await journeys('runs', 'Welcome', '--limit', '3')
  expect(first.runs.map((one: { id: string }) => one.id)).toEqual(['run_5', 'run_4', 'run_3'])
  expect(first.runs[0]).toMatchObject({ step: 'steps[1].then[0]', status: 'waiting' })
  expect(first.runs[2]).toMatchObject({ step: null, dueAt: null, reason: 'exit rule: deal-won' })
  const second = await journeys('runs', 'Welcome', '--limit', '3', '--cursor', first.nextCursor)
  expect(second.runs.map((one: { id: string }) => one.id)).toEqual(['run_2', 'run_1'])
  expect(second.nextCursor).toBeUndefined()
  expect((await journeys('runs', 'Welcome', '--status', 'exited')).runs).toHaveLength(1)
  expect((await run(['journeys', 'runs', 'Welcome', '--status', 'lost'])).status).toBe(2)
  expect((await run(['journeys', 'runs', 'Welcome', '--limit', '0'])).status).toBe(2)
})

test('apply checks the URL of a webhook step as that of a subscription, and names each with its path', async () => {
  const step = (url: string) => `  - { kind: webhook, url: '${url}', body: {} }\n`
  const urls = [
    'http://127.0.0.1/x',
    'https://user:pw@example.com/',
    'https://example.com/#x',
    'https://intern.local/x',
  ]
  const refused = await apply(`name: Calls\ntrigger: { kind: api }\nsteps:\n${urls.map(step).join('')}`)
  expect(refused.status).toBe(2)
  expect(refused.stderr).toContain('steps[0].url must be a public http or https address: 127.0.0.1 is not')
  expect(refused.stderr).toContain('steps[1].url must not contain a user name or password')
  expect(refused.stderr).toContain('steps[2].url must not contain a fragment')
  expect(refused.stderr).toContain(
    'steps[3].url must be a public http or https address: intern.local is a private name',
  )
  expect(await count()).toBe(0)
  const fine = await apply(`name: Calls\ntrigger: { kind: api }\nsteps:\n${step('https://not-there-yet.example/x')}`)
  expect(fine.status).toBe(0)
})

test('show --stats has the results of each side beside those of the emails', async () => {
  await apply(
    '{ name: Split, trigger: { kind: manual }, steps: [{ kind: split, percent: 30, a: [{ kind: exit }], b: [] }] }',
  )
  const { stats, sides } = await journeys('show', 'Split', '--stats')
  expect(stats).toMatchObject({ sent: 0, days: [] })
  const split = { version: 1, step: 'steps[0]', kind: 'split', summary: '30 % take a' }
  const none = { runs: 0, sent: 0, opened: 0, clicked: 0, answered: 0 }
  expect(sides).toEqual([
    { ...split, side: 'a', ...none },
    { ...split, side: 'b', ...none },
  ])
  await apply('{ name: Plain, trigger: { kind: manual }, steps: [{ kind: exit }] }')
  expect(await journeys('show', 'Plain', '--stats')).not.toHaveProperty('sides')
})
