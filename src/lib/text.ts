import { z } from 'zod'

/** How a schema says that something must be left of a text when it is trimmed. */
export const notBlank = '\\S'

/**
 * A string as PostgreSQL can store it, of at most `maxLength` UTF-16 units: NUL is refused (in text and jsonb alike), and
 * so are lone surrogates, which would silently become U+FFFD. Every string from outside goes through it, keys included.
 */
export const text = (maxLength: number) =>
  z
    .string()
    .max(maxLength)
    .refine((value) => !value.includes('\0'), 'must not contain NUL characters')
    .refine((value) => value.isWellFormed(), 'must be well-formed Unicode')

/** A NUL, any other control character, or a line or paragraph separator. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu

/**
 * Text that another system sent (a relay's reply, an error message) as one line that PostgreSQL can store: no control
 * characters, well-formed, at most `maxLength` UTF-16 units.
 */
export const oneLine = (foreign: string, maxLength: number): string =>
  foreign
    // Bounds the work: a reply can be 1 MB long.
    .slice(0, 4 * maxLength)
    .replace(controls, ' ')
    .trimStart()
    .slice(0, maxLength)
    // A cut inside a surrogate pair leaves half of it.
    .replace(/[\uD800-\uDBFF]$/, '')
    .trimEnd()
    .toWellFormed()
