import { createHash, generateKeyPairSync, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import RelaxedBody from 'nodemailer/lib/dkim/relaxed-body'
import DataStream from 'nodemailer/lib/smtp-connection/data-stream'
import { expect, test, vi } from 'vitest'
import { speedUpStreams } from '../../src/net/mail-streams.ts'
import { createSmtpClient } from '../../src/net/smtp.ts'
import { openSink } from '../support/smtp.ts'

speedUpStreams()

const lines = (count: number) =>
  randomBytes(57 * count)
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')

const bodies = [
  lines(40),
  `${lines(3)}AAAA\r\n\r\n--b--\r\n`,
  `\r\n\r\n${lines(2)}\r\n\r\n\r\n${lines(2)}\r\n\r\n`,
  `A  line\twith blanks \r\n${lines(3)}.\r\n..\r\n.A\r\nb. c \r\n \r\n${lines(1)} \r\n`,
  `${lines(2)}no line end`,
  'A dot. B.\r\nc.\r\n',
  '.\r\n',
  '\r\n',
]
const sizes = [1, 2, 3, 5, 77, 78, 79, 500, 100_000]
const inPieces = (text: string, size: number) =>
  Array.from({ length: Math.ceil(text.length / size) }, (_, i) => Buffer.from(text.slice(i * size, (i + 1) * size)))

/** RFC 6376 3.4.4. */
const relaxed = (body: string) => {
  const trimmed = body
    .replace(/[\t ]+/g, ' ')
    .replace(/ (?=\r\n|$)/g, '')
    .replace(/(\r\n)+$/, '')
  return trimmed === '' ? '' : `${trimmed}\r\n`
}

test.each(sizes)('in pieces of %s bytes, the hash that is signed is that of RFC 6376', async (size) => {
  for (const body of bodies) {
    const stream = new RelaxedBody({})
    const hash = new Promise((resolve) => stream.once('hash', resolve))
    Readable.from(inPieces(body, size)).pipe(stream).resume()
    expect(await hash).toBe(createHash('sha256').update(relaxed(body)).digest('base64'))
  }
})

test.each(sizes)(
  'in pieces of %s bytes, dots at the beginnings of lines are escaped, and nothing else',
  async (size) => {
    for (const body of bodies) {
      const sent = await textOf(Readable.from(inPieces(body, size)).pipe(new DataStream()))
      const end = body.endsWith('\r\n') ? '.\r\n' : '\r\n.\r\n'
      expect(sent).toBe(body.replace(/^\./gm, '..') + end)
    }
  },
)

// A relay that takes a lone CR or LF for a line end would see the end of the email, and commands behind it.
test.each([
  ['a.\n.\nb\r\n', 'a.\r\n..\r\nb\r\n.\r\n'],
  ['a.\r.\rb\r\n', 'a.\r\n..\r\nb\r\n.\r\n'],
  ['.\ra.\n', '..\r\na.\r\n.\r\n'],
])('in text with dots, %j is sent as %j', async (body, sent) => {
  expect(await textOf(Readable.from([Buffer.from(body)]).pipe(new DataStream()))).toBe(sent)
})

// What the patch replaces and reads is private: a version of nodemailer that names it otherwise would be slow, or sign wrongly.
test('nodemailer has the private parts that are replaced, and sends by them', async () => {
  expect(Object.keys(new DataStream())).toEqual(expect.arrayContaining(['inByteCount', 'outByteCount', 'lastByte']))
  const hashed = new RelaxedBody({})
  const parts = ['bodyHash', '_pendingWsp', '_pendingCr', '_lineHasContent']
  expect(Object.keys(hashed)).toEqual(expect.arrayContaining(parts))
  expect(hashed).toHaveProperty('_hashEmptyLines')

  const escaping = vi.spyOn(DataStream.prototype as unknown as { _transform(chunk: Buffer): void }, '_transform')
  const hashing = vi.spyOn(RelaxedBody.prototype as unknown as { updateHash(chunk: Buffer): void }, 'updateHash')
  const sink = await openSink()
  const client = createSmtpClient({ addresses: async () => [{ address: '127.0.0.1', family: 4 }] })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const relay = {
    host: '127.0.0.1',
    port: sink.port,
    isSecure: false,
    isTlsOptional: true,
    username: null,
    password: null,
  }
  const content = Buffer.from(lines(1000))
  const sent = await client.send(
    relay,
    {
      from: { name: 'Shop', address: 'hello@shop.example' },
      to: 'ada@people.example',
      replyTo: null,
      subject: 'Hello',
      html: '',
      text: 'Hello',
      calendar: null,
      messageId: '<msg_1@shop.example>',
      date: new Date(),
      bounceTo: 'hello@shop.example',
      headers: {},
      attachments: [{ filename: 'a', contentType: 'application/octet-stream', contentId: null, lines: [content] }],
      dkim: {
        domain: 'shop.example',
        selector: 'svc1',
        privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(),
      },
    },
    async () => true,
  )
  client.close()
  expect(sent).toMatchObject({ kind: 'accepted' })
  const bytesOf = ({ mock }: { mock: { calls: [chunk: Buffer, ...unknown[]][] } }) =>
    mock.calls.reduce((sum, [chunk]) => sum + chunk.length, 0)
  expect(bytesOf(escaping)).toBeGreaterThan(content.length)
  expect(bytesOf(hashing)).toBeGreaterThan(content.length)
})
