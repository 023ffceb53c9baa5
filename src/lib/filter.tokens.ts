import { invalid, type Problem } from './problem.ts'
import { isLonger } from './strings.ts'

/** Maximum characters of a filter. */
export const filterMaxLength = 4_000

/** A token. `unknown` is a character that begins none, `unclosed` is a text without its closing quote. */
export interface Token {
  kind: 'word' | 'string' | 'symbol' | 'unknown' | 'unclosed' | 'end'
  /** The value of a string; the text of any other token. */
  text: string
  /** The number of its first character, from 1. */
  column: number
  /** The number of its characters in the filter. */
  length: number
  /** Whether it follows its predecessor without a blank. */
  isAdjacent: boolean
}

/** Returns the error for a filter: `filter, column 14: expected a value after "="`. */
export const mistake = (column: number, what: string): Problem => invalid(`filter, column ${column}: ${what}`)

/** A character that PostgreSQL can't store: NUL, or half of a surrogate pair. */
const unstorable = /\0|\p{Surrogate}/u

// In a string only `\"` is an escape. A string without its closing quote takes the rest of the filter, so that no `"` is looked at twice.
// `today + 7d` is one word.
const tokens =
  /(?<word>(?:now|today)\s*[+-]\s*\d[A-Za-z0-9_.@-]*|[A-Za-z0-9_.@-]+)|"(?<string>(?:[^"\\]|\\"?)*)(?<closing>"?)|(?<symbol>==|!=|<=|>=|[=<>~(),])|(?<unknown>\S)/gu

const tokenIn = ({ 0: whole, groups }: RegExpExecArray): Pick<Token, 'kind' | 'text'> => {
  const { word, string, closing, symbol } = groups!
  if (string !== undefined)
    return closing ? { kind: 'string', text: string.replaceAll('\\"', '"') } : { kind: 'unclosed', text: whole }
  if (word) return { kind: 'word', text: word.replaceAll(/\s/g, '') }
  return { kind: symbol ? 'symbol' : 'unknown', text: whole }
}

/**
 * Splits a filter into tokens; the last one is its end, one past the last character. Throws Problem `invalid` where the filter is too
 * long, or has a character that can't be stored.
 */
export const tokensOf = (text: string): Token[] => {
  if (isLonger(text, filterMaxLength))
    throw mistake(
      filterMaxLength + 1,
      `expected the end, as a filter has at most ${filterMaxLength.toLocaleString('en')} characters`,
    )
  const characters = [...text]
  const broken = characters.findIndex((character) => unstorable.test(character))
  if (broken >= 0) throw mistake(broken + 1, 'the character is not allowed')
  let last = 0
  let column = 1
  const found: Token[] = []
  for (const match of text.matchAll(tokens)) {
    column += [...text.slice(last, match.index)].length
    const { length } = [...match[0]]
    found.push({ ...tokenIn(match), column, length, isAdjacent: match.index === last && last > 0 })
    last = match.index + match[0].length
    column += length
  }
  return [...found, { kind: 'end', text: '', column: characters.length + 1, length: 0, isAdjacent: false }]
}
