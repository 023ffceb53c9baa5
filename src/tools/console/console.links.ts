import type { DefaultTreeAdapterTypes } from 'parse5'
import { bareHost } from '../../net/addresses.ts'
import { isThisMachine } from '../../net/dial.ts'
import { statusHere } from '../../net/loopback.ts'
import { attributeOf, type Element, elementsOf, nodesOf, parseMail } from './console.tree.ts'

/**
 * What a link of an email leads to. `own` is a page of svc, `tracked` one whose visit svc counts, `hidden` one that only programs
 * see. `here` is another program on this machine, `other` another host, `address` an email address or a telephone number,
 * `inside` a place in the email itself, `empty` nothing. `sample` is a placeholder, such as an unfilled merge tag or a host that
 * is reserved for examples.
 */
type LinkKind = 'own' | 'tracked' | 'hidden' | 'here' | 'other' | 'address' | 'inside' | 'empty' | 'sample'

export interface MailLink {
  /** What a reader sees of it. It is empty if the reader sees nothing. */
  text: string
  /** The URL as it is written. It is empty if the link has none. */
  url: string
  kind: LinkKind
}

const maxLinks = 200
const maxText = 120
const timeoutMs = 5000
/** Checks at a time: a daemon that answers 200 at once answers nobody else. */
const maxChecks = 8

/** Returns what a reader sees of a link: its text, and what stands for its pictures. */
const textOf = (link: Element): string => {
  const parts = nodesOf(link).map((node) => {
    if (node.nodeName === '#text') return (node as DefaultTreeAdapterTypes.TextNode).value
    return node.nodeName === 'img' ? attributeOf(node as Element, 'alt') : ''
  })
  return parts.join('').replace(/\s+/g, ' ').trim()
}

const isSample = (url: string, hostname: string): boolean =>
  /\{\{|\}\}|%7b%7b/i.test(url) || /(^|\.)(example(\.(com|org|net))?|test|invalid)$/.test(bareHost(hostname))

/** The paths of links that count clicks, as live views do, and of the link that no person sees, also under a prefix. */
const tracked = /^(?:\/.+)?\/(?:t\/(c|h)|v)\//

const kindOf = (url: string, ids: ReadonlySet<string>, ownOrigins: readonly string[]): LinkKind => {
  if (url.startsWith('#')) return ids.has(url.slice(1)) ? 'inside' : 'empty'
  if (/^(mailto|tel|sms):./i.test(url)) return 'address'
  const parsed = URL.parse(url)
  // A relative address leads nowhere in a mail program.
  if (!parsed || !/^https?:$/.test(parsed.protocol)) return /\{\{/.test(url) ? 'sample' : 'empty'
  if (isSample(url, parsed.hostname)) return 'sample'
  if (ownOrigins.includes(parsed.origin)) {
    const found = tracked.exec(parsed.pathname)
    return !found ? 'own' : found[1] === 'h' ? 'hidden' : 'tracked'
  }
  return isThisMachine(parsed.hostname) ? 'here' : 'other'
}

/** Returns the links of an email's HTML in their order. */
export const linksOf = (html: string, ownOrigins: readonly string[]): MailLink[] => {
  const document = parseMail(html)
  const elements = document ? elementsOf(document) : []
  const ids = new Set(elements.flatMap((element) => attributeOf(element, 'id') ?? attributeOf(element, 'name') ?? []))
  return elements
    .filter(({ tagName }) => tagName === 'a' || tagName === 'area')
    .filter((element) => attributeOf(element, 'href') !== undefined || textOf(element) !== '')
    .slice(0, maxLinks)
    .map((element) => {
      const url = (attributeOf(element, 'href') ?? '').trim()
      return { text: textOf(element).slice(0, maxText), url, kind: kindOf(url, ids, ownOrigins) }
    })
}

export const isFaulty = ({ kind }: MailLink): boolean => kind === 'empty' || kind === 'sample'

/** Whether `checkLinks` requests it: on this machine, and without counting a visit. */
export const isCheckable = ({ kind, url }: MailLink): boolean =>
  kind === 'here' || (kind === 'own' && isThisMachine(new URL(url).hostname))

/** Requests the links that lead to this machine. Returns the status of each URL, or null if there is no answer. */
export const checkLinks = async (links: readonly MailLink[]): Promise<Map<string, number | null>> => {
  const urls = new Set(links.filter(isCheckable).map(({ url }) => url))
  const statuses = new Map<string, number | null>()
  // All of them take from the same iterator.
  const left = urls.values()
  const check = async () => {
    for (const url of left) statuses.set(url, await statusHere(new URL(url), timeoutMs))
  }
  await Promise.all(Array.from({ length: maxChecks }, check))
  return statuses
}
