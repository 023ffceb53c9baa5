import { parse } from 'csv-parse/sync'
import { describe, expect, test } from 'vitest'
import { type CsvRow, readCsv } from '../../../src/contacts/imports/imports.csv.ts'

const inPieces = async function* (bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const rowsOf = async (text: string, size: number): Promise<CsvRow[]> => {
  const reopen = () => inPieces(Buffer.from(text), size)
  const { rows } = await readCsv({ bytes: reopen(), reopen, encoding: 'utf-8' })
  return Array.fromAsync(rows)
}

const lines = (eol: string, last = eol) =>
  ['email,name', 'a@x.org,Zoë', '', 'b@x.org,日本語', 'c@x.org'].join(eol) + last

describe('read in pieces of', () => {
  describe.each([1, 2, 3, 5, 16, 1000])('%d bytes', (size) => {
    test.each([
      ['LF', lines('\n')],
      ['CRLF', lines('\r\n')],
      ['CR', lines('\r')],
      ['no break at the end', lines('\n', '')],
      ['a CR at the end of LF', lines('\n', '\r')],
      ['all three', 'email,name\r\na@x.org,1\nb@x.org,2\rc@x.org,3\r\n\r\n\n\rd@x.org,4\n'],
      ['a quote in the last row', `${lines('\n')}d@x.org,"Smith, ""J""\nand Co"\n`],
      ['a quote in the first row', `email,"na,me"\n${lines('\n')}`],
      ['a quote within a value', `${lines('\r\n')}d@x.org,5" pipe\r\ne@x.org,x\r\n`],
    ])('a file with %s has the rows that the CSV parser reads', async (_, text) => {
      const records: string[][] = parse(text, {
        relax_quotes: true,
        relax_column_count: true,
        record_delimiter: ['\r\n', '\n', '\r'],
      })
      const expected = records.slice(1).filter((record) => record.length > 1 || record[0] !== '')
      expect((await rowsOf(text, size)).map(({ values }) => values)).toEqual(expected)
    })

    test('lines are counted through both parts, and an unclosed quote loses only its row', async () => {
      const text = `email,name\na@x.org,1\n\nb@x.org,"two\nlines"\nc@x.org,"open\nd@x.org,4\ne@x.org,5\n`
      expect(await rowsOf(text, size)).toEqual([
        { line: 2, values: ['a@x.org', '1'] },
        { line: 4, values: ['b@x.org', 'two\nlines'] },
        { line: 6, values: [], fault: 'a quote is opened and never closed' },
        { line: 7, values: ['d@x.org', '4'] },
        { line: 8, values: ['e@x.org', '5'] },
      ])
    })
  })
})

test('a long row without a quote is read in bounded memory', async () => {
  let given = 0
  const endless = async function* () {
    yield Buffer.from('email,name\na@x.org,1\n')
    for (; given < 200; given++) yield Buffer.alloc(65_536, 'x')
  }
  const { rows } = await readCsv({ bytes: endless(), reopen: null, encoding: 'utf-8' })
  const lengths = (await Array.fromAsync(rows)).map(({ values }) => values.join().length)
  expect(lengths).toEqual([9, expect.closeTo(4 * 1024 * 1024, -6)])
  expect(given).toBeLessThan(100)
})
