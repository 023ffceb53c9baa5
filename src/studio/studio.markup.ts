import { escapeHtml } from '../lib/escape-html.ts'
import { hasMarks, withoutMarks, writtenUrl } from './studio.marks.ts'
import type { Element, Markup, Sanitized } from './studio.sanitize.ts'
import { mergeLiterals, type Part } from './studio.template.ts'
import { urlParts } from './studio.urls.ts'

/** The HTML of `html` blocks, written for an email, for the page of a live view, and as text. */

/** What differs between an email and a page. */
interface MarkupLook {
  /** The level of the heading above the blocks, and of the last one before this block. */
  above: number
  last: number
  /** Returns the attributes of a link besides its address; `style` is the author's, or empty. */
  link(style: string): string
  /** Returns the attribute for an author's style. */
  style(style: string): string
  /** Returns whether a picture is shown; its alternative text replaces one that is not. */
  isShown(src: string): boolean
}

const attributesOf = ({ attrs }: Element): Record<string, string> =>
  Object.fromEntries(attrs.map(({ name, value }) => [name, value]))

/** Returns the declarations without those that have merge tags: a value could add others. */
const fixedStyle = (style: string): string =>
  style
    .split(';')
    .filter((declaration) => !hasMarks(declaration))
    .join(';')

const styleOf = (element: Element): string => fixedStyle(attributesOf(element).style ?? '')

const voids = ['br', 'hr', 'img', 'col']
const sets = (style: string, pattern: RegExp): boolean => style.split(';').some((one) => pattern.test(one))

/** Returns the sanitised HTML as parts. */
export const markupParts = ({ nodes, tags }: Sanitized, look: MarkupLook): Part[] => {
  let { last } = look
  const levelOf = (level: number): number => {
    last = Math.min(look.above + level, last + 1, 6)
    return last
  }
  const attribute = (name: string, value: string): Part[] => [
    ` ${name}="`,
    ...withoutMarks(value, tags, escapeHtml),
    '"',
  ]
  const picture = (element: Element): Part[] => {
    const { src = '', alt = '', style: _, ...others } = attributesOf(element)
    if (!look.isShown(src)) return ['<span>', ...withoutMarks(alt, tags, escapeHtml), '</span>']
    const style = styleOf(element)
    return [
      '<img src="',
      { url: urlParts(writtenUrl(src, tags)), kind: 'image' },
      '"',
      ...attributes(others),
      ...attribute('alt', alt),
      look.style(sets(style, /^max-width:/) ? style : [style, 'max-width:100%'].filter(Boolean).join(';')),
      '>',
    ]
  }
  const attributes = (given: Record<string, string>): Part[] =>
    Object.entries(given).flatMap(([name, value]) => attribute(name, value))
  const written = (node: Markup): Part[] => {
    if ('value' in node) return withoutMarks(node.value, tags, escapeHtml)
    if (!('tagName' in node)) return []
    if (node.tagName === 'img') return picture(node)
    const { href, style: _, ...others } = attributesOf(node)
    const style = styleOf(node)
    const heading = /^h([1-6])$/.exec(node.tagName)
    const name = heading ? `h${levelOf(Number(heading[1]))}` : node.tagName
    const isLink = name === 'a' && href !== undefined
    return [
      `<${name}`,
      ...(isLink
        ? [' href="', { url: urlParts(writtenUrl(href, tags)), kind: 'link', isInText: true } as const, '"']
        : []),
      ...attributes(others),
      isLink ? look.link(style) : style && look.style(style),
      '>',
      ...(voids.includes(name) ? [] : [...node.childNodes.flatMap(written), `</${name}>`]),
    ]
  }
  return mergeLiterals(nodes.flatMap(written))
}

const everyElement = (nodes: readonly Markup[]): Element[] =>
  nodes.flatMap((node) => ('tagName' in node ? [node, ...everyElement(node.childNodes)] : []))

/** Returns the URLs of the links, as their author wrote them. */
export const markupLinks = ({ nodes, tags }: Sanitized): string[] =>
  everyElement(nodes).flatMap((element) => {
    const { href } = attributesOf(element)
    return href === undefined ? [] : writtenUrl(href, tags)
  })

/** Returns whether the author sets colours, so that those of dark mode would not fit. */
export const setsColors = ({ nodes }: Sanitized): boolean =>
  everyElement(nodes).some(
    (element) =>
      attributesOf(element).bgcolor !== undefined || sets(styleOf(element), /^(?:color|background|background-color):/),
  )

/** Returns whether nothing of the HTML can be shown. */
export const isBlank = ({ nodes }: Sanitized): boolean => {
  const hasText = (node: Markup): boolean =>
    'value' in node
      ? node.value.trim() !== ''
      : 'tagName' in node && (['img', 'hr'].includes(node.tagName) || node.childNodes.some(hasText))
  return !nodes.some(hasText)
}

/** What separates two pieces of text, from weak to strong. */
const separators = ['', ' ', ' | ', '\n', '\n\n'] as const
const [none, blank, column, line, paragraph] = [0, 1, 2, 3, 4]

const blocks = /^(?:p|div|center|h[1-6]|pre|blockquote|ul|ol|dl|table|hr)$/
const lines = /^(?:li|dt|dd|tr|caption|br)$/

/** Returns the sanitised HTML as parts of plain text. */
export const markupText = ({ nodes, tags }: Sanitized): Part[] => {
  const parts: Part[] = []
  let before: number = none
  let depth = 0
  /** The content of a list's item stands on the line of its bullet. */
  let isAfterBullet = false
  const separate = (strength: number) => {
    if (!isAfterBullet) before = Math.max(before, strength)
  }
  const write = (...content: Part[]) => {
    if (parts.length > 0) parts.push(separators[before]!)
    before = none
    isAfterBullet = false
    parts.push(...content)
  }
  const texts = (text: string): Part[] => withoutMarks(text, tags, (literal) => literal)
  const words = (text: string) => {
    if (/^\s/.test(text)) separate(blank)
    const content = text.trim().replace(/\s+/g, ' ')
    if (content !== '') write(...texts(content))
    if (/\s$/.test(text)) separate(blank)
  }
  const link = (url: string, content: readonly Markup[], isPre: boolean) => {
    const from = parts.length
    for (const node of content) visit(node, isPre)
    const target: Part = { url: urlParts(writtenUrl(url, tags)), kind: 'link', isInText: true }
    const label = parts.slice(from).join('').trim()
    if (label === url.replace(/^mailto:/, '')) return
    if (parts.length === from) write(target)
    else parts.push(' (', target, ')')
  }
  const list = (element: Element) => {
    let next = element.tagName === 'ol' ? Number(attributesOf(element).start ?? 1) || 1 : null
    const indent = '   '.repeat(depth++)
    const items = element.childNodes.filter((node) => 'tagName' in node)
    for (const [i, item] of items.entries()) {
      isAfterBullet = false
      before = i === 0 ? Math.max(before, line) : line
      write(`${indent}${next === null ? '- ' : `${next++}. `}`)
      isAfterBullet = true
      for (const node of item.childNodes) visit(node, false)
    }
    isAfterBullet = false
    depth--
  }
  const visit = (node: Markup, isPre: boolean): void => {
    if ('value' in node) {
      if (!isPre) words(node.value)
      else if (node.value.trim() !== '') write(...texts(node.value.replace(/^\n|\n$/g, '')))
      return
    }
    if (!('tagName' in node)) return
    const { tagName: name, childNodes } = node
    const strength = blocks.test(name) ? paragraph : lines.test(name) ? line : /^t[dh]$/.test(name) ? column : none
    separate(strength)
    const { href, alt } = attributesOf(node)
    if (name === 'img') {
      if (alt) write('[', ...texts(alt), ']')
    } else if (name === 'ul' || name === 'ol') list(node)
    else if (href !== undefined) link(href, childNodes, isPre)
    else for (const child of childNodes) visit(child, isPre || name === 'pre')
    separate(strength)
  }
  for (const node of nodes) visit(node, false)
  return mergeLiterals(parts)
}
