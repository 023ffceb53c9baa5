import { Writable } from 'node:stream'
import { expect, test, vi } from 'vitest'
import { relative, widthOf } from '../../src/cli/draw/draw.ts'
import { type Column, createOutput, type Format, span, type Terminal } from '../../src/cli/output.ts'

// Times are shown in the time zone of the terminal.
vi.hoisted(() => {
  process.env.TZ = 'UTC'
})

interface Thing {
  id: string
  title: string
  status: string
  note: string | null
  createdAt: number
}

const columns: Column<Thing>[] = [
  ['ID', (thing) => thing.id],
  ['TITLE', (thing) => thing.title],
  ['STATUS', (thing) => thing.status],
  ['NOTE', (thing) => thing.note],
  ['CREATED', (thing) => new Date(thing.createdAt)],
]
const now = Date.UTC(2026, 10, 22)
const thing = (change: Partial<Thing> = {}): Thing => ({
  id: 'deal_01k9abcdefghijklmnopqrstuv',
  title: 'Annual plan',
  status: 'won',
  note: null,
  createdAt: now - 7_200_000,
  ...change,
})

const sink = () => {
  const parts: string[] = []
  const stream = new Writable({
    write(chunk, _, done) {
      parts.push(String(chunk))
      done()
    },
  })
  return { stream, text: () => parts.join(''), lines: () => parts.join('').trimEnd().split('\n') }
}
const open = (format: Format, options: Partial<Terminal> = {}) => {
  const [stdout, stderr] = [sink(), sink()]
  const isTerminal = format === 'table'
  const shared = { format, stdout: stdout.stream, stderr: stderr.stream, isTerminal, now: () => now }
  return { out: createOutput({ ...shared, ...options }), stdout, stderr }
}
// biome-ignore lint/suspicious/noControlCharactersInRegex: the tests look for colour
const colours = /\u001b\[\d+m/g

test.each([80, 120, 40])(
  'no line of a table is wider than %i cells, and each column starts at the same cell',
  async (width) => {
    const { out, stdout } = open('table', { columns: width })
    const rows = [
      thing({ title: '日本語のとても長いタイトルが付いている契約です、まだまだ続きます', note: 'x'.repeat(90) }),
      thing({ title: 'Family 👨‍👩‍👧‍👦 plan ❤️ in green, with more words than there is room for', note: 'short' }),
      thing({ title: 'e\u0301te\u0301', note: null }),
    ]
    await out.list('deals', rows, columns)
    const lines = stdout.lines()
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    const starts = lines.filter((line) => line.startsWith('…qrstuv  '))
    expect(starts).toHaveLength(3)
    const before = (line: string, word: string) => widthOf(line.slice(0, line.indexOf(word)))
    if (width > 40) for (const line of starts) expect(before(line, 'won')).toBe(before(lines[0]!, 'STATUS'))
    // Long values wrap: no letter of them is lost.
    const written = stdout.text().replace(/\s/g, '')
    for (const letter of ['契', 'き', '👨‍👩‍👧‍👦', 'e\u0301te\u0301'])
      expect(written).toContain(width > 40 ? letter : [...new Intl.Segmenter().segment(letter)][0]!.segment)
    expect(written.match(/x/g)!.length).toBeGreaterThanOrEqual(width > 40 ? 90 : 0)
  },
)

test('a table is only as wide as its content', async () => {
  const { out, stdout, stderr } = open('table', { columns: 120 })
  await out.list('deals', [thing(), thing({ title: 'B', note: 'later' })], columns)
  expect(stdout.lines()).toEqual(
    [
      'ID                              TITLE        STATUS  NOTE   CREATED',
      'deal_01k9abcdefghijklmnopqrstuv  Annual plan  won     –      2 h ago',
      'deal_01k9abcdefghijklmnopqrstuv  B            won     later  2 h ago',
    ].map((line, i) => (i === 0 ? line.replace('ID ', 'ID  ') : line)),
  )
  expect(stderr.text()).toBe('')
})

test('a narrow table drops empty columns, then shortens ids, then wraps text, and says so', async () => {
  const shownIn = async (width: number, isWide = false) => {
    const { out, stdout, stderr } = open('table', { columns: width, isWide })
    await out.list('deals', [thing({ title: 'A title that gives way' })], columns)
    return { lines: stdout.lines(), remarks: stderr.text() }
  }
  const hidden = 'Hidden columns: NOTE (use --fields or --wide)\n'
  const short = 'Commands accept shortened ids. --wide shows them in full.\n'
  const whole = await shownIn(73)
  expect(whole.lines[1]).toBe('deal_01k9abcdefghijklmnopqrstuv  A title that gives way  won     2 h ago')
  expect(whole.remarks).toBe(hidden)
  const shortened = await shownIn(60)
  expect(shortened.lines).toEqual([
    'ID       TITLE                   STATUS  CREATED',
    '…qrstuv  A title that gives way  won     2 h ago',
  ])
  expect(shortened.remarks).toBe(hidden + short)
  expect((await shownIn(44)).lines).toEqual([
    'ID       TITLE               STATUS  CREATED',
    '…qrstuv  A title that gives  won     2 h ago',
    '         way',
  ])
  const wide = await shownIn(45, true)
  expect(wide.lines[1]).toBe('deal_01k9abcdefghijklmnopqrstuv  A title that gives way  won     –     2 h ago')
  expect(wide.remarks).toBe('')
})

test('the main columns of a noun are the last to be hidden', async () => {
  const { out, stdout, stderr } = open('table', { columns: 41 })
  await out.list(
    'forms',
    [thing()],
    [
      ...columns.slice(0, 3),
      ['ORIGIN', () => 'somewhere'],
      ['CREATED', () => new Date(now - 1000)],
      ['URL', () => 'http://127.0.0.1/f/1'],
    ],
  )
  expect(stdout.lines()[0]!.split(/ +/)).toEqual(['ID', 'TITLE', 'STATUS', 'URL'])
  expect(stderr.text().replaceAll('\n', ' ')).toContain('Hidden columns: ORIGIN, CREATED (use --fields or --wide)')
})

test('numbers are right-aligned with separators; money has one form; a pipe has the raw values', async () => {
  interface Sale {
    count: number
    amount: number
  }
  const sales: Column<Sale>[] = [
    ['COUNT', (sale) => sale.count],
    ['VALUE', ({ amount }) => ({ amount, currency: 'EUR' })],
    ['CURRENCY', () => 'EUR', 'pipe'],
    ['OF', () => 'people', 'terminal'],
  ]
  const rows = [
    { count: 60_001, amount: 29 },
    { count: 7, amount: 1250.5 },
  ]
  const { out, stdout } = open('table')
  await out.list('sales', rows, sales)
  out.one({ count: 60_001, value: 29, currency: 'EUR' })
  expect(stdout.lines()).toEqual([
    ' COUNT         VALUE  OF',
    '60,001     29.00 EUR  people',
    '     7  1,250.50 EUR  people',
    'count  60,001',
    'value  29.00 EUR',
  ])
  const plain = open('plain')
  await plain.out.list('sales', rows, sales)
  plain.out.one({ count: 60_001, value: 29, currency: 'EUR' })
  expect(plain.stdout.lines()).toEqual([
    '60001\t29\tEUR',
    '7\t1250.5\tEUR',
    'count\t60001',
    'value\t29',
    'currency\tEUR',
  ])
})

test('a future time includes its date, and so does every time of a single object', async () => {
  const { out, stdout } = open('table', { columns: 120 })
  await out.list('deals', [thing({ createdAt: now + 57_600_000 })], columns)
  out.one({ createdAt: now - 7_200_000, startsAt: Date.UTC(2027, 0, 4, 9, 5) })
  expect(stdout.lines()[1]).toMatch(/ {2}Sun 22 Nov 16:00 \(in 16 h\)$/)
  expect(stdout.lines().slice(2)).toEqual([
    'created at  Sat 21 Nov 22:00 (2 h ago)',
    'starts at   Mon 4 Jan 2027 09:05 (in 43 d)',
  ])
})

test.each([
  [0, 'now'],
  [59, '59 s ago'],
  [60, '1 min ago'],
  [3569, '59 min ago'],
  [3570, '1 h ago'],
  [84_599, '23 h ago'],
  [84_600, '1 d ago'],
  [-3570, 'in 1 h'],
])('%i s ago is "%s"', (seconds, expected) => expect(relative(new Date(now - 1000 * seconds), now)).toBe(expected))

test('a long word breaks after a punctuation mark if there is one in the second half of the line', async () => {
  const { out, stdout } = open('table', { columns: 24 })
  await out.list(
    'people',
    [{ name: 'Ada', email: 'ada.lovelace@engines.example' }],
    [
      ['NAME', (row) => row.name],
      ['EMAIL', (row) => row.email],
    ],
  )
  expect(stdout.lines()).toEqual(['NAME  EMAIL', 'Ada   ada.lovelace@', '      engines.example'])
  out.one({ isOpen: true })
  expect(stdout.lines().at(-1)).toBe('is open  yes')
  const wide = open('table', { columns: 90 })
  wide.out.one({ check: { status: 'valid', reasons: [], checkedAt: now - 7_200_000 } })
  expect(wide.stdout.lines()).toEqual(['check  status: valid, reasons: –, checkedAt: Sat 21 Nov 22:00 (2 h ago)'])
})

test('an address is not broken while other text can wrap, and a note wraps between words', async () => {
  const { out, stdout, stderr } = open('table', { columns: 80 })
  const reason = 'The relay refused the message: 550 5.7.1 Refused by the mail catcher'
  const row = { id: 'msg_01k9abcdefghijklmnopqrstuv', to: 'you@example.com', status: 'failed', reason }
  await out.list(
    'sends',
    [{ ...row, type: 'transactional', subject: 'Hello', createdAt: now - 2000 }],
    [
      ['ID', ({ id }) => id],
      ['TO', ({ to }) => to],
      ['STATUS', ({ status }) => status],
      ['REASON', (sent) => sent.reason],
      ['TYPE', ({ type }) => type],
      ['SUBJECT', ({ subject }) => subject],
      ['CREATED', ({ createdAt }) => new Date(createdAt)],
    ],
  )
  expect(stdout.text()).toContain('you@example.com')
  out.note(`${'word '.repeat(20)}end`)
  out.note(`  next: svc sends list ${'--status failed '.repeat(8)}`)
  const notes = stderr.lines()
  expect(notes.filter((line) => line.length > 80)).toEqual([expect.stringContaining('next: svc sends list')])
  expect(stderr.text()).toMatch(/word\nword/)
})

test('an address of usual length stays whole where hiding times makes room for it', async () => {
  const contact = { email: 'jonas.lindqvist@sample.example', name: 'Jonas Lindqvist', list: 'Sample contacts' }
  const columns: Column<typeof contact>[] = [
    ['EMAIL', ({ email }) => email],
    ['NAME', ({ name }) => name],
    ['LIST', ({ list }) => list],
    ['STATUS', () => 'active'],
    ['UPDATED', () => new Date(now - 9 * 60_000)],
  ]
  const { out, stdout, stderr } = open('table', { columns: 80 })
  await out.list('contacts', [contact], columns)
  expect(stdout.lines()[1]).toMatch(/^jonas\.lindqvist@sample\.example {2}Jonas Lindqvist {2}Sample contacts {2}active/)
  expect(stderr.text()).toContain('Hidden columns: UPDATED')
  const wide = open('table', { columns: 100 })
  await wide.out.list('contacts', [contact], columns)
  expect(wide.stdout.text()).toContain('9 min ago')
})

test('a single object is never cut: values wrap, an address is not broken, narrow parts have one line per field', () => {
  const { out, stdout } = open('table', { columns: 40 })
  const url = `https://example.com/${'a'.repeat(40)}`
  const words = Array.from({ length: 12 }, (_, i) => `word${i}`).join(' ')
  const id = 'deal_01k9abcdefghijklmnopqrstuv'
  out.one({ url, note: words, part: [{ id, from: 'the first of them', to: 'the second of them', by: 'cli:root' }] })
  expect(stdout.lines()).toEqual([
    `url   ${url}`,
    'note  word0 word1 word2 word3 word4',
    '      word5 word6 word7 word8 word9',
    '      word10 word11',
    '',
    'part',
    `id    ${id}`,
    'from  the first of them',
    'to    the second of them',
    'by    cli:root',
  ])
})

test('a table that cli-table3 draws in several pieces is one table', async () => {
  const { out, stdout } = open('table')
  const rows = Array.from({ length: 2500 }, (_, i) => ({ name: `n${i}` }))
  await out.list('names', rows, [
    ['NAME', (row) => row.name],
    ['AGAIN', (row) => row.name],
  ])
  expect(stdout.lines()).toEqual(['NAME   AGAIN', ...rows.map(({ name }) => `${name.padEnd(5)}  ${name}`)])
})

test('only status words are coloured, on a terminal that has colours', async () => {
  const { out, stdout } = open('table', { isColoured: true, columns: 100 })
  await out.list('deals', [thing(), thing({ status: 'lost', title: 'won' })], columns)
  out.one({ id: 'x', status: 'pending' })
  expect(stdout.text().match(colours)).toEqual([
    '\u001b[32m',
    '\u001b[39m',
    '\u001b[31m',
    '\u001b[39m',
    '\u001b[33m',
    '\u001b[39m',
  ])
  const plain = open('plain')
  await plain.out.list('deals', [thing()], columns)
  expect(plain.stdout.text()).not.toMatch(colours)
})

test('a single object shows its parts as tables and its nested data flattened; -q, --json and pipes are unchanged', () => {
  const delivery = {
    id: 'dlv_1',
    status: 'pending',
    types: ['a', 'b'],
    none: [],
    from: { email: 'hello@shop.example', name: 'Harbour' },
    history: [
      { at: now - 60_000, status: 500, error: null },
      { at: now, status: null, error: 'timeout' },
    ],
    event: { type: 'deal.created', data: { title: 'x'.repeat(80) } },
  }
  const { out, stdout } = open('table', { columns: 60 })
  out.one(delivery)
  expect(stdout.lines()).toEqual([
    'id       dlv_1',
    'status   pending',
    'types    a, b',
    'none     –',
    'from     Harbour <hello@shop.example>',
    '',
    'history',
    'AT                            STATUS  ERROR',
    'Sat 21 Nov 23:59 (1 min ago)     500  –',
    'Sun 22 Nov 00:00 (now)             –  timeout',
    '',
    'event',
    '  {',
    '    "type": "deal.created",',
    '    "data": {',
    `      "title": "${'x'.repeat(80)}"`,
    '    }',
    '  }',
  ])
  const plain = open('plain')
  plain.out.one({ id: 'dlv_1', history: delivery.history.slice(0, 1) })
  expect(plain.stdout.text()).toBe(`id\tdlv_1\nhistory\t[{"at":${now - 60_000},"status":500,"error":null}]\n`)
  const json = open('json')
  json.out.one(delivery)
  expect(JSON.parse(json.stdout.text())).toEqual(delivery)
})

test.each<Format>(['table', 'plain', 'json', 'jsonl', 'ids'])('a secret is shown, once, in format %s', (format) => {
  const { out, stdout, stderr } = open(format)
  out.secret({ id: 'key_1', key: 'svc_live_x' }, 'key')
  expect(`${stdout.text()}${stderr.text()}`.split('svc_live_x')).toHaveLength(2)
  // With -q stdout is only the id: a script reads the whole output as one.
  if (format === 'ids') expect(stdout.text()).toBe('key_1\n')
  else expect(stdout.text()).toContain('svc_live_x')
  expect(stderr.text()).toContain('Save the key now: it is not shown again.')
})

test('times of an object with a secret are RFC 3339 in a pipe, and epoch ms in JSON', () => {
  const key = { id: 'key_1', key: 'svc_live_x', expiresAt: now, oldSecretUntil: now + 1000 }
  const plain = open('plain')
  plain.out.secret(key, 'key')
  expect(plain.stdout.lines().slice(2)).toEqual([
    'expiresAt\t2026-11-22T00:00:00.000Z',
    'oldSecretUntil\t2026-11-22T00:00:01.000Z',
  ])
  const json = open('json')
  json.out.secret(key, 'key')
  expect(JSON.parse(json.stdout.text())).toEqual(key)
})

test('-q prints nothing for an object without an id', () => {
  const { out, stdout } = open('ids')
  out.one({ subject: 'webinar:web_1', event: 'reminder' })
  expect(stdout.text()).toBe('')
})

test('-q prints no empty line for a row without an id', async () => {
  const { out, stdout } = open('ids')
  await out.list('rejects', [{ email: '' }, { email: 'ada@people.example' }], [])
  await out.list('usage', [{ quota: 'sends' }], [])
  expect(stdout.text()).toBe('ada@people.example\n')
})

test('--fields chooses columns and properties, in its order', async () => {
  const fields = ['status', 'createdAt', 'id']
  const json = open('json', { fields })
  await json.out.list('deals', [thing({ id: '1' })], columns, 'c')
  expect(json.stdout.text()).toBe(
    `{"deals":[{"status":"won","createdAt":${now - 7_200_000},"id":"1"}],"nextCursor":"c"}\n`,
  )
  const lines = open('jsonl', { fields })
  await lines.out.list('deals', [thing({ id: '1' })], columns)
  expect(lines.stdout.text()).toBe(`{"status":"won","createdAt":${now - 7_200_000},"id":"1"}\n`)
  const plain = open('plain', { fields })
  await plain.out.list('deals', [thing({ id: '1' })], columns)
  plain.out.one(thing({ id: '1' }))
  expect(plain.stdout.lines()).toEqual([
    'won\t2026-11-21T22:00:00.000Z\t1',
    'status\twon',
    'createdAt\t2026-11-21T22:00:00.000Z',
    'id\t1',
  ])
  const table = open('table', { fields })
  await table.out.list('deals', [thing({ id: '1' })], columns)
  expect(table.stdout.lines()).toEqual(['STATUS  CREATED AT  ID', 'won     2 h ago     1'])
})

test('--fields takes headings and properties in any case; a heading takes precedence', async () => {
  const row = { id: '1', error: 'refused', reason: null, lastStatus: 503 }
  const those: Column<typeof row>[] = [
    ['REASON', ({ reason, error }) => reason ?? error],
    ['ANSWER', ({ lastStatus }) => lastStatus],
    ['KIND', () => 'of a pipe', 'pipe'],
    ['KIND', () => 'of a terminal', 'terminal'],
  ]
  const fields = ['Reason', 'answer', 'LASTSTATUS', 'last status', 'kind']
  const table = open('table', { fields })
  await table.out.list('rows', [row], those)
  expect(table.stdout.lines()).toEqual([
    'REASON   ANSWER  LAST STATUS  LAST STATUS  KIND',
    'refused     503          503          503  of a terminal',
  ])
  const plain = open('plain', { fields })
  await plain.out.list('rows', [row], those)
  expect(plain.stdout.text()).toBe('refused\t503\t503\t503\tof a pipe\n')
  const json = open('jsonl', { fields })
  await json.out.list('rows', [row], those)
  expect(JSON.parse(json.stdout.text())).toEqual({ reason: 'refused', answer: 503, lastStatus: 503, kind: 'of a pipe' })
  const one = open('table', { fields: ['Last Status', 'ID'] })
  one.out.one(row)
  expect(one.stdout.lines()).toEqual(['last status  503', 'id           1'])
})

test.each<Format>(['table', 'plain', 'json', 'jsonl'])(
  'an unknown field is refused with the available fields: %s',
  async (format) => {
    const { out, stdout } = open(format, { fields: ['id', 'nope'] })
    const refusal = 'Unknown field "nope"; available: id, title, status, note, createdAt'
    await expect(out.list('deals', [thing()], columns)).rejects.toThrow(refusal)
    await expect(out.stream(columns)([thing()])).rejects.toThrow(refusal)
    expect(() => out.one(thing())).toThrow(refusal)
    expect(stdout.text()).toBe('')
  },
)

test('a stream prints its heading once, and columns widen when necessary', async () => {
  const { out, stdout } = open('table', { columns: 80 })
  const write = out.stream<{ id: string; title: string }>([
    ['ID', (row) => row.id],
    ['TITLE', (row) => row.title],
  ])
  await write([{ id: 'first', title: 'A title' }])
  await write([])
  await write([{ id: 'much longer', title: 'B' }])
  await write([{ id: 'last', title: 'C' }])
  expect(stdout.lines()).toEqual(['ID     TITLE', 'first  A title', 'much longer  B', 'last         C'])
})

test('control characters in stored text do not reach the terminal as rows, ids or JSON', async () => {
  const evil = 'a\u001b[31mb\u0007\u009b31m\u007f'
  for (const format of ['table', 'plain', 'json', 'jsonl', 'ids'] as const) {
    const { out, stdout } = open(format)
    await out.list('deals', [{ name: evil }], [['NAME', (row) => row.name]])
    out.one({ name: evil })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the output must not contain control characters
    expect(stdout.text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  }
})

test('neither a line of data nor the output of a command controls a terminal; in a pipe both are unchanged', () => {
  const evil = 'a\u001b]0;title\u0007\u001b[2Jb\u009b31m\u202egnp.exe\u2066'
  const on = (format: Format) => {
    const opened = open(format)
    opened.out.line(`\u001b[31mred\u001b[39m ${evil}`)
    opened.out.sink().write(`${evil},ä\r\n`)
    return opened.stdout.text()
  }
  const shown = on('table')
  const others = shown.replace('\u001b[31mred\u001b[39m', '').replaceAll('\n', '')
  expect(others).not.toBe(shown)
  expect(others).not.toMatch(/[\p{Cc}\u202a-\u202e\u2066-\u2069]/u)
  expect(shown).toContain(',ä\n')
  expect(on('plain')).toContain(`${evil},ä\r\n`)
})

test('the labels of an object are words, and the message for an empty list names what it lists', async () => {
  const { out, stdout, stderr } = open('table')
  out.one({ leftOut: 0, listId: 'x' })
  await out.list('accessLog', [], columns, null, { called: 'entries' })
  expect(stdout.lines()).toEqual(['left out  0', 'list id   x'])
  expect(stderr.text()).toBe('No entries.\n')
  expect([out.time(now - 7_200_000), open('plain').out.time(now)]).toEqual([
    'Sat 21 Nov 22:00 (2 h ago)',
    '2026-11-22T00:00:00.000Z',
  ])
})

test.each([
  [0, '0 s'],
  [90_000, '1 min 30 s'],
  [-7_200_000, '2 h'],
  [2 * 86_400_000, '2 d'],
])('%i ms are %s', (ms, text) => expect(span(ms)).toBe(text))

test('an object is printed with its ids if their names can not be read', async () => {
  const names = () => Promise.reject(new Error('The database is away'))
  const { out, stdout } = open('table', { columns: 80, names })
  out.one(await out.named({ id: 'deal_1', listId: 'lst_1' }))
  expect(stdout.text()).toContain('lst_1')
})

test('an object whose names leave no room has its values below them, and no line is too wide', () => {
  const { out, stdout } = open('table', { columns: 40 })
  out.one({ version: '1.0', 'deliveries of the last hour': '7 delivered, embedded in /home/somebody/project/.svc' })
  expect(stdout.lines()).toEqual([
    'version',
    '  1.0',
    'deliveries of the last hour',
    '  7 delivered, embedded in',
    '  /home/somebody/project/.svc',
  ])
})
