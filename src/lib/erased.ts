/**
 * SQL literal of the text that replaces an erased address in other texts. It needs no quotes in a filter. No address is
 * shorter, so no text becomes too long.
 */
export const erasedAddress = `'@gone@'`

/** Returns a PostgreSQL pattern that finds a normalised address in a text, but not as a part of a longer address. */
export const addressPattern = (email: string): string => {
  const literal = email.replaceAll('"', '\\"').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return `(?<![[:alnum:]_.%+-])${literal}(?![[:alnum:]_-]|[.][[:alnum:]])`
}
