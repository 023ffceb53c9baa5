import { z } from 'zod'
import { shown } from './problem.ts'

/** The JSON Schema pattern for a text that is not empty after trimming. */
export const notBlank = '\\S'

/**
 * Schema of a string that PostgreSQL can store, of at most `maxLength` characters (`isLonger`). It refuses NUL, which neither text nor
 * jsonb can contain, and lone surrogates, which would silently become U+FFFD. Every string from outside must pass it, including keys.
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
