import { escapeHtml } from '../lib/escape-html.ts'
import type { Filter } from '../lib/filter.ts'
import { type Tag, type TagPart, tagValue } from '../lib/tags.ts'
import { meetsCondition } from './studio.conditions.ts'
import { fillUrl, type UrlKind, type UrlPart } from './studio.urls.ts'

/** The URLs in an email that are specific to the recipient. The caller signs them. */
export interface Links {
  /** The hosted live view. */
  view: string
  /** Returns the URL that replaces a link of the author. `written` is the link with its merge tags. */
  click(url: string, written: string, isInText?: boolean): string
  /** Returns the URL for an option of a vote, rating or quiz. */
  answer(blockId: string, value: string): string
  /** The URL of a link that only programs follow, because no person sees it. It is null if there is no such link. */
  honeypot: string | null
  /** The URL of the open pixel. It is null if there is none. */
  open: string | null
  /** The unsubscribe URL, which marketing emails must show. It is null if there is no link. */
  unsubscribe: string | null
  /** The account's postal address, which marketing emails show. */
  postalAddress?: string | null
}

/** Links for an email without a recipient: the author's links stay, all others point to fragments of the page itself. */
export const previewLinks: Links = {
  view: '#view',
  click: (url) => url,
  answer: (blockId) => `#${blockId}`,
  honeypot: null,
  open: null,
  unsubscribe: '#unsubscribe',
}

/** A piece of a template. A string is literal, already escaped for its medium; everything else is filled for each recipient. */
export type Part =
  | TagPart
  /** `isInText` says that the link is inside a text: these are numbered apart from those of blocks. */
  | { url: readonly UrlPart[]; kind: UrlKind; isInText?: true }
  | { answer: string; value: readonly TagPart[] }
  /** A link of the email itself; `at` is the block to show in the live view. */
  | { link: 'view' | 'open' | 'honeypot' | 'unsubscribe'; at?: string }
  /** Parts that are left out if that link is null. */
  | { given: 'open' | 'honeypot' | 'unsubscribe' | 'postalAddress'; parts: readonly Part[] }
  /** The lines of the account's postal address; `between` is their separator. */
  | { addressBetween: string }
  /** A block with a condition. */
  | { when: Filter; parts: readonly Part[] }

/** A rendered version, stored as JSON. Sending an email only substitutes its parts. */
export interface Template {
  subject: TagPart[]
  preheader: TagPart[]
  html: Part[]
  text: Part[]
}

export type MergeData = Readonly<Record<string, string>>

/** What differs between recipients. `nowMs` is the time to which conditions refer. */
interface Recipient {
  mergeData: MergeData
  links: Links
  nowMs: number
}

interface Filling {
  data: MergeData
  links: Links
  nowMs: number
  /** Escapes a text for the medium. */
  write(text: string): string
}

const plain = (text: string): string => text

const read = (data: MergeData, tag: Tag): string =>
  tagValue(tag, (field) => (Object.hasOwn(data, field) ? data[field] : undefined))

const fillTagParts = (parts: readonly TagPart[], data: MergeData): string =>
  parts.map((part) => (typeof part === 'string' ? part : read(data, part))).join('')

const writtenUrl = (parts: readonly UrlPart[]): string =>
  parts.map((part) => (typeof part === 'string' ? part : `{{ ${part.tag} }}`)).join('')

const fillLink = (
  { links, data }: Filling,
  { url, kind, isInText }: { url: readonly UrlPart[]; kind: UrlKind; isInText?: true },
): string => {
  const filled = fillUrl(url, (tag) => read(data, tag), kind)
  // An unsafe URL is replaced by one without effect.
  if (filled === null) return kind === 'link' ? '#' : ''
  return kind === 'link' ? links.click(filled, writtenUrl(url), isInText) : filled
}

const addressLines = ({ postalAddress }: Links): string[] => postalAddress?.split(/\r?\n/) ?? []

const fillPart = (part: Exclude<Part, string>, filling: Filling): string => {
  const { links, data, nowMs, write } = filling
  if ('tag' in part) return write(read(data, part))
  if ('url' in part) return write(fillLink(filling, part))
  if ('answer' in part) return write(links.answer(part.answer, fillTagParts(part.value, data)))
  if ('when' in part) {
    // Filled in any case: the links of a hidden block count, so that the number of a link depends on no condition.
    const inside = fill(part.parts, filling)
    return meetsCondition(part.when, data, nowMs) ? inside : ''
  }
  if ('given' in part) return (links[part.given] ?? null) === null ? '' : fill(part.parts, filling)
  if ('addressBetween' in part) return addressLines(links).map(write).join(part.addressBetween)
  return write(`${links[part.link] ?? ''}${part.at === undefined ? '' : `#${part.at}`}`)
}

const fill = (parts: readonly Part[], filling: Filling): string => {
  let filled = ''
  for (const part of parts) filled += typeof part === 'string' ? part : fillPart(part, filling)
  return filled
}

export interface Mail {
  /** The project's name; the sender may use another subject. */
  subject: string
  preheader: string
  html: string
  text: string
}

/** Returns one recipient's email. Values are inserted once: tags inside a value are not filled. */
export const fillTemplate = (template: Template, { mergeData: data, links, nowMs }: Recipient): Mail => ({
  // A subject is one line, even if a value has line breaks.
  subject: fillTagParts(template.subject, data).replace(/\s+/g, ' ').trim(),
  preheader: fillTagParts(template.preheader, data),
  html: fill(template.html, { data, links, nowMs, write: escapeHtml }),
  text: fill(template.text, { data, links, nowMs, write: plain })
    .replace(/\n{3,}/g, '\n\n')
    .trim()
    .concat('\n'),
})

/**
 * The number of the first link inside a text. Links of blocks have lower numbers, which they also had before texts could
 * have links, so that links in earlier emails still work.
 */
const firstInText = 10_000

/** Returns a function that numbers the links of an email: each distinct URL once in blocks, and once inside texts. */
export const numberLinks = () => {
  const series = { blocks: new Map<string, number>(), texts: new Map<string, number>() }
  return (url: string, isInText = false): number => {
    const own = isInText ? series.texts : series.blocks
    return own.getOrInsertComputed(url, () => own.size + (isInText ? firstInText : 0))
  }
}

/**
 * Returns the email's links with distinct http(s) URLs by their number. `written` is the URL as its author wrote it, with merge
 * tags. Links of hidden blocks are included.
 */
export const linksIn = (template: Template, mergeData: MergeData): Map<number, { url: string; written: string }> => {
  const found = new Map<number, { url: string; written: string }>()
  const numberOf = numberLinks()
  const click = (url: string, written: string, isInText?: boolean): string => {
    if (/^https?:/i.test(url)) found.getOrInsert(numberOf(url, isInText), { url, written })
    return url
  }
  const links = { view: '', click, answer: () => '', open: '', honeypot: '', unsubscribe: '' }
  fillTemplate(template, { mergeData, links, nowMs: 0 })
  return found
}

/** Fills parts of HTML, such as those of a text in the live view; links stay as their author wrote them. */
export const fillHtml = (parts: readonly Part[], data: MergeData): string =>
  fill(parts, { data, links: previewLinks, nowMs: 0, write: escapeHtml })

export const mergeLiterals = (parts: readonly Part[]): Part[] => {
  const result: Part[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (typeof part === 'string' && typeof last === 'string') result[result.length - 1] = last + part
    else if (part !== '') result.push(part)
  }
  return result
}
