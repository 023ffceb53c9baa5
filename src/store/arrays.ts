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
 * Returns SQL for a text array whose length the planner can't see. A statement that coalesced calls share needs it as the first
 * argument of its `unnest`: if the planner sees a short array, it plans each execution again, which takes longer than the
 * execution (560 of 750 µs for GET /contacts).
 */
export const opaqueArray = (parameter: string): string => `(select ${parameter}::text[])`
