import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { fullCommand } from '../../src/cli/next.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc } from '../support/cli.ts'
import { buildCommands, leavesOf } from '../support/commands.ts'
import { useDnsServer } from '../support/dns.ts'
import { furnish, type Things } from '../support/furnish.ts'

/* Every list on a terminal of 80 columns, in an account whose values are long. */

const tty = { columns: 80, rows: 50 }
const long = ' with a name that is rather long, as people write them'
const reason =
  'The relay refused the email: 550 5.7.1 Service unavailable, client host [203.0.113.7] blocked using zen.example; see https://zen.example/q/203.0.113.7'

const dns = useDnsServer()
const t = useApp(() => ({
  development: true,
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))

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
    `update messages set status = 'failed', error = $2, type = 'transactional', subject = $3, email = 'amara.diallo@procurement.harbour-and-pine.example'
     where account_id = $1`,
    [account.id, reason, 'Your order of the twelfth of May has left our warehouse in Gothenburg'],
  )
  const attempt = { at: t.app.now().getTime(), status: 503, error: reason, durationMs: 30, snippet: '' }
  await t.app.sql('update pending_deliveries set attempts = $2, tries = 1 where account_id = $1', [
    account.id,
    JSON.stringify([attempt]),
  ])
  await t.advance(30 * 3_600_000)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const leaves = leavesOf(await buildCommands()).map((command) => fullCommand(command).slice('svc '.length))
/** Lists that need an argument. */
const ofParts: Record<string, () => string[]> = {
  'pipelines stages list': () => [things.pipeline![0]!],
  'courses lessons list': () => [things.course![0]!],
}
/** Lists under other verbs. */
const others: Record<string, () => string[]> = {
  'journeys runs': () => [things.journey![0]!],
  'imports rejects': () => [things.import![0]!],
  'webinars registrations': () => [things.webinar![0]!],
  'courses members': () => [things.course![0]!],
  'deals history': () => [things.deal![0]!],
  'contacts show': () => [things.email![0]!],
  'events types': () => [],
  'deliveries stats': () => [],
  'accounts usage': () => [],
  'domains show': () => [things.domain![0]!],
  'journeys show': () => [things.journey![0]!],
}
const lists = [...leaves.filter((name) => / list$/.test(name) && name !== 'mail list'), ...Object.keys(others)]

const show = (name: string, ...flags: string[]) =>
  svc(t, [...name.split(' '), ...((ofParts[name] ?? others[name])?.() ?? []), '--account', account.id, ...flags], {
    tty,
    env: { TZ: 'UTC' },
  })

test.each(lists)('the hint of svc %s can be followed', async (name) => {
  const { text } = await show(name)
  const [, hidden] = /Hidden columns: ([^(]+) \(/.exec(text.replaceAll('\n', ' ')) ?? []
  if (!hidden) return
  for (const fields of [hidden, hidden.toLowerCase()]) {
    const { status, stdout, stderr } = await show(name, '--fields', fields)
    expect([status, stderr]).toEqual([0, expect.not.stringContaining('error')])
    for (const heading of hidden.split(', ')) expect(`${stdout} ${stderr}`).toContain(heading)
  }
})
