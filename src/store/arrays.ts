import { typed } from './column-types.ts'

const special = /["\\]/
const specials = /["\\]/g

/** The type of a parameter whose value comes from `textArray`. */
export const textLiteral = typed<string>('_text')

/**
 * Returns texts as the literal of a `text[]`; the statement names the type (`:emails::text[]`). Null and undefined become NULL. For
 * hundreds of texts this costs a fraction of pg's own conversion of an array.
 */
export const textArray = (texts: readonly (string | null | undefined)[]): string => {
  const isPlain = texts.length > 0 && !texts.some((text) => text == null) && !special.test(texts.join(''))
  if (isPlain) return `{"${texts.join('","')}"}`
  return `{${texts.map((text) => (text == null ? 'NULL' : `"${text.replace(specials, '\\$&')}"`)).join(',')}}`
}

/**
 * Returns SQL for an array whose length the planner can't see. A prepared statement that is given few rows needs it as the first
 * argument of its `unnest`: if the planner sees a short array, it plans each execution again, which takes longer than the
 * execution (560 of 750 µs for GET /contacts, 450 of 1,000 for the insertion of two messages).
 */
export const opaqueArray = (parameter: string, type = 'text'): string => `(select ${parameter}::${type}[])`
