import { escapeHtml } from '../lib/html.ts'
import type { TagPart } from '../lib/tags.ts'
import { fillUrl, type UrlKind, type UrlPart } from './studio.urls.ts'

/** The addresses in a mail that are the recipient's own: each is signed by who sends it. */
export interface Links {
  /** The hosted live view. */
  view: string
  /** What stands in the mail for a link that the author wrote. */
  click(url: string): string
  /** Where an option of a vote, rating or quiz leads. */
  answer(blockId: string, value: string): string
  /** The open pixel; null: none. */
  open: string | null
  /** Given: the mail shows a link to it, as a marketing mail must. */
  unsubscribe: string | null
}

/** A place that is filled for each recipient. A string is literal, written as its medium has it. */
export type Part =
  | TagPart
  | { url: readonly UrlPart[]; kind: UrlKind }
  | { answer: string; value: readonly TagPart[] }
  /** A link of the mail itself; `at` is the block that the live view is to show. */
  | { link: 'view' | 'open' | 'unsubscribe'; at?: string }
  /** Only where that link is given. */
  | { given: 'open' | 'unsubscribe'; parts: readonly Part[] }

/** What a version is rendered to, once; sending it is substitution only. It is plain data, and stored as such. */
export interface Template {
  subject: TagPart[]
  preheader: TagPart[]
  html: Part[]
  text: Part[]
}

export type MergeData = Readonly<Record<string, string>>

interface Filling {
  data: MergeData
  links: Links
  /** What the medium makes of a text. */
  write(text: string): string
}

const plain = (text: string): string => text

const read = (data: MergeData, field: string): string => (Object.hasOwn(data, field) ? data[field]! : '')

const fillTagParts = (parts: readonly TagPart[], data: MergeData): string =>
  parts.map((part) => (typeof part === 'string' ? part : read(data, part.tag))).join('')

const fillLink = ({ links, data }: Filling, { url, kind }: { url: readonly UrlPart[]; kind: UrlKind }): string => {
  const filled = fillUrl(url, (field) => read(data, field), kind)
  // A link that leads nowhere safe leads nowhere.
  if (filled === null) return kind === 'link' ? '#' : ''
  return kind === 'link' ? links.click(filled) : filled
}

const fillPart = (part: Exclude<Part, string>, filling: Filling): string => {
  const { links, data, write } = filling
  if ('tag' in part) return write(read(data, part.tag))
  if ('url' in part) return write(fillLink(filling, part))
  if ('answer' in part) return write(links.answer(part.answer, fillTagParts(part.value, data)))
  if ('given' in part) return links[part.given] === null ? '' : fill(part.parts, filling)
  return write(`${links[part.link] ?? ''}${part.at === undefined ? '' : `#${part.at}`}`)
}

const fill = (parts: readonly Part[], filling: Filling): string => {
  let filled = ''
  for (const part of parts) filled += typeof part === 'string' ? part : fillPart(part, filling)
  return filled
}

export interface Mail {
  /** The project's name; who sends may have another. */
  subject: string
  preheader: string
  html: string
  text: string
}

/** One recipient's mail. Merge data is filled in once: what a value holds is no tag. */
export const fillTemplate = (template: Template, data: MergeData, links: Links): Mail => ({
  // A subject is one line, whatever it was merged with.
  subject: fillTagParts(template.subject, data).replace(/\s+/g, ' ').trim(),
  preheader: fillTagParts(template.preheader, data),
  html: fill(template.html, { data, links, write: escapeHtml }),
  text: fill(template.text, { data, links, write: plain })
    .replace(/\n{3,}/g, '\n\n')
    .trim()
    .concat('\n'),
})

/** The web addresses that the mail's links lead to, each once, in the order in which they stand in its html, then its text. */
export const linksIn = (template: Template, data: MergeData): string[] => {
  const found = new Set<string>()
  const click = (url: string): string => {
    found.add(url)
    return url
  }
  fillTemplate(template, data, { view: '', click, answer: () => '', open: '', unsubscribe: '' })
  return [...found].filter((url) => /^https?:/i.test(url))
}

/** The parts with neighbouring literals joined. */
export const joined = (parts: readonly Part[]): Part[] => {
  const result: Part[] = []
  for (const part of parts) {
    const last = result.at(-1)
    if (typeof part === 'string' && typeof last === 'string') result[result.length - 1] = last + part
    else if (part !== '') result.push(part)
  }
  return result
}
