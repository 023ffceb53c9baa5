import { createHash, randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import RelaxedBody from 'nodemailer/lib/dkim/relaxed-body'
import DataStream from 'nodemailer/lib/smtp-connection/data-stream'
import { expect, test } from 'vitest'
import { speedUpStreams } from '../../src/net/mail-streams.ts'

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
