import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { mailFolder } from '../../src/app/config.ts'
import { eventTypes } from '../../src/events/events.ts'
import { newId } from '../../src/lib/ids.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc, useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'
import { lists } from '../support/lists.ts'
import { placeholder } from '../support/references.ts'

/* Every list on a terminal of 80 columns, in an account whose values are long. */

const tty = { columns: 80, rows: 50 }
const long = ' with a name that is rather long, as people write them'
const reason =
  'The relay refused the email: 550 5.7.1 Service unavailable, client host [203.0.113.7] blocked using zen.example; see https://zen.example/q/203.0.113.7'
const subject = 'Your order of the twelfth of May has left our warehouse in Gothenburg'
const address = 'amara.diallo@procurement.harbour-and-pine.example'
const person = 'Amara Diallo-Lindqvist of Harbour and Pine'
const file = '/home/amara/exports/2041/customers-of-harbour-and-pine-who-ordered-in-spring.csv'

const dns = useDnsServer()
const t = useApp(() => ({
  development: true,
  env: {
    SVC_DNS_SERVERS: dns.address,
    SVC_SMTP_URL: 'smtp://127.0.0.1:9',
    SVC_PUBLIC_URL: 'https://svc.example',
    SVC_USER: 'ada',
  },
}))
useOneApp()

let folder: string
let account: TestAccount
let things: Things

beforeAll(async () => {
  // A time of day and a date whose texts have a width that does not change while the test runs.
  await t.advance(Date.UTC(2041, 4, 20, 9) - t.app.now().getTime())
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  folder = await mkdtemp(join(tmpdir(), 'svc-lists-'))
  account = await t.account({ name: 'Harbour' })
  things = await furnish(t, account, folder, long)
  await t.app.sql(
    `update messages set status = 'failed', error = $2, type = 'transactional', subject = $3, email = $4
     where account_id = $1`,
    [account.id, reason, subject, address],
  )
  const attempt = { at: t.app.now().getTime(), status: 503, error: reason, durationMs: 30, snippet: '' }
  await t.app.sql('update pending_deliveries set attempts = $2, tries = 1 where account_id = $1', [
    account.id,
    JSON.stringify([attempt]),
  ])
  for (const table of ['deals', 'journey_runs', 'bookings', 'payment_orders', 'webinar_registrations', 'members'])
    await t.app.sql(`update ${table} set email = $2 where account_id = $1`, [account.id, address])
  await t.app.sql(
    `update webinar_registrations set name = $2, seen = tstzmultirange(tstzrange(svc_now(), svc_now() + interval '9 min'))
     where account_id = $1`,
    [account.id, person],
  )
  await t.app.sql(`update bookings set name = $2, start_at = svc_now() + interval '4 days' where account_id = $1`, [
    account.id,
    person,
  ])
  await t.app.sql('update senders set name = $2, reply_to = $3 where account_id = $1', [account.id, person, address])
  await t.app.sql('update journey_runs set last_fault = $2 where account_id = $1', [account.id, reason])
  await t.app.sql(
    `update broadcasts set status = 'scheduled', scheduled_at = svc_now() + interval '3 days' where account_id = $1`,
    [account.id],
  )
  await t.app.sql('update topics set description = $2 where account_id = $1', [account.id, `Topic${long}${long}`])
  await t.app.sql(
    'insert into import_rejects (account_id, import_id, line, email, reason) values ($1, $2, 4711, $3, $4)',
    [account.id, things.import![0], `amara diallo ${address}`, 'invalid address'],
  )
  await t.app.sql('update imports set file = $2 where account_id = $1', [account.id, file])
  const url = 'https://hooks.example.com/customers/harbour-and-pine/engagement/events'
  await svc(t, [
    'webhooks',
    'update',
    things.webhook![0]!,
    '--url',
    url,
    '--events',
    eventTypes.join(','),
    '--account',
    account.id,
  ])
  await svc(t, [
    'keys',
    'create',
    '--name',
    `Integration${long}`,
    '--scope',
    'contacts',
    '--scope',
    'deals',
    '--account',
    account.id,
  ])
  await mkdir(mailFolder(folder))
  const raw = `From: ${person} <${address}>\r\nTo: ${address}\r\nSubject: ${subject}\r\n\r\nHello`
  const mail = { id: newId('msg', 1), from: address, to: [address], at: t.app.now().getTime(), raw }
  await writeFile(join(mailFolder(folder), `${mail.id}.json`), JSON.stringify(mail))
  await t.advance(30 * 3_600_000)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const argsOf = (name: string): string[] =>
  lists.get(name)!.map((word) => word.replace(placeholder, (_, noun: string) => things[noun]![0]!))

const show = (name: string, ...flags: string[]) =>
  svc(t, [...name.split(' '), ...argsOf(name), '--account', account.id, ...flags], {
    tty,
    env: { TZ: 'UTC', ...(name === 'mail list' && { SVC_DATA_DIR: folder }) },
  })

/**
 * Replaces what differs from run to run by as many other characters. On a slow machine the first step of a rehearsal is some seconds
 * ago, in a wider column.
 */
const steady = (text: string): string => {
  const ends = new Map<string, string>()
  const endOf = (end: string) => {
    if (!ends.has(end)) ends.set(end, `id${String(ends.size + 1).padStart(4, '0')}`)
    return ends.get(end)!
  }
  return stripVTControlCharacters(text)
    .replaceAll('\r', '')
    .replaceAll(
      /([a-z]{3,4}_)[0-9a-z]{20}([0-9a-z]{6})/g,
      (_, prefix, end) => `${prefix}${'0'.repeat(20)}${endOf(end)}`,
    )
    .replaceAll(/…([0-9a-hjkmnp-tv-z]{6})\b/g, (_, end) => `…${endOf(end)}`)
    .replaceAll(/svc_live_\w{4}…\w{4}/g, 'svc_live_XXXX…XXXX')
    .replaceAll(/\b(09|15):\d\d\b/g, '$1:00')
    .replaceAll(/^AT +STEP/gm, 'AT   STEP')
    .replaceAll(/^(now|\d+ s ago) +steps/gm, 'now  steps')
    .replaceAll(/\b108,0\d\d s\b/g, '108,000 s')
    .replaceAll(/(svc-verification=|p=MII)[\s\S]*?(?=\n…|\n[a-z]|\n *VALUE|$)/g, (_, begin) => `${begin}…`)
}

/* `vitest run test/cli/lists.test.ts -u` writes the file again: read the difference. */
test('the screens of all lists are those of lists.screens.txt', async () => {
  const screens: string[] = []
  for (const name of lists.keys()) screens.push(`$ svc ${name}\n${steady((await show(name)).text)}`)
  await expect(screens.join('\n')).toMatchFileSnapshot('lists.screens.txt')
})

const value = /^([a-z]+([_.-][a-z]+)*|[a-z]{3,4}_[0-9a-z]{26})$/

/** Returns the values of enumerations and the ids in rows for a pipe. */
const wholeValues = (plain: string): string[] => [
  ...new Set(plain.split(/[\t\n]|, ?/).filter((text) => text.length > 3 && value.test(text))),
]

/** Returns the values of which one line of a screen has the beginning, and the next line the rest at the same place. */
const splitIn = (screen: string, values: readonly string[]): string[] => {
  const lines = screen.split('\n')
  const isSplit = (text: string, at: number) =>
    lines.some((line, i) => {
      const [begin, rest] = [text.slice(0, at), text.slice(at)]
      const from = line.search(new RegExp(`(?<!\\S)${begin}(?= |$)`))
      return from >= 0 && new RegExp(`^${rest},?(?= |$)`).test(lines[i + 1]?.slice(from) ?? '')
    })
  return values.filter((text) => [...text].some((_, at) => at > 0 && isSplit(text, at)))
}

/** Dates and times that a line has only a part of. */
const partOfTime =
  /\b(Mon|Tue|Wed|Thu|Fri|Sat|Sun)\b(?! \d+ [A-Z][a-z]{2}( \d{4})? \d\d:\d\d)|(?<!\d\d:\d\d )\(in \d|\bin \d+(?!\d| (d|h|min|s)\b)/

test('a value that is split is found', () => {
  expect(splitIn('a  transactio  x\n   nal\n', ['transactional', 'nal'])).toEqual(['transactional'])
  expect(splitIn('a  transactional  x\n   nal\n', ['transactional'])).toEqual([])
  expect('Wed 22 May 09:00').not.toMatch(partOfTime)
  expect('Wed 22 May 09:00 (in 18 h)').not.toMatch(partOfTime)
  expect(['Wed 22 May', '(in 18 h)', 'in 18'].filter((text) => !partOfTime.test(text))).toEqual([])
})

test.each([...lists.keys()])(
  'svc %s fits in 80 columns, and splits neither values of enumerations nor ids nor dates',
  async (name) => {
    const [{ status, stdout }, { stdout: plain }] = await Promise.all([
      show(name),
      svc(t, [...name.split(' '), ...argsOf(name), '--account', account.id], {
        env: name === 'mail list' ? { SVC_DATA_DIR: folder } : {},
      }),
    ])
    const screen = stripVTControlCharacters(stdout).replaceAll('\r', '')
    // domains verify: pending.
    expect([status, screen]).toEqual([expect.toBeOneOf([0, 5]), expect.stringContaining('\n')])
    expect(screen.split('\n').filter((line) => [...line].length > tty.columns)).toEqual([])
    expect(splitIn(screen, wholeValues(plain))).toEqual([])
    expect(screen.split('\n').filter((line) => partOfTime.test(line))).toEqual([])
  },
)

test.each([...lists.keys()])('the hint of svc %s can be followed', async (name) => {
  const { text } = await show(name)
  const [, hidden] = /Hidden columns: ([^(]+) \(/.exec(text.replaceAll('\n', ' ')) ?? []
  if (!hidden) return
  for (const fields of [hidden, hidden.toLowerCase()]) {
    const { status, stdout, stderr } = await show(name, '--fields', fields)
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('error')])
    for (const heading of hidden.split(', ')) expect(`${stdout} ${stderr}`).toContain(heading)
  }
})

describe('what people named', () => {
  const calls: [command: string, of: string, label: string, name: string][] = [
    ['segments show', 'segment', 'list', 'Harbour list with'],
    ['forms show', 'form', 'list', 'Harbour list with'],
    ['deals show', 'deal', 'pipeline', 'Harbour pipeline with'],
    ['deals show', 'deal', 'stage', 'Harbour new with'],
    ['broadcasts show', 'broadcast', 'list', 'Harbour list with'],
    ['broadcasts show', 'broadcast', 'project', 'Harbour project with'],
  ]
  test.each(calls)(
    '%s of a %s prints its %s by name on a terminal, and its id with --wide, --fields and --json',
    async (...call) => {
      const [command, of, label, name] = call
      const args = [...command.split(' '), things[of]![0]!, '--account', account.id]
      const [narrow, wide, fields] = await Promise.all(
        [[], ['--wide'], ['--fields', `${label}Id`]].map((flags) => svc(t, [...args, ...flags], { tty })),
      )
      const idOf = new RegExp(`^${label}[ a-z]*id +([a-z]+_\\S{26})$`, 'm')
      const textOf = ({ stdout }: { stdout: string }) => stripVTControlCharacters(stdout).replaceAll('\r', '')
      expect(textOf(narrow!)).toMatch(new RegExp(`^${label} +${name}`, 'm'))
      expect(textOf(narrow!)).not.toMatch(idOf)
      const [, id] = idOf.exec(textOf(wide!))!
      const { json } = await svc(t, [...args, '--json'])
      expect([textOf(fields!), json[`${label}Id`]]).toEqual([expect.stringContaining(id!), id])
    },
  )

  test('journeys show prints names on a terminal, which apply takes, and ids elsewhere', async () => {
    const file = join(folder, 'named.yaml')
    const [list] = things.list!
    await writeFile(
      file,
      `{name: Named, trigger: {kind: list-added, list: ${list}}, steps: [{kind: remove-from-list, list: ${list}}]}`,
    )
    const applied = await svc(t, ['journeys', 'apply', '-f', file, '--account', account.id], { tty })
    expect(applied.text).toContain('next: svc journeys runs Named')
    const args = ['journeys', 'show', 'Named', '--account', account.id]
    const [narrow, wide, plain] = await Promise.all([
      svc(t, args, { tty }),
      svc(t, [...args, '--wide'], { tty }),
      svc(t, args),
    ])
    expect(narrow.stdout.match(/list: Harbour list with/g)).toHaveLength(2)
    for (const { stdout } of [wide, plain]) expect(stdout.match(/list: lst_/g)).toHaveLength(2)
    await writeFile(file, stripVTControlCharacters(narrow.stdout).replaceAll('\r', ''))
    const again = await svc(t, ['journeys', 'apply', '-f', file, '--account', account.id, '--json'])
    expect(again.json).toMatchObject({ outcome: 'unchanged' })
  })

  test('a list shows the name of a list, and its id with --wide, --json and in a pipe', async () => {
    const args = ['segments', 'list', '--account', account.id]
    const [narrow, wide, plain, json] = await Promise.all([
      svc(t, args, { tty }),
      svc(t, [...args, '--wide'], { tty }),
      svc(t, args),
      svc(t, [...args, '--json']),
    ])
    const { listId } = json.json.segments[0]
    expect(narrow.stdout).toContain('Harbour list with')
    expect(narrow.stdout).not.toContain(listId.slice(-6))
    for (const { stdout } of [wide, plain]) expect(stdout).toContain(listId)
  })

  test('contacts list shows the name of a person; verdicts and reasons only with --wide, --fields and in a pipe', async () => {
    const args = ['contacts', 'list', '--account', account.id]
    const named = await svc(t, [
      'contacts',
      'upsert',
      '--list',
      things.list![0]!,
      '--email',
      'ada@people.example',
      '--account',
      account.id,
      '--field',
      'first_name=Ada',
      '--field',
      'last_name=Okafor',
      '--no-events',
    ])
    expect(named.status).toBe(0)
    const [narrow, wide, fields, plain] = await Promise.all([
      svc(t, args, { tty: { columns: 140, rows: 50 } }),
      svc(t, [...args, '--wide'], { tty }),
      svc(t, [...args, '--fields', 'email,verdict,reasons'], { tty }),
      svc(t, args),
    ])
    expect(narrow.stdout).toMatch(/ada@people\.example +Ada Okafor +Harbour list/)
    expect(narrow.stdout).not.toMatch(/VERDICT|REASONS/)
    for (const { stdout } of [wide, fields]) expect(stdout).toMatch(/VERDICT +REASONS/)
    expect(plain.stdout).toMatch(/^none\t[^\t]+\tactive\tinvalid\tbad_syntax\tinvalid\t/m)
  })
})

test('a person at a terminal is told the next step; a script is not', async () => {
  await writeFile(join(folder, 'next.csv'), 'email\nnext@people.example\n')
  const [list] = things.list!
  const sending = ['send', '--to', 'next@people.example', '--subject', 'Hello', '--text', 'Hi', '--at', '2d']
  const steps: [args: string[], next: RegExp][] = [
    [
      ['contacts', 'import', join(folder, 'next.csv'), '--list', list!, '--yes'],
      /next: svc contacts list --list 'Harbour list with/,
    ],
    [sending, /next: svc sends show msg_/],
    [
      ['webinars', 'create', '--title', 'Next', '--at', '2d'],
      /People register at https:\/\/svc\.example\/webinar\/[\s\S]*next: svc webinars registrations web_/,
    ],
    [['broadcasts', 'copy', things.broadcast![0]!, '--name', 'Next'], /^id /],
    [['broadcasts', 'send', 'Next', '--yes'], /next: svc broadcasts show bct_/],
  ]
  for (const [args, next] of steps) {
    const { status, text } = await svc(t, [...args, '--account', account.id], { tty })
    expect([status, text]).toEqual([0, expect.stringMatching(next)])
  }
  for (const flags of [[], ['--json'], ['-q']])
    expect((await svc(t, [...sending, '--account', account.id, ...flags])).stderr).toBe('')
})

test('sends show prints the headers and the text of an email without a project', async () => {
  const flags = ['--account', account.id]
  const { json } = await svc(t, [
    'send',
    '--to',
    'plain@people.example',
    '--subject',
    'Hello',
    '--text',
    'Hi there',
    '--at',
    '2d',
    '--json',
    ...flags,
  ])
  const { stdout } = await svc(t, ['sends', 'show', json.id, ...flags], { tty })
  expect(stripVTControlCharacters(stdout)).toMatch(
    /^id +msg_[\s\S]*^subject +Hello[\s\S]*^status +pending[\s\S]*^Hi there/m,
  )
  expect(stdout).not.toContain('merge data')
})
