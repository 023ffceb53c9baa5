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
