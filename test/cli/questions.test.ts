import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { choicesOf } from '../../src/tools/choice-values.ts'
import { useApp } from '../support/app.ts'
import { type Step, svc, useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'
import { calls as callsOfThings, commandOf, leaves, placeholder, placesIn, references } from '../support/references.ts'
import { useSink } from '../support/smtp.ts'

/* Every command with each required flag left out, on a terminal, in an installation with several accounts. */

/**
 * Each command with its required flags: a new command with one must be added here. `{new}` is a new name; the others are what the
 * account has.
 */
const calls = `
  accounts create --name {new}
  accounts export Zebra --out {archive} --secret-file {file} --dry-run
  bounces mailbox set --url imaps://ada@127.0.0.1:9
  broadcasts copy {broadcast} --name {new}
  broadcasts create --list {list} --project {project}
  broadcasts test {broadcast} --to {email}
  contacts export --list {list}
  contacts import {file} --list {list} --map email=email --yes
  contacts remove other-harbour@people.example --list {list} --yes
  contacts upsert --list {list} --email {new}@people.example
  courses create --title {new}
  courses embed-token {course} --email {email}
  courses enroll {course} --email {email}
  courses lessons add {course} --title {new} --content Hello
  courses revoke {course} --email {email}
  courses update {course} --title {new}
  deals create --title {new} --email {email}
  deals move {deal} --to {stage}
  forms apply --file {formfile}
  forms create --name {new} --list {list}
  forms submit {form} --email {email}
  journeys apply --file {journeyfile}
  journeys test --file {journeyfile} --contact {email}
  journeys trigger {journey} --list {list} --email {email}
  keys create --name {new}
  lists create --name {new}
  payments provider set --provider stripe
  pipelines create --name {new}
  pipelines stages add {pipeline} --name {new}
  projects apply --file {design}
  projects webhook set {project} --url https://hooks.example.com/other
  relay set --url {relay}
  score set {email} --score 7
  segments create --name {new} --list {list} --where plan=pro
  send --to {email} --project {project}
  send --to {email} --subject Hello --html Hello --text Hello
  senders add --email {new}@harbour.example --name {new}
  topics create --name {new}
  webhooks create --url https://hooks.example.com/{new} --events deal.created
  webinars create --title {new}`
  .trim()
  .split(/\n\s*/)

/** Questions that follow, because the command needs more on a terminal. */
const further: Record<string, Step[]> = {
  'accounts create --name': [['Plan', '\r']],
  'bounces mailbox set --url': [['Password of ada', 'secret\r']],
  'payments provider set --provider': [
    ['Secret key', 'sk_test_1\r'],
    ['Signing secret', 'whsec_1234567890abcdef1234567890abcdef\r'],
  ],
}

/** Flags that the command can do without: it does something else then. */
const free = /^(journeys trigger --email|send --(html|text))$/

const dns = useDnsServer()
const sink = useSink()
const t = useApp(() => ({
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' },
}))
useOneApp()

let folder: string
let things: Things

beforeAll(async () => {
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  dns.set('hooks.example.com', { A: ['93.184.216.34'] })
  folder = await mkdtemp(join(tmpdir(), 'svc-questions-'))
  await t.account({ name: 'Zebra' })
  things = await furnish(t, await t.account({ name: 'Harbour' }), folder)
  const formfile = join(folder, 'form.json')
  await writeFile(formfile, JSON.stringify({ name: 'Applied', list: things.list![0]! }))
  things.archive = [join(folder, 'zebra.account')]
  things.formfile = [formfile]
  things.design = [join(folder, 'harbour-project.json')]
  things.relay = [sink.url]
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const cases = calls.flatMap((line) => {
  const words = line.split(' ')
  const name = commandOf(words)
  return words.flatMap((word, at) =>
    word.startsWith('--') && !/^--(yes|map|dry-run)$/.test(word) && !free.test(`${name} ${word}`)
      ? [{ line, name, words, flag: word, at }]
      : [],
  )
})

/** Returns the arguments of a command that name something of the account, if there is a call of it. */
const realArguments = (name: string): string[] | undefined =>
  callsOfThings
    .find((words) => commandOf(words) === name)
    ?.slice(name.split(' ').length)
    .filter((word, i, words) => !word.startsWith('-') && !words[i - 1]?.startsWith('-'))
    .map((word) => word.replace(placeholder, (_, noun: string) => things[noun]?.[0] ?? noun))

test('every command with a required flag is in this sweep', async () => {
  const required: string[] = []
  const missingOf = async (name: string, args: readonly string[]) => {
    const ran = await svc(t, [...name.split(' '), ...args, '--account', 'Harbour'])
    const [, flags] = /^error: Missing (--.*)/.exec(ran.stderr) ?? []
    return { status: ran.status, flags }
  }
  for (const [name, { registeredArguments, options }] of leaves) {
    if (
      /^(dev|serve|jobs|listen|db|mail|mcp|config|secret|openapi|status|doctor|api|events send|completion)( |$)/.test(
        name,
      )
    )
      continue
    const args = registeredArguments.flatMap((argument) => (argument.required ? ['x'] : []))
    const { status, flags: first } = await missingOf(name, args)
    // A command can look for what its arguments name before it asks.
    const real = status === 0 || first ? undefined : realArguments(name)
    const dry = options.some(({ long }) => long === '--dry-run') ? ['--dry-run'] : []
    const flags = real ? (await missingOf(name, [...real, ...dry])).flags : first
    required.push(...(flags?.split(', ') ?? []).map((flag) => `${name} ${flag}`))
  }
  const swept = new Set(cases.map(({ name, flag }) => `${name} ${flag}`))
  // The last one needs a file that an export has written.
  for (const flag of ['accounts import --secret-file', 'journeys trigger --email', 'send --html', 'send --text'])
    swept.add(flag)
  // On a terminal their contents are asked for.
  for (const file of ['key', 'webhook-secret']) swept.add(`payments provider set --${file}-file`)
  expect(required.filter((place) => !swept.has(place))).toEqual([])
  expect(required.length).toBeGreaterThan(40)
})

let names = 0

test.each(cases)('svc $line asks for the account, then for $flag', async ({ name, words, flag, at }) => {
  names += 1
  const fill = (word: string) =>
    word.replace(/\{(\w+)\}/, (_, noun: string) => (noun === 'new' ? `new${names}` : things[noun]![0]!))
  const args = words.filter((_, i) => i !== at && i !== at + 1).map(fill)
  const choices = choicesOf(name, flag)
  const typed = choices ? `${choices.isMany ? ' ' : ''}\r` : `${fill(words[at + 1]!)}\r`
  const isOfAccount = !/^accounts (create|export)/.test(name)
  const steps: Step[] = [
    ...(isOfAccount ? [['Account:', '\r'] as const] : []),
    [/\? [^:]+:/, typed],
    ...(further[`${name} ${flag}`] ?? []),
  ]
  const ran = await svc(t, [...args, '--no-color'], { tty: {}, steps })
  expect([ran.status, ran.text]).toEqual([0, expect.not.stringContaining('error:')])
})

/** Arguments that take an address or a domain, which may be new. */
const addresses = /^\{(email|suppressed)\}$/

/** Required arguments that name something of the account, with the words before them. */
const named = references.flatMap(({ call, at, word }) => {
  const name = commandOf(call)
  const before = call.slice(0, at)
  const place = placesIn([...before, word])
    .at(-1)!
    .slice(name.length + 1)
  const argument = leaves.get(name)!.registeredArguments.find((each) => `<${each.name()}>` === place)
  return addresses.test(word) || !argument?.required ? [] : [{ name, before, place }]
})

test.each(named)('svc $name offers what $place can be', async ({ name, before, place }) => {
  expect(choicesOf(name, place)?.noun).toBeDefined()
  const args = before.map((word) => word.replace(/\{(\w+)\}/, (_, noun: string) => things[noun]![0]!))
  const ran = await svc(t, [...args, '--account', 'Harbour', '--no-color'], { tty: {}, steps: [[/❯ /, '\u0003']] })
  expect(ran.status).toBe(130)
})

test.each([
  ['relay set --url smtp://u@127.0.0.1:2525 --password-file -', 'Password of u:'],
  ['events send deal.created --to http://127.0.0.1:1/ --secret-file -', 'The secret (--secret-file):'],
])('svc %s asks on a terminal without showing the answer', async (line, question) => {
  const steps: Step[] = [[question, 'not-to-be-seen\r']]
  const ran = await svc(t, [...line.split(' '), '--account', 'Harbour', '--no-color'], { tty: {}, steps })
  expect(ran.text).toContain(question)
  expect(ran.text).not.toContain('not-to-be-seen')
})
