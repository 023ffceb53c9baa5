import type { MarkdownIt, Token } from 'markdown-it'
import { invalid } from '../lib/problem.ts'

/*
 * Lessons are rendered when they are written: 100,000 characters take up to 0.4 s, too long for the daemon's pages
 * (docs/adr/0060-lessons-are-rendered-when-written.md). A change of the output needs a migration that renders all lessons again.
 */

/** A reference repeats its URL in each link, so its length is multiplied. */
const urlMaxLength = 2_000
const htmlMaxLength = 1_000_000

/** Only absolute addresses: a relative one would lead into the portal, without its session. */
const isLinked = (url: string): boolean => url.length <= urlMaxLength && /^(?:https?:\/\/[^/]|mailto:|tel:)/i.test(url)

const linkAttributes = (href: string): [string, string][] =>
  /^http/i.test(href)
    ? [
        ['href', href],
        ['target', '_blank'],
        ['rel', 'noopener noreferrer nofollow'],
      ]
    : [['href', href]]

interface Maker {
  Token: new (type: string, tag: string, nesting: -1 | 0 | 1) => Token
  md: MarkdownIt
}

const textToken = (make: Maker, content: string): Token => {
  const token = new make.Token('text', '', 0)
  token.content = content
  return token
}

const urlOf = (token: Token, attribute: string): string => String(token.attrGet(attribute) ?? '')

/** Returns a link to a picture, in a link only its description: links can't contain links. */
const insteadOf = (make: Maker, image: Token, isInLink: boolean): Token[] => {
  const url = urlOf(image, 'src')
  const alt = make.md.renderer.renderInlineAsText(image.children ?? [], make.md.options, {}).trim()
  const label = textToken(make, alt === '' ? url : alt)
  if (isInLink) return [label]
  const open = new make.Token('link_open', 'a', 1)
  open.attrs = linkAttributes(url)
  return [open, label, new make.Token('link_close', 'a', -1)]
}

const withoutImages = (make: Maker, tokens: readonly Token[]): Token[] => {
  let isInLink = false
  return tokens.flatMap((token) => {
    if (token.type === 'image') return insteadOf(make, token, isInLink)
    if (token.type === 'link_open') {
      isInLink = true
      token.attrs = linkAttributes(urlOf(token, 'href'))
    }
    if (token.type === 'link_close') isInLink = false
    return token
  })
}

/**
 * Returns a function that maps an author's levels of headings, in their order, to levels below the page's h1. It skips none, because
 * screen readers report a skipped level as a missing part.
 */
const headingLevels = () => {
  const open: number[] = []
  return (level: number): number => {
    while (open.length > 0 && open.at(-1)! >= level) open.pop()
    open.push(level)
    return Math.min(open.length + 1, 6)
  }
}

/** Changes the tokens of a document to what a lesson shows. */
const adapt = (make: Maker & { tokens: Token[] }): void => {
  const levelOf = headingLevels()
  let tag = ''
  for (const token of make.tokens) {
    if (token.type === 'heading_open') tag = `h${levelOf(Number(token.tag.slice(1)))}`
    if (token.type === 'heading_open' || token.type === 'heading_close') token.tag = tag
    // The language of a code block would become a class.
    if (token.type === 'fence') token.info = ''
    if (token.children) token.children = withoutImages(make, token.children)
  }
}

const createRenderer = async (): Promise<MarkdownIt> => {
  const { default: create } = await import('markdown-it')
  const md = create('commonmark', { html: false, breaks: true, xhtmlOut: false })
  md.validateLink = isLinked
  md.core.ruler.push('lesson', adapt)
  return md
}

let renderer: Promise<MarkdownIt> | undefined

/**
 * Renders CommonMark as HTML without scripts, frames, images and HTML of the author. A single line break stays one. Throws Problem
 * `invalid` if the HTML would be too long.
 */
export const renderMarkdown = async (markdown: string): Promise<string> => {
  renderer ??= createRenderer()
  const html = (await renderer).render(markdown)
  if (html.length > htmlMaxLength)
    throw invalid('content is too long when it is formatted: shorten it or use fewer links')
  return html
}
