// The name includes the blanks around it: a pattern that matches them separately takes quadratic time on a long run of blanks.
const tag = /\{\{([^{}]*)\}\}/g

/** A literal part of a text, or a merge tag (`{{ field }}`) with the name of its field. */
export type TagPart = string | { tag: string }

/** Splits a text at its merge tags. No part is empty. */
export const tagParts = (text: string): TagPart[] => {
  const parts = text.split(tag).map((part, i) => (i % 2 === 1 ? { tag: part.trim() } : part))
  return parts.filter((part) => part !== '')
}

/** Replaces merge tags by their values, or by nothing if `read` returns undefined. Tags inside values are not replaced. */
export const fillTags = (text: string, read: (field: string) => string | undefined): string =>
  text.replace(tag, (_, field: string) => read(field.trim()) ?? '')
