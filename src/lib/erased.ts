/** SQL literal: what replaces an erased address in a text. A filter may have it without quotes, and no address is shorter, so no text gets too long. */
export const erasedAddress = `'@gone@'`

/** Returns a pattern of PostgreSQL for a normalised address in a text, ignoring case: not one that is a part of a longer address. */
export const addressPattern = (email: string): string => {
  const literal = email.replaceAll('"', '\\"').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  return `(?<![[:alnum:]_.%+-])${literal}(?![[:alnum:]_-]|[.][[:alnum:]])`
}
