import type { Command } from 'commander'
import { beforeAll, describe, expect, test } from 'vitest'
import { buildProgram } from '../../src/cli/program.ts'
import { openDatabase } from '../../src/store/database.ts'
import { connectionName } from '../../src/store/processes.ts'
import { loadCommands, loadLists } from '../../src/tools/commands.ts'
import { startApp, useApp } from '../support/app.ts'
import { svc, useOneApp } from '../support/cli.ts'

const t = useApp()
beforeAll(async () => {
  await t.account({ name: 'Only' })
})

const leaves = (command: Command, path: string[] = []): string[][] =>
  command.commands.length > 0 ? command.commands.flatMap((child) => leaves(child, [...path, child.name()])) : [path]

/** Commands that run until they are stopped. */
const runsOn = ['serve', 'dev', 'jobs run', 'listen', 'mcp']
/** Commands that wait, with the flag that limits how long. */
const waits: Record<string, string[]> = { 'mail wait': ['--timeout', '1s'] }

const unopened = async (): Promise<never> => {
  throw new Error('not opened here')
}

const all = leaves(buildProgram(await loadCommands(), unopened)).filter((path) => path[0] !== 'help')

const captured = (command: Command, writeOut: (text: string) => void): void => {
  command.configureOutput({ writeOut })
  for (const child of command.commands) captured(child, writeOut)
}

/** Returns the output of `--help`, in this process, without access to a database. */
const help = async (path: readonly string[]): Promise<{ shown: string; exitCode: number }> => {
  const program = buildProgram(await loadCommands(path), unopened)
  let shown = ''
  captured(program, (text) => {
    shown += text
  })
  const { exitCode } = await program.parseAsync(['node', 'svc', ...path, '--help']).then(
    () => ({ exitCode: -1 }),
    (error: { exitCode: number }) => error,
  )
  return { shown, exitCode }
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain colour
const colour = /\u001b\[/

describe('every command, with stdin closed and pipes for output', () => {
  useOneApp()

  test.each(all.map((path) => [path.join(' '), path] as const).filter(([name]) => !runsOn.includes(name)))(
    '%s --json: valid JSON, or nothing on stdout and a status that is not 0',
    async (name, path) => {
      // A free port: doctor fails beside a daemon of another database.
      const ran = await svc(t, [...path, ...(waits[name] ?? []), '--json'], { env: { SVC_PORT: '0' } })
      expect(ran.stdout + ran.stderr).not.toMatch(colour)
      if (ran.status === 0) {
        for (const line of ran.stdout.trim().split('\n')) if (path[0] !== 'openapi') JSON.parse(line)
        if (path[0] === 'openapi') JSON.parse(ran.stdout)
      } else {
        expect(ran.stdout).toBe('')
        expect(ran.stderr).not.toBe('')
        expect(ran.stderr).not.toMatch(/at .*\.ts:\d+|node:internal|Something went wrong/)
      }
    },
  )

  test('svc --help needs no database', async () => {
    const ran = await svc({ env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' } }, ['--help'])
    expect(ran).toMatchObject({ status: 0, stderr: '' })
    expect(ran.stdout).toContain('Usage: svc')
  })

  test.each(all.map((path) => [path.join(' '), path] as const))('%s --help opens no database', async (_, path) => {
    const { shown, exitCode } = await help(path)
    expect(exitCode).toBe(0)
    expect(shown).toContain(`Usage: svc ${path.join(' ')}`)
  })

  test('svc --help describes each noun in a sentence, under a heading', async () => {
    const shown = buildProgram(await loadCommands([]), unopened)
    const whole = buildProgram(await loadCommands(), unopened)
    expect(shown.helpInformation()).toBe(whole.helpInformation())
    for (const command of shown.commands) {
      expect(command.description(), command.name()).not.toBe('')
      expect(command.helpGroup(), command.name()).toMatch(/:$/)
    }
  })

  test('each list of commands has exactly the nouns that it is loaded for', async () => {
    const loaded = (await loadLists()).map(([nouns, list]) => {
      const program = buildProgram([list], unopened)
      return [nouns, program.commands.map((command) => command.name())]
    })
    for (const [nouns, made] of loaded) expect([...made!].sort()).toEqual([...nouns!].sort())
  })
})

describe('exit statuses', () => {
  test.each([
    ['an unknown command', ['nonsense'], 2],
    ['an unknown verb', ['accounts', 'nonsense'], 2],
    ['an unknown option', ['accounts', 'list', '--nonsense'], 2],
    ['a missing argument', ['plans', 'show'], 2],
    ['a missing flag', ['accounts', 'create'], 2],
    ['something destructive without --yes', ['db', 'reset'], 2],
    ['what does not exist', ['accounts', 'show', 'nobody'], 3],
    ['a plan that does not exist', ['accounts', 'create', '--name', 'x', '--plan', 'none'], 3],
    ['a name that is taken', ['accounts', 'create', '--name', 'Only'], 6],
    ['a version', ['--version'], 0],
  ] as const)('%s', async (_, args, status) => {
    const ran = await svc(t, args)
    expect(ran.status).toBe(status)
    if (status !== 0) expect(ran.stdout).toBe('')
  })

  test.each([
    [3, ['lists', 'show', ''], 'There is no list ""'],
    [3, ['deals', 'list', '--pipeline', ''], 'There is no pipeline ""'],
    [3, ['deals', 'list', '--stage', ''], 'There is no stage'],
    [2, ['sends', 'list', '--to', ''], 'to must be an email address'],
    [2, ['sends', 'list', '--since', ''], 'since must be'],
    [2, ['events', 'list', '--since', ''], 'since must be'],
    [2, ['deliveries', 'list', '--since', ''], 'since must be'],
    [2, ['deliveries', 'cancel', '--since', '', '--yes'], 'since must be'],
    [2, ['deliveries', 'replay', '--since', '', '--yes'], 'since must be'],
    [2, ['score', 'set', 'ada@people.example', '--score', ''], 'score must be a number'],
    [2, ['score', 'set', 'ada@people.example', '--score', '0x10'], 'score must be a number'],
    [2, ['score', 'set', '', '--score', '5'], 'email must not be empty'],
    [2, ['score', 'show', ''], 'email must not be empty'],
    [2, ['relay', 'test', '--to', '', '--dry-run'], 'to must be an email address'],
    [2, ['send', '--to', 'ada@people.example', '--from', '', '--subject', 'S', '--text', 'T'], 'from.email must be'],
    [2, ['pipelines', 'stages', 'add', 'Sales', '--name', ''], 'name must not be empty'],
    [2, ['dev', '--data-dir', ''], '--data-dir must not be empty'],
  ] as const)('an empty or odd value is exit %i, not taken for another one: svc %j', async (status, args, message) => {
    const ran = await svc(t, args)
    expect(ran).toMatchObject({ status, stdout: '', stderr: expect.stringContaining(message) })
    expect(ran.stderr).not.toContain('did you mean')
  })

  test('a text that is not UTF-8 is refused, and a byte-order mark is no part of it', async () => {
    const latin1 = Buffer.from('{ "name": "Jörg" }', 'latin1')
    const email = ['--to', 'ada@people.example', '--subject', 'S']
    for (const args of [
      ['send', ...email, '--html', '-'],
      ['projects', 'apply', '-f', '-'],
      ['projects', 'render', 'Welcome', '--data', '@-'],
    ]) {
      const stderr = expect.stringContaining('error: Standard input is not UTF-8\n')
      expect(await svc(t, args, { stdin: latin1 })).toMatchObject({ status: 2, stderr })
    }
    const render = ['projects', 'render', 'Nothing', '--data', '@-']
    expect((await svc(t, render, { stdin: '\uFEFF{ "name": "Jörg" }' })).stderr).toContain(
      'There is no project Nothing',
    )
  })

  test('a file of the environment that can not be read is exit 4', async () => {
    const ran = await svc(t, ['api', 'GET', '/lists'], { env: { SVC_API_KEY_FILE: '/none' } })
    expect(ran).toMatchObject({ status: 4, stderr: "error: SVC_API_KEY_FILE names a file that can't be read: /none\n" })
  })

  test('an account that does not exist is answered with the nearest one, as a flag and as a variable', async () => {
    const failure = {
      status: 3,
      stderr: 'error: There is no account Olny (did you mean Only?)\n  next: svc accounts list\n',
    }
    expect(await svc(t, ['lists', '--account', 'Olny'])).toMatchObject(failure)
    expect(await svc(t, ['lists'], { env: { SVC_ACCOUNT: 'Olny' } })).toMatchObject(failure)
  })

  test('an empty --account is refused, as other empty flags are', async () => {
    const failure = { status: 3, stdout: '', stderr: 'error: There is no account ""\n  next: svc accounts list\n' }
    for (const args of [['lists'], ['bounces', 'ingest', '-']])
      expect(await svc(t, [...args, '--account', ''], { stdin: '' })).toMatchObject(failure)
    expect((await svc(t, ['lists'], { env: { SVC_ACCOUNT: '' } })).status).toBe(0)
  })

  test('an argument too many is not called an unknown verb', async () => {
    const failure = {
      status: 2,
      stderr: expect.stringMatching(
        /^error: svc lists list takes no arguments, but got old\n {2}next: svc lists list --help\n/,
      ),
    }
    expect(await svc(t, ['lists', 'list', 'old'])).toMatchObject(failure)
  })

  test.each([
    [['help', 'lists', 'show'], 'Usage: svc lists show [options] <list>'],
    [['lists', 'help', 'show'], 'Usage: svc lists show [options] <list>'],
    [['help', 'pipelines', 'stages', 'add'], 'Usage: svc pipelines stages add [options] <pipeline>'],
    [['--json', 'help', 'lists'], 'Usage: svc lists [options] [command]'],
    [['help', 'help'], 'Usage: svc [options] [command]'],
    [['help'], 'Usage: svc [options] [command]'],
  ])('%j prints the help of that command', async (args, usage) => {
    const ran = await svc(t, args)
    expect([ran.status, ran.stdout.split('\n')[0], ran.stderr]).toEqual([0, usage, ''])
  })

  test.each([
    [['help', 'lits'], 'There is no command svc lits (did you mean lists?)'],
    [['help', 'lists', 'shwo'], 'There is no command svc lists shwo (did you mean show?)'],
    [['lists', 'help', 'shwo'], 'There is no command svc lists shwo (did you mean show?)'],
    [['help', 'lists', 'show', 'more'], 'There is no command svc lists show more'],
  ])('%j, which names no command, is refused', async (args, sentence) => {
    const ran = await svc(t, [...args, '--json'])
    expect(ran).toMatchObject({ status: 2, stdout: '' })
    expect(JSON.parse(ran.stderr).error).toBe(sentence)
  })

  test('every missing flag is named', async () => {
    const ran = await svc(t, ['keys', 'create'])
    expect(ran.status).toBe(2)
    expect(ran.stderr).toContain('--name')
  })

  test('with --json a failure is { error, hint } on stderr', async () => {
    const ran = await svc(t, ['accounts', 'show', 'nobody', '--json'])
    expect(ran).toMatchObject({ status: 3, stdout: '' })
    expect(JSON.parse(ran.stderr)).toEqual({ error: 'There is no account nobody', hint: 'svc accounts list' })
  })

  test.each([
    [['events', 'sample', 'nope'], 2],
    [['deliveries', 'list', '--status', 'nope'], 2],
    [['deliveries', 'list', '--cursor', 'bad'], 2],
    [['deliveries', 'list', '--webhook', 'nope'], 3],
    [['deliveries', 'replay', '--webhook', 'nope', '--yes'], 3],
    [['keys', 'create', '--name', 'x', '--scope', 'nope'], 2],
    [['accounts', 'claim-slug', 'Bad Slug'], 2],
    [['contacts', 'erase', 'nobody@people.example', '--yes'], 3],
    [['queues', 'pause', 'nope'], 3],
    [['accounts', 'create', '--name', 'Only'], 6],
  ])('%s: a failure names a next command', async (args, status) => {
    const ran = await svc(t, args)
    expect([ran.status, ran.stderr]).toEqual([
      status,
      expect.stringMatching(/^error: .+\n {2}next: (?:.*: )?svc .+\n$/),
    ])
  })

  test.each([
    [['lists', 'list', '--nope', '--json']],
    [['nope', '--json']],
    [['webhooks', 'show', '--json']],
    [['lists', 'nope', '--json']],
  ])('%s: an error of the parser is JSON on stderr, too', async (args) => {
    const ran = await svc(t, args)
    expect(ran).toMatchObject({ status: 2, stdout: '' })
    expect(JSON.parse(ran.stderr)).toMatchObject({ error: expect.any(String), hint: expect.stringContaining('svc ') })
  })

  test('a dry run of a destructive command is one object with --json', async () => {
    const ran = await svc(t, ['db', 'reset', '--dry-run', '--json'])
    expect(ran.status).toBe(0)
    expect(ran.json).toMatchObject({ dryRun: true })
    expect(ran.json).not.toHaveProperty('daemons')
  })

  test('db reset names the daemons that use the database', async () => {
    const daemon = openDatabase(t.url, { max: 1, name: connectionName('svc daemon', '9.9.9') })
    await daemon.sql('select 1')
    const named = expect.stringMatching(new RegExp(`^process ${process.pid} on .+ \\(svc 9\\.9\\.9\\)$`))
    expect((await svc(t, ['db', 'reset', '--dry-run', '--json'])).json.daemons).toEqual([named])
    const asked = await svc(t, ['db', 'reset'])
    expect(asked).toMatchObject({ status: 2, stderr: expect.stringMatching(/, which is in use: process \d+ on /) })
    await daemon.close()
  })

  test('an unavailable database is exit 7, invalid settings exit 4', async () => {
    expect((await svc(t, ['lists'], { env: { DATABASE_URL: 'postgres://svc:svc@127.0.0.1:1/svc' } })).status).toBe(7)
    expect((await svc(t, ['lists'], { env: { SVC_PORT: 'x' } })).status).toBe(4)
  })

  test.each(['lists', 'db status', 'db migrate --dry-run'])(
    'without the database of DATABASE_URL, %s says so',
    async (line) => {
      const url = new URL(t.env.DATABASE_URL!)
      url.pathname = '/no_such_database'
      const ran = await svc(t, line.split(' '), { env: { DATABASE_URL: url.href } })
      const said =
        'error: The database is not available: database "no_such_database" does not exist\n  next: svc doctor\n'
      expect([ran.status, ran.stderr]).toEqual([7, said])
    },
  )
})

describe('accounts', () => {
  test('with more than one account a command without --account is exit 2 and lists the accounts', async () => {
    const two = await startApp()
    await two.account({ name: 'First' })
    await two.account({ name: 'Second' })
    const ran = await svc(two, ['keys', 'list'])
    expect(ran.status).toBe(2)
    expect(ran.stderr).toContain('First, Second')
    expect((await svc(two, ['keys', 'list', '--account', 'Second', '--json'])).status).toBe(0)
    expect((await svc(two, ['keys', 'list', '--json'], { env: { SVC_ACCOUNT: 'First' } })).status).toBe(0)
    expect((await svc(two, ['keys', 'list', '--account', 'Third'])).status).toBe(3)
    await two.close()
  })

  test('create --with-key, keys, plans and deletion work together', async () => {
    const created = (await svc(t, ['accounts', 'create', '--name', 'Made', '--plan', 'pro', '--with-key', '--json']))
      .json
    expect(created).toMatchObject({ name: 'Made', plan: 'pro', slug: null })
    expect((await t.request('GET', '/lists', { key: created.key })).status).toBe(200)

    const key = (await svc(t, ['keys', 'create', '--name', 'second', '--account', 'Made', '--json'])).json
    expect(Object.keys(key)).toEqual(['id', 'name', 'prefix', 'key'])
    expect((await svc(t, ['keys', 'revoke', key.id, '--account', 'Made'])).status).toBe(2)
    expect((await svc(t, ['keys', 'revoke', key.id, '--account', 'Made', '--yes'])).status).toBe(0)
    expect((await t.request('GET', '/lists', { key: key.key })).status).toBe(401)

    const limited = ['keys', 'create', '--name', 'site', '--scope', 'send,contacts:read', '--expires', '90d']
    const planned = await svc(t, [...limited, '--dry-run', '--account', 'Made', '--json'])
    expect(planned.json).toMatchObject({ dryRun: true, name: 'site', scopes: ['contacts:read', 'send'] })
    expect(planned.json).not.toHaveProperty('key')
    const wrong = await svc(t, ['keys', 'create', '--name', 'x', '--scope', 'contact', '--account', 'Made'])
    expect(wrong).toMatchObject({ status: 2, stderr: expect.stringContaining('contacts') })
    const { json: keys } = await svc(t, ['keys', 'list', '--account', 'Made', '--json'])
    expect(keys.keys).toMatchObject([
      { id: key.id, scopes: null, expiresAt: null, lastUsedAt: null, revokedAt: expect.any(Number) },
      { scopes: null, lastUsedAt: expect.any(Number) },
    ])

    const setPlan = (...args: string[]) => svc(t, ['accounts', 'set-plan', ...args, '--json'])
    expect(await setPlan('Made', 'fre')).toMatchObject({ status: 3, stderr: expect.stringContaining('mean free?') })
    expect((await setPlan('Mad', 'free')).status).toBe(3)
    expect((await setPlan('starter', '--account', 'Made')).json.plan).toBe('starter')
    await t.app.sql(`update accounts set contact_count = 2000 where name = 'Made'`)
    const holds = 'move Made to free, which allows less than it holds: 2,000 of 1,000 contacts'
    const tried = await setPlan('Made', 'free', '--dry-run')
    expect([tried.status, tried.json.dryRun, tried.stderr]).toEqual([
      0,
      true,
      `Would ${holds}.\nNothing was changed.\n`,
    ])
    expect(await setPlan('Made', 'free')).toMatchObject({ status: 2, stderr: expect.stringContaining(`${holds}: it`) })
    const asked = await svc(t, ['accounts', 'set-plan', 'Made', 'free'], { tty: {}, steps: [['Go on?', 'n\r']] })
    expect(asked.text).toContain(`This will ${holds}. Go on?`)
    expect((await svc(t, ['accounts', 'show', 'Made', '--json'])).json.plan).toBe('starter')
    expect((await setPlan('Made', 'free', '--yes')).json).toMatchObject({ name: 'Made', plan: 'free' })
    await t.app.sql(`update accounts set contact_count = 0 where name = 'Made'`)
    expect((await setPlan('Made', 'free')).json.plan).toBe('free')
    const usage = (await svc(t, ['accounts', 'usage', '--account', 'Made', '--json'])).json.usage
    expect(usage[0]).toEqual({ quota: 'contacts', used: 0, limit: 1000 })

    expect((await svc(t, ['accounts', 'delete', 'Made'])).status).toBe(2)
    expect((await svc(t, ['accounts', 'delete', 'Made', '--confirm', 'Mad'])).status).toBe(2)
    const dry = await svc(t, ['accounts', 'delete', 'Made', '--dry-run', '--json'])
    expect(dry.json).toMatchObject({ dryRun: true, name: 'Made', deleted: { api_keys: 2 } })
    expect((await svc(t, ['accounts', 'show', 'Made'])).status).toBe(0)
    expect((await svc(t, ['accounts', 'delete', 'Made', '--confirm', 'Made'])).status).toBe(0)
    expect((await svc(t, ['accounts', 'show', 'Made'])).status).toBe(3)
    expect((await t.request('GET', '/lists', { key: created.key })).status).toBe(401)
  })

  test.each([
    [['plans', 'set', 'free', '--contacts', '99999999999'], 'from 0 to 9999999999'],
    [['plans', 'set', 'free', '--sends', '-1'], 'from 0 to 9999999999'],
    [['deliveries', 'replay', '--status', 'exhausted', '--rate', '0'], 'more than 0 and at most 1000000'],
    [['deliveries', 'replay', '--status', 'exhausted', '--rate', '1e9'], 'more than 0 and at most 1000000'],
    [['mail', 'mode', 'refuse', '--times', '1000000'], 'from 1 to 999999'],
  ])('the refusal of %j names the bounds', async (args, bounds) => {
    expect(await svc(t, args)).toMatchObject({ status: 2, stderr: expect.stringContaining(bounds) })
  })

  test('plans set changes only the named values; unlimited is null', async () => {
    const plan = (
      await svc(t, [
        'plans',
        'set',
        'starter',
        '--contacts',
        '7',
        '--sends',
        'unlimited',
        '--webinar-courses',
        'yes',
        '--json',
      ])
    ).json
    expect(plan).toEqual({
      name: 'starter',
      contacts: 7,
      sends: null,
      sendApiCalls: 10_000,
      embedApi: 0,
      broadcastMinutes: 60,
      webinarCourses: true,
    })
    expect((await svc(t, ['plans', 'set', 'starter', '--contacts', 'many'])).status).toBe(2)
    expect((await svc(t, ['plans', 'set', 'starter'])).status).toBe(2)
  })
})

describe('output', () => {
  test('in a pipe rows are tab-separated, -q prints ids, --jsonl one line each', async () => {
    const plain = await svc(t, ['plans', 'list'])
    expect(plain.stdout.split('\n')[0]!.split('\t')).toHaveLength(7)
    expect(plain.stdout).not.toMatch(/[│┌─]/)
    expect((await svc(t, ['plans', 'list', '-q'])).stdout.split('\n')[0]).toBe('free')
    expect(JSON.parse((await svc(t, ['plans', 'list', '--jsonl'])).stdout.split('\n')[1]!).name).toBe('starter')
  })

  test('the bare noun lists', async () => {
    expect((await svc(t, ['plans', '--json'])).json.plans).toHaveLength(5)
  })

  test('control characters in stored text are removed', async () => {
    await t.app.sql(`update accounts set name = E'Only\\u001b[31mred\\u0007' where name = 'Only'`)
    const ran = await svc(t, ['accounts', 'list'])
    expect(ran.stdout).toContain('Onlyred')
    expect(ran.stdout).not.toMatch(colour)
    await t.app.sql(`update accounts set name = 'Only' where name like 'Only%'`)
  })
})

test.each([
  ['lists rename', 'Missing <list>, <name>', 'svc lists rename <list> <name>'],
  ['lists rename People', 'Missing <name>', 'svc lists rename People <name>'],
  ['deals move', 'Missing <ids>, --to', 'svc deals move <ids> --to <stage>'],
  ['contacts remove', 'Missing <email>, --list', 'svc contacts remove <email> --list <id|name>'],
  ['contacts remove ada@people.example', 'Missing --list', 'svc contacts remove ada@people.example --list <id|name>'],
])('svc %s without a terminal names every argument and flag that is missing', async (call, error, hint) => {
  expect(await svc(t, call.split(' '))).toMatchObject({
    ...{ status: 2, stdout: '' },
    stderr: `error: ${error}\n  next: ${hint}\n`,
  })
})

test('a hint quotes the words of the call that a shell would read otherwise', async () => {
  await svc(t, ['lists', 'create', '--name', 'a>b'])
  const asked = await svc(t, ['lists', 'delete', 'a>b'])
  expect([asked.status, asked.stderr]).toEqual([2, expect.stringContaining("\n  next: svc lists delete 'a>b' --yes\n")])
})
