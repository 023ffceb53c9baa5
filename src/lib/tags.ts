// The name includes the blanks around it: a pattern that matches them separately takes quadratic time on a long run of blanks.
const tag = /\{\{([^{}]*)\}\}/g

/** A merge tag. `fallback` replaces a value that is missing or empty (`{{ field | "fallback" }}`). */
export interface Tag {
  tag: string
  fallback?: string
}

/** A literal part of a text, or a merge tag. */
export type TagPart = string | Tag

const readTag = (inside: string): Tag => {
  const whole = inside.trim()
  const opening = whole.endsWith('"') ? whole.lastIndexOf('"', whole.length - 2) : -1
  const before = whole.slice(0, Math.max(opening, 0)).trimEnd()
  if (!before.endsWith('|')) return { tag: whole }
  return { tag: before.slice(0, -1).trim(), fallback: whole.slice(opening + 1, -1) }
}

/** Splits a text at its merge tags. No part is empty. */
export const tagParts = (text: string): TagPart[] => {
  const parts = text.split(tag).map((part, i) => (i % 2 === 1 ? readTag(part) : part))
  return parts.filter((part) => part !== '')
}

/** Returns the value of a tag, or its fallback; `read` returns undefined for an unknown field. */
export const tagValue = ({ tag, fallback = '' }: Tag, read: (field: string) => string | undefined): string =>
  read(tag) || fallback

/** Replaces merge tags by their values, as `tagValue` returns them. Tags inside values are not replaced. */
export const fillTags = (text: string, read: (field: string) => string | undefined): string =>
  text.replace(tag, (_, inside: string) => tagValue(readTag(inside), read))
