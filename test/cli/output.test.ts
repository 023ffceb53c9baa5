import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { type Column, createOutput, type Format, type Terminal } from '../../src/cli/output.ts'
import { widthOf } from '../../src/cli/table.ts'

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
// biome-ignore lint/suspicious/noControlCharactersInRegex: colour is what is looked for
const colours = /\u001b\[\d+m/g

test.each([80, 120, 40])(
  'no line of a table is wider than %i cells, and its columns stand under each other',
  async (width) => {
    const { out, stdout } = open('table', { columns: width })
    const rows = [
      thing({ title: '日本語のとても長いタイトルが付いている契約です、まだまだ続きます', note: 'x'.repeat(90) }),
      thing({ title: 'Family 👨‍👩‍👧‍👦 plan ❤️ in green, with more words than there is room for', note: 'short' }),
      thing({ title: 'e\u0301te\u0301', note: null }),
    ]
    await out.list('deals', rows, columns)
    const lines = stdout.lines()
    expect(lines).toHaveLength(4)
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(width)
    // Ids are for copying: they are whole.
    for (const line of lines.slice(1)) expect(line.startsWith(rows[0]!.id)).toBe(true)
    const before = (line: string, word: string) => widthOf(line.slice(0, line.indexOf(word)))
    if (width > 40) for (const line of lines.slice(1)) expect(before(line, 'won')).toBe(before(lines[0]!, 'STATUS'))
  },
)

test('a table with room is as wide as what it shows', async () => {
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

test('where cut texts do not suffice columns go, those that hold nothing first, and it is said', async () => {
  const { out, stdout, stderr } = open('table', { columns: 60 })
  await out.list('deals', [thing({ title: 'A title that gives way' })], columns)
  expect(stdout.lines()[0]!.split(/ +/)).toEqual(['ID', 'TITLE', 'STATUS', 'CREATED'])
  expect(stderr.text()).toBe('No room for NOTE: --fields chooses, --json has all.\n')
})

test('status words are coloured on a terminal that has colours, and nothing else is', async () => {
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

test('a thing with parts shows them as tables, its nested data spread, and -q, --json and pipes as before', () => {
  const delivery = {
    id: 'dlv_1',
    status: 'pending',
    types: ['a', 'b'],
    none: [],
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
    '',
    'history',
    'AT         STATUS  ERROR',
    '1 min ago  500     –',
    'now        –       timeout',
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
  // With -q stdout is the id alone: what reads it takes nothing else for one.
  if (format === 'ids') expect(stdout.text()).toBe('key_1\n')
  else expect(stdout.text()).toContain('svc_live_x')
  expect(stderr.text()).toContain('Keep the key now: it is not shown again.')
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

test.each<Format>(['table', 'plain', 'json', 'jsonl'])(
  'an unknown field is refused with those there are: %s',
  async (format) => {
    const { out, stdout } = open(format, { fields: ['id', 'nope'] })
    const refusal = 'There is no field nope: choose of id, title, status, note, createdAt'
    await expect(out.list('deals', [thing()], columns)).rejects.toThrow(refusal)
    await expect(out.stream(columns)([thing()])).rejects.toThrow(refusal)
    expect(() => out.one(thing())).toThrow(refusal)
    expect(stdout.text()).toBe('')
  },
)

test('a stream has its heading once, and columns that widen as they must', async () => {
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

test('control characters of stored text reach no terminal, as rows, ids or JSON', async () => {
  const evil = 'a\u001b[31mb\u0007\u009b31m\u007f'
  for (const format of ['table', 'plain', 'json', 'jsonl', 'ids'] as const) {
    const { out, stdout } = open(format)
    await out.list('deals', [{ name: evil }], [['NAME', (row) => row.name]])
    out.one({ name: evil })
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not be there
    expect(stdout.text()).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/)
  }
})
