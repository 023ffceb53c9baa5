import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { encodeMail, type Mail } from '../../src/net/mime.ts'

const plain: Mail = {
  from: { name: 'Shop', address: 'hello@shop.example' },
  to: 'ada@people.example',
  replyTo: null,
  subject: 'Hello',
  html: '<p>Hello</p>',
  text: 'Hello',
  calendar: null,
  messageId: '<msg_1@shop.example>',
  date: new Date('2026-11-22T09:00:00Z'),
  bounceTo: 'hello@shop.example',
  headers: {},
  dkim: null,
}

const event = [
  'BEGIN:VCALENDAR',
  'METHOD:REQUEST',
  `SUMMARY:${'Café, täglich. '.repeat(20)}`,
  'END:VCALENDAR',
  '',
].join('\r\n')

const mails: Record<string, Partial<Mail>> = {
  'plain content': {},
  'one long line': { html: `<p>${'A paragraph = one line. '.repeat(600)}</p>`, text: 'word '.repeat(500) },
  'umlauts and emoji': {
    html: `<p>${'Grüße 😀 '.repeat(300)}</p>`,
    text: 'Grüße 😀 '.repeat(300),
    subject: 'Grüße 😀',
  },
  'another script': {
    html: `<p>${'Привет, мир! '.repeat(100)}</p>`,
    text: '你好，世界。'.repeat(100),
    subject: '你好',
  },
  'a lone dot, a leading dot and a leading From': {
    text: '.\n..\n.dot\nFrom here\n.',
    html: '.\r\n.<p>.</p>\r\n.\r\n',
  },
  'white space at the ends of lines': { text: 'a \nb\t\r\nc  \n \n\t', html: ' <p> </p> \n ' },
  'all kinds of line ends': { text: 'a\nb\r\nc\rd\n\n\re', html: '\n<p>\r</p>\r\n' },
  'control characters': { text: 'a\u0001b\u007fc\u00a0d\u2028e', html: '<p>\u000b=\u000c==</p>' },
  'an equals sign at the end': { text: 'a=', html: '='.repeat(200) },
  'no text': { text: '' },
  'no html': { html: '' },
  nothing: { text: '', html: '' },
  'a calendar': { calendar: event },
  'a calendar and no html': { calendar: event, html: '' },
  'internationalised addresses': {
    from: { name: '上', address: 'jörg@bücher.example' },
    to: '上海@people.example',
    replyTo: '上bcc为x@people.example',
  },
  'names and headers': {
    from: { name: 'Zoë "Z" <x>, Ltd', address: 'hello@shop.example' },
    replyTo: 'answers@shop.example',
    subject: `${'A long subject, '.repeat(12)}ünd more`,
    headers: {
      'List-Unsubscribe': '<https://shop.example/u/abc>',
      'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
    },
  },
}

/** Returns the same email as nodemailer's own streams encode it. */
const streamed = async (mail: Mail): Promise<Buffer> => {
  const { message } = await createTransport({ streamTransport: true, buffer: true, newline: 'windows' }).sendMail({
    from: mail.from,
    to: { name: '', address: mail.to },
    ...(mail.replyTo !== null && { replyTo: mail.replyTo }),
    ...(mail.calendar !== null && { icalEvent: { method: 'REQUEST', content: mail.calendar } }),
    ...{ subject: mail.subject, html: mail.html, text: mail.text, messageId: mail.messageId, date: mail.date },
    ...{ headers: mail.headers, xMailer: false },
  })
  return message as Buffer
}

const linesOf = (raw: Buffer): string[] => raw.toString('latin1').split('\r\n')

/** Normalises line ends. Whether the parser adds a final newline to a part depends on its encoding. */
const withLf = (text: string | undefined) => text?.replace(/\r\n?/g, '\n').replace(/\n$/, '')

/** Returns what a mail program shows: everything except the boundaries and the encodings. */
const seen = async (raw: Buffer) => {
  const {
    headers,
    headerLines: _,
    html,
    text,
    attachments,
    ...rest
  } = await PostalMime.parse(raw, {
    attachmentEncoding: 'utf8',
  })
  const others = headers.filter(({ key }) => key !== 'content-transfer-encoding' && key !== 'content-type')
  const type = headers.find(({ key }) => key === 'content-type')!.value.split(';')[0]
  return { ...rest, others, type, html: withLf(html), text: withLf(text), attachments }
}

describe.each(Object.entries(mails))('an email with %s', (name, some) => {
  const mail = { ...plain, ...some }
  const raw = encodeMail(mail)

  test('has the same content as an email from nodemailer’s own streams', async () => {
    const [ours, theirs] = await Promise.all([seen(raw), streamed(mail).then(seen)])
    expect(ours).toEqual(theirs)
  })

  test('has only printable ASCII, except internationalised addresses, in lines that every relay accepts', () => {
    const lines = linesOf(raw)
    const body = lines.slice(lines.indexOf(''))
    const ascii = name === 'internationalised addresses' ? body : lines
    for (const line of ascii) expect(line).toMatch(/^[\t\x20-\x7e]*$/)
    for (const line of body) expect(line.length).toBeLessThanOrEqual(76)
    // White space after an empty header (`Bcc:`) or at the end of a part would be lost in transit.
    for (const line of body) expect(line).not.toMatch(/[ \t]$/)
  })
})

test.each([
  '=?utf-8?Q?Hello=0D=0ABcc:_spy@people.example?=',
  'Re: =?us-ascii?B?SGVsbG8=?= and more',
  `=?utf-8?Q?${'long_'.repeat(60)}?=`,
  'a =? b',
])('a subject and a name of %s are shown unchanged and decoded only once', async (text) => {
  const raw = encodeMail({ ...plain, subject: text, from: { name: text, address: 'hello@shop.example' } })
  const head = raw.toString().split('\r\n\r\n')[0]!
  expect(head).not.toContain('=?utf-8?Q?')
  expect(head).not.toContain('=?us-ascii')
  for (const line of head.split('\r\n')) expect(line.length).toBeLessThanOrEqual(78)
  const parsed = await PostalMime.parse(raw)
  expect(parsed.subject).toBe(text)
  expect(parsed.from).toEqual({ name: text, address: 'hello@shop.example' })
  expect(parsed.bcc).toBeUndefined()
})

test('no line break splits a character, because some mail programs decode line by line', () => {
  const lines = linesOf(encodeMail({ ...plain, text: '', html: 'abcdefghijé€😀'.repeat(100) })).filter((line) =>
    line.endsWith('='),
  )
  expect(lines.length).toBeGreaterThan(20)
  const utf8 = new TextDecoder('utf-8', { fatal: true })
  for (const line of lines) {
    const bytes = line
      .slice(0, -1)
      .replace(/=([0-9A-F]{2})/g, (_, code) => String.fromCharCode(Number.parseInt(code, 16)))
    expect(() => utf8.decode(Buffer.from(bytes, 'latin1'))).not.toThrow()
  }
})

test('text that is mostly in another script uses base64, and other text uses readable quoted-printable', () => {
  const encodings = (mail: Partial<Mail>) =>
    [
      ...encodeMail({ ...plain, ...mail })
        .toString()
        .matchAll(/^Content-Transfer-Encoding: (.*)\r$/gm),
    ].map(([, name]) => name)
  expect(encodings({ text: 'Привет, мир!', html: '<p>Grüße aus Köln</p>' })).toEqual(['base64', 'quoted-printable'])
})
