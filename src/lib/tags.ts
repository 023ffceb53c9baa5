// Without blanks of its own: a pattern that may share them with the name takes quadratic time on a long run of them.
const tag = /\{\{([^{}]*)\}\}/g

/** A text cut at its merge tags (`{{ field }}`): the literal parts as strings, each tag as its field's name. */
export type TagPart = string | { tag: string }

/** Cuts a text at its merge tags; no part is empty. */
export const tagParts = (text: string): TagPart[] => {
  const parts = text.split(tag).map((part, i) => (i % 2 === 1 ? { tag: part.trim() } : part))
  return parts.filter((part) => part !== '')
}

/** The text with its merge tags filled, once: what a value holds is no tag. An unknown one is empty. */
export const fillTags = (text: string, read: (field: string) => string | undefined): string =>
  text.replace(tag, (_, field: string) => read(field.trim()) ?? '')
