import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Command } from 'commander'
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { mailFolder } from '../../src/app/config.ts'
import { fullCommand } from '../../src/cli/next.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { newId } from '../../src/lib/ids.ts'
import { loadCommands } from '../../src/tools/commands.ts'
import { useAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { emitEvents, subscribe } from '../support/deliveries.ts'

let listId: string

const contacts = 1201

const t = useApp({ development: true, env: { SVC_ALLOW_PRIVATE_WEBHOOKS: '127.0.0.0/8' } })
const account = useAccount(t, { name: 'Only' })
beforeAll(async () => {
  listId = (await json('lists', 'create', '--name', 'Many')).id
  const csv = `email\n${Array.from({ length: contacts }, (_, i) => `p${i}@people.example\n`).join('')}`
  await svc(t, ['contacts', 'import', '-', '--list', 'Many', '--no-events', '-q'], { stdin: csv })
})

const run = (...args: string[]) => svc(t, args)
const json = async (...args: string[]) => (await run(...args, '--json')).json
const linesOf = (text: string) => text.trimEnd().split('\n')

const leaves = (command: Command, path: string[] = []): string[][] =>
  command.commands.length > 0 ? command.commands.flatMap((child) => leaves(child, [...path, child.name()])) : [path]
const unopened = async (): Promise<never> => {
  throw new Error('not opened here')
}
const all = leaves(buildProgram(await loadCommands(), unopened)).filter((path) => path[0] !== 'help')

describe('long lists', () => {
  test('-q and --jsonl print every page, --limit at most that many rows, --cursor starts from there', async () => {
    const ids = linesOf((await run('contacts', 'list', '-q')).stdout)
    expect(new Set(ids).size).toBe(contacts)
    const rows = linesOf((await run('contacts', 'list', '--jsonl')).stdout).map((line) => JSON.parse(line))
    expect(rows.map(({ email }) => email)).toEqual(ids)
    expect(linesOf((await run('contacts', 'list', '-q', '--limit', '600')).stdout)).toEqual(ids.slice(0, 600))
    const first = await json('contacts', 'list', '--limit', '700')
    expect(first.contacts).toHaveLength(700)
    expect(linesOf((await run('contacts', 'list', '-q', '--cursor', first.nextCursor)).stdout)).toEqual(ids.slice(700))
  })

  test('without them a page is 50 rows, and a note shows how to continue', async () => {
    const page = await json('contacts', 'list')
    expect([page.contacts.length, typeof page.nextCursor]).toEqual([50, 'string'])
    const plain = await run('contacts', 'list')
    expect([linesOf(plain.stdout).length, plain.stderr]).toEqual([50, `More: --cursor ${page.nextCursor}\n`])
  })
})

describe('--fields', () => {
  test('chooses what a list and a single object show', async () => {
    expect(await json('lists', '--fields', 'name,rowCount')).toEqual({ lists: [{ name: 'Many', rowCount: contacts }] })
    expect((await run('lists', 'list', '--fields', 'rowCount, name')).stdout).toBe(`${contacts}\tMany\n`)
    expect(await json('lists', 'show', 'Many', '--fields', 'id')).toEqual({ id: listId })
  })

  test.each([[['lists', 'list', '--fields', 'name,nope']], [['lists', 'show', 'Many', '--fields', 'nope', '--json']]])(
    '%j is exit 2 and names the available fields',
    async (args) => {
      const ran = await run(...args)
      expect([ran.status, ran.stdout]).toEqual([2, ''])
      expect(ran.stderr.replaceAll('\\"', '"')).toContain(
        'Unknown field "nope"; available: id, name, fields, rowCount, createdAt, updatedAt',
      )
    },
  )

  test('is refused before a command writes anything, and together with -q', async () => {
    expect((await run('lists', 'create', '--name', 'Never', '--fields', 'nope')).status).toBe(2)
    expect((await run('lists', 'show', 'Never')).status).toBe(3)
    expect((await run('lists', '--fields', 'id', '-q')).stderr).toContain('not both')
  })
})

describe('usage errors name the next command', () => {
  test('an error of the parser names the help of that command', async () => {
    for (const path of all) {
      const parsing = buildProgram(await loadCommands(path), unopened).parseAsync([
        'node',
        'svc',
        ...path,
        '--nonsense',
      ])
      const misuse = await parsing.then(
        () => null,
        ({ message, command }) => [message, fullCommand(command)],
      )
      expect(misuse).toEqual([expect.stringContaining("unknown option '--nonsense'"), `svc ${path.join(' ')}`])
    }
  })

  test.each<[string[], string]>([
    [['keys', 'create'], 'svc keys create --name <name>'],
    [['relay', 'unset'], 'svc relay unset --yes'],
    [['lists', 'delete', 'Many'], 'svc lists delete Many --yes'],
    [['lists', 'rename', "It's mine"], "svc lists rename 'It'\\''s mine' <name>"],
    [['contacts', 'import', "it's.csv"], "svc contacts import 'it'\\''s.csv' --list <id|name>"],
    [['plans', 'set', 'free'], 'svc plans set --help'],
    [['deliveries', 'replay'], 'svc deliveries replay --help'],
    [['lists', 'show', 'Many', '--nonsense'], 'svc lists show --help'],
    [['lists', 'show'], 'svc lists show <list>'],
    [['lits'], 'svc --help'],
    [['lists', 'shwo'], 'svc lists --help'],
  ])('%j', async (args, next) => {
    const ran = await run(...args)
    expect([ran.status, ran.stdout, ran.stderr]).toEqual([2, '', expect.stringContaining(`\n  next: ${next}\n`)])
    const told = await run(...args, '--json')
    expect(JSON.parse(told.stderr)).toMatchObject({ hint: expect.stringContaining(next.split(/ (?:--|<)/)[0]!) })
  })
})

test('where no email is caught, mail clear asks nothing', async () => {
  const ran = await run('mail', 'clear', '--json')
  expect([ran.status, ran.json]).toEqual([0, { ok: true, removed: 0 }])
})

describe('dry runs', () => {
  test.each<[string[], object]>([
    [['relay', 'unset'], {}],
    [['bounces', 'mailbox', 'unset'], {}],
    [['payments', 'provider', 'unset'], {}],
    [['mail', 'clear'], { removed: 0 }],
    [['lists', 'delete', 'Many'], { name: 'Many', contacts, addresses: contacts }],
    [['contacts', 'erase', 'p2@people.example'], { contacts: 1, rejects: 0, held: { deals: 0, messages: 0 } }],
  ])('%j prints what it would do as one object, and changes nothing', async (args, planned) => {
    const ran = await run(...args, '--dry-run', '--json')
    expect([ran.status, ran.json]).toEqual([0, expect.objectContaining({ dryRun: true })])
    expect(ran.json).toMatchObject(planned)
    expect(ran.stderr).toMatch(/^Would .*Nothing was changed\.\n$/)
    expect((await json('lists', 'show', 'Many')).rowCount).toBe(contacts)
  })

  test('keys revoke and webhooks disable count subscriptions and their pending deliveries', async () => {
    const { keyId } = await t.account({ name: 'Other' })
    const own = ['--account', 'Other']
    const other = (await json('accounts', 'show', 'Other')).id
    const { id } = await subscribe(t.app, other, 'http://127.0.0.1:1/a', keyId)
    await subscribe(t.app, other, 'http://127.0.0.1:1/b', keyId)
    await emitEvents(t.app, other, 3)
    const dry = { dryRun: true, id: keyId, subscriptions: 2, deliveries: 6 }
    expect(await json('keys', 'revoke', keyId, '--dry-run', ...own)).toEqual(dry)
    expect(await json('webhooks', 'disable', id, '--dry-run', ...own)).toEqual({ dryRun: true, id, pending: 3 })
    expect((await json('webhooks', ...own)).webhooks.map(({ status }: { status: string }) => status)).toEqual([
      'active',
      'active',
    ])
    expect((await json('deliveries', 'stats', ...own)).pending).toBe(6)
    await json('accounts', 'delete', 'Other', '--confirm', 'Other')
  })

  test('pipelines stages set-kind counts the deals whose status would change', async () => {
    await json('deals', 'create', '--title', 'A', '--email', 'p1@people.example')
    const change = ['pipelines', 'stages', 'set-kind', 'New', 'won', '--dry-run']
    expect(await json(...change)).toMatchObject({ dryRun: true, name: 'New', kind: 'won', deals: 1 })
    expect((await json('deals')).deals[0].status).toBe('open')
  })
})

test('with -q a secret is on stderr, and stdout has only the id', async () => {
  const { stdout, stderr } = await run('keys', 'create', '--name', 'quiet', '-q')
  expect(stdout).toMatch(/^key_\w+\n$/)
  const [, key] = /^key: (svc_live_\w+)\nSave the key now: it is not shown again\.\n$/.exec(stderr)!
  expect((await t.request('GET', '/lists', { key: key! })).status).toBe(200)
  const url = 'http://127.0.0.1:1/hook'
  const hook = await run('webhooks', 'create', '--url', url, '--events', 'deal.created', '-q')
  expect([hook.stdout, hook.stderr]).toEqual([
    expect.stringMatching(/^whk_\w+\n$/),
    expect.stringMatching(/^secret: whsec_/),
  ])
})

test('--follow refuses the flags for pages', async () => {
  const ran = await run('events', 'list', '--follow', '--limit', '5')
  expect([ran.status, ran.stderr]).toEqual([2, expect.stringContaining('combined with --limit or --cursor')])
})

describe('svc api', () => {
  let env: Record<string, string>
  const api = (args: string[], options = {}) => svc({ env }, ['api', ...args], options)

  beforeAll(async () => {
    const address = await t.server.fastify.listen({ host: '127.0.0.1', port: 0 })
    env = { SVC_PUBLIC_URL: `${address}/`, SVC_API_KEY: account.key }
  })

  test('calls the daemon with the key of the environment, and prints the body unchanged', async () => {
    const ran = await api(['GET', '/api/v1/lists'])
    expect([ran.status, ran.stderr, ran.json.lists[0].id]).toEqual([0, '', listId])
    expect((await api(['get', 'lists'])).stdout).toBe(ran.stdout)
    expect((await api(['GET', '/healthz'])).status).toBe(0)
    const email = 'api@people.example'
    onTestFinished(async () => expect((await run('contacts', 'erase', email, '--yes')).status).toBe(0))
    const body = JSON.stringify({ listId, email })
    expect((await api(['POST', '/contacts', '--data', '-'], { stdin: body })).json).toMatchObject({ created: 1 })
    expect((await api(['POST', '/contacts', '--data', body])).json).toMatchObject({ created: 0 })
  })

  test.each<[string[], number, number]>([
    [['GET', '/contacts'], 400, 2],
    [['DELETE', '/webhooks/whk_nope'], 404, 3],
    [['PATCH', '/lists'], 405, 2],
    [['GET', '/nowhere'], 404, 3],
  ])('%j: the body of a %i is on stdout, and the status is exit %i', async (args, status, exit) => {
    const ran = await api(args)
    expect([ran.status, ran.json]).toEqual([exit, { error: expect.any(String) }])
    expect(ran.stderr).toMatch(new RegExp(`^error: .* returned ${status}\n`))
  })

  test('a missing or invalid key is exit 1; the key is in no output', async () => {
    const none = await svc({ env: { SVC_PUBLIC_URL: env.SVC_PUBLIC_URL! } }, ['api', 'GET', '/lists'])
    expect([none.status, none.stderr]).toEqual([1, expect.stringContaining('svc keys create')])
    const bad = await api(['GET', '/lists'], { env: { SVC_API_KEY: 'svc_live_bad' } })
    expect([bad.status, bad.stdout + bad.stderr]).toEqual([1, expect.not.stringContaining('svc_live')])
  })

  test('an invalid call is exit 2, an unreachable daemon exit 7', async () => {
    expect((await api(['GET', '/lists', '--data', '{}'])).status).toBe(2)
    expect((await api(['G T', '/lists'])).status).toBe(2)
    expect((await api(['POST', '/lists', '--data', '@/nowhere/x'])).status).toBe(2)
    const away = await api(['GET', '/lists'], { env: { SVC_PUBLIC_URL: 'http://127.0.0.1:1' } })
    expect([away.status, away.stderr]).toEqual([7, expect.stringContaining('No daemon answers at http://127.0.0.1:1')])
  })
})

describe('on a terminal', () => {
  /** Returns what a terminal of 80 cells and 12 lines shows for a command. */
  const show = async (args: string[], env: Record<string, string> = {}): Promise<string> =>
    (await svc(t, args, { tty: { columns: 80, rows: 12 }, env: { TERM: 'xterm-256color', ...env } })).text

  beforeAll(() => t.advance(2 * 86_400_000))

  test('rows have relative times by the development clock and coloured states; --no-color has none', async () => {
    const list = ['contacts', 'list', '--limit', '2']
    const [coloured, plain] = [await show(list), await show([...list, '--no-color'])]
    expect(coloured).toContain('\u001b[32mactive\u001b[39m')
    expect(coloured).toMatch(/ 2 d ago\n/)
    expect(plain).toMatch(/ active .* 2 d ago\n/)
    expect(plain).not.toContain('\u001b')
  })

  test('caught email follows the development clock; status, doctor and the clock itself show that it was moved', async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'svc-clock-'))
    const at = Date.now() + (await json('clock')).offsetMs - 3_600_000
    const mail = {
      id: newId('msg', at),
      from: 'a@shop.example',
      to: ['b@shop.example'],
      at,
      raw: 'Subject: Hello\r\nMessage-ID: <msg_01sent@shop.example>\r\n\r\nDear \u001b[2Jreader\r\n',
    }
    await mkdir(mailFolder(dataDir))
    await writeFile(join(mailFolder(dataDir), `${mail.id}.json`), JSON.stringify(mail))
    const own = { SVC_DATA_DIR: dataDir }
    expect(await show(['mail'], own)).toMatch(/b@shop.example +Hello +1 h ago\n/)
    expect(await show(['mail', '--wide'], own)).toMatch(/a@shop.example/)
    expect(await show(['mail', 'show', mail.id], own)).toMatch(/subject +Hello\ndate .*\(1 h ago\)\n\nDear reader\n/)
    for (const send of ['msg_01sent', '01sent', '…01sent'])
      expect(await show(['mail', 'show', send], own)).toMatch(new RegExp(`^id +${mail.id}\n`))
    for (const send of ['msg_01sen', '1sent'])
      expect((await svc(t, ['mail', 'show', send], { env: own })).status).toBe(3)
    expect(await show(['status'])).toMatch(/clock +2 d ahead: svc clock reset\n/)
    expect((await show(['doctor'])).replace(/\s+/g, ' ')).toContain(
      'the development clock is 2 d ahead: svc clock reset ',
    )
    expect(await show(['clock'])).toMatch(/ahead of the system by +2 d\n/)
    await rm(dataDir, { recursive: true })
  })

  test('a list is paged if it is longer than the screen, and printed otherwise', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-paged-'))
    const file = join(folder, 'paged')
    const env = { PAGER: `cat > ${file}` }
    expect(await show(['contacts', 'list', '--no-color'], env)).toMatch(/^More: --cursor\s\S+\s$/)
    const paged = await readFile(file, 'utf8')
    expect(linesOf(paged)).toHaveLength(51)
    const contact = (line: string) => /^[\w]+@people/.test(line)
    const short = await show(['contacts', 'list', '--limit', '5', '--no-color'], env)
    expect(linesOf(short).filter(contact)).toHaveLength(5)
    const whole = await show(['contacts', 'list', '--no-pager'], env)
    expect(linesOf(whole).filter(contact)).toHaveLength(50)
    expect(await readFile(file, 'utf8')).toBe(paged)
    await rm(folder, { recursive: true })
  })

  test('text of strangers controls no terminal in exports, JSON lines and personal data', async () => {
    const evil = 'Z\u001b]0;owned\u0007\u001b[2J\u009b2J\u202egpj.exe\u2066end'
    await run('lists', 'create', '--name', 'Evil')
    onTestFinished(async () => expect((await run('lists', 'delete', 'Evil', '--yes')).status).toBe(0))
    await run('contacts', 'upsert', '--list', 'Evil', '--email', 'zoe@people.example', '--field', `first_name=${evil}`)
    for (const args of [
      ['export', '--list', 'Evil'],
      ['export', '--list', 'Evil', '--format', 'jsonl'],
      ['export', '--email', 'zoe@people.example'],
      ['list', '--list', 'Evil', '--jsonl'],
    ]) {
      const shown = await show(['contacts', ...args])
      expect(shown.replaceAll('\n', '')).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
      expect(shown).toContain('zoe@people.example')
      expect(shown).toContain('gpj.exe')
    }
    const piped = (await run('contacts', 'export', '--list', 'Evil')).stdout
    expect(piped).toContain(evil)
  })
})

describe('svc --help', () => {
  const nouns = new Set(all.map(([noun]) => noun!))
  test('on a terminal of 80 columns lists each noun once, in two columns, and ends with how to start', async () => {
    const { stdout } = await svc(t, ['--help'], { tty: { columns: 80, rows: 24 } })
    const lines = linesOf(stdout.replaceAll('\r', ''))
    expect(lines.filter((line) => line.length > 80)).toEqual([])
    const groups = lines.slice(lines.indexOf('Audience:'), lines.indexOf('Getting started:')).join('\n')
    const started = ['dev', 'doctor', 'completion']
    for (const noun of nouns) {
      if (started.includes(noun)) expect(lines.slice(-24).join('\n')).toContain(`  svc ${noun}`)
      else expect(groups.match(new RegExp(`^(.{40})?  ${noun} +\\S`, 'gm')), noun).toHaveLength(1)
    }
    expect(lines.slice(-24)).toContain('Getting started:')
  })

  test('elsewhere describes each noun in a sentence on a line of its own', async () => {
    const { stdout } = await run('--help')
    for (const noun of nouns) expect(stdout).toMatch(new RegExp(`^  ${noun} +[A-Z]`, 'm'))
    expect(stdout.indexOf('Getting started:')).toBeLessThan(stdout.indexOf('Audience:'))
  })
})
