import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { readBatches } from '../../../src/contacts/imports/batch.ts'
import { openFile } from '../../../src/contacts/imports/file.ts'
import { type CsvRow, readCsv } from '../../../src/contacts/imports/imports.csv.ts'
import { type TestAccount, useApp } from '../../support/app.ts'
import { svc } from '../../support/cli.ts'

let account: TestAccount
let folder: string

const t = useApp()
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-import-files-'))
  await t.app.sql(`insert into mail_domains values ('example.org', 'mx', now() + interval '1 day')`)
})
afterAll(() => rm(folder, { recursive: true, force: true }))
beforeEach(async () => {
  account = await t.account()
})

let files = 0
const file = async (content: string | Buffer): Promise<string> => {
  const path = join(folder, `${++files}.csv`)
  await writeFile(path, content)
  return path
}
const run = (...args: string[]) => svc(t, ['--account', account.id, ...args])
const importFile = async (content: string | Buffer, ...args: string[]) =>
  run('contacts', 'import', await file(content), '--list', 'L', '--create-list', '--json', ...args)

/** Reads a file that arrives in pieces of `size` bytes. */
const read = async (content: string | Buffer, size = 64): Promise<{ headers: string[]; rows: CsvRow[] }> => {
  const bytes = Buffer.from(content)
  const open = async function* () {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  const { headers, rows } = await readCsv({ bytes: open(), reopen: open, encoding: 'utf-8' })
  return { headers, rows: await Array.fromAsync(rows) }
}

const row = (line: number, ...values: string[]): CsvRow => ({ line, values })
const latin1 = (text: string) => Buffer.from(text, 'latin1')
const openQuote = 'a quote is opened and never closed'

describe('an unreadable first line', () => {
  test.each<[string, string | Buffer, RegExp]>([
    [
      'one that is not UTF-8',
      latin1('email,pr\xe9nom\na@example.org,Ann\n'),
      /first line.*not UTF-8.*--encoding latin1/,
    ],
    ['one that ends in the middle of a character', latin1('email,pr\xc3'), /first line.*not UTF-8/],
    ['a quote that is never closed', 'email,"name\na@example.org,Ann\n', /first line.*a quote is opened/],
    ['the same with CR alone', 'email,"name\ra@example.org,Ann\r', /first line.*a quote is opened/],
    ['a quote that a later line closes', 'email,"name\na@example.org,"Ann"\n', /first line.*a quote is opened/],
  ])('%s is refused with exit 2, and nothing is created', async (_, content, sentence) => {
    const ran = await importFile(content)
    expect(ran).toMatchObject({ status: 2, stdout: '' })
    expect(ran.stderr).toMatch(sentence)
    expect((await run('lists', '--json')).json).toEqual({ lists: [] })
    expect((await run('imports', '--json')).json).toEqual({ imports: [] })
  })

  test.each<[string, string | Buffer, RegExp]>([
    ['a gzip file', gzipSync('email\na@example.org\n'), /compressed: unpack it with gunzip/],
    ['an Excel file of before 2007', Buffer.from('d0cf11e0a1b11ae1', 'hex'), /Excel.*save it as CSV/],
    ['a spreadsheet', Buffer.from('PK\u0003\u0004\u0014\u0000xl/workbook.xml'), /save it as CSV/],
    ['two columns of one name', 'email,tag,tag\n', /2 columns named tag: rename one of them in the file/],
    ['two columns of addresses', 'email,email\n', /2 columns named email: rename one of them in the file/],
    ['a name that no field may have', 'email,__proto__\n', /a field named __proto__, which is not allowed/],
    ['nothing but empty lines', '\n\r\n\n', /The file is empty/],
  ])('%s is refused with what to do', async (_, content, sentence) => {
    expect(await importFile(content)).toMatchObject({ status: 2, stdout: '', stderr: expect.stringMatching(sentence) })
  })

  test('that only --map would make ambiguous is not blamed on the file', async () => {
    const ran = await importFile('email,tag,label\n', '--map', 'label=tag')
    expect(ran).toMatchObject({ status: 2, stderr: expect.stringMatching(/Two columns would both be tag: .* --map/) })
  })

  test.each([
    ['empty lines', '\n\r\n\remail;name\na@example.org;Ann\n', 5],
    ['lines of separators', ';;\n;;\nemail;name\na@example.org;Ann\n', 4],
    ['a line that names the separator, as Excel reads it', 'sep=;\r\nemail;name\r\na@example.org;Ann\r\n', 3],
    ['the same in quotes', '"sep=;"\r\nemail;name\r\na@example.org;Ann\r\n', 3],
  ])('follows %s', async (_, content, line) => {
    for (const size of [1, 3, 1000])
      expect(await read(content, size)).toEqual({
        headers: ['email', 'name'],
        rows: [row(line, 'a@example.org', 'Ann')],
      })
  })

  test('does not include line breaks in a quoted name', async () => {
    expect((await read('email,"first\r\nname"\r\na@example.org,Ann\r\n')).headers).toEqual(['email', 'first\r\nname'])
  })
})

describe('a row with an unclosed quote', () => {
  test.each([1, 7, 64])('is the only one lost, whatever ends the lines (pieces of %i bytes)', async (size) => {
    for (const end of ['\n', '\r', '\r\n']) {
      const lines = ['email,name', 'a@b.c,1', 'b@b.c,"2', 'c@b.c,3', 'd@b.c,"4', 'e@b.c,5', '']
      expect((await read(lines.join(end), size)).rows).toEqual([
        { line: 2, values: ['a@b.c', '1'] },
        { line: 3, values: [], fault: openQuote },
        { line: 4, values: ['c@b.c', '3'] },
        { line: 5, values: [], fault: openQuote },
        { line: 6, values: ['e@b.c', '5'] },
      ])
    }
  })

  test('keeps the line numbers of later rows, also if it has line breaks itself', async () => {
    const { rows } = await read('email,a,b\na@b.c,"one\ntwo","three\nb@b.c,1,2\n')
    expect(rows.at(-1)).toEqual({ line: 4, values: ['b@b.c', '1', '2'] })
  })

  const lost = (line: number) => ({ line, values: [], fault: openQuote })
  test.each<[string, string, CsvRow[]]>([
    ['a quoted cell', 'a@b.c,"1\nb@b.c,2\nc@b.c,"3"\n', [lost(2), row(3, 'b@b.c', '2'), row(4, 'c@b.c', '3')]],
    ['a quoted row', '"a@b.c","1\n"b@b.c","2"\n"c@b.c","3"\n', [lost(2), row(3, 'b@b.c', '2'), row(4, 'c@b.c', '3')]],
    ['an empty cell in quotes', 'a@b.c,"1\nb@b.c,""\nc@b.c,"3"\n', [lost(2), lost(3), row(4, 'c@b.c', '3')]],
    [
      'another such row',
      'a@b.c,"1\n\nb@b.c,"2,"3\nc@b.c,4\nd@b.c,"5",6\n',
      [lost(2), lost(4), row(5, 'c@b.c', '4'), row(6, 'd@b.c', '5', '6')],
    ],
  ])('does not include the rows before %s', async (_, lines, expected) => {
    expect((await read(`email,x\n${lines}`)).rows).toEqual(expected)
  })

  test.each([
    'email,x\na@b.c,"""He said, ""no""\r\nand left"""\n',
    'email,x\na@b.c,"""Quoted"", and then\nmore"\n',
    'email,x\na@b.c,5" pipe\n',
  ])('does not mean a row whose value contains quotes: %j', async (content) => {
    const { rows } = await read(content)
    expect(rows).toHaveLength(1)
    expect(rows[0]?.fault).toBeUndefined()
  })
})

test('a row that ends in the middle of a character is refused', async () => {
  const { rows } = await read(Buffer.concat([Buffer.from('email,name\na@b.c,Ann\nb@b.c,Ren'), Buffer.from([0xc3])]))
  expect(rows).toEqual([
    { line: 2, values: ['a@b.c', 'Ann'] },
    { line: 3, values: [], fault: expect.stringContaining('not UTF-8') },
  ])
})

test('a batch of long rows has fewer rows, and no row is lost', async () => {
  const rows = async function* () {
    for (let i = 0; i < 12; i++) yield { line: i + 2, values: [`p${i}@example.org`, 'x'.repeat(900_000)] }
  }
  const batches = readBatches(rows(), { columns: { email: 0, fields: [null, 'note'] }, keepFirst: false, skip: 0 })
  const sizes = (await Array.fromAsync(batches)).map((batch) => batch.rows)
  expect(Math.max(...sizes)).toBeLessThan(5)
  expect(sizes.reduce((sum, size) => sum + size)).toBe(12)
})

describe('rejects', () => {
  const content = 'email,name\na@example.org,Ann\n,nobody\n'
  const expected = 'line,email,reason\r\n3,,no address\r\n'

  test('of a finished import are written to the requested file', async () => {
    const { id } = (await importFile(content)).json
    const path = join(folder, 'asked.csv')
    const ran = await run('imports', 'resume', id, '--rejects', path, '--json')
    expect(ran).toMatchObject({ status: 0, json: { id, created: 1, rejected: 1, rows: 2 } })
    expect(await readFile(path, 'utf8')).toBe(expected)
  })

  test('are written before an import is done: if that fails, a resume writes them', async () => {
    const ran = await importFile(content, '--rejects', '/dev/full')
    expect(ran.status).toBe(2)
    expect(ran.stderr).toContain("/dev/full can't be written (ENOSPC)")
    const [{ id, status, rows }] = (await run('imports', '--json')).json.imports
    expect([status, rows]).toEqual(['stopped', 2])
    expect(ran.stderr).toContain(`svc imports resume ${id}`)
    const path = join(folder, 'elsewhere.csv')
    const resumed = await run('imports', 'resume', id, '--rejects', path, '--json')
    expect(resumed).toMatchObject({ status: 5, json: { id, created: 1, rejected: 1, rows: 2 } })
    expect(await readFile(path, 'utf8')).toBe(expected)
  })

  test('are stored in normalised form, so that an erasure finds them', async () => {
    const decomposed = 'A\u0308nne@Example.ORG'
    const ran = await importFile(`email,name\n ${decomposed} ,Anne,too many\nb@example.org,B\n`)
    expect(ran).toMatchObject({ status: 5, json: { created: 1, rejected: 1 } })
    const { rejects } = (await run('imports', 'rejects', ran.json.id, '--json')).json
    expect(rejects[0].email).toBe('\u00e4nne@example.org')
    const held = (await run('contacts', 'export', '--email', decomposed)).json
    expect(held.importRejects).toHaveLength(1)
    expect((await run('contacts', 'erase', decomposed, '--yes', '--json')).json).toMatchObject({ rejects: 1 })
    expect((await run('imports', 'rejects', ran.json.id, '--json')).json.rejects).toEqual([])
  })

  test('belong to each address in them', async () => {
    const ran = await importFile(
      `email,name\n"Ada@example.org; bob@example.org",Both\ncara-bob@example.org,Cara,too many\n`,
    )
    expect((await run('contacts', 'export', '--email', 'bob@example.org')).json.importRejects).toMatchObject([
      { line: 2 },
    ])
    const args = ['contacts', 'erase', 'bob@example.org', '--json']
    expect((await run(...args, '--dry-run')).json).toMatchObject({ rejects: 1 })
    expect((await run(...args, '--yes')).json).toMatchObject({ rejects: 1 })
    const { rejects } = (await run('imports', 'rejects', ran.json.id, '--json')).json
    expect(rejects).toMatchObject([{ line: 3 }])
  })
})

test('a file that disappears while it is read is named', async () => {
  const path = await file('email,name\na@example.org,Ann\n')
  const source = await openFile(path, new AbortController().signal)
  await rm(path)
  await expect(Array.fromAsync(source.open())).rejects.toMatchObject({
    kind: 'not_found',
    message: `There is no file ${path}`,
  })
  await expect(openFile(folder, new AbortController().signal)).rejects.toMatchObject({
    kind: 'usage',
    message: `The file ${folder} can't be read (EISDIR)`,
  })
})

describe('control characters of a file', () => {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain them
  const control = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/
  const evil = '\u001b[31mred\u009b2J\u007f'

  test('in its first line do not reach the terminal', async () => {
    const content = `mail ${evil},name ${evil},twice,twice\na@example.org,1,2,3\n`
    for (const args of [[], ['--map', `name ${evil}=email`]]) {
      const ran = await importFile(content, ...args)
      expect(ran.status).toBe(2)
      expect(ran.stderr).not.toMatch(control)
      const path = await file(content)
      const plain = await run('contacts', 'import', path, '--list', 'L', '--create-list', ...args)
      expect(plain.stderr).toMatch(/columns are: mail red|twice/)
      expect(plain.stderr).not.toMatch(control)
    }
  })

  test('in its name, its addresses and the reasons of rejects do not either; JSON output keeps them', async () => {
    const path = join(folder, `${evil}.csv`)
    await writeFile(path, `email,name ${evil}\n${evil}@example.org,1,2\nb${evil}@example.org,${'v'.repeat(10_001)}\n`)
    const imported = await run('contacts', 'import', path, '--list', `L ${evil}`, '--create-list', '--json')
    expect(imported.json).toMatchObject({ rejected: 2 })
    const { id } = imported.json
    const shown = [imported]
    for (const args of [
      ['contacts', 'import', `${path}.gone`, '--list', 'L'],
      ['contacts', 'import', path, '--list', `M ${evil}`, '--create-list', '--dry-run'],
      ['imports'],
      ['imports', 'show', id],
      ['imports', 'show', id, '--json'],
      ['imports', 'rejects', id],
      ['imports', 'rejects', id, '-q'],
      ['imports', 'rejects', id, '--jsonl'],
      ['imports', 'rejects', id, '--json'],
    ])
      shown.push(await run(...args))
    for (const { stdout, stderr } of shown) expect(stdout + stderr).not.toMatch(control)
    expect(shown.at(-1)!.json.rejects[0].email).toBe(`${evil}@example.org`.toLowerCase())
  })

  test('a file that is not CSV does not flood the terminal', async () => {
    const ran = await importFile(`${'column,'.repeat(100_000)}\n`)
    expect(ran.status).toBe(2)
    expect(ran.stderr.length).toBeLessThan(3_000)
  })
})
