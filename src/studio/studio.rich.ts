import createParser, { type Token } from 'markdown-it'
import { escapeHtml } from '../lib/escape-html.ts'
import type { Tag } from '../lib/tags.ts'
import { isMarkedUrl, withMarks, withoutMarks, writtenUrl } from './studio.marks.ts'
import { mergeLiterals, type Part } from './studio.template.ts'
import { urlParts } from './studio.urls.ts'

/* The text of `text` blocks: paragraphs, lists, bold, emphasis, code and links of CommonMark. */

const parser = createParser('zero', { html: false, breaks: true })
parser.enable(['list', 'newline', 'escape', 'backticks', 'emphasis', 'link', 'autolink'])
parser.validateLink = (url) => isMarkedUrl(url, 'link')

const parsed = (text: string): { tokens: Token[]; tags: readonly Tag[] } => {
  const { source, tags } = withMarks(text)
  return { tokens: parser.parse(source, {}), tags }
}

/** What the elements of a text have besides their content: attributes that begin with a space. */
export interface Look {
  /** Returns the attributes of a paragraph or list. The last one has no margin below. */
  paragraph(isLast: boolean): string
  list(isLast: boolean): string
  item: string
  link: string
  code: string
}

const hrefOf = (token: Token): string => String(token.attrGet('href') ?? '')

const inlineHtml = (token: Token, tags: readonly Tag[], look: Look): Part[] => {
  switch (token.type) {
    case 'link_open':
      return [
        '<a href="',
        { url: urlParts(writtenUrl(hrefOf(token), tags)), kind: 'link', isInText: true },
        `"${look.link}>`,
      ]
    case 'softbreak':
    case 'hardbreak':
      return ['<br>']
    case 'code_inline':
      return [`<code${look.code}>`, ...withoutMarks(token.content, tags, escapeHtml), '</code>']
    case 'text':
      return withoutMarks(token.content, tags, escapeHtml)
    default:
      return [`<${token.nesting < 0 ? '/' : ''}${token.tag}>`]
  }
}

export const richHtml = (text: string, look: Look): Part[] => {
  const { tokens, tags } = parsed(text)
  const parts: Part[] = []
  const last = tokens.findLastIndex(({ level, nesting }) => level === 0 && nesting === 1)
  for (const [i, token] of tokens.entries()) {
    const { type, tag, nesting, hidden } = token
    if (type === 'inline') parts.push(...token.children!.flatMap((child) => inlineHtml(child, tags, look)))
    else if (hidden) continue
    else if (nesting < 0) parts.push(`</${tag}>`, token.level === 0 && i < tokens.length - 1 ? '\n' : '')
    else if (type === 'list_item_open') parts.push(`<li${look.item}>`)
    else if (type === 'paragraph_open') parts.push(`<p${look.paragraph(i === last)}>`)
    else {
      const start = token.attrGet('start')
      parts.push(`<${tag}${start === null ? '' : ` start="${start}"`}${look.list(i === last)}>`)
    }
  }
  return mergeLiterals(parts)
}

const plain = (text: string): string => text

const inlineText = (tokens: readonly Token[], tags: readonly Tag[], indent: string): Part[] => {
  const parts: Part[] = []
  let link: { href: string; label: string } | undefined
  for (const token of tokens) {
    if (token.type === 'softbreak' || token.type === 'hardbreak') parts.push(`\n${indent}`)
    else if (token.type === 'link_open') link = { href: hrefOf(token), label: '' }
    else if (token.type === 'link_close') {
      const url: Part = { url: urlParts(writtenUrl(link!.href, tags)), kind: 'link', isInText: true }
      parts.push(...(link!.label === '' ? [url] : [' (', url, ')']))
      link = undefined
    } else if (token.content !== '') {
      // An address that is its own label is written once.
      if (link && token.content === link.href.replace(/^mailto:/, '')) continue
      if (link) link.label += token.content
      parts.push(...withoutMarks(token.content, tags, plain))
    }
  }
  return parts
}

export const richText = (text: string): Part[] => {
  const { tokens, tags } = parsed(text)
  const parts: Part[] = []
  const lists: { next: number | null }[] = []
  /** What the first line of the current list item begins with. It is empty after that line. */
  let bullet = ''
  let isInList = false
  for (const token of tokens) {
    const { type, nesting } = token
    if (lists.length === 0 && type.endsWith('_list_open')) isInList = false
    if (type === 'bullet_list_open') lists.push({ next: null })
    else if (type === 'ordered_list_open') lists.push({ next: Number(token.attrGet('start') ?? 1) })
    else if (nesting < 0 && type.endsWith('_list_close')) lists.pop()
    else if (type === 'list_item_open') {
      const list = lists.at(-1)!
      bullet = list.next === null ? '- ' : `${list.next++}. `
    } else if (type === 'list_item_close') bullet = ''
    else if (type === 'inline') {
      const indent = '   '.repeat(lists.length)
      if (parts.length > 0) parts.push(isInList && bullet !== '' ? '\n' : '\n\n')
      parts.push(bullet === '' ? indent : `${'   '.repeat(lists.length - 1)}${bullet}`)
      parts.push(...inlineText(token.children!, tags, indent))
      isInList = lists.length > 0
      bullet = ''
    }
  }
  return mergeLiterals(parts)
}

/** Returns the URLs of the links in a text, as their author wrote them. */
export const richLinks = (text: string): string[] => {
  const { tokens, tags } = parsed(text)
  const inside = tokens.flatMap(({ children }) => children ?? [])
  return inside.flatMap((token) => (token.type === 'link_open' ? writtenUrl(hrefOf(token), tags) : []))
}
