import { atTime, type Filter, type Order, type Test } from './filter.ts'

/*
 * Evaluates filters of fields in the process, exactly as the SQL of segments does (segments.compile.ts).
 * test/segments/fields.test.ts compares both.
 */

const numeric = /^-?[0-9]+([.][0-9]+)?$/
const dated = /^[0-9]{4}-[0-9]{2}-[0-9]{2}/

/** Orders texts by code points, which is the order of their UTF-8 bytes. */
const compareTexts = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Orders the digits of two decimals without a sign. Numbers of JavaScript would round long ones. */
const compareDigits = (a: string, b: string): number => {
  const parts = (text: string): [string, string] => {
    const [whole = '', fraction = ''] = text.split('.')
    return [whole.replace(/^0+/, ''), fraction]
  }
  const [[wholeA, fractionA], [wholeB, fractionB]] = [parts(a), parts(b)]
  const places = Math.max(fractionA.length, fractionB.length)
  const fractions = () => compareTexts(fractionA.padEnd(places, '0'), fractionB.padEnd(places, '0'))
  return wholeA.length - wholeB.length || compareTexts(wholeA, wholeB) || fractions()
}

const compareNumbers = (a: string, b: string): number => {
  const isZero = (text: string) => !/[1-9]/.test(text)
  const sign = (text: string) => (isZero(text) ? 0 : text.startsWith('-') ? -1 : 1)
  return sign(a) - sign(b) || sign(a) * compareDigits(a.replace('-', ''), b.replace('-', ''))
}

const isOrdered = (operator: Order | '=', order: number): boolean =>
  ({ '=': order === 0, '<': order < 0, '<=': order <= 0, '>': order > 0, '>=': order >= 0 })[operator]

/** Converts each character on its own, as PostgreSQL does. `toLowerCase` makes two characters of İ, and another one of Σ at the end of a word. */
const lower = (text: string): string => text.replaceAll('İ', 'i').replaceAll('Σ', 'σ').toLowerCase()

const holds = (test: Test, value: string): boolean => {
  switch (test.is) {
    case 'in':
      return (
        test.values.includes(value) ||
        (test.numbers !== undefined &&
          numeric.test(value) &&
          test.numbers.some((number) => compareNumbers(value, number) === 0))
      )
    case 'contains':
      return lower(value).includes(lower(test.value))
    case 'ordered':
      return isOrdered(test.operator, compareTexts(value, test.value))
    case 'number':
      return numeric.test(value) && isOrdered(test.operator, compareNumbers(value, test.value))
    case 'date':
      return dated.test(value) && isOrdered(test.operator, compareTexts(value.slice(0, 10), test.value))
    default:
      throw new Error(`A field is not compared with ${test.is}`)
  }
}

/**
 * Returns whether values meet a filter of fields only, at a time. A missing value is the empty string. A field with several
 * values meets a comparison if any of them does.
 */
export const meets = (
  filter: Filter,
  read: (field: string) => string | readonly string[] | undefined,
  nowMs: number,
): boolean => {
  if (filter.is === 'comparison') {
    const test = atTime(filter.test, nowMs)
    const values = [read(filter.field!) ?? []].flat()
    return values.length === 0 ? holds(test, '') : values.some((value) => holds(test, value))
  }
  if (filter.is === 'not') return !meets(filter.of, read, nowMs)
  const one = (of: Filter) => meets(of, read, nowMs)
  return filter.is === 'and' ? filter.of.every(one) : filter.of.some(one)
}
