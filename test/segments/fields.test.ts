import { beforeAll, describe, expect, test } from 'vitest'
import { listContacts } from '../../src/contacts/contacts.ts'
import { meets } from '../../src/lib/filter.match.ts'
import { parseFilter } from '../../src/lib/filter.ts'
import { narrow } from '../../src/segments/segments.ts'
import { type TestAccount, useApp } from '../support/app.ts'
import { type Random, randomOfTest } from '../support/random.ts'
import { person, writePeople } from './people.ts'

/* Comparisons of fields mean the same to PostgreSQL, for contacts, and to the process, for blocks of emails. */

const now = new Date('2026-11-01T23:30:00Z')
const t = useApp({ now: () => now })

const nines = '9'.repeat(60)
/** The values of the field `v`, each of one contact; null: the contact has no such field. */
const values: readonly (string | null)[] = [
  ...[
    null,
    '',
    ' ',
    'pro',
    'Pro',
    'PRO ',
    'pro,team',
    'and',
    '"quoted"',
    "'; drop table contacts; --",
    '%',
    '_',
    'a\\b',
  ],
  ...['0', '-0', '0.0', '9', '09', '9.50', '9.5', '10', '-9', '-10', '.5', '5.', '1e5', '+9', '9 ', '9\n', '٩'],
  ...['9007199254740992', '9007199254740993', `${nines}8`, `${nines}9`, `0.${nines}8`, `0.${nines}9`],
  ...['2026-11-01', '2026-11-01T10:00', '2026-10-31', '2026-11-02 x', '2026-13-99', '26-11-01', 'x2026-11-01'],
  ...['İstanbul', 'istanbul', 'ΟΔΟΣ', 'οδος', 'οδοσ', 'Straße', 'STRASSE', 'ẞ', 'ß', 'ÜNÏ', 'ünï', 'ﬁ', 'FI', 'Ǆ', 'ǆ'],
  ...['z', '𐐀', '𐐨', '😀', '\uffff', '�', 'a\nb', 'A\nB', 'a\tb'],
]

const columns = ['v', 'other field']
const vocabulary = { terms: new Map(), columns: new Set(columns) }

let account: TestAccount
let list: string
const emailOf = (i: number) => `p${String(100 + i)}@acme.test`

beforeAll(async () => {
  account = await t.account()
  const people = values.map((value, i) => person(emailOf(i), { fields: value === null ? {} : { v: value } }))
  list = await writePeople(t, account, people)
  await t.app.sql('update contact_lists set fields = $2 where id = $1', [list, columns])
})

/** The values that meet a filter, according to PostgreSQL. */
const ofDatabase = async (where: string) => {
  const { rows } = await t.app.work(account.id, 'cli:test', async (w) =>
    listContacts(w, { ...(await narrow(w, { list, where })), limit: 1_000 }),
  )
  const found = new Set(rows.map(({ email }) => email))
  return values.filter((_, i) => found.has(emailOf(i)))
}

const inProcess = (where: string) => {
  const filter = parseFilter(where, vocabulary)
  return values.filter((value) =>
    meets(filter, (field) => (field === 'v' ? (value ?? undefined) : undefined), now.getTime()),
  )
}

const isOneOf = (...those: readonly (string | null)[]) => those
const others = (...those: readonly (string | null)[]) => values.filter((value) => !those.includes(value))
const numbers = values.filter((value) => value !== null && /^-?[0-9]+([.][0-9]+)?$/.test(value))

describe('a comparison of a field', () => {
  test.each<[string, readonly (string | null)[]]>([
    // A missing value is the empty string. `!=` and `not` are the complement.
    ['v is empty', isOneOf(null, '')],
    ['v = ""', isOneOf(null, '')],
    ['v is not empty', others(null, '')],
    ['v != pro', others('pro')],
    ['not v = pro', others('pro')],
    ['not not v = pro', isOneOf('pro')],
    ['not (v = pro or v is empty)', others('pro', null, '')],
    ['v in (pro, "", Pro)', isOneOf(null, '', 'pro', 'Pro')],
    ['field.v = pro', isOneOf('pro')],
    ['field."other field" = pro', isOneOf()],
    ['field."other field" is empty', values],
    ['field.unknown is empty and v = pro', isOneOf('pro')],
    // Case counts for `=` and order, not for `~`.
    ['v = PRO', isOneOf()],
    ['v ~ PRO', isOneOf('pro', 'Pro', 'PRO ', 'pro,team')],
    ['v ~ ""', values],
    ['v ~ "%"', isOneOf('%')],
    ['v ~ "a\nB"', isOneOf('a\nb', 'A\nB')],
    ['v ~ ISTANBUL', isOneOf('İstanbul', 'istanbul')],
    ['v ~ "οδος"', isOneOf('οδος')],
    ['v ~ "ΟΔΟΣ"', isOneOf('ΟΔΟΣ', 'οδοσ')],
    ['v ~ "straße"', isOneOf('Straße')],
    ['v ~ "ẞ"', isOneOf('Straße', 'ẞ', 'ß')],
    ['v ~ "ünÏ"', isOneOf('ÜNÏ', 'ünï')],
    ['v ~ "𐐨"', isOneOf('𐐀', '𐐨')],
    // Order by code points, not by UTF-16 units.
    ['v > "\uffff"', isOneOf('𐐀', '𐐨', '😀')],
    ['v < " "', isOneOf(null, '')],
    ['v >= z and v <= "z"', isOneOf('z')],
    // Numbers: only numeric values, exactly.
    ['v > 9', numbers.filter((value) => Number(value) > 9)],
    ['v <= 0', isOneOf('0', '-0', '0.0', '-9', '-10')],
    ['v >= -9.0 and v < 9.50', isOneOf('0', '-0', '0.0', '9', '09', '-9', `0.${nines}8`, `0.${nines}9`)],
    ['v > 9007199254740992 and v < 9007199254740994', isOneOf('9007199254740993')],
    [`v > ${nines}8`, isOneOf(`${nines}9`)],
    [`v > 0.${nines}8 and v < 1`, isOneOf(`0.${nines}9`)],
    ['v = 9.5', isOneOf('9.50', '9.5')],
    ['v = "9.5"', isOneOf('9.5')],
    ['v = 0.00', isOneOf('0', '-0', '0.0')],
    ['v = 9007199254740993', isOneOf('9007199254740993')],
    ['v != 9', others('9', '09')],
    ['v in (9, pro, "10.0")', isOneOf('9', '09', 'pro')],
    ['v >= "9.5" and v <= "9.50"', isOneOf('9.50', '9.5')],
    ['not v >= -100', values.filter((value) => !numbers.includes(value))],
    // Dates: values that begin with one.
    ['v >= 2026-11-01', isOneOf('2026-11-01', '2026-11-01T10:00', '2026-11-02 x', '2026-13-99')],
    ['v > 2026-11-01', isOneOf('2026-11-02 x', '2026-13-99')],
    ['v < 2026-11-01', isOneOf('2026-10-31')],
    ['v = 2026-11-01', isOneOf('2026-11-01')],
    // Moments: the date of the value is compared with theirs.
    ['v = today', isOneOf('2026-11-01', '2026-11-01T10:00')],
    ['v != now', others('2026-11-01', '2026-11-01T10:00')],
    ['v = today-1d', isOneOf('2026-10-31')],
    ['v = now + 30m', isOneOf('2026-11-02 x')],
    ['v >= today and v < today+7d', isOneOf('2026-11-01', '2026-11-01T10:00', '2026-11-02 x')],
    ['v <= now', isOneOf('2026-11-01', '2026-11-01T10:00', '2026-10-31')],
    ['v in (today-24h, now, pro)', isOneOf('2026-10-31', '2026-11-01', '2026-11-01T10:00', 'pro')],
    ['v = "today"', isOneOf()],
    ['v <= 2026-11-01 or v = pro and v = Pro', isOneOf('2026-11-01', '2026-11-01T10:00', '2026-10-31')],
  ])('%s', async (where, expected) => {
    expect(inProcess(where)).toEqual(values.filter((value) => expected.includes(value)))
    expect(await ofDatabase(where)).toEqual(inProcess(where))
  })

  test.each([
    ['v < 30d', 'filter, column 5: expected a number, a date such as 2026-11-01, or a text in quotes after "<"'],
    ['v =', 'filter, column 4: expected a value after "="'],
  ])('%s is a mistake', async (where, message) => {
    expect(() => inProcess(where)).toThrow(message)
    await expect(ofDatabase(where)).rejects.toMatchObject({ kind: 'invalid', message })
  })
})

/** A filter of one field, of up to `size` comparisons. */
const anyFilter = (random: Random, size: number): string => {
  const value = (operator: string) => {
    if (operator !== '~' && random.next() < 0.15)
      return random.pick(['today', 'now', 'today-1d', 'now+1h', 'today + 400d', 'now-1w'])
    const picked = random.pick(values) ?? ''
    return random.next() < 0.5 && /^[A-Za-z0-9_.@-]+$/.test(picked) && picked !== 'and'
      ? picked
      : `"${picked.replaceAll('"', '\\"')}"`
  }
  const comparison = () => {
    const operator = random.pick(['=', '!=', '<', '<=', '>', '>=', '~', 'in', 'is empty', 'is not empty'])
    if (operator.startsWith('is')) return `v ${operator}`
    return operator === 'in' ? `v in (${value(operator)}, ${value(operator)})` : `v ${operator} ${value(operator)}`
  }
  if (size === 1) return comparison()
  const left = random.between(1, size - 1)
  const joined = `${anyFilter(random, left)} ${random.pick(['and', 'or'])} ${anyFilter(random, size - left)}`
  return random.next() < 0.4 ? `${random.pick(['', 'not '])}(${joined})` : joined
}

test('random filters mean the same to both', async () => {
  const random = randomOfTest()
  for (let i = 0; i < 300; i++) {
    const where = anyFilter(random, random.between(1, 6))
    expect({ where, met: await ofDatabase(where) }).toEqual({ where, met: inProcess(where) })
  }
})
