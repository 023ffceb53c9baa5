import { type Tag, type TagPart, tagParts } from '../lib/tags.ts'

/** A piece of a URL that is split at its merge tags. A tag in the value of a parameter is percent-encoded (`encode`). */
export type UrlPart = TagPart | (Tag & { encode: true })

const schemes = { link: /^(https?:\/\/|mailto:)/i, image: /^https?:\/\//i }
/** Decides the allowed schemes: links may also be mailto. */
export type UrlKind = keyof typeof schemes

// Never valid in a URL. Browsers skip some of them when they parse the scheme.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const hidden = /[\s\u0000-\u001f\u007f"<>\\^`{|}]/g

/**
 * Returns whether an author may use the URL: http, https or (links) mailto, or a merge tag at its start, which `fillUrl` checks once
 * it is filled.
 */
export const isUrlTemplate = (url: string, kind: UrlKind): boolean => {
  const parts = tagParts(url)
  const sketch = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('')
  if (sketch.search(hidden) >= 0) return false
  if (typeof parts[0] === 'object') return true
  return schemes[kind].test(parts[0] ?? '') && URL.canParse(sketch)
}

/** Returns whether the end of `before` is inside the value of a parameter. */
const isInValue = (before: string): boolean =>
  /[?&#][^?&#=]*=/.test(before.slice(Math.max(before.lastIndexOf('&'), before.lastIndexOf('#'), 0)))

/** Returns the URL split at its merge tags. */
export const urlParts = (url: string): UrlPart[] => {
  let before = ''
  return tagParts(url).map((part) => {
    const isValue = typeof part === 'object' && isInValue(before)
    before += typeof part === 'string' ? part : 'x'
    return isValue ? { ...part, encode: true } : part
  })
}

/** Returns the URL filled with merge data, or null if its scheme is not http, https or (links) mailto. */
export const fillUrl = (
  parts: readonly UrlPart[],
  read: (tag: Tag) => string,
  kind: UrlKind = 'link',
): string | null => {
  // A URL without merge tags was checked when the project was applied.
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0]
  const filled = parts.map((part) => {
    if (typeof part === 'string') return part
    return 'encode' in part ? encodeURIComponent(read(part).toWellFormed()) : read(part)
  })
  const url = filled.join('').trim()
  if (!schemes[kind].test(url) || !URL.canParse(url)) return null
  return url.replace(hidden, (character) => encodeURIComponent(character))
}
