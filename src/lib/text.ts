import { z } from 'zod'
import { shown } from './problem.ts'

/** The JSON Schema pattern for a text that is not empty after trimming. */
export const notBlank = '\\S'

/**
 * Schema of a string that PostgreSQL can store, of at most `maxLength` UTF-16 units. It refuses NUL, which neither text nor jsonb
 * can contain, and lone surrogates, which would silently become U+FFFD. Every string from outside must pass it, including keys.
 */
export const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => !value.includes('\0'), 'must not contain NUL characters')
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')

const idMaxLength = 100

/** Schema of an id from outside. A text longer than any id is treated as an unknown id: it is cut and then matches nothing. */
export const idText = () =>
  z
    .string()
    .transform((id) => shown(id, idMaxLength))
    .pipe(text(idMaxLength))

/** Cuts a text to at most `maxLength` UTF-16 units without splitting a surrogate pair. */
export const cut = (whole: string, maxLength: number): string =>
  whole.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

/** A NUL, any other control character, or a line or paragraph separator. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu

/**
 * Converts another system's text (a relay's reply, an error message) to one line that PostgreSQL can store: no control
 * characters, well-formed, at most `maxLength` UTF-16 units.
 */
export const oneLine = (foreign: string, maxLength: number): string =>
  cut(
    foreign
      // Bounds the work: a reply can be 1 MB long.
      .slice(0, 4 * maxLength)
      .replace(controls, ' ')
      .trimStart(),
    maxLength,
  )
    .trimEnd()
    .toWellFormed()

/** Removes every `character` from the end of a text. A pattern such as `/x+$/` takes quadratic time on a run within the text. */
export const trimEndOf = (text: string, character: string): string => {
  let end = text.length
  while (text[end - 1] === character) end--
  return text.slice(0, end)
}
