import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { searchedRows } from '../../src/app/find-ids.ts'
import { newId } from '../../src/lib/ids.ts'
import { forceIndexOrder } from '../../src/store/database.ts'
import { statements } from '../../src/store/statement.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Ran, svc, useOneApp } from '../support/cli.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'
import { commandOf, placeholder, references, takes } from '../support/references.ts'

/* Ids given by their end: every command that takes an id, with the last six characters of one. */

const dns = useDnsServer()
const t = useApp(() => ({
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))
useOneApp()

let folder: string
let owner: TestAccount
let stranger: TestAccount
let own: Things

beforeAll(async () => {
  dns.set('people.example', { MX: [[10, 'mx.people.example']] })
  folder = await mkdtemp(join(tmpdir(), 'svc-ids-'))
  owner = await t.account({ name: 'Harbour' })
  stranger = await t.account({ name: 'Lindqvist' })
  own = await furnish(t, owner, folder)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const wholeId = /^[a-z]+_[0-9a-z]{26}$/
/** Placeholders whose values are no ids. */
const addresses = ['{email}', '{suppressed}', '{domain}']
const cases = references.filter(({ word }) => !addresses.includes(word))

const idOf = (word: string): string => own[placeholder.exec(word)![1]!]!.find((value) => wholeId.test(value))!

/** Commands without --dry-run that change nothing. */
const reads =
  /(list|show|history|stats|board|members|registrations|attendees|runs|rejects|responses|export|render|url)$/

const run = (words: readonly string[], account: TestAccount, values: Record<number, string> = {}) => {
  const args = words.map((word, i) =>
    word.replace(placeholder, (_, noun: string) => values[i] ?? own[noun]?.[0] ?? noun),
  )
  const dry = takes(words, '--dry-run') ? ['--dry-run'] : takes(words, '--yes') ? ['--yes'] : []
  return svc(t, [...args, ...dry, '--account', account.id])
}

/**
 * What a command printed, without what differs from run to run: times, links, ids of what it would create. A hint repeats the id as it
 * was given.
 */
const comparable = ({ status, stdout, stderr }: Ran, id: string, end: string) => {
  const known = Object.values(own).flat()
  const plain = (text: string) =>
    text
      .replaceAll(/\d{4}-\d\d-\d\dT\S+?Z|\d{13}|\/v\/\S+/g, '…')
      .replaceAll(/[a-z]{3,4}_[0-9a-z]{26}/g, (each) => (known.includes(each) ? each : '…'))
      .replaceAll(id, end)
  return [status, plain(stdout), plain(stderr)]
}

test.each(cases)('svc $line takes the end of the id $word', async ({ call, at, word }) => {
  const id = idOf(word)
  const end = id.slice(-6)
  const ran = await run(call, owner, { [at]: end })
  expect([ran.status, ran.stderr]).not.toEqual([expect.toBeOneOf([2, 3]), expect.any(String)])
  if (takes(call, '--dry-run') || reads.test(commandOf(call)))
    expect(comparable(ran, id, end)).toEqual(comparable(await run(call, owner, { [at]: id }), id, end))
})

const firstOfEach = [...new Map(cases.toReversed().map((each) => [each.word, each])).values()]

test.each(firstOfEach)(
  'the end of an id $word of another account is unknown to svc $line',
  async ({ call, at, word }) => {
    const end = idOf(word).slice(-6)
    const absent = `${end.slice(0, -2)}zz`
    const [foreign, missing] = [await run(call, stranger, { [at]: end }), await run(call, stranger, { [at]: absent })]
    expect([foreign.status, foreign.stderr.replaceAll(new RegExp(`\\b${end}`, 'g'), absent)]).toEqual([
      missing.status,
      missing.stderr,
    ])
  },
)

test('an end may be longer, begin with the ellipsis of tables, and be without the prefix of the id', async () => {
  const id = own.send![0]!
  for (const end of [`…${id.slice(-6)}`, id.slice(-12), id.slice('msg_'.length)])
    expect((await svc(t, ['sends', 'show', end, '--account', owner.id, '--json'])).json).toMatchObject({ id })
  for (const end of [id.slice(-5), `${id.slice(-6)}%`])
    expect((await svc(t, ['sends', 'show', end, '--account', owner.id])).status).toBe(3)
})

test('accounts are found by the end of their id, too', async () => {
  const show = async (...args: string[]) => (await svc(t, [...args, '--json'])).json
  expect(await show('accounts', 'show', owner.id.slice(-6))).toMatchObject({ id: owner.id })
  expect(await show('lists', 'show', own.list![1]!, '--account', owner.id.slice(-8))).toMatchObject({
    id: own.list![0],
  })
  const unknown = await svc(t, ['lists', 'list', '--account', 'zzzzzz'])
  expect([unknown.status, unknown.stderr]).toEqual([3, expect.stringContaining('zzzzzz')])
})

/** Adds lists with these ids, and returns the account. */
const accountWith = async (...lists: { id: string; name: string }[]) => {
  const account = await t.account()
  for (const { id, name } of lists)
    await t.app.sql(
      `insert into contact_lists (account_id, id, name, fields, row_count, created_at, updated_at)
       values ($1, $2, $3, '{}', 0, now(), now())`,
      [account.id, id, name],
    )
  return account
}

test('an end that several ids share is refused, and names them', async () => {
  const [a, b] = [`${newId('lst', 1).slice(0, -7)}a4k2mzp`, `${newId('lst', 2).slice(0, -7)}b4k2mzp`]
  const account = await accountWith({ id: a, name: 'A' }, { id: b, name: 'B' })
  const show = (ref: string) => svc(t, ['lists', 'show', ref, '--account', account.id])
  const { status, stdout, stderr } = await show('4k2mzp')
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toBe(
    `error: Several lists have an id that ends with 4k2mzp: ${a}, ${b}\n  next: svc lists show --help\n`,
  )
  expect((await show('b4k2mzp')).stdout).toContain(b)
  expect((await show('k2mzp')).status).toBe(3)
})

test('the row of a contact that is in two lists is one id', async () => {
  const account = await accountWith({ id: newId('lst', 5), name: 'A' }, { id: newId('lst', 6), name: 'B' })
  const json = async (...args: string[]) =>
    JSON.parse((await svc(t, [...args, '--account', account.id, '--json'])).stdout)
  for (const list of ['A', 'B']) await json('contacts', 'upsert', '--list', list, '--email', 'ada@people.example')
  const [{ rowId }] = (await json('contacts', 'show', 'ada@people.example')).contacts
  const create = ['deals', 'create', '--title', 'Annual plan', '--list', 'A', '--row', rowId.slice(-6)]
  expect(await json(...create)).toMatchObject({ rowId })
})

test('a name has precedence over the end of an id', async () => {
  const [a, b] = [`${newId('lst', 3).slice(0, -6)}abc123`, newId('lst', 4)]
  const account = await accountWith({ id: a, name: 'A' }, { id: b, name: 'abc123' })
  const { stdout } = await svc(t, ['lists', 'show', 'abc123', '--account', account.id, '--json'])
  expect(JSON.parse(stdout)).toMatchObject({ id: b })
})

test('only the newest rows are searched, which an error says', async () => {
  const account = await t.account()
  const addEvents = (first: number, last: number) =>
    t.app.sql(
      `insert into events (account_id, id, type, payload, created_at)
       select $1, 'evt_' || lpad(n::text, 26, '0'), 'contact.created',
         json_build_object('id', 'evt_' || lpad(n::text, 26, '0'), 'type', 'contact.created', 'createdAt', 0, 'data', json_build_object()), now()
       from generate_series($2::int, $3::int) n`,
      [account.id, first, last],
    )
  const show = (end: string) => svc(t, ['events', 'show', end, '--account', account.id, '--json'])
  await addEvents(1, searchedRows)
  expect((await show('0000001')).json).toMatchObject({ id: `evt_${'1'.padStart(26, '0')}` })
  await addEvents(searchedRows + 1, searchedRows + 1)
  const { status, stderr } = await show('0000001')
  expect([status, stderr]).toEqual([
    3,
    expect.stringContaining('None of the newest 100,000 events has an id that ends with 0000001'),
  ])
  expect((await show('0100001')).status).toBe(0)
})

/** Those that can have millions of rows. */
const large = `bookings contacts deals ended_deliveries events journey_runs messages payment_orders pending_deliveries
  webinar_registrations`.split(/\s+/)

test.each(large)('the search in %s reads an index of the account backwards', async (table) => {
  const { text } = statements.get(`find-${table}-by-end`)!
  const plan = await t.app.database.transaction(
    (tx) => tx<{ 'QUERY PLAN': string }>(`explain ${text}`, [owner.id, '4k2mzp']),
    forceIndexOrder,
  )
  const lines = plan.map((row) => row['QUERY PLAN']).join('\n')
  expect(lines).toMatch(/Limit.*\n.*Index Only Scan Backward using .*\n.*Index Cond: \(account_id = /)
  expect(lines).not.toContain('Sort')
})
