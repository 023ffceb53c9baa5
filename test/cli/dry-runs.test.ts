import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { svc, useOneApp } from '../support/cli.ts'
import { cloneDatabase } from '../support/database.ts'
import { useDnsServer } from '../support/dns.ts'
import { opened } from '../support/fixture.ts'
import { furnish, type Things } from '../support/furnish.ts'
import { calls, commandOf, leaves, placeholder, takes } from '../support/references.ts'
import { mbox, postfix } from '../support/reports.ts'

/* The dry run of every command says with --json that it is one, so that a script never takes it for the change. */

const dns = useDnsServer()
const t = useApp(() => ({
  development: true,
  env: { SVC_DNS_SERVERS: dns.address, SVC_SMTP_URL: 'smtp://127.0.0.1:9', SVC_PUBLIC_URL: 'https://svc.example' },
}))
/** An empty database of another installation. */
const empty = opened(async () => {
  const { url, drop } = await cloneDatabase()
  return { url, close: drop }
})
useOneApp()

let folder: string
let account: TestAccount
let own: Things

/** The commands that take no id, with what they need; `@name` is a file of the test. */
const others = `
  forms apply -f @forms.yaml
  forms apply -f @two-forms.yaml
  projects apply -f @project.json
  projects apply -f @two-projects.yaml
  journeys apply -f @journey.yaml
  journeys apply -f @two-journeys.yaml
  score set new@people.example --score 60
  suppressions import @addresses.csv
  topics create --name Other
  relay set --url smtp://127.0.0.1:9
  relay test --to new@people.example
  relay unset
  bounces ingest @reports.mbox
  bounces mailbox set --url imaps://ada@imap.example --password-file @secret
  bounces mailbox unset
  payments provider set --provider test
  payments provider unset
  queues pause
  queues pause sends
  queues resume
  queues resume sends
  accounts update --brand-name Other
  accounts set-plan free
  accounts claim-slug other
  accounts delete Harbour
  accounts export Harbour --out @export.account --secret-file @secret
  plans set pro --contacts 7
  keys create --name Other
  db migrate
  db reset
  mail clear
  clock advance 2d
  clock reset`
  .trim()
  .split(/\n\s*/)
  .map((line) => line.split(' '))

/** The commands that need an empty database, or one without other processes. */
const alone = [
  ['secret', 'rotate', '--secret-file', '@secret'],
  ['db', 'restore', '@svc.backup'],
  ['accounts', 'import', '@shop.account', '--secret-file', '@secret'],
]

const dryRuns = [...calls.filter((call) => takes(call, '--dry-run')), ...others]

/** What commands exit with where it is not 0: those with 6 are forbidden by the state of what they name. */
const statuses: [call: RegExp, status: number][] = [
  [/^broadcasts (pause|resume) /, 6],
  // The registration is not that of an erased person.
  [/^webinars (end|delete|free) /, 6],
  // Its stage is the only open one of its pipeline.
  [/^pipelines stages delete /, 6],
  [/^relay test /, 1],
  [/^bounces ingest /, 5],
]

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-dry-'))
  account = await t.account({ name: 'Harbour', plan: 'unlimited' })
  own = await furnish(t, account, folder)
  const shop = await t.account({ name: 'Shop' })
  const form = 'name: Other\nlist: Harbour list\nfields: []\n'
  const project = 'name: Other\ntheme: {}\nblocks: [{ id: a, type: divider, props: {} }]\n'
  const journey = 'name: Other\ntrigger: { kind: api }\nsteps: [{ kind: exit }]\n'
  const two = (document: string) => `${document}---\n${document.replace('Other', 'Another')}`
  const files = {
    'forms.yaml': form,
    'two-forms.yaml': two(form),
    'project.json': project,
    'two-projects.yaml': two(project),
    'journey.yaml': journey,
    'two-journeys.yaml': two(journey),
    'addresses.csv': 'email,reason\nnew@people.example,manual\n',
    'reports.mbox': mbox(postfix({ id: own.send![0]! })),
    secret: 'another secret that only tests use\n',
  }
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text)
  for (const args of [
    ['db', 'backup', '@svc.backup'],
    ['accounts', 'export', shop.id, '--out', '@shop.account', '--secret-file', '@secret'],
  ])
    expect(await run(args)).toMatchObject({ status: 0 })
})
afterAll(() => rm(folder, { recursive: true, force: true }))

const run = (args: readonly string[], env = {}) => {
  const words = args.map((word) =>
    word.replace(/^@/, `${folder}/`).replace(placeholder, (_, noun: string) => own[noun]![0]!),
  )
  return svc(t, [...words, '--json'], { env: { SVC_DATA_DIR: folder, ...env } })
}

test('every command with --dry-run is in this sweep', () => {
  const swept = new Set([...dryRuns, ...alone].map(commandOf))
  expect([...leaves.keys()].filter((name) => takes([name], '--dry-run') && !swept.has(name))).toEqual([])
})

test.each(dryRuns.map((call) => ({ call, line: call.join(' ') })))('svc $line --dry-run', async ({ call, line }) => {
  const ran = await run([...call, '--dry-run', '--account', account.id])
  const [, status = 0] = statuses.find(([pattern]) => pattern.test(line)) ?? []
  expect([ran.status, ran.stderr]).toEqual([status, expect.any(String)])
  if (status === 6) expect(ran.stdout).toBe('')
  else {
    expect(ran.json).toMatchObject({ dryRun: true })
    expect(ran.stderr).toMatch(/Nothing was (changed|sent|posted)\.|^The import .* is already done\./)
  }
})

test.each(alone.map((call) => ({ call, line: call.join(' ') })))('svc $line --dry-run', async ({ call }) => {
  const ran = await run([...call, '--dry-run'], { DATABASE_URL: empty.url })
  expect([ran.status, ran.stderr, ran.json]).toEqual([0, expect.any(String), expect.objectContaining({ dryRun: true })])
})
