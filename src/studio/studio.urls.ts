import { type TagPart, tagParts } from '../lib/tags.ts'

/** A URL cut at its merge tags. A tag that stands for a value of the query is percent-encoded (`encode`). */
export type UrlPart = TagPart | { tag: string; encode: true }

const schemes = { link: /^(https?:\/\/|mailto:)/i, image: /^https?:\/\//i }
/** What a URL may go to: a link also to a mail program. */
export type UrlKind = keyof typeof schemes

// No URL holds them, and browsers leave some of them out where they read a scheme.
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is looked for
const hidden = /[\s\u0000-\u001f\u007f"<>\\^`{|}]/g

/**
 * Whether an author may write it: http or https (a link: mailto too), or all that decides it left to a merge tag at its
 * start, which `safeUrl` looks at once it is filled.
 */
export const isUrlTemplate = (url: string, kind: UrlKind): boolean => {
  const parts = tagParts(url)
  const sketch = parts.map((part) => (typeof part === 'string' ? part : 'x')).join('')
  if (sketch.search(hidden) >= 0) return false
  if (typeof parts[0] === 'object') return true
  return schemes[kind].test(parts[0] ?? '') && URL.canParse(sketch)
}

const queryValue = /[?&#][^?&#=]*=[^&#]*$/

/** The URL cut at its merge tags. */
export const urlParts = (url: string): UrlPart[] => {
  let before = ''
  return tagParts(url).map((part) => {
    const isValue = typeof part === 'object' && queryValue.test(before)
    before += typeof part === 'string' ? part : 'x'
    return isValue ? { ...part, encode: true } : part
  })
}

/** The URL filled with merge data; null where that leads to anything but http, https or (a link) a mail program. */
export const fillUrl = (
  parts: readonly UrlPart[],
  read: (field: string) => string,
  kind: UrlKind = 'link',
): string | null => {
  // What an author wrote whole was looked at when it was applied.
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0]
  const filled = parts.map((part) => {
    if (typeof part === 'string') return part
    return 'encode' in part ? encodeURIComponent(read(part.tag).toWellFormed()) : read(part.tag)
  })
  const url = filled.join('').trim()
  if (!schemes[kind].test(url) || !URL.canParse(url)) return null
  return url.replace(hidden, (character) => encodeURIComponent(character))
}
