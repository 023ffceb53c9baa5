import { globSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { buildProgram } from '../../src/cli/program.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { ok, type TestAccount, useApp } from '../support/app.ts'
import { audience } from '../support/broadcasts.ts'
import { type Step, svc, useOneApp } from '../support/cli.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { mbox, postfix } from '../support/reports.ts'
import { register } from '../webinars/support.ts'

let account: TestAccount
let folder: string

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
useOneApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-asks-'))
})
beforeEach(async () => {
  account = await sendingAccount(t)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (...args: string[]) => svc(t, [...args, '--account', account.id])
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}

const leaves = (command: Command, path: string[] = []): [string, Command][] =>
  command.commands.length > 0
    ? command.commands.flatMap((child) => leaves(child, [...path, child.name()]))
    : [[path.join(' '), command]]

const flagsOf = (command: Command) => command.options.map(({ long }) => long)

test('every verb that deletes, emails, posts or updates takes --yes and --dry-run', async () => {
  const unopened = () => Promise.reject(new Error('not opened here'))
  const all = leaves(buildProgram(await loadCommands(), unopened))
  const destructive = /(^| )(delete|erase|revoke|remove|unset|clear|free)$/
  // accounts delete asks for the name of the account; the opposite verbs restore what the other two remove.
  const except = ['accounts delete', 'bindings unset', 'courses revoke']
  const named = all.filter(([name]) => destructive.test(name) && !except.includes(name)).map(([name]) => name)
  const many = [
    'broadcasts send',
    'journeys trigger',
    'webhooks rotate-secret',
    'broadcasts create',
    'deliveries replay',
    'deliveries cancel',
    'webinars cancel',
    'webinars update',
  ]
  const one = ['send', 'broadcasts test', 'relay test', 'forms submit', 'webhooks test', 'projects webhook test']
  const updates = ['projects webhook set', 'imports resume', 'contacts verify', 'clock advance', 'clock reset']
  const others = ['bookings cancel', 'bounces ingest', 'contacts import', 'db reset']
  const asking = [...named, ...many, ...one, ...updates, ...others]
  expect(named.length).toBeGreaterThan(10)
  for (const name of asking) {
    const [, command] = all.find(([other]) => other === name)!
    expect([name, flagsOf(command)]).toEqual([name, expect.arrayContaining(['--yes', '--dry-run'])])
  }
  const yes = all.filter(([, command]) => flagsOf(command).includes('--yes'))
  for (const [name, command] of yes)
    expect([name, flagsOf(command)]).toEqual([name, expect.arrayContaining(['--dry-run'])])
})

test('updates accept --yes and ask nothing; with --dry-run they print the planned change and change nothing', async () => {
  const made = async (...args: string[]) => (await run(...args, '--json')).json
  const { id: list } = await made('lists', 'create', '--name', 'People')
  const { id: webinar } = await made('webinars', 'create', '--title', 'Growing', '--at', '2d')
  await made('courses', 'create', '--title', 'Knots')
  await made('contacts', 'upsert', '--list', list, '--email', 'ada@people.example')
  const { id: deal } = await made('deals', 'create', '--title', 'Plan', '--email', 'ada@people.example')
  const hook = ['--url', 'https://hooks.example.com/', '--events', 'deal.stage_changed']
  const { id: webhook } = await made('webhooks', 'create', ...hook)
  const journey = await file('j.yaml', 'name: J\ntrigger: { kind: api }\nsteps: [{ kind: exit }]\n')
  await made('journeys', 'apply', '-f', journey)
  await made('pipelines', 'create', '--name', 'Partners')
  const calls: [command: string[], shows: object, reads: string[]][] = [
    [['lists', 'rename', list, 'Folk'], { name: 'Folk' }, ['lists', 'show', list]],
    [['deals', 'update', deal, '--stage', 'Won'], { status: 'won' }, ['deals', 'show', deal]],
    [['courses', 'publish', 'Knots'], { published: true }, ['courses', 'show', 'Knots']],
    [['journeys', 'disable', 'J'], { enabled: false }, ['journeys', 'show', 'J']],
    [['webinars', 'start', webinar], { status: 'live' }, ['webinars', 'show', webinar]],
    [['pipelines', 'default', 'Partners'], { name: 'Partners' }, ['pipelines', 'list']],
    [['accounts', 'set-plan', 'free'], { plan: 'free' }, ['accounts', 'show']],
    [['plans', 'set', 'pro', '--contacts', '7'], { contacts: 7 }, ['plans', 'show', 'pro']],
    [['relay', 'set', '--url', 'smtp://127.0.0.1:9'], { source: 'account' }, ['relay', 'show']],
    [['suppressions', 'add', 'ada@people.example'], { added: true }, ['suppressions', 'list']],
    [['contacts', 'upsert', '--list', list, '--email', 'new@people.example'], { created: 1 }, ['contacts', 'list']],
    [['score', 'set', 'ada@people.example', '--score', '60'], {}, ['score', 'show', 'ada@people.example']],
  ]
  for (const [command, shows, reads] of calls) {
    const before = await made(...reads)
    const dry = await run(...command, '--dry-run', '--json')
    expect([command, dry.status, dry.stderr, dry.json]).toEqual([
      command,
      0,
      'Nothing was changed.\n',
      expect.objectContaining({ dryRun: true, ...shows }),
    ])
    expect([command, await made(...reads)]).toEqual([command, before])
    const done = await run(...command, '--yes', '--json')
    expect([command, done.status, done.json]).toEqual([command, 0, expect.objectContaining(shows)])
    expect(done.json).not.toHaveProperty('dryRun')
    expect([command, await made(...reads)]).not.toEqual([command, before])
  }
  const secret = async () =>
    (await t.app.sql('select sealed_secret from delivery_targets where account_id = $1', [account.id]))[0]
  const before = await secret()
  const dry = await run('webhooks', 'rotate-secret', webhook, '--dry-run', '--json')
  expect([dry.status, dry.json, await secret()]).toEqual([0, { dryRun: true, id: webhook, pending: 1 }, before])
  expect((await run('webhooks', 'rotate-secret', webhook, '--yes')).status).toBe(0)
  expect(await secret()).not.toEqual(before)
  // The dry run of the deal has emitted no event.
  const events = await t.app.sql(`select from events where account_id = $1 and type = 'deal.stage_changed'`, [
    account.id,
  ])
  expect(events).toHaveLength(1)
  expect((await run('webhooks', 'enable', webhook, '--dry-run')).status).toBe(0)
  expect((await run('lists', 'rename', 'lst_none', 'x', '--dry-run')).status).toBe(3)
})

test('the confirmation of a deletion names everything that is deleted with it', async () => {
  const { id: list } = (await run('lists', 'create', '--name', 'People', '--json')).json
  await run('contacts', 'upsert', '--list', list, '--email', 'ada@people.example')
  await run('deals', 'create', '--title', 'Plan', '--email', 'ada@people.example')
  const sender = (await run('senders', 'list', '--json')).json.senders[0].email
  const asked: [string[], string][] = [
    [['lists', 'delete', list], 'delete the list People with 1 contact, 1 of them in no other list'],
    [['contacts', 'erase', 'ada@people.example'], 'from 1 list and 0 import rejects'],
    [['senders', 'delete', sender], `delete the sender ${sender}, the default: email without a sender is refused then`],
    [['relay', 'unset'], 'the platform’s relay sends its email then'],
    [['accounts', 'delete', account.id], 'including 1 contact, 1 deal, 0 emails and 0 webhooks'],
  ]
  for (const [command, says] of asked) {
    const ran = await run(...command)
    expect([command, ran.status, ran.stdout, ran.stderr]).toEqual([command, 2, '', expect.stringContaining(says)])
  }
  expect((await run('lists', 'show', list, '--json')).json.rowCount).toBe(1)
})

test('projects delete counts the bindings and the unsent broadcasts that use the project, and names its webhook', async () => {
  account = (await audience(t, 1)).account
  const { id } = (await run('webinars', 'create', '--title', 'Growing', '--at', '2d', '--json')).json
  await run('bindings', 'set', `webinar:${id}`, 'reminder', 'Spring')
  await run('broadcasts', 'create', '--list', 'People', '--project', 'Spring')
  const asked = await run('projects', 'delete', 'Spring')
  const uses = '(used by 1 binding and 1 unsent broadcast; sent emails keep their content)'
  expect([asked.status, asked.stderr]).toEqual([2, expect.stringContaining(`the project Spring ${uses}`)])
  const dry = await run('projects', 'delete', 'Spring', '--dry-run', '--json')
  expect(dry.json).toMatchObject({ dryRun: true, name: 'Spring', bindings: 1, broadcasts: 1, webhook: false })
  await run('projects', 'webhook', 'set', 'Spring', '--url', 'https://hooks.example.com/answers')
  expect((await run('projects', 'delete', 'Spring')).stderr).toContain(`the project Spring and its webhook ${uses}`)
  expect((await run('projects', 'delete', 'Spring', '--dry-run', '--json')).json).toMatchObject({ webhook: true })
  expect((await run('projects', 'show', 'Spring')).status).toBe(0)
})

test('the dry run of what emails or posts to one recipient checks everything, leaves nothing and changes no row', async () => {
  const who = await audience(t, 0)
  account = who.account
  const made = async (...args: string[]) => (await run(...args, '--json')).json
  for (const email of ['ada@people.example', 'bob@people.example'])
    await made('contacts', 'upsert', '--list', 'People', '--email', email)
  const { id: broadcast } = await made('broadcasts', 'create', '--list', 'People', '--project', 'Spring')
  const { id: hook } = await made('webhooks', 'create', '--url', 'https://hooks.example.com/', '--events', 'lead.new')
  await made('forms', 'create', '--name', 'News', '--list', 'People')
  await made('projects', 'webhook', 'set', 'Spring', '--url', 'https://hooks.example.com/answers')
  await made('suppressions', 'add', 'gone@people.example')
  const to = 'new@people.example'
  const email = ['--to', to, '--subject', 'Hi', '--text', 'Hello']
  const calls: [command: string[], shows: object][] = [
    [['send', ...email], { to, status: 'pending' }],
    [['send', '--to', 'gone@people.example', ...email.slice(2)], { status: 'suppressed', reason: 'manual' }],
    [['broadcasts', 'test', broadcast, '--to', to], { to, status: 'pending', projectVersion: 1 }],
    [['webhooks', 'test', hook], { webhookId: hook, type: 'lead.new', data: expect.objectContaining({ test: true }) }],
    [['projects', 'webhook', 'test', 'Spring'], { type: 'interaction.received' }],
    [['projects', 'webhook', 'set', 'Spring', '--url', 'https://hooks.example.com/new'], { status: 'active' }],
    [['forms', 'submit', 'News', '--email', to], { status: 'active' }],
    [['contacts', 'verify', '--list', 'People'], { addresses: 2 }],
  ]
  const tables = ['messages', 'events', 'pending_deliveries', 'contacts', 'broadcasts', 'delivery_targets', 'addresses']
  const rows = () =>
    Promise.all(
      tables.map((table) => t.app.sql(`select * from ${table} where account_id = $1 order by 1, 2`, [account.id])),
    )
  const before = await rows()
  for (const [command, shows] of calls) {
    const dry = await run(...command, '--dry-run', '--json')
    expect([command, dry.status, dry.json]).toEqual([command, 0, expect.objectContaining({ dryRun: true, ...shows })])
    expect([command, dry.stderr]).toEqual([command, expect.stringMatching(/Nothing was (sent|posted|changed)\.\n$/)])
    expect([command, dry.json]).toEqual([command, expect.not.objectContaining({ secret: expect.anything() })])
    expect([command, await rows()]).toEqual([command, before])
  }
  // It refuses what the command refuses.
  const [relay, refused] = [
    await run('relay', 'test', '--to', to, '--dry-run', '--json'),
    [...email, '--sender', 'snd_none'],
  ]
  expect([relay.status, relay.json]).toMatchObject([1, { dryRun: true, ok: false }])
  expect((await run('send', ...refused, '--dry-run')).status).toBe((await run('send', ...refused)).status)
})

test('the code of a command reads each of its flags', async () => {
  const sources = globSync('src/**/*.commands.ts', { cwd: join(import.meta.dirname, '../..') })
  // By contract updates take --yes although they ask nothing; cli/ reads the other flags.
  const elsewhere = ['yes', 'dryRun', 'limit', 'cursor']
  for (const path of sources) {
    const source = await readFile(join(import.meta.dirname, '../..', path), 'utf8')
    const flags = [...source.matchAll(/option\(\s*'(?:-\w, )?--(?:no-)?([a-z-]+)/g)].map(([, flag]) => flag!)
    const names = flags.map((flag) => flag.replaceAll(/-(\w)/g, (_, letter) => letter.toUpperCase()))
    // The name of a flag occurs in the code at least once besides its declaration and its type.
    const code = source.replaceAll(/'[^'\n]*'/g, '').replaceAll(/^ *\w+\??: [\w[\] |]+$/gm, '')
    const unread = names.filter((name) => !elsewhere.includes(name) && !new RegExp(`\\b${name}\\b`).test(code))
    expect([path, unread]).toEqual([path, []])
  }
})

test('webinars cancel shows how many people it emails; without a terminal it does nothing unless --yes is given', async () => {
  const { id } = (await run('webinars', 'create', '--title', 'Growing', '--at', '2d', '--json')).json
  await ok(register(t, account, id, 'ada@people.example'))
  const mails = async () => (await t.app.sql('select from messages where account_id = $1', [account.id])).length
  const before = await mails()
  const asked = await run('webinars', 'cancel', id)
  expect([asked.status, asked.stdout, asked.stderr]).toEqual([
    2,
    '',
    expect.stringContaining('This would cancel Growing and email 1 person: it needs --yes'),
  ])
  expect((await run('webinars', 'cancel', id, '--dry-run')).status).toBe(0)
  expect((await run('webinars', 'show', id, '--json')).json).toMatchObject({ status: 'scheduled' })
  expect(await mails()).toBe(before)
  expect((await run('webinars', 'cancel', id, '--yes')).status).toBe(0)
  expect(await mails()).toBe(before + 1)
  // A cancellation that the state forbids is refused without a question.
  expect((await run('webinars', 'cancel', id)).status).toBe(6)
  expect((await run('webinars', 'cancel', 'web_none')).status).toBe(3)
})

test('an import and reports from a mail server need no --yes in a pipe', async () => {
  await run('webhooks', 'create', '--url', 'https://hooks.example.com/', '--events', 'contact.created')
  const csv = await file('people.csv', 'email\nada@people.example\n')
  const ran = await run('contacts', 'import', csv, '--list', 'People', '--create-list', '--json')
  expect(ran).toMatchObject({ status: 0, json: { created: 1 } })
  const [mail] = await queueMany(t.app, account.id, 1, { to: 'ada@people.example' })
  const report = postfix({ id: (mail as { id: string }).id })
  expect(await svc(t, ['bounces', 'ingest', '-'], { stdin: report })).toMatchObject({ status: 0 })
})

describe('on a terminal', () => {
  const onTerminal = (args: string[], steps: Step[] = [], tty = {}) =>
    svc(t, [...args, '--account', account.id, '--no-color'], { steps, tty })
  /** Answers the question whether to continue. */
  const answering = (answer: string, ...args: string[]) => onTerminal(args, [[/Go on\?/, answer]])

  test('broadcasts send asks with people, list, subject and sender; Enter sends nothing, y sends', async () => {
    const who = await audience(t, 3)
    account = who.account
    const { id } = (await run('broadcasts', 'create', '--list', 'People', '--project', 'Spring', '--json')).json
    const state = async () => (await run('broadcasts', 'show', id, '--json')).json.status
    const enter = await answering('\r', 'broadcasts', 'send', id)
    expect(enter.text).toMatch(/This will email 3 people of the list People: "Spring", from .*@.*, at once\. Go on\?/)
    expect([enter.status, await state()]).toEqual([0, 'draft'])
    const yes = await answering('y\r', 'broadcasts', 'send', id)
    expect([yes.status, await state()]).toEqual([0, 'sending'])
  })

  test('an import shows how it reads the file, asks for fields and a list, and confirms; --yes skips questions', async () => {
    const csv = await file('more.csv', 'Contact;First\nada@people.example;Ada\nbob@people.example;Bob\n;Nobody\n')
    const command = ['contacts', 'import', csv, '--list', 'People']
    const lists = async () => (await run('lists', 'list', '--json')).json.lists
    await run('webhooks', 'create', '--url', 'https://hooks.example.com/', '--events', 'contact.created')
    const until = (answer: string): Step[] => [
      ['Which column holds the address?', '\r'],
      [/Contact +→ email.*First +→ First +Ada, Bob/s, '\u001b[B\u001b[B\r'],
      ['Field of First', 'first_name\r'],
      [/First +→ first_name/, '\r'],
      ['There is no list People. Create it?', 'y\r'],
      [/Go on\?/, answer],
    ]
    const enter = await onTerminal(command, until('\r'), { columns: 100, rows: 30 })
    expect(enter.text).toContain('more.csv: UTF-8, columns separated by semicolons, 2 columns')
    expect(enter.text).toMatch(/EMAIL +FIRST_NAME\s+ada@people\.example +Ada/)
    expect(enter.text.replaceAll(/\s+/g, ' ')).toContain(
      'import 3 rows into People (2 contacts created, 0 updated, 1 rejected) and fire 2 events. Go on?',
    )
    expect([enter.status, await lists()]).toEqual([0, []])
    const done = await onTerminal(command, until('y\r'), { columns: 100, rows: 30 })
    expect(done.status).toBe(5)
    expect(done.text).toMatch(/Rejected 1 row: no address \(1\)\s+next: svc imports rejects imp_/)
    expect(await lists()).toMatchObject([{ name: 'People', rowCount: 2, fields: ['first_name'] }])
    const most = await file('most.csv', 'email\ncyd@people.example\n')
    expect((await onTerminal(['contacts', 'import', most, '--list', 'People', '--yes'])).text).not.toContain('?')
    expect(await lists()).toMatchObject([{ rowCount: 3 }])
  })

  test('an import detects a Latin-1 file; --map shows no columns to choose', async () => {
    await run('lists', 'create', '--name', 'People')
    await writeFile(join(folder, 'latin.csv'), Buffer.from('E-mail,Name\nzoe@people.example,Zo\u00eb\n', 'latin1'))
    const map = ['--map', 'E-mail=email']
    const ran = await answering('y\r', 'contacts', 'import', join(folder, 'latin.csv'), '--list', 'People', ...map)
    expect([ran.status, ran.text]).toEqual([
      0,
      expect.stringContaining('latin.csv: Latin-1, columns separated by commas'),
    ])
    expect(ran.text).not.toContain('Continue')
    expect((await run('contacts', 'show', 'zoe@people.example', '--json')).json.contacts[0].fields).toEqual({
      Name: 'Zo\u00eb',
    })
  })

  test('an import that only starts journeys of its list asks, too', async () => {
    const { id } = (await run('lists', 'create', '--name', 'People', '--json')).json
    const journey = `name: Hello\ntrigger: { kind: list-added, list: ${id} }\nsteps: [{ kind: delay, for: 1d }]\n`
    await run('journeys', 'apply', '-f', await file('hello.yaml', journey))
    const csv = await file('few.csv', 'email\nada@people.example\n')
    const runs = async () => (await t.app.sql('select from journey_runs where account_id = $1', [account.id])).length
    const enter = await answering('\r', 'contacts', 'import', csv, '--list', 'People', '--map', 'email=email')
    expect([enter.status, enter.text, await runs()]).toEqual([0, expect.stringContaining('Go on?'), 0])
    await answering('y\r', 'contacts', 'import', csv, '--list', 'People', '--map', 'email=email')
    expect(await runs()).toBe(1)
  })

  test('accounts delete asks for the name; with another name in --confirm it refuses without a question', async () => {
    const { id } = await t.account({ name: 'As`k`ed' })
    const exists = async () => (await t.app.sql('select from accounts where id = $1', [id])).length
    const refused = await svc(t, ['accounts', 'delete', id, '--confirm', 'Other', '--no-color'], { tty: {} })
    expect([refused.status, refused.text, await exists()]).toEqual([
      2,
      expect.stringContaining("add --confirm 'As`k`ed'"),
      1,
    ])
    const typed = (name: string) =>
      svc(t, ['accounts', 'delete', id, '--no-color'], { steps: [['Type the name', `${name}\r`]], tty: {} })
    expect([(await typed('Other')).status, await exists()]).toEqual([2, 1])
    expect([(await typed('As`k`ed')).status, await exists()]).toEqual([0, 0])
  })

  test('bounces ingest shows what it would record and asks', async () => {
    const [mail] = await queueMany(t.app, account.id, 1, { to: 'ada@people.example' })
    const reports = await file('reports.mbox', mbox(postfix({ id: (mail as { id: string }).id })))
    const suppressed = async () =>
      (await t.app.sql('select from suppressions where account_id = $1', [account.id])).length
    const enter = await answering('\r', 'bounces', 'ingest', reports)
    expect(enter.text).toContain('record 1 bounce and 0 complaints, and suppress the addresses. Go on?')
    expect(await suppressed()).toBe(0)
    await answering('y\r', 'bounces', 'ingest', reports)
    expect(await suppressed()).toBe(1)
  })
})
