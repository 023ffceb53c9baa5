/**
 * The text that replaces an erased address in other texts. It needs no quotes in a filter. No address is shorter, so no text
 * becomes too long.
 */
export const erasedText = '@gone@'

/** SQL literal of `erasedText`. */
export const erasedAddress = `'${erasedText}'`

/** Whether a text can be recognised as an address inside other texts. A malformed address may be a word, which stands there as such. */
export const isRecognisable = (email: string): boolean => /[^\s@]@[^\s@]/.test(email)

/** A pattern that matches no text. */
const nowhere = '(?!)'

const literalOf = (email: string): string => email.replaceAll('"', '\\"').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')

/**
 * Returns a PostgreSQL pattern that finds a normalised address in a text, but not as a part of a longer address. The text may be that of
 * a JSON value, in which a line break is a backslash and a letter. A malformed address that may be a word is not found.
 */
export const addressPattern = (email: string): string =>
  isRecognisable(email)
    ? `(?:(?<![[:alnum:]_.%+-])|(?<=\\\\[bfnrt]))${literalOf(email)}(?![[:alnum:]_-]|[.][[:alnum:]])`
    : nowhere

/** Returns an expression that finds what `addressPattern` finds. */
export const addressRegExp = (email: string): RegExp =>
  new RegExp(
    isRecognisable(email)
      ? `(?<![\\p{L}\\p{N}_.%+-])${literalOf(email)}(?![\\p{L}\\p{N}_-]|[.][\\p{L}\\p{N}])`
      : nowhere,
    'giu',
  )
