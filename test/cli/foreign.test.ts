import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { closedSetAt } from '../../src/cli/define.ts'
import type { Statement } from '../../src/store/statement.ts'
import { choicesOf } from '../../src/tools/choice-values.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Ran, svc, useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'
import { calls, leaves, placeholder, placesIn, references, takes } from '../support/references.ts'

/*
 * Runs every command that takes an id, a name or an address of something in an account with that of another account. It must print
 * what it prints for one that does not exist, and change nothing.
 */

/** What commands exit with where it is not 3. Those with 0 find nothing. */
const statuses: [call: RegExp, status: number][] = [
  [/^(contacts score|score show|bindings unset) /, 0],
  [/^(deals list|bookings list|suppressions list) --email /, 0],
  [/^sends list --to /, 0],
  [/^send .* --sender /, 2],
  [/^courses embed-token .*: \{email\}$/, 6],
]

let folder: string
let owner: TestAccount
let stranger: TestAccount
let theirs: Things
let own: Things

const dns = useDnsServer()
const t = useApp(() => ({
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))
useOneApp()

beforeAll(async () => {
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  folder = await mkdtemp(join(tmpdir(), 'svc-foreign-'))
  owner = await t.account({ name: 'Harbour' })
  stranger = await t.account({ name: 'Lindqvist' })
  theirs = await furnish(t, owner, folder)
  own = await furnish(t, stranger, folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

let ofAllTables: Statement<object, readonly never[]> | undefined

/** The number of rows of each table, and their digest. Planning the statement takes longer than running it. */
const digests = async () => {
  if (!ofAllTables) {
    const tables = await t.app.sql<{ name: string }>(
      'select tablename::text as name from pg_tables where schemaname = current_schema()',
    )
    const each = tables.map(
      ({ name }) => `select '${name}' as name, count(*), md5(string_agg(r::text, '' order by r::text)) from ${name} r`,
    )
    ofAllTables = { name: 'digests', text: each.join(' union all '), columns: {}, parameters: [], isPrepared: true }
  }
  return t.app.sql(ofAllTables)
}

/** The digests after the last test with a foreign value, until other commands run: they are those before the next one. */
let known: Awaited<ReturnType<typeof digests>> | undefined

/** What a command printed, without the given value and without suggestions, which are of the caller's account. */
const printed = ({ status, stdout, stderr }: Ran, value: string) => {
  const plain = (text: string) => text.replaceAll(value, '…').replace(/ \(did you mean .*?\)/, '')
  return { status, stdout: plain(stdout), stderr: plain(stderr) }
}

/** Values of arguments and flags that are no reference to anything stored. */
const texts = new Set(
  `n percent cursor names filter csv|jsonl name name=value name=value|@file map upsert|skip file file|- folder product url yes|no points reason subject
   type types address time header age|time k=v|@file title amount code status kind name:kind text duration path=value @file
   statuses n|unlimited scopes when mode shell words method path @file|-|text n|none none provider description domain`.split(
    /\s+/,
  ),
)

/** Other places, by why they are not in the sweep. */
const others: Record<string, string[]> = {
  'the address is written or gets an email, known or not': [
    'contacts upsert --email',
    'forms submit --email',
    'score set <email>',
    'suppressions add <email>',
    'send --to',
    'send --cc',
    'send --bcc',
    'send --reply-to',
    'broadcasts test --to',
    'relay set --bounce-address',
    'relay test --to',
    'senders add --email',
    'senders add --reply-to',
    'journeys trigger --email',
    'courses enroll --email',
    'courses revoke --email',
  ],
  'the command continues after this contact': ['journeys trigger --after'],
  'it has no effect': ['suppressions import --list'],
  'values of their own': ['accounts update --color', 'accounts update --timezone', 'accounts update --lang'],
  'a signed token names the account': ['liveview show <token>'],
  'events of lifecycle emails': ['bindings set <event>', 'bindings unset <event>'],
  'accounts and caught email are those of the installation': [
    'accounts show <account>',
    'accounts update <account>',
    'accounts export <account>',
    'accounts claim-slug <slug>',
    'accounts delete <account>',
    'mail list --to',
    'mail show <id>',
    'mail wait --to',
  ],
}

/** Each argument and flag with a value that may refer to something. */
const places = [...leaves].flatMap(([name, command]) => [
  ...command.registeredArguments.map((argument) => ({ name, place: `<${argument.name()}>`, value: argument.name() })),
  ...command.options.flatMap(({ long, flags }) => {
    const [, value] = /<(.*)>$/.exec(flags) ?? []
    return value ? [{ name, place: long!, value }] : []
  }),
])

test('every command that takes a reference is in this sweep', () => {
  const swept = new Set([...calls.flatMap(placesIn), ...Object.values(others).flat()])
  const missing = places
    .filter(({ name, place, value }) => !texts.has(value) || choicesOf(name, place)?.noun)
    .filter(({ name, place }) => !closedSetAt(name, place))
    .map(({ name, place }) => `${name} ${place}`)
    .filter((place) => !swept.has(place))
  expect(missing).toEqual([])
  const known = new Set(places.map(({ name, place }) => `${name} ${place}`))
  expect(
    Object.values(others)
      .flat()
      .filter((place) => !known.has(place)),
  ).toEqual([])
})

test.each(references)(
  'svc $line: $word of another account is unknown, and nothing changes',
  async ({ call, at, line, word }) => {
    const noun = placeholder.exec(call[at]!)![1]!
    const run = (value: string) => {
      const args = call.map((word, i) =>
        word.replace(placeholder, (_, other: string) => (i === at ? value : own[other]![0]!)),
      )
      return svc(t, [...args, ...(takes(call, '--yes') ? ['--yes'] : []), '--account', stranger.id])
    }
    const before = known ?? (await digests())
    known = undefined
    for (const foreign of theirs[noun]!) {
      const absent = /_\w{26}$/.test(foreign) ? `${foreign.slice(0, -2)}zz` : `zz${foreign.slice(2)}`
      const [found, missing] = [await run(foreign), await run(absent)]
      expect(printed(found, foreign)).toEqual(printed(missing, absent))
      const [, status = 3] = statuses.find(([pattern]) => pattern.test(`${line}: ${word}`)) ?? []
      expect([found.status, found.stderr]).toEqual([status, expect.any(String)])
    }
    const after = await digests()
    expect(after).toEqual(before)
    known = after
  },
)

test.each(calls.map((call) => ({ call, line: call.join(' ') })))(
  'svc $line finds what the account has',
  async ({ call }) => {
    known = undefined
    const args = call.map((word) => word.replace(placeholder, (_, noun: string) => own[noun]![0]!))
    const ran = await svc(t, [...args, ...(takes(call, '--dry-run') ? ['--dry-run'] : []), '--account', stranger.id])
    expect([ran.status, ran.stderr]).not.toEqual([3, expect.any(String)])
  },
)

const lists = [...leaves].flatMap(([name, { registeredArguments }]) =>
  / list$/.test(name) && !registeredArguments.some(({ required }) => required) ? [name] : [],
)
const ofInstallation = /^(accounts|plans|mail) /

test.each(lists.filter((name) => !ofInstallation.test(name)))(
  'svc %s shows nothing of another account',
  async (name) => {
    const { stdout } = await svc(t, [...name.split(' '), '--jsonl', '--account', stranger.id])
    const shown = (things: Things) =>
      Object.values(things)
        .flat()
        .filter((value) => stdout.includes(value))
    expect(shown(theirs)).toEqual([])
    expect(shown(own)).not.toEqual([])
    expect(stdout).not.toContain(owner.name)
  },
)
