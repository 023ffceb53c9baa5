import PostalMime from 'postal-mime'
import { beforeEach, expect, test } from 'vitest'
import { openApp } from '../../../src/app/app.ts'
import { readConfig } from '../../../src/app/config.ts'
import { personalData } from '../../../src/app/personal-data.ts'
import { eraseContact } from '../../../src/contacts/contacts.ts'
import { dropContents } from '../../../src/messages/messages.retention.ts'
import { ok, type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'
import { freeform, messagesOf, sendingAccount, startMail, svcSend } from '../../support/messages.ts'
import { useSink } from '../../support/smtp.ts'

let account: TestAccount
const sink = useSink()
const t = useApp(() => ({ env: { SVC_SMTP_URL: sink.url, SVC_PUBLIC_URL: 'https://svc.example' } }))
beforeEach(async () => {
  account = await sendingAccount(t)
  sink.mails.length = 0
})

const send = (more: object) => t.request('POST', '/send', { key: account.key, body: freeform(more) })
const file = (more: object = {}) => ({ filename: 'a.txt', content: Buffer.from('Hello').toString('base64'), ...more })
const stored = () =>
  t.app.sql('select message_id, position, size from message_attachments where account_id = $1', [account.id])

const filesOf = async (raw: string) =>
  (await PostalMime.parse(raw)).attachments.map(({ filename, mimeType, content, contentId, disposition }) => ({
    ...{ filename, mimeType, contentId, disposition },
    content: Buffer.from(content as ArrayBuffer),
  }))
/** The content of the only file, in base64. A parser of email takes 15 times as long for a large one. */
const encodedOf = (raw: string) => {
  const from = raw.indexOf('\r\n\r\n', raw.indexOf('Content-Disposition: attachment'))
  return raw.slice(from, raw.indexOf('\r\n--', from)).replaceAll('\r\n', '')
}

const megabytes = Buffer.alloc(10 * 1024 * 1024, 'a line of text\n')

test('files arrive as they were, with name and type, in every copy', async () => {
  const binary = Buffer.from(Array.from({ length: 200_000 }, (_, i) => (i * 7) % 256))
  const { body } = await ok(
    send({
      cc: ['bob@people.example'],
      attachments: [
        { filename: 'Größe "x"; y.pdf', contentType: 'application/pdf', content: binary.toString('base64') },
        { filename: 'empty', content: '' },
        { filename: 'logo.png', contentType: 'image/png', content: 'AAEC', contentId: 'logo@shop' },
      ],
    }),
  )
  expect(body.status).toBe('sent')
  const expected = [
    { filename: 'Größe "x"; y.pdf', mimeType: 'application/pdf', disposition: 'attachment', content: binary },
    { filename: 'empty', mimeType: 'application/octet-stream', disposition: 'attachment', content: Buffer.alloc(0) },
    { filename: 'logo.png', mimeType: 'image/png', contentId: '<logo@shop>', content: Buffer.from([0, 1, 2]) },
  ]
  for (const { raw } of await sink.arrived(2)) {
    expect(await filesOf(raw)).toMatchObject(expected)
    expect((await PostalMime.parse(raw)).html).toContain('It is on its way.')
    for (const line of raw.split('\r\n')) expect(line.length).toBeLessThanOrEqual(998)
  }
  expect(await stored()).toHaveLength(3)
  const shown = await svc(t, ['sends', 'show', body.id, '--json', '--account', account.name])
  expect(shown.json.attachments).toMatchObject([{ size: 200_000 }, { size: 0 }, { contentId: 'logo@shop' }])
})

test('10 MB are sent, by the call and by a job; one byte more returns 400, a body over 16 MB 413', async () => {
  const content = megabytes.toString('base64')
  const { body } = await ok(send({ attachments: [file({ content })] }))
  expect(encodedOf((await sink.arrived(1))[0]!.raw) === content).toBe(true)
  // If a slow machine takes more than 10 s, the call is answered before the message is sent.
  await expect
    .poll(() => t.app.sql('select status from messages where id = $1', [body.id]))
    .toEqual([{ status: 'sent' }])
  await t.app.sql(`update messages set status = 'pending', finished_at = null where id = $1`, [body.id])
  await t.app.sql('insert into message_queue (account_id, id, due_at, is_patient) values ($1, $2, svc_now(), true)', [
    account.id,
    body.id,
  ])
  const app = await openApp(readConfig(t.env))
  const loop = startMail(app)
  expect(encodedOf((await sink.arrived(2))[1]!.raw) === content).toBe(true)
  await loop.stop()
  await app.close()
  const over = Buffer.alloc(megabytes.length + 1).toString('base64')
  const refused = await send({ attachments: [file({ content: over })] })
  expect([refused.status, refused.body]).toEqual([400, { error: expect.stringContaining('attachments') }])
  const tooLarge = await send({ attachments: [file({ content: 'A'.repeat(16 * 1024 * 1024) })] })
  expect([tooLarge.status, tooLarge.body]).toEqual([413, { error: 'body must be at most 16 MB' }])
})

test.each<[string, unknown]>([
  ['21 files', Array.from({ length: 21 }, () => file())],
  ['no list', file()],
  ['null', null],
  ['no base64', [file({ content: 'ä' })]],
  ['base64 with a line end', [file({ content: 'AAEC\r\nAAEC' })]],
  ['base64 without padding', [file({ content: 'AA' })]],
  ['base64url', [file({ content: 'AA-_' })]],
  ['no content', [{ filename: 'a' }]],
  ['no filename', [{ content: '' }]],
  ['an empty filename', [file({ filename: '' })]],
  ['a path', [file({ filename: '../a' })]],
  ['a Windows path', [file({ filename: '..\\a' })]],
  ['two dots', [file({ filename: '..' })]],
  ['a line end in the filename', [file({ filename: 'a\r\nBcc: spy@people.example' })]],
  ['a filename with a mark of direction', [file({ filename: 'invoice\u202egpj.exe' })]],
  ['a filename with an isolate', [file({ filename: 'invoice\u2066.pdf' })]],
  ['a filename of 201 characters', [file({ filename: 'x'.repeat(201) })]],
  ['a content type with a line end', [file({ contentType: 'text/plain\r\nX-A: b' })]],
  ['a content type without subtype', [file({ contentType: 'text' })]],
  ['multipart', [file({ contentType: 'multipart/mixed' })]],
  ['a content id with a line end', [file({ contentId: 'a\r\nb' })]],
  ['a content id with >', [file({ contentId: 'a>b' })]],
])('%s under `attachments` returns 400, and nothing is stored', async (_, attachments) => {
  const { status, body } = await send({ attachments })
  expect([status, body]).toEqual([400, { error: expect.stringContaining('attachments') }])
  expect([await messagesOf(t.app, account.id), await stored()]).toEqual([[], []])
})

/** Posts a JSON text as it is. */
const post = (body: string) =>
  t.request('POST', '/send', { key: account.key, body, headers: { 'content-type': 'application/json' } })

const noise = Buffer.from(Array.from({ length: 600_000 }, (_, i) => (i * 7919) % 251))
const long = noise.toString('base64')

test.each([
  ['whose slashes are escaped', long.replaceAll('/', '\\/')],
  ['with other escapes', long.replaceAll('/', '\\u002f')],
])('long content %s arrives as it was, beside short content and a long text', async (_, content) => {
  const html = `<p>${'x'.repeat(200_000)}</p>`
  for (const text of ['Hi', 'word '.repeat(40_000)]) {
    const body = JSON.stringify({ ...freeform({ html, text }), attachments: [file({ content: 'LONG' }), file()] })
    expect((await post(body.replace('LONG', content))).body.status).toBe('sent')
    const raw = (await sink.arrived(1))[0]!.raw
    const [first, second] = await filesOf(raw)
    expect([first!.content.equals(noise), second!.content.toString()]).toEqual([true, 'Hello'])
    expect((await PostalMime.parse(raw)).html).toContain(html)
    sink.mails.length = 0
  }
})

test.each([
  ['with another character in the middle', `${long.slice(0, 400_000)}!${long.slice(400_001)}`],
  ['with padding in the middle', `${long.slice(0, 400_000)}=${long.slice(400_001)}`],
  ['with an escaped line end', `${long.slice(0, 400_000)}\\r\\n${long.slice(400_000)}`],
  ['without padding', `${long}A`],
  ['that is not UTF-8', `${long.slice(0, 400_000)}\u00e9${long.slice(400_001)}`],
])('long content %s returns 400, and nothing is stored', async (_, content) => {
  const body = JSON.stringify(freeform({ attachments: [file({ content: 'LONG' })] }))
  const { status, body: answer } = await post(body.replace('LONG', content))
  expect([status, answer]).toEqual([400, { error: 'attachments[0].content must be base64' }])
  expect(await messagesOf(t.app, account.id)).toEqual([])
})

test('of content that is given twice the last one counts', async () => {
  const body = JSON.stringify(freeform({ attachments: [file({ content: 'LONG' })] }))
  const twice = `${'A'.repeat(200_000)}","content":"${long}`
  expect((await post(body.replace('LONG', twice))).body.status).toBe('sent')
  const [only] = await filesOf((await sink.arrived(1))[0]!.raw)
  expect(only!.content.equals(noise)).toBe(true)
})

test('the erasure of the address, and retention, delete them', async () => {
  await ok(send({ attachments: [file()] }))
  await t.app.work(account.id, 'cli:test', (work) =>
    eraseContact(work, 'ada@people.example', { dryRun: false, personalData }),
  )
  expect(await stored()).toEqual([])
  await ok(send({ to: 'bob@people.example', attachments: [file()] }))
  expect(await stored()).toHaveLength(1)
  await dropContents(t.app, new Date(Date.now() + 60_000))
  expect(await stored()).toEqual([])
})

test('`svc send --attach` attaches files by their names', async () => {
  const sending = (path: string) => svcSend(t, account, '--to', 'ada@people.example', '--attach', path)
  expect((await sending('/nowhere')).status).toBe(2)
  expect((await sending(import.meta.filename)).json.status).toBe('sent')
  expect(await filesOf((await sink.arrived(1))[0]!.raw)).toMatchObject([{ filename: 'attachments.test.ts' }])
})
