import { createTransport } from 'nodemailer'
import PostalMime from 'postal-mime'
import { describe, expect, test } from 'vitest'
import { encodeMail } from '../../src/net/mime.ts'
import type { Mail } from '../../src/net/smtp.ts'

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
  'plain ones': {},
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
  'a lone dot, a dot first, From first': { text: '.\n..\n.dot\nFrom here\n.', html: '.\r\n.<p>.</p>\r\n.\r\n' },
  'white space at ends': { text: 'a \nb\t\r\nc  \n \n\t', html: ' <p> </p> \n ' },
  'lines that end in any way': { text: 'a\nb\r\nc\rd\n\n\re', html: '\n<p>\r</p>\r\n' },
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

/** The same mail, as nodemailer's own streams write it, for the wire. */
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

/** The parser gives a part a last newline or not, by its encoding. */
const withLf = (text: string | undefined) => text?.replace(/\r\n?/g, '\n').replace(/\n$/, '')

/** What a mail program sees: without the boundaries and the encodings, which nobody does. */
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

describe.each(Object.entries(mails))('a mail with %s', (name, some) => {
  const mail = { ...plain, ...some }
  const raw = encodeMail(mail)

  test('says what nodemailer’s own streams would have said', async () => {
    const [ours, theirs] = await Promise.all([seen(raw), streamed(mail).then(seen)])
    expect(ours).toEqual(theirs)
  })

  test('is of printable ASCII in lines that every relay takes, internationalised addresses aside', () => {
    const lines = linesOf(raw)
    const body = lines.slice(lines.indexOf(''))
    const ascii = name === 'internationalised addresses' ? body : lines
    for (const line of ascii) expect(line).toMatch(/^[\t\x20-\x7e]*$/)
    for (const line of body) expect(line.length).toBeLessThanOrEqual(76)
    // Behind an empty header (`Bcc:`) or at the end of a part it would be lost on the way.
    for (const line of body) expect(line).not.toMatch(/[ \t]$/)
  })
})

test('no character is cut in two by the end of a line, as some mail programs decode line by line', () => {
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

test('what is mostly of another script goes in base64, all else so that its source can be read', () => {
  const encodings = (mail: Partial<Mail>) =>
    [
      ...encodeMail({ ...plain, ...mail })
        .toString()
        .matchAll(/^Content-Transfer-Encoding: (.*)\r$/gm),
    ].map(([, name]) => name)
  expect(encodings({ text: 'Привет, мир!', html: '<p>Grüße aus Köln</p>' })).toEqual(['base64', 'quoted-printable'])
})
