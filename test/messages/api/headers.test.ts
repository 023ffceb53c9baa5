import { expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { ok, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freeform, messagesOf, sendingAccount, startMail, svcSend } from '../../support/messages.ts'
import { useSink } from '../../support/smtp.ts'

const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))

const send = (key: string, headers: unknown) => t.request('POST', '/send', { key, body: { ...freeform(), headers } })

const lastMail = async (before: number) => (await sink.arrived(before + 1))[before]!

/** Runs the mail job in an app of its own: stopping it closes the app's connections to relays. */
const startJob = async () => {
  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  return { stop: () => loop.stop().finally(app.close) }
}

test('headers of the call stand in the email, encoded where that is needed', async () => {
  const account = await sendingAccount(t)
  const before = sink.mails.length
  const long = 'x'.repeat(998)
  const { status } = await send(account.key, {
    'X-Campaign': 'spring',
    'x-gruse': 'Grüße',
    'X-Word': '=?utf-8?Q?Hello=0D=0ABcc:_spy@people.example?=',
    'X-Long': long,
    References: '<a@shop.example> <b@shop.example>',
    'In-Reply-To': '<b@shop.example>',
  })
  expect(status).toBe(200)
  const mail = await lastMail(before)
  expect(mail.header('x-campaign')).toBe('spring')
  expect(mail.header('references')).toBe('<a@shop.example> <b@shop.example>')
  expect(mail.header('in-reply-to')).toBe('<b@shop.example>')
  expect(mail.header('x-gruse')).toMatch(/^=\?UTF-8\?/)
  expect(mail.header('x-word')).toMatch(/^=\?UTF-8\?B\?/)
  expect(mail.header('bcc')).toBeUndefined()
  for (const line of mail.raw.split('\r\n')) expect(line.length).toBeLessThanOrEqual(998)
})

const refused: [string, unknown][] = [
  ...[
    'X-SES-CONFIGURATION-SET',
    'x-ses-message-tags',
    'X-MC-Subaccount',
    'X-PM-Message-Stream',
    'X-SMTPAPI',
    'X-Mailgun-Tag',
  ].map((name): [string, unknown] => [`${name}, which steers the provider`, { [name]: 'a' }]),
  ['a text', 'X-A: 1'],
  ['null', null],
  ['a list', ['X-A: 1']],
  ['21 headers', Object.fromEntries(Array.from({ length: 21 }, (_, i) => [`X-H${i}`, 'v']))],
  ['a line end in a value', { 'X-A': 'a\r\nBcc: spy@people.example' }],
  ['a line feed in a value', { 'X-A': 'a\nb' }],
  ['NUL in a value', { 'X-A': 'a\0b' }],
  ['a value of 999 characters', { 'X-A': 'x'.repeat(999) }],
  ['a number as a value', { 'X-A': 1 }],
  ['a line end in a name', { 'X-A\r\nBcc': 'spy@people.example' }],
  ['a colon in a name', { 'X-A: b': 'c' }],
  ['an empty name', { '': 'c' }],
  ['a name without anything after X-', { 'X-': 'c' }],
  ['a name twice', { 'X-A': '1', 'x-a': '2' }],
  ['References that are not ASCII', { References: '<ü@shop.example>' }],
  ...[
    'Bcc',
    'To',
    'Cc',
    'From',
    'Subject',
    'Content-Type',
    'Reply-To',
    'List-Unsubscribe',
    'DKIM-Signature',
    'Date',
  ].map((name): [string, unknown] => [`the header ${name}`, { [name]: 'x' }]),
]

test.each(refused)('%s under `headers` returns 400, and nothing is stored', async (_, headers) => {
  const account = await sendingAccount(t)
  const { status, body } = await send(account.key, headers)
  expect([status, body]).toEqual([400, { error: expect.stringContaining('headers') }])
  expect(await messagesOf(t.app, account.id)).toEqual([])
})

test('20 headers, and a value of 998 characters, are taken; none changes nothing', async () => {
  const account = await sendingAccount(t)
  const before = sink.mails.length
  const headers = Object.fromEntries(Array.from({ length: 20 }, (_, i) => [`X-H${i}`, 'v']))
  expect((await send(account.key, headers)).body).toMatchObject({ status: 'sent' })
  expect((await lastMail(before)).header('x-h19')).toBe('v')
  expect((await send(account.key, {})).body).toMatchObject({ status: 'sent' })
  expect((await lastMail(before + 1)).raw).not.toMatch(/^x-/im)
})

test('a marketing email of a project has them beside those of its unsubscription', async () => {
  const account = await sendingAccount(t)
  const before = sink.mails.length
  const body = { ...freeform(), type: 'marketing', headers: { 'X-A': 'b' } }
  await ok(t.request('POST', '/send', { key: account.key, body }))
  const mail = await lastMail(before)
  expect([mail.header('x-a'), mail.header('list-unsubscribe-post')]).toEqual(['b', 'List-Unsubscribe=One-Click'])
})

test('a mail job that takes the message over sends them, too', async () => {
  const account = await sendingAccount(t)
  const before = sink.mails.length
  const { body } = await ok(send(account.key, { 'X-A': 'first' }))
  // As after a crash before the hand-over.
  await t.app.sql(`update messages set status = 'pending', finished_at = null where id = $1`, [body.id])
  await t.app.sql('insert into message_queue (account_id, id, due_at, is_patient) values ($1, $2, svc_now(), true)', [
    account.id,
    body.id,
  ])
  const loop = await startJob()
  const mail = await lastMail(before + 1)
  await loop.stop()
  expect(mail.header('x-a')).toBe('first')
})

test('`svc send --header` adds them, `svc sends show` shows them', async () => {
  const account = await sendingAccount(t)
  const before = sink.mails.length
  const sending = (header: string) => svcSend(t, account, '--to', 'ada@people.example', '--header', header)
  const refused = await sending('Bcc')
  expect([refused.status, refused.stderr]).toEqual([2, expect.stringContaining('--header takes')])
  expect((await sending('Bcc: spy@people.example')).status).toBe(2)
  const { status, json } = await sending('X-A: b: c')
  expect([status, json.status]).toEqual([0, 'sent'])
  expect((await lastMail(before)).header('x-a')).toBe('b: c')
  const shown = await svc(t, ['sends', 'show', json.id, '--json', '--account', account.name])
  expect(shown.json).toMatchObject({ headers: { 'X-A': 'b: c' } })
})
