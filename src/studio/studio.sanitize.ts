import { type DefaultTreeAdapterTypes, defaultTreeAdapter, html as names, parseFragment } from 'parse5'
import sanitize from 'sanitize-html'
import type { Tag } from '../lib/tags.ts'
import { hasMarks, isMarkedUrl, withMarks } from './studio.marks.ts'

/*
 * The HTML of `html` blocks: what is not listed here is left out (docs/reference/studio.md#html). sanitize-html keeps the listed
 * elements, attributes and declarations. parse5 then builds the tree that a browser would, so that an element which is out of place,
 * such as a cell without a table, can't end the table of the email around it.
 */

const textAttributes = ['title', 'alt', 'abbr', 'href', 'src']
const common = ['style', 'title', 'align', 'dir', 'lang']
const cell = ['colspan', 'rowspan', 'width', 'height', 'valign', 'bgcolor', 'scope', 'abbr']

/** The elements that stay, with their attributes besides the common ones. */
const elements: Record<string, readonly string[]> = {
  ...Object.fromEntries(
    [
      ...['p', 'br', 'hr', 'div', 'span', 'center', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'pre', 'blockquote', 'code'],
      ...['b', 'strong', 'i', 'em', 'u', 's', 'small', 'big', 'sub', 'sup', 'ul', 'dl', 'dt', 'dd', 'caption'],
      ...['colgroup', 'thead', 'tbody', 'tfoot'],
    ].map((name) => [name, []]),
  ),
  a: ['href'],
  img: ['src', 'alt', 'width', 'height', 'border'],
  ol: ['start'],
  li: ['value'],
  table: ['role', 'width', 'height', 'border', 'cellpadding', 'cellspacing', 'bgcolor'],
  tr: ['valign', 'bgcolor', 'height'],
  td: cell,
  th: cell,
  col: ['span', 'width'],
}

/** Elements whose content is left out, too. */
const withContent = [
  ...['script', 'style', 'title', 'textarea', 'option', 'xmp', 'noscript', 'noembed', 'noframes', 'iframe', 'object'],
  ...['template', 'svg', 'math', 'audio', 'video', 'canvas'],
]

/**
 * A value of a declaration: words, numbers, quoted names and colours. It has no addresses, no other functions and no escapes, so it loads
 * nothing and can't end the declaration.
 */
const value = /^(?:[#\w\s.,%'"/+-]|\b(?:rgb|hsl)a?\([\d\s.,%/]*\))*$/i
/** It allows no minus: what would be moved out of its block could cover others. */
const space = /^[\w\s.%]*$/

const edges = ['top', 'right', 'bottom', 'left']
const styles: Record<string, RegExp[]> = {
  ...Object.fromEntries(
    [
      ...['color', 'background', 'background-color', 'direction', 'white-space', 'vertical-align', 'list-style-type'],
      ...['font', 'font-family', 'font-size', 'font-style', 'font-weight', 'line-height', 'letter-spacing'],
      ...['text-align', 'text-decoration', 'text-transform', 'word-break', 'overflow-wrap'],
      ...[
        'border',
        'border-color',
        'border-style',
        'border-width',
        'border-radius',
        'border-collapse',
        'border-spacing',
      ],
      ...edges.flatMap((edge) => [
        `border-${edge}`,
        `border-${edge}-color`,
        `border-${edge}-style`,
        `border-${edge}-width`,
      ]),
      ...['mso-line-height-rule', 'mso-padding-alt', 'mso-table-lspace', 'mso-table-rspace'],
    ].map((name) => [name, [value]]),
  ),
  ...Object.fromEntries(
    [
      ...['width', 'min-width', 'max-width', 'height', 'min-height', 'max-height', 'margin', 'padding', 'text-indent'],
      ...edges.flatMap((edge) => [`margin-${edge}`, `padding-${edge}`]),
    ].map((name) => [name, [space]]),
  ),
  display: [/^(?:block|inline|inline-block|list-item|table|table-row|table-cell)$/],
}

/** Deeper elements are left out, which keeps their content: mail programs and browsers slow down on deep trees. */
const maxNesting = 60

const isKept = (name: string, attribute: string): boolean =>
  textAttributes.includes(name) || (!hasMarks(attribute) && /^[\w#%. -]{1,50}$/.test(attribute))

const urlOf = (attributes: sanitize.Attributes, name: string, kind: 'link' | 'image'): sanitize.Attributes => {
  const url = attributes[name]?.trim() ?? ''
  return url !== '' && isMarkedUrl(url, kind) ? { [name]: url } : {}
}

/** Returns a style with its names in lower case and without line breaks: in a quoted name, one would end a page's style sheet. */
const tidyStyle = (style: string): string =>
  style.replace(/\s+/g, ' ').replace(/(^|;)\s*[a-z-]+\s*:/gi, (name) => name.toLowerCase())

const keptAttributes: sanitize.Transformer = (tagName, { href, src, style, ...others }) => {
  const attribs = Object.fromEntries(Object.entries(others).filter(([name, attribute]) => isKept(name, attribute)))
  return {
    tagName,
    attribs: {
      ...(tagName === 'a' && urlOf({ href: href ?? '' }, 'href', 'link')),
      ...(tagName === 'img' && urlOf({ src: src ?? '' }, 'src', 'image')),
      ...attribs,
      ...(style !== undefined && { style: tidyStyle(style) }),
    },
  }
}

const options: sanitize.IOptions = {
  allowedTags: Object.keys(elements),
  allowedAttributes: { '*': common, ...elements } as Record<string, string[]>,
  allowedStyles: { '*': styles },
  // `keptAttributes` checks them, as those of other blocks.
  allowedSchemesAppliedToAttributes: [],
  transformTags: { '*': keptAttributes },
  exclusiveFilter: ({ tag, attribs }) => tag === 'img' && attribs.src === undefined,
  nonTextTags: withContent,
  nestingLimit: maxNesting,
  logger: { debug: () => undefined, info: () => undefined, warn: () => undefined, error: () => undefined },
} as sanitize.IOptions

export type Markup = DefaultTreeAdapterTypes.ChildNode
export type Element = DefaultTreeAdapterTypes.Element

/** A tree whose texts have marks, and the tags that these stand for. */
export interface Sanitized {
  nodes: readonly Markup[]
  tags: readonly Tag[]
}

/** Returns the safe part of an author's HTML. */
export const sanitized = (html: string): Sanitized => {
  const { source, tags } = withMarks(html)
  const body = defaultTreeAdapter.createElement('body', names.NS.HTML, [])
  return { nodes: parseFragment(body, sanitize(source, options), {}).childNodes, tags }
}
