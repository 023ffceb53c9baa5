import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Ran, svc } from '../support/cli.ts'
import { freePort } from '../support/daemon.ts'
import { queueMany, sendingAccount } from '../support/messages.ts'
import { mbox, postfix, yahoo } from '../support/reports.ts'

const ada = 'ada@people.example'

let account: TestAccount
let folder: string

const t = useApp({ env: { SVC_SMTP_URL: 'smtp://127.0.0.1:9' } })
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-bounces-'))
})
beforeEach(async () => {
  account = await sendingAccount(t)
})
afterAll(() => rm(folder, { recursive: true, force: true }))

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
const suppressed = () =>
  t.app.sql('select reason from suppressions where account_id = $1 and email = $2 order by reason', [account.id, ada])
const sent = async (of = account): Promise<string> => {
  const [mail] = await queueMany(t.app, of.id, 1, { to: ada })
  return mail && 'id' in mail ? mail.id : ''
}

describe('ingest', () => {
  test('accepts an mbox or one message, from a file or standard input, and answers with the counts', async () => {
    const [first, second] = [await sent(), await sent()]
    const both = await file('both.mbox', mbox(postfix({ id: first }), yahoo({ id: second })))
    const counts = { read: 2, bounced: 1, delayed: 0, complained: 1, unmatched: 0 }
    const dry = await run(['bounces', 'ingest', both, '--dry-run', '--json'])
    expect([dry.status, dry.json, dry.stderr]).toEqual([0, { dryRun: true, ...counts }, 'Nothing was changed.\n'])
    expect(await suppressed()).toEqual([])
    expect(await json(['bounces', 'ingest', both])).toEqual(counts)
    expect(await suppressed()).toEqual([{ reason: 'bounced' }, { reason: 'complained' }])
    const again = await run(['bounces', 'ingest', '-'], { stdin: postfix({ id: first }) })
    expect([again.status, again.stdout]).toEqual([0, 'read\t1\nbounced\t0\ndelayed\t0\ncomplained\t0\nunmatched\t0\n'])
    expect(await json(['suppressions', 'remove', ada, '--yes'])).toEqual({
      email: ada,
      removed: ['bounced', 'complained'],
    })
  })

  test('is exit 5 if a report matched no message, 3 if the file does not exist', async () => {
    const ran = await run(['bounces', 'ingest', '-', '--json'], {
      stdin: mbox(postfix({ id: await sent() }), postfix({ id: 'msg_nobody' })),
    })
    expect([ran.status, ran.json, ran.stderr]).toEqual([
      5,
      { read: 2, bounced: 1, delayed: 0, complained: 0, unmatched: 1 },
      '',
    ])
    expect(await run(['bounces', 'ingest', join(folder, 'nowhere')])).toMatchObject({ status: 3, stdout: '' })
    expect(await run(['bounces', 'ingest', folder])).toMatchObject({ status: 2, stdout: '' })
  })

  test('matches the messages of all accounts unless --account names one', async () => {
    const other = await sendingAccount(t)
    const report = await file('other.eml', postfix({ id: await sent(other) }))
    expect((await run(['bounces', 'ingest', report])).status).toBe(5)
    expect((await svc(t, ['bounces', 'ingest', report], { env: { SVC_ACCOUNT: account.name } })).status).toBe(5)
    const ran = await svc(t, ['bounces', 'ingest', report, '--json'], { env: { SVC_ACCOUNT: '' } })
    expect([ran.status, ran.json?.bounced]).toEqual([0, 1])
    expect((await svc(t, ['bounces', 'ingest', report])).status).toBe(0)
  })
})

test('a mailbox is set with its password from a file, shown, tested and unset', async () => {
  const url = `imap://me@127.0.0.1:${await freePort()}`
  const shown = { url, password: true, readAt: null, error: null }
  expect(await run(['bounces', 'mailbox', 'show'])).toMatchObject({ status: 3, stdout: '' })
  expect(await run(['bounces', 'mailbox', 'set'])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--url'),
  })
  expect(await run(['bounces', 'mailbox', 'set', '--url', url.replace('me@', 'me:secret@')])).toMatchObject({
    status: 2,
    stderr: expect.stringContaining('--password-file'),
  })
  const passwordFile = await file('password', 'secret\n')
  expect(await json(['bounces', 'mailbox', 'set', '--url', url, '--password-file', passwordFile])).toEqual(shown)
  expect(await json(['bounces', 'mailbox', 'show'])).toEqual(shown)
  const tested = await run(['bounces', 'mailbox', 'test', '--json'])
  expect([tested.status, tested.json]).toEqual([1, { ok: false, error: 'connection refused' }])
  expect((await run(['bounces', 'mailbox', 'unset'])).status).toBe(2)
  expect(await json(['bounces', 'mailbox', 'unset', '--yes'])).toEqual({ ok: true, removed: true })
})

test('all personal data of an address is one JSON document; exit 3 if there is none, 2 with --list', async () => {
  const id = await sent()
  await json(['suppressions', 'add', ada])
  await json(['lists', 'create', '--name', 'People'])
  const ran = await run(['contacts', 'export', '--email', ' Ada@People.example '])
  expect([ran.status, ran.stderr]).toEqual([0, ''])
  expect(ran.json).toMatchObject({
    email: ada,
    contacts: [],
    verification: null,
    messages: [{ id }],
    suppressions: [{ reason: 'manual' }],
    deals: [],
    journeyRuns: [],
  })
  await json(['contacts', 'upsert', '--list', 'People', '--email', ada])
  const { contacts } = await json(['contacts', 'export', '--email', ada])
  expect(contacts).toEqual([expect.objectContaining({ email: ada, suppression: 'manual' })])
  expect(await run(['contacts', 'export', '--email', 'nobody@people.example'])).toMatchObject({ status: 3, stdout: '' })
  expect((await run(['contacts', 'export', '--email', ada, '--list', 'x'])).status).toBe(2)
  expect(await json(['contacts', 'erase', ada, '--yes'])).toEqual({ email: ada, contacts: 1, rejects: 0 })
  expect((await json(['contacts', 'export', '--email', ada])).messages).toEqual([])
})
