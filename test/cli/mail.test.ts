import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApp, type TestAccount, type TestApp } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'
import { type DnsServer, openDnsServer } from '../support/dns.ts'
import { openSink, type Sink } from '../support/smtp.ts'

let t: TestApp
let sink: Sink
let dns: DnsServer
let account: TestAccount
let folder: string

beforeAll(async () => {
  ;[sink, dns] = [await openSink(), await openDnsServer()]
  t = await startApp({ env: { SVC_SMTP_URL: sink.url, SVC_DNS_SERVERS: dns.address } })
  folder = await mkdtemp(join(tmpdir(), 'svc-mail-'))
})
beforeEach(async () => {
  account = await t.account()
  sink.mails.length = 0
})
afterAll(async () => {
  await t.close()
  await sink.close()
  await dns.close()
  await rm(folder, { recursive: true, force: true })
})

const run = (args: string[], options = {}): Promise<Ran> => svc(t, [...args, '--account', account.id], options)
const json = async (args: string[], options = {}) => {
  const ran = await run([...args, '--json'], options)
  expect([ran.stderr, ran.status]).toEqual(['', 0])
  return ran.json
}
const file = async (name: string, text: string): Promise<string> => {
  await writeFile(join(folder, name), text)
  return join(folder, name)
}
const addSender = () => json(['senders', 'add', '--email', 'hello@shop.example', '--name', 'The Shop'])

test('a first email is sent with a sender and parts from files; its result is printed, and it is in the list', async () => {
  const sender = await addSender()
  expect(sender).toMatchObject({ email: 'hello@shop.example', isDefault: true, replyTo: null })
  const [html, text] = [await file('m.html', '<p>Hi</p>'), await file('m.txt', 'Hi')]
  const sent = await json([
    'send',
    '--to',
    'ada@people.example',
    '--subject',
    'Hi',
    '--html',
    `@${html}`,
    '--text',
    `@${text}`,
  ])
  expect(sent).toEqual({ id: expect.stringMatching(/^msg_/), status: 'sent' })
  expect(sink.mails[0]!.header('message-id')).toBe(`<${sent.id}@shop.example>`)
  const { sends } = await json(['sends', 'list', '--to', 'Ada@people.example'])
  expect(sends).toMatchObject([
    { id: sent.id, status: 'sent', to: 'ada@people.example', source: { kind: 'send', id: sent.id } },
  ])
  expect(await json(['sends', 'show', sent.id])).toMatchObject({
    html: '<p>Hi</p>',
    queue: null,
    from: { name: 'The Shop' },
  })
  expect((await json(['sends', 'list', '--status', 'failed'])).sends).toEqual([])
  expect((await json(['accounts', 'usage'])).usage).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ quota: 'sends', used: 1 }),
      expect.objectContaining({ quota: 'sendApiCalls', used: 0 }),
    ]),
  )
})

test('an email that the relay refuses is exit 1, a missing part exit 2, an unknown send exit 3', async () => {
  await addSender()
  const [html, text] = [await file('m.html', '<p>Hi</p>'), await file('m.txt', 'Hi')]
  sink.next({ refuse: { at: 'to', answer: '550 No' } })
  const refused = await run([
    'send',
    '--to',
    'ada@people.example',
    '--subject',
    'Hi',
    '--html',
    html,
    '--text',
    text,
    '--json',
  ])
  expect([refused.status, refused.json]).toMatchObject([
    1,
    { status: 'failed', error: 'The relay refused the message: 550 No' },
  ])
  expect((await run(['send', '--to', 'ada@people.example'])).stderr).toContain('Missing --subject, --html, --text')
  expect((await run(['send', '--to', 'x', '--project', 'prj_1'])).status).toBe(2)
  expect((await run(['send', '--to', 'a@people.example', '--project', 'prj_1'])).status).toBe(3)
  expect((await run(['sends', 'show', 'msg_x'])).status).toBe(3)
})

test('a project is named by its id or its name', async () => {
  await addSender()
  const project = { name: 'Greeting', theme: {}, blocks: [{ id: 'a', type: 'text', props: { text: 'Hi {{ name }}' } }] }
  await json(['projects', 'apply', '-f', await file('p.json', JSON.stringify(project))])
  const { id } = await json(['projects', 'show', 'Greeting'])
  for (const ref of ['Greeting', id])
    await json(['send', '--to', 'ada@people.example', '--project', ref, '--data', 'name=Ada'])
  expect(sink.mails.map((mail) => [mail.header('subject'), mail.raw.includes('Hi Ada')])).toEqual([
    ['Greeting', true],
    ['Greeting', true],
  ])
})

test('one of html and text is enough, from the flag or a file; a bare path is read with a remark', async () => {
  await addSender()
  const path = await file('bare.txt', 'From a file')
  const send = (...flags: string[]) =>
    run(['send', '--to', 'ada@people.example', '--subject', 'Hi', '--json', ...flags])
  expect(await send('--text', 'Given here')).toMatchObject({ status: 0, stderr: '' })
  expect(await send('--html', `@${path}`)).toMatchObject({ status: 0, stderr: '' })
  const bare = await send('--text', path)
  expect([bare.status, bare.stderr]).toEqual([0, `--text was read from the file ${path}; write @${path} to say so.\n`])
  const parts = (await json(['sends', 'list'])).sends.map(({ id }: { id: string }) => json(['sends', 'show', id]))
  expect(await Promise.all(parts)).toMatchObject([
    { html: '', text: 'From a file' },
    { html: 'From a file', text: '' },
    { html: '', text: 'Given here' },
  ])
  expect(sink.mails[0]!.raw).not.toContain('text/html')
  const { id } = (await json(['sends', 'list', '--limit', '1'])).sends[0]
  expect(await run(['sends', 'show', id, '--html'])).toMatchObject({
    status: 3,
    stdout: '',
    stderr: expect.stringMatching(/^error: This email has no such part/),
  })
})

test.each([
  [['--subject', ' ', '--text', 'Hi'], 'error: --subject is empty'],
  [['--subject', 'Hi', '--text', ''], 'error: The email is empty: give --html or --text'],
  [['--subject', 'Hi', '--text', '', '--html', ' '], 'error: The email is empty: give --html or --text'],
  [
    ['--subject', 'Hi', '--text', 'Hi', '--to', 'bob@people.example'],
    'error: --to takes one recipient: send to each, or use --cc or --bcc\n  next: svc send --help\n',
  ],
  [['--subject', 'Hi', '--text', 'Hi', '--header', 'X-A: 1', '--header', 'x-a: 2'], 'error: --header names x-a twice'],
])('send %j is exit 2', async (flags, error) => {
  await addSender()
  const ran = await run(['send', '--to', 'ada@people.example', ...flags])
  expect([ran.status, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(error)])
  expect(sink.mails).toEqual([])
})

test('the HTML is read from stdin for -', async () => {
  await addSender()
  const text = await file('m.txt', 'Hi')
  await json(['send', '--to', 'ada@people.example', '--subject', 'Hi', '--html', '-', '--text', `@${text}`], {
    stdin: '<p>From a pipe</p>',
  })
  expect(sink.mails[0]!.raw).toContain('From a pipe')
})

describe('svc relay', () => {
  test('set, show, test and unset work; the password is read from a file or stdin and never shown', async () => {
    const own = await openSink({ user: { name: 'me', password: 'hush' } })
    const url = own.url.replace('//', '//me@')
    const set = await json(
      ['relay', 'set', '--url', url, '--password-file', '-', '--bounce-address', 'b@shop.example'],
      { stdin: 'hush\n' },
    )
    expect(set).toEqual({ url, source: 'account', password: true, bounceAddress: 'b@shop.example' })
    expect(await json(['relay', 'show'])).toEqual(set)
    expect(await json(['relay', 'test'])).toEqual({ ok: true, tls: null })
    await addSender()
    expect(await json(['relay', 'test', '--to', 'ada@people.example'])).toEqual({ ok: true, tls: null })
    expect(own.mails).toHaveLength(1)
    await own.close()
    const down = await run(['relay', 'test', '--json'])
    expect([down.status, down.json.ok]).toEqual([1, false])
    expect((await run(['relay', 'unset'])).status).toBe(2)
    expect(await json(['relay', 'unset', '--yes'])).toEqual({ ok: true, removed: true })
    expect((await json(['relay'])).source).toBe('platform')
  })

  test('a password in the URL is refused, and not repeated', async () => {
    const ran = await run(['relay', 'set', '--url', 'smtp://me:hush@relay.example'])
    expect(ran.status).toBe(2)
    expect(ran.stderr).not.toContain('hush')
  })
})

test('svc senders: the first is the default, another can become it, a deleted one is gone', async () => {
  const first = await addSender()
  const second = await json([
    'senders',
    'add',
    '--email',
    'team@shop.example',
    '--name',
    'Team',
    '--reply-to',
    'r@shop.example',
  ])
  expect(second).toMatchObject({ isDefault: false, replyTo: 'r@shop.example' })
  expect((await run(['senders', 'add', '--email', 'team@shop.example', '--name', 'X'])).status).toBe(6)
  expect((await json(['senders', 'default', second.id])).isDefault).toBe(true)
  expect((await json(['senders'])).senders.map(({ isDefault }: { isDefault: boolean }) => isDefault)).toEqual([
    false,
    true,
  ])
  expect((await run(['senders', 'delete', first.id])).status).toBe(2)
  expect(await json(['senders', 'delete', 'hello@shop.example', '--yes'])).toEqual({ ok: true, id: first.id })
  expect((await json(['senders', 'list'])).senders).toHaveLength(1)
})

test('domains delete names the senders at the domain, asks first, and deletes the domain with its key', async () => {
  await addSender()
  const { records } = await json(['domains', 'add', 'shop.example'])
  await json(['domains', 'add', 'other.example'])
  const remove = ['domains', 'delete', ' Shop.Example.']
  const dry = await run([...remove, '--dry-run', '--json'])
  expect(dry.json).toEqual({ dryRun: true, domain: 'shop.example', status: 'pending', senders: ['hello@shop.example'] })
  const asked = await run(remove)
  expect([asked.status, asked.stdout, asked.stderr]).toEqual([
    2,
    '',
    expect.stringContaining('This would delete the domain shop.example (pending) with its DKIM key: it needs --yes'),
  ])
  expect((await json(['domains'])).domains).toHaveLength(2)
  expect(await json([...remove, '--yes'])).toEqual({ domain: 'shop.example' })
  expect((await json(['domains'])).domains).toMatchObject([{ domain: 'other.example' }])
  expect((await json(['senders'])).senders).toHaveLength(1)
  for (const verb of ['show', 'verify']) expect((await run(['domains', verb, 'shop.example'])).status).toBe(3)
  expect((await run([...remove, '--yes'])).status).toBe(3)
  expect((await run(['domains', 'delete', 'nonsense', '--yes'])).status).toBe(2)
  const stranger = await t.account()
  const foreign = await svc(t, ['domains', 'delete', 'other.example', '--yes', '--account', stranger.id])
  expect(foreign.status).toBe(3)
  const again = await json(['domains', 'add', 'shop.example'])
  expect(again.records[1].value).not.toBe(records[1].value)
})

test('svc domains prints the records as JSON and as a table; verify is exit 5 while pending', async () => {
  const added = await json(['domains', 'add', 'shop.example'])
  expect(added).toMatchObject({ domain: 'shop.example', status: 'pending' })
  const pending = await run(['domains', 'verify', 'shop.example'])
  expect([pending.status, pending.stdout]).toEqual([5, expect.stringContaining('svc1._domainkey.shop.example')])
  for (const { name, value } of added.records) dns.set(name, { TXT: [value.match(/.{1,255}/g)] })
  expect(await json(['domains', 'verify', 'shop.example'])).toMatchObject({ status: 'verified' })
  expect((await json(['domains'])).domains).toMatchObject([{ domain: 'shop.example', status: 'verified' }])
  expect((await json(['domains', 'show', 'shop.example'])).records).toHaveLength(4)
  expect((await run(['domains', 'show', 'other.example'])).status).toBe(3)
  const question = async () => (await run(['domains', 'delete', 'shop.example'])).stderr
  const start = 'delete the domain shop.example (verified) with its DKIM key, and'
  expect(await question()).toContain(`${start} its queued email is sent unsigned then: it needs --yes`)
  await addSender()
  expect(await question()).toContain(`${start} email of hello@shop.example is sent unsigned then: it needs --yes`)
})

describe('svc suppressions', () => {
  test('add, list and remove work', async () => {
    expect(await json(['suppressions', 'add', 'Ada@people.example'])).toEqual({
      email: 'ada@people.example',
      reason: 'manual',
      createdAt: expect.any(Number),
      topicId: null,
      topic: null,
      added: true,
    })
    await json(['suppressions', 'add', 'ada@people.example', '--reason', 'unsubscribed'])
    expect((await json(['suppressions', 'add', 'ada@people.example'])).added).toBe(false)
    expect((await run(['suppressions', 'add', 'ada@people.example', '--reason', 'dislike'])).status).toBe(2)
    expect((await json(['suppressions', 'list', '--reason', 'manual'])).suppressions).toMatchObject([
      { email: 'ada@people.example', reason: 'manual' },
    ])
    expect((await json(['suppressions'])).suppressions).toHaveLength(2)
    expect((await run(['suppressions', 'remove', 'ada@people.example'])).status).toBe(2)
    const remove = ['suppressions', 'remove', 'ada@people.example', '--reason', 'manual']
    expect((await run([...remove, '--dry-run', '--json'])).json).toEqual({
      dryRun: true,
      email: 'ada@people.example',
      removed: ['manual'],
    })
    const removed = await json([...remove, '--yes'])
    expect(removed).toEqual({ email: 'ada@people.example', removed: ['manual'] })
    await json(['suppressions', 'remove', 'ada@people.example', '--yes'])
    expect((await run(['suppressions', 'remove', 'ada@people.example', '--yes'])).status).toBe(3)
  })

  test('import takes CSV with reasons, or one address per line, and reports the result of each row', async () => {
    const csv =
      'Email,Reason\r\nada@people.example,bounced\r\n"bob@people.example",\r\nnobody,manual\r\neve@people.example,dislike\r\n'
    const ran = await run(['suppressions', 'import', await file('s.csv', csv), '--json'])
    expect([ran.status, ran.json]).toEqual([
      5,
      { rows: 4, added: 3, known: 0, rejected: 1, warnings: ['Unknown reason dislike: used manual instead.'] },
    ])
    expect(ran.stderr).toContain('Unknown reason dislike: used manual instead.')
    const plain = await run(['suppressions', 'import', '-'], { stdin: 'any@people.example\nnobody\nsomebody\n' })
    expect(plain.status).toBe(5)
    expect(plain.stderr).toMatch(/^Rejected 2 rows: no email address \(2\)\n {2}next: .* --rejects <file>/)
    const dry = await run(['suppressions', 'import', '-', '--dry-run', '--json'], { stdin: 'zoe@people.example\n' })
    expect([dry.status, dry.json]).toEqual([
      0,
      { dryRun: true, rows: 1, added: 1, known: 0, rejected: 0, warnings: [] },
    ])
    const lines = Array.from({ length: 1201 }, (_, i) => `p${i}@people.example`).join('\n')
    expect(
      await json(['suppressions', 'import', '-', '--reason', 'complained'], {
        stdin: `${lines}\nada@people.example\n`,
      }),
    ).toEqual({ rows: 1202, added: 1202, known: 0, rejected: 0, warnings: [] })
    expect(await json(['suppressions', 'import', '-', '--reason', 'complained'], { stdin: lines })).toEqual({
      rows: 1201,
      added: 0,
      known: 1201,
      rejected: 0,
      warnings: [],
    })
    expect((await json(['suppressions', 'list', '--email', 'ada@people.example'])).suppressions).toMatchObject([
      { reason: 'bounced' },
      { reason: 'complained' },
    ])
    expect((await run(['suppressions', 'import', join(folder, 'nowhere.csv')])).status).toBe(3)
  })

  test.each<[string, string | Buffer, string[], object[]]>([
    [
      'Mailchimp’s headers, quotes with line ends, and a byte order mark',
      '\ufeff"Email Address","First Name",Reason,NOTES\r\nAda@people.example,Ada,bounced,"two\r\nlines, ""so"""\r\n',
      [],
      [{ email: 'ada@people.example', reason: 'bounced' }],
    ],
    ['semicolons', 'name;E-Mail;reason\nAda;ada@people.example;complained\n', [], [{ reason: 'complained' }]],
    ['tabs', 'reason\temail\nunsubscribed\tada@people.example\n', [], [{ reason: 'unsubscribed' }]],
    ['CR alone', 'email,reason\rada@people.example,bounced\r', [], [{ reason: 'bounced' }]],
    [
      'mapped columns',
      'who,why,email\nada@people.example,bounced,x\n',
      ['--map', 'who=email,why=reason,email=other'],
      [{ email: 'ada@people.example', reason: 'bounced' }],
    ],
    [
      'Latin-1 by flag',
      Buffer.from('email;Grund\nj\xf6rg@people.example;x\n', 'latin1'),
      ['--encoding', 'latin1'],
      [{ email: 'jörg@people.example', reason: 'manual' }],
    ],
    ['no header, semicolons', 'ada@people.example;x\n', [], [{ email: 'ada@people.example', reason: 'manual' }]],
  ])('import reads %s', async (name, content, flags, expected) => {
    const own = await t.account()
    const path = join(folder, `${name.replaceAll(/\W/g, '')}.csv`)
    await writeFile(path, content)
    const of = (...args: string[]) => svc(t, [...args, '--account', own.id, '--json'])
    const ran = await of('suppressions', 'import', path, ...flags)
    expect([ran.stderr, ran.status, ran.json]).toEqual([
      '',
      0,
      { rows: 1, added: 1, known: 0, rejected: 0, warnings: [] },
    ])
    expect((await of('suppressions', 'list')).json.suppressions).toMatchObject(expected)
  })

  test('import writes the rows without an address to the given file, and refuses a file without an address column', async () => {
    const path = join(folder, 'half.csv')
    await writeFile(path, 'email,reason\nada@people.example,\n"x, y",bounced\n')
    const rejects = join(folder, 'rejects.csv')
    expect((await run(['suppressions', 'import', path, '--rejects', rejects, '--dry-run'])).status).toBe(5)
    expect(existsSync(rejects)).toBe(false)
    expect((await run(['suppressions', 'import', path, '--rejects', rejects])).status).toBe(5)
    expect(await readFile(rejects, 'utf8')).toBe('line,email,reason\r\n3,"x, y",no email address\r\n')
    expect(await run(['suppressions', 'import', path, '--rejects', path])).toMatchObject({ status: 2, stdout: '' })
    expect(await readFile(path, 'utf8')).toContain('ada@people.example')
    await writeFile(path, 'name,reason\nAda,bounced\n')
    expect(await run(['suppressions', 'import', path])).toMatchObject({
      status: 2,
      stdout: '',
      stderr: expect.stringContaining('--map'),
    })
  })
})
