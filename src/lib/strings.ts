/** Cuts a text to at most `maxLength` UTF-16 units without splitting a surrogate pair. */
export const cut = (whole: string, maxLength: number): string =>
  whole.slice(0, maxLength).replace(/[\uD800-\uDBFF]$/, '')

/** Returns whether a text has more than `max` characters: Unicode code points, which JSON Schema counts, too. */
export const isLonger = (whole: string, max: number): boolean =>
  whole.length > max && (whole.length > 2 * max || [...whole].length > max)

/** A NUL, any other control character, or a line or paragraph separator. */
const controls = /[\p{Cc}\p{Zl}\p{Zp}\s]+/gu

/**
 * Converts another system's text (a relay's reply, an error message) to one line that PostgreSQL can store: no control
 * characters, well-formed, at most `maxLength` UTF-16 units.
 */
export const oneLine = (foreign: string, maxLength: number): string =>
  cut(
    foreign
      // Bounds the work: a reply can be 1 MB long.
      .slice(0, 4 * maxLength)
      .replace(controls, ' ')
      .trimStart(),
    maxLength,
  )
    .trimEnd()
    .toWellFormed()

/** Removes every `character` from the end of a text. A pattern such as `/x+$/` takes quadratic time on a run within the text. */
export const trimEndOf = (text: string, character: string): string => {
  let end = text.length
  while (text[end - 1] === character) end--
  return text.slice(0, end)
}
