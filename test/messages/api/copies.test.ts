import { beforeEach, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { personalData } from '../../../src/app/personal-data.ts'
import { eraseContact } from '../../../src/contacts/contacts.ts'
import { suppressAddresses } from '../../../src/suppressions/suppressions.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freeform, messagesOf, sendingAccount, startMail, svcSend } from '../../support/messages.ts'
import { type SunkMail, useSink } from '../../support/smtp.ts'

const ada = 'ada@people.example'
const bob = 'bob@people.example'
const cleo = 'cleo@people.example'
const dan = 'dan@people.example'

let account: TestAccount
const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.always({})
  sink.mails.length = 0
})

const send = (more: object, headers: Record<string, string> = {}) =>
  t.request('POST', '/send', { key: account.key, body: freeform(more), headers })

const sends = async (): Promise<number> => {
  const [row] = await t.app.sql<{ used: number }>(
    `select coalesce(sum(used), 0)::int as used from quota_uses where account_id = $1 and quota = 'sends'`,
    [account.id],
  )
  return row!.used
}

const suppress = (...emails: string[]) =>
  t.app.work(account.id, 'cli:test', (work) => suppressAddresses(work, emails, 'manual'))

/** Runs the mail job in an app of its own: stopping it closes the app's connections to relays. */
const startJob = async () => {
  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  return { stop: () => loop.stop().finally(app.close) }
}

/** Puts all messages of the account back into the queue, as after a crash before the hand-over. */
const requeue = async () => {
  await t.app.sql(
    `update messages set status = 'pending', finished_at = null where account_id = $1 and status = 'sent'`,
    [account.id],
  )
  await t.app.sql(
    `insert into message_queue (account_id, id, due_at, is_patient)
     select account_id, id, svc_now(), true from messages where account_id = $1 and status = 'pending'`,
    [account.id],
  )
}

const shown = (mail: SunkMail) => [mail.to, mail.header('to'), mail.header('cc')]

const byRecipient = (mails: readonly SunkMail[]) => mails.toSorted((a, b) => (a.to[0]! < b.to[0]! ? -1 : 1))

test('each recipient gets a copy with the same To and Cc, and bcc stands nowhere', async () => {
  const { status, body } = await send({ cc: [dan, bob], bcc: [cleo] })
  expect([status, body]).toEqual([200, { id: expect.stringMatching(/^msg_/), status: 'sent' }])
  const mails = byRecipient(await sink.arrived(4))
  const headers = [ada, `${dan}, ${bob}`]
  expect(mails.map(shown)).toEqual([ada, bob, cleo, dan].map((email) => [[email], ...headers]))
  for (const { raw, to } of mails) {
    expect(raw).not.toMatch(/^bcc/im)
    if (to[0] !== cleo) expect(raw).not.toContain('cleo')
  }
  // Not even in its own copy.
  expect(mails[2]!.raw).not.toContain('cleo')
  expect(await messagesOf(t.app, account.id)).toMatchObject(Array(4).fill({ status: 'sent' }))
  expect(await sends()).toBe(4)
})

test('a job that takes the copies over sends the same headers', async () => {
  await ok(send({ cc: [dan, bob], bcc: [cleo] }))
  await sink.arrived(4)
  sink.mails.length = 0
  await requeue()
  const loop = await startJob()
  const mails = byRecipient(await sink.arrived(4))
  await loop.stop()
  expect(mails.map(shown)).toEqual([ada, bob, cleo, dan].map((email) => [[email], ada, `${dan}, ${bob}`]))
  for (const { raw } of mails) expect(raw).not.toContain('cleo')
})

test('an address that is named twice gets one copy, the one that names it', async () => {
  await ok(send({ to: ada, cc: [bob, ' BOB@people.example', ada], bcc: [bob, cleo, cleo, ada] }))
  const mails = byRecipient(await sink.arrived(3))
  expect(mails.map(shown)).toEqual([ada, bob, cleo].map((email) => [[email], ada, bob]))
  expect(await sends()).toBe(3)
})

test('suppressed copies are left out, also of the headers, and named in the answer and its repetition', async () => {
  await suppress(bob, dan)
  const key = { 'Idempotency-Key': 'order-1' }
  const first = await send({ cc: [bob, cleo], bcc: [dan] }, key)
  expect(first.body).toEqual({ id: expect.any(String), status: 'sent', suppressed: [bob, dan] })
  const mails = byRecipient(await sink.arrived(2))
  expect(mails.map(shown)).toEqual([ada, cleo].map((email) => [[email], ada, cleo]))
  expect(await sends()).toBe(2)
  const again = await send({ cc: ['other@people.example'] }, key)
  expect([again.body, again.headers['idempotent-replayed']]).toEqual([first.body, 'true'])
  expect(sink.mails).toHaveLength(2)
  expect(await sends()).toBe(2)
  sink.mails.length = 0
  await requeue()
  const loop = await startJob()
  expect((await sink.arrived(2)).map((mail) => mail.header('cc'))).toEqual([cleo, cleo])
  await loop.stop()
})

test('if `to` is suppressed, no one gets it', async () => {
  await suppress(ada)
  const { body } = await ok(send({ cc: [bob], bcc: [cleo] }))
  expect(body).toEqual({ id: expect.any(String), status: 'suppressed', reason: 'manual' })
  expect(await messagesOf(t.app, account.id)).toHaveLength(1)
  expect([sink.mails, await sends()]).toEqual([[], 0])
})

test('two concurrent calls with one key send each copy once', async () => {
  const key = { 'Idempotency-Key': 'order-2' }
  const calls = await Promise.all([1, 2, 3].map(() => send({ cc: [bob], bcc: [cleo] }, key)))
  expect(new Set(calls.map(({ body }) => body.id)).size).toBe(1)
  await sink.arrived(3)
  expect(await messagesOf(t.app, account.id)).toHaveLength(3)
})

test('a call that the quota does not hold in whole sends nothing', async () => {
  const plan = `p${account.id.slice(-8)}`
  await t.app.sql(
    `insert into plans select (p).* from (select jsonb_populate_record(p, jsonb_build_object('name', $1::text, 'sends', 3)) as p
     from plans p where name = 'free') x`,
    [plan],
  )
  await t.app.sql('update accounts set plan = $2 where id = $1', [account.id, plan])
  expect((await send({ cc: [bob], bcc: [cleo, dan] })).status).toBe(429)
  expect([await messagesOf(t.app, account.id), await sends()]).toEqual([[], 0])
  expect((await send({ cc: [bob], bcc: [cleo] })).body.status).toBe('sent')
  expect(await sends()).toBe(3)
})

test.each([
  ['a text', { cc: bob }, 'cc'],
  ['null', { bcc: null }, 'bcc'],
  ['11 addresses', { cc: Array.from({ length: 11 }, (_, i) => `p${i}@people.example`) }, 'cc'],
  ['something that is no address', { bcc: [bob, 'bob'] }, 'bcc'],
  ['two addresses in one', { cc: [`${bob}, ${cleo}`] }, 'cc'],
  ['a line end', { bcc: [`${bob}\r\nX-A: b`] }, 'bcc'],
  ['an object', { cc: [{ email: bob }] }, 'cc'],
  ['marketing', { cc: [bob], type: 'marketing' }, 'cc'],
  ['a project', { bcc: [bob], projectId: 'prj_x' }, 'bcc'],
])('%s as cc or bcc returns 400, and nothing is stored', async (_, more, name) => {
  const { status, body } = await send(more)
  expect([status, body]).toEqual([400, { error: expect.stringContaining(name) }])
  expect(await messagesOf(t.app, account.id)).toEqual([])
})

test('ten of each are taken, and none is none', async () => {
  const some = (kind: string) => Array.from({ length: 10 }, (_, i) => `${kind}${i}@people.example`)
  expect((await send({ cc: some('c'), bcc: some('b') })).body.status).toBe('sent')
  await sink.arrived(21)
  sink.mails.length = 0
  expect((await send({ cc: [], bcc: [] })).body.status).toBe('sent')
  expect(shown((await sink.arrived(1))[0]!)).toEqual([[ada], ada, undefined])
  expect(await sends()).toBe(22)
})

test('a copy that the relay refuses fails alone, and suppresses its own address', async () => {
  sink.next({}, { refuse: { at: 'to', answer: '550 5.1.1 No such user' } })
  await ok(send({ cc: [bob] }))
  const rows = await messagesOf(t.app, account.id)
  expect(rows.map(({ status }) => status).sort()).toEqual(['failed', 'sent'])
})

test('the erasure of a copy’s address removes it from the other copies; that of `to` their content', async () => {
  await ok(send({ cc: [bob, dan], bcc: [cleo] }))
  await sink.arrived(4)
  sink.mails.length = 0
  const erase = (email: string) =>
    t.app.work(account.id, 'cli:test', (work) => eraseContact(work, email, { dryRun: false, personalData }))
  await requeue()
  await erase(bob)
  const all = async () => JSON.stringify(await t.app.sql('select * from messages where account_id = $1', [account.id]))
  expect(await all()).not.toContain('bob@')
  const loop = await startJob()
  const mails = byRecipient(await sink.arrived(3))
  await loop.stop()
  expect(mails.map(shown)).toEqual([ada, cleo, dan].map((email) => [[email], ada, dan]))
  await requeue()
  await erase(ada)
  const rows = await t.app.sql<{ email: string; html: string | null; status: string; error: string | null }>(
    'select email, html, status, error from messages where account_id = $1 order by email',
    [account.id],
  )
  const erased = { html: null, status: 'failed', error: 'The contact was erased' }
  expect(rows).toEqual(['', '', cleo, dan].map((email) => ({ email, ...erased })))
  expect(await t.app.sql('select from message_queue where account_id = $1', [account.id])).toEqual([])
})

test('`svc send --cc --bcc` sends copies; `svc sends` shows them', async () => {
  const copies = ['--cc', bob, '--bcc', cleo, '--bcc', dan]
  await suppress(dan)
  const { status, json } = await svcSend(t, account, '--to', ada, ...copies)
  expect([status, json]).toEqual([0, { id: expect.any(String), status: 'sent', suppressed: [dan] }])
  expect(byRecipient(await sink.arrived(3)).map(shown)).toEqual([ada, bob, cleo].map((email) => [[email], ada, bob]))
  const listed = await svc(t, ['sends', 'list', '--to', cleo, '--json', '--account', account.name])
  const [copy] = listed.json.sends
  const of = await svc(t, ['sends', 'show', copy.id, '--json', '--account', account.name])
  expect(of.json).toMatchObject({ to: cleo, copy: 'bcc', copyOf: json.id })
})
