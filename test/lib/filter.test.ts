import { describe, expect, test } from 'vitest'
import { type Filter, parseFilter, type Vocabulary } from '../../src/lib/filter.ts'
import { costOf } from '../support/cost.ts'

const vocabulary: Vocabulary = {
  terms: new Map([
    ['email', { kind: 'text' }],
    ['status', { kind: 'text', values: ['active', 'pending'] }],
    ['score', { kind: 'number' }],
    ['created', { kind: 'time' }],
    ['opened', { kind: 'time', isScoped: true }],
    ['webinar', { kind: 'name' }],
    ['answer.', { kind: 'text', parameter: 'block' }],
  ] as const),
  columns: new Set(['plan', 'age', 'in']),
}

const parse = (text: string) => parseFilter(text, vocabulary)

/** A short form of the tree, which names everything in it. */
const brief = (filter: Filter): string => {
  if (filter.is === 'not') return `not ${brief(filter.of)}`
  if (filter.is !== 'comparison') return `(${filter.of.map(brief).join(` ${filter.is} `)})`
  const { term, field, scope, test } = filter
  const { is, ...rest } = test
  const told = Object.values(rest).map((value) =>
    Array.isArray(value)
      ? `[${value.map((one) => (typeof one === 'string' ? one : `${one.name}@${one.column}`)).join(',')}]`
      : value,
  )
  return [
    field === null ? term : `${term}:${field}`,
    ...(scope ? [`in ${scope.name}@${scope.column}`] : []),
    is,
    ...told,
  ].join(' ')
}

describe('the tree of a filter', () => {
  test.each([
    // Terms and values.
    ['plan = pro', 'field:plan in [pro]'],
    ['field.plan=pro', 'field:plan in [pro]'],
    ['field."First name" = "Ada \\"L\\""', 'field:First name in [Ada "L"]'],
    ['field.in = x', 'field:in in [x]'],
    ['field.a.b = "C:\\dir"', 'field:a.b in [C:\\dir]'],
    ['field.__proto__ = x', 'field:__proto__ in [x]'],
    ['email = ada@example.org', 'email in [ada@example.org]'],
    ['plan = "and"', 'field:plan in [and]'],
    ['plan = OR', 'field:plan in [OR]'],
    ['plan = "Ünïcode 😀"', 'field:plan in [Ünïcode 😀]'],
    ['plan in (a, "b c",d)', 'field:plan in [a,b c,d]'],
    ['plan ~ ""', 'field:plan contains '],
    ['plan is empty', 'field:plan in []'],
    ['plan is not empty', 'not field:plan in []'],
    ['plan != a', 'not field:plan in [a]'],
    ['status = pending', 'status in [pending]'],
    ['status = ""', 'status in []'],
    // Order comparisons of fields: numbers, dates, texts.
    ['age >= 18', 'field:age number >= 18'],
    ['age < -1.50', 'field:age number < -1.50'],
    ['age < "18"', 'field:age ordered < 18'],
    ['plan > m', 'field:plan ordered > m'],
    ['plan > 2026-11-01', 'field:plan date > 2026-11-01'],
    ['plan > 2026-02-30', 'field:plan ordered > 2026-02-30'],
    // Numbers, times, names.
    ['score = 10', 'score numbers [10]'],
    ['score in (1, 2.5)', 'score numbers [1,2.5]'],
    ['score <= 10', 'score number <= 10'],
    ['score is empty', 'score missing'],
    ['created < 30d', `created age < ${30 * 86_400_000}`],
    ['created >= 12h', `created age >= ${12 * 3_600_000}`],
    ['created = 2026-11-01', `created day = ${Date.UTC(2026, 10, 1)}`],
    ['created != 2026-11-01', `not created day = ${Date.UTC(2026, 10, 1)}`],
    ['opened < 30d', `opened age < ${30 * 86_400_000}`],
    ['opened < 1d12h', `opened age < ${36 * 3_600_000}`],
    ['opened in Welcome > 1d', 'opened in Welcome@11 age > 86400000'],
    ['opened in "My mail" is empty', 'opened in My mail@11 missing'],
    ['webinar = "Live demo"', 'webinar names [Live demo@11]'],
    ['webinar in (a, b)', 'webinar names [a@13,b@16]'],
    ['webinar is not empty', 'not webinar missing'],
    // Precedence.
    ['plan=a or plan=b and plan=c', '(field:plan in [a] or (field:plan in [b] and field:plan in [c]))'],
    ['(plan=a or plan=b) and plan=c', '((field:plan in [a] or field:plan in [b]) and field:plan in [c])'],
    ['not plan=a and plan=b', '(not field:plan in [a] and field:plan in [b])'],
    ['not (plan=a or plan=b)', 'not (field:plan in [a] or field:plan in [b])'],
    ['not not plan=a', 'field:plan in [a]'],
    ['not (not plan != a)', 'not field:plan in [a]'],
    ['((plan=a))', 'field:plan in [a]'],
    [
      'plan=a and (plan=b and (plan=c or not (plan=d)))',
      '(field:plan in [a] and (field:plan in [b] and (field:plan in [c] or not field:plan in [d])))',
    ],
    ['\n plan\t= \n a ', 'field:plan in [a]'],
    // Numbers, which equal other numerals.
    ['age = 7', 'field:age in [7] [7]'],
    ['age != 7', 'not field:age in [7] [7]'],
    ['age = "7"', 'field:age in [7]'],
    ['age in (7, "8", x, -1.50)', 'field:age in [7,8,x,-1.50] [7,-1.50]'],
    // Moments.
    ['plan >= today', 'field:plan moment >= today 0 text'],
    ['plan < today+7d', `field:plan moment < today ${7 * 86_400_000} text`],
    ['plan < today + 7d', `field:plan moment < today ${7 * 86_400_000} text`],
    ['plan = now-12h', `field:plan moment = now ${-12 * 3_600_000} text`],
    ['plan != now', 'not field:plan moment = now 0 text'],
    ['plan in (today, "now", b)', '(field:plan in [now,b] or field:plan moment = today 0 text)'],
    ['created > now - 30m', `created moment > now ${-30 * 60_000} time`],
    ['created = today', 'created moment = today 0 time'],
    ['plan = "today"', 'field:plan in [today]'],
    ['plan = todays', 'field:plan in [todays]'],
    ['plan = today-show', 'field:plan in [today-show]'],
    ['plan ~ today', 'field:plan contains today'],
    ['opened in now < 3d', `opened in now@11 age < ${3 * 86_400_000}`],
  ])('%s', (text, tree) => {
    expect(brief(parse(text))).toBe(tree)
  })
})

const long = (terms: number) => Array.from({ length: terms }, (_, i) => `age=${i}`).join(' or ')

const expectMistake = (text: string, column: number, what: string) =>
  expect(() => parse(text)).toThrow(
    expect.objectContaining({ kind: 'invalid', message: `filter, column ${column}: ${what}` }),
  )

describe('the mistakes of a filter', () => {
  test.each([
    ['plan = pro =', 12, 'expected "and", "or" or the end'],
    ['field.plan =  ', 15, 'expected a value after "="'],
    ['field.plan = )', 14, 'expected a value after "="'],
    ['plan = and', 8, 'expected a value after "="'],
    ['plan = empty', 8, 'expected a value after "="'],
    ['plan = %', 8, 'expected a value after "="'],
    ['', 1, 'expected a term, "not" or "("'],
    ['   ', 4, 'expected a term, "not" or "("'],
    ['plan', 5, 'expected a comparison after "plan"'],
    ['plan plan', 6, 'expected a comparison after "plan"'],
    ['plan = a and', 13, 'expected a term, "not" or "("'],
    ['plan = a plan = b', 10, 'expected "and", "or" or the end'],
    ['plan = a)', 9, 'expected "and", "or" or the end'],
    ['(plan = a', 10, 'expected "and", "or" or ")"'],
    ['()', 2, 'expected a term, "not" or "("'],
    ['not', 4, 'expected a term, "not" or "("'],
    ['not and plan = a', 5, 'expected a term, "not" or "("'],
    ['"plan" = a', 1, 'expected a term, "not" or "("'],
    ['plan = "abc', 12, 'expected a closing quote'],
    ['plan = "abc\\"', 14, 'expected a closing quote'],
    ['plan in a', 9, 'expected "(" after "in"'],
    ['plan in ()', 10, 'expected a value after "("'],
    ['plan in (a b)', 12, 'expected "," or ")"'],
    ['plan in (a,)', 12, 'expected a value after ","'],
    ['plan is', 8, 'expected "empty" or "not empty" after "is"'],
    ['plan is not', 12, 'expected "empty" after "not"'],
    ['field. = a', 8, 'expected a name after "field."'],
    ['field. "x" = a', 8, 'expected a name after "field."'],
    ['status = actve', 10, 'expected active or pending after "="'],
    ['status in (active, x)', 20, 'expected active or pending after "in"'],
    ['score > ten', 9, 'expected a number after ">"'],
    ['score ~ 1', 7, 'expected =, !=, <, <=, >, >=, in or is after "score"'],
    ['created ~ 1d', 9, 'expected =, !=, <, <=, >, >= or is after "created"'],
    ['created < soon', 11, 'expected a date such as 2026-11-01 or an age such as 30d after "<"'],
    ['created < 2026-02-30', 11, 'expected a date such as 2026-11-01 or an age such as 30d after "<"'],
    ['created = 30d', 11, 'expected a date such as 2026-11-01 after "="'],
    ['opened in (a)', 11, 'expected a project or broadcast after "in"'],
    ['opened in Welcome', 18, 'expected a comparison after "Welcome"'],
    ['created in x < 1d', 9, 'expected =, !=, <, <=, >, >= or is after "created"'],
    ['webinar ~ x', 9, 'expected =, !=, in or is after "webinar"'],
    ['age < 30d', 7, 'expected a number, a date such as 2026-11-01, or a text in quotes after "<"'],
    ["plan = 'x'; drop table contacts", 8, 'expected a value after "="'],
    ['plan = "😀" x', 12, 'expected "and", "or" or the end'],
    ['plan = "a\0b"', 10, 'the character is not allowed'],
    ['plan = "\ud83d"', 9, 'the character is not allowed'],
    ['plan = today+7', 8, 'expected an age such as 7d after "today+"'],
    ['plan = x+7d', 9, 'expected "and", "or" or the end'],
    ['status = today', 10, 'expected active or pending after "="'],
    ['plan == a', 6, 'use "="'],
    ['plan = a and age ==7', 18, 'use "="'],
    ['status = Active', 10, 'expected active or pending after "="; did you mean "active"?'],
    [
      'plan >= Today',
      9,
      'expected a number, a date such as 2026-11-01, or a text in quotes after ">="; did you mean "today"?',
    ],
    ['plan = a AND plan = b', 10, 'expected "and", "or" or the end; did you mean "and"?'],
    ['(plan = a Or plan = b)', 11, 'expected "and", "or" or ")"; did you mean "or"?'],
    ['NOT plan = a', 1, 'unknown term "NOT"; did you mean "not"?'],
    ['Plan = a', 1, 'unknown term "Plan"; did you mean "plan"?'],
    ['EMAIL = a', 1, 'unknown term "EMAIL"; did you mean "email"?'],
    ['Answer.vote = a', 1, 'unknown term "Answer.vote"; did you mean "answer.vote"?'],
    ['ANSWER."my vote" = a', 1, 'unknown term "ANSWER."; did you mean "answer."?'],
    ['Field.plan = a', 1, 'unknown term "Field.plan"; did you mean "field.plan"?'],
    ['plna = a', 1, 'unknown term "plna"; did you mean "plan"?'],
    ['stauts = active', 1, 'unknown term "stauts"; did you mean "status"?'],
    ['answr.vote = a', 1, 'unknown term "answr.vote"; did you mean "answer.vote"?'],
    ['feild.age = 7', 1, 'unknown term "feild.age"; did you mean "field.age"?'],
    ['plan IN (a)', 6, 'expected a comparison after "plan"; did you mean "in"?'],
    ['plan is EMPTY', 9, 'expected "empty" or "not empty" after "is"; did you mean "empty"?'],
    ['created > NOW', 11, 'expected a date such as 2026-11-01 or an age such as 30d after ">"; did you mean "now"?'],
    ['created < 30D', 11, 'expected a date such as 2026-11-01 or an age such as 30d after "<"; did you mean "30d"?'],
    [
      'topic = news',
      1,
      'unknown term "topic"; available: email, status, score, created, opened, webinar, answer.<block>, field.<name>, plan, age, in',
    ],
    [
      'constructor = x',
      1,
      'unknown term "constructor"; available: email, status, score, created, opened, webinar, answer.<block>, field.<name>, plan, age, in',
    ],
  ])('%s', expectMistake)
})

test('a filter that is too large is refused', () => {
  expectMistake(long(101), long(100).length + 5, 'expected the end, as a filter has at most 100 comparisons')
  const tooLong = 'expected the end, as a filter has at most 4,000 characters'
  expectMistake(`plan = "${'x'.repeat(3_992)}"`, 4_001, tooLong)
  expectMistake(`plan = "${'😀'.repeat(3_992)}"`, 4_001, tooLong)
})

test('the largest filters are read', () => {
  expect(brief(parse(`plan = "${'😀'.repeat(3_991)}"`))).toContain('😀😀')
  expect(brief(parse(long(100))).split(' or ')).toHaveLength(100)
  const deep = `${'('.repeat(1_990)}plan=a${')'.repeat(1_990)}`
  expect(brief(parse(deep))).toBe('field:plan in [a]')
  expect(brief(parse(`${'not('.repeat(797)}plan=a${')'.repeat(797)}`))).toBe('not field:plan in [a]')
  expect(brief(parse(`${'not '.repeat(990)}plan=a`))).toBe('field:plan in [a]')
})

test('an enormous filter is refused at once', async () => {
  for (const text of ['('.repeat(1e7), `${'plan = a or '.repeat(10_000)}plan = a`, '"'.repeat(1e7), '\\'.repeat(1e7)]) {
    const [cost] = await costOf(() => expect(() => parse(text)).toThrow(/column 4001: /))
    expect(cost).toBeLessThan(1000)
  }
})
