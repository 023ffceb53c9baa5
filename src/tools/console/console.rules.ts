import { contrastOf, textContrast } from '../../lib/colors.ts'
import { attributeOf, type Element, elementsOf, isElement, parseMail } from './console.tree.ts'

/*
 * What Outlook on Windows, whose engine is Word, and Gmail need of an email, by the tables of caniemail.com: each rule names the
 * features of its tables. The built-in emails and the sample project break none (test/support/mail-rules.ts).
 */

/** Gmail clips what comes after. */
const gmailMaxBytes = 102 * 1024
/** Gmail ignores the style elements beyond (html-style, note 6). */
const gmailMaxStyleBytes = 16 * 1024

type Attributes = Readonly<Record<string, string>>

/** A table cell whose first content is a link with padding. */
interface MailButton {
  cell: Attributes
  link: Attributes
}

interface Declaration {
  property: string
  value: string
}

const elementsIn = (html: string): Element[] => {
  const document = parseMail(html)
  return document ? elementsOf(document) : []
}

const attributesOf = ({ attrs }: Element): Attributes =>
  Object.fromEntries(attrs.map(({ name, value }) => [name, value]))

/** Returns a start tag as its author may have written it. */
const tagOf = ({ tagName, attrs }: Element): string =>
  `<${[tagName, ...attrs.map(({ name, value }) => `${name}="${value}"`)].join(' ')}>`

/** Returns the HTML with the parts that only Outlook reads: comments such as `<!--[if mso | IE]>…<![endif]-->`. */
const forOutlook = (html: string): string =>
  html
    .replace(/<!-- ?<!\[endif\]-->/g, '')
    .replaceAll('<![endif]-->', '')
    .replace(/<!--\[if [^<>]*>/g, '')

const declarationsOf = (style: string): Declaration[] =>
  style
    .toLowerCase()
    .split(';')
    .map((declaration) => {
      const [property = '', ...value] = declaration.split(':')
      return { property: property.trim(), value: value.join(':').trim() }
    })

const styleOf = (element: Element): string => attributeOf(element, 'style') ?? ''
const declaredIn = (style: string, name: string): string | undefined =>
  declarationsOf(style).find(({ property }) => property === name)?.value
const hasPadding = (style: string): boolean =>
  declarationsOf(style).some(({ property }) => property === 'padding' || property.startsWith('padding-'))

/** Returns the first element inside a node, or undefined if text comes before it. */
const firstIn = ({ childNodes }: Element): Element | undefined => {
  const first = childNodes.find((node) => isElement(node) || ('value' in node && node.value.trim() !== ''))
  return first && isElement(first) ? first : undefined
}

const buttonsOf = (elements: readonly Element[]): MailButton[] =>
  elements.flatMap((cell) => {
    const link = cell.tagName === 'td' ? firstIn(cell) : undefined
    return link?.tagName === 'a' && hasPadding(styleOf(link))
      ? [{ cell: attributesOf(cell), link: attributesOf(link) }]
      : []
  })

/** Returns the buttons of an email, with the attributes of each table cell and of the link in it. */
export const buttonsIn = (html: string): MailButton[] => buttonsOf(elementsIn(forOutlook(html)))

/** Returns the attributes of an email's images. */
export const imagesIn = (html: string): Attributes[] =>
  elementsIn(html)
    .filter(({ tagName }) => tagName === 'img')
    .map(attributesOf)

const textIn = ({ childNodes }: Element): string =>
  childNodes.map((node) => ('value' in node ? node.value : '')).join('')

const hasNestedQueries = (css: string): boolean => {
  let depth = 0
  for (const [token] of css.matchAll(/@media\b|[{}]/g)) {
    if (token === '{') depth++
    else if (token === '}') depth = Math.max(0, depth - 1)
    else if (depth > 0) return true
  }
  return false
}

/** Returns what an email that is right without style elements must not have there. */
const styleElementFaults = (elements: readonly Element[]): string[] => {
  const body = elements.find(({ tagName }) => tagName === 'body')
  const css = elements
    .filter(({ tagName }) => tagName === 'style')
    .map(textIn)
    .join('\n')
  return [
    ...(body && elementsOf(body).some(({ tagName }) => tagName === 'style')
      ? ['a style element in the body (html-style, note 1)']
      : []),
    ...(Buffer.byteLength(css) > gmailMaxStyleBytes ? ['style elements of more than 16 KB (html-style, note 6)'] : []),
    ...(/@(?:import|font-face|supports|keyframes)\b/.test(css) ? ['an at-rule that Gmail drops (css-at-*)'] : []),
    ...(css.includes('url(') ? ['url() in a style element, which Gmail removes with it (css-background, note 7)'] : []),
    ...(css.includes('/*') ? ['a comment in a style element, after which a rule is ignored (html-style, note 5)'] : []),
    ...(hasNestedQueries(css) ? ['nested media queries (css-at-media, note 1)'] : []),
    ...[...css.matchAll(/@media([^@{]*)\{/g)]
      .filter(
        ([, query]) => !/^\s*(?:only )?(?:screen and )?\((?:m(?:in|ax)-width|prefers-color-scheme)\b/.test(query!),
      )
      .map(([, query]) => `a media query that Gmail drops:${query}(css-at-media)`),
  ]
}

/** Properties and values of inline styles that Word ignores or that break its layout. */
const badDeclarations: readonly [part: keyof Declaration, pattern: RegExp, what: string][] = [
  ['property', /^(?:position|float|clear|z-index|transform|inset|gap|flex|grid|justify-content)\b/, 'layout'],
  ['value', /^(?:inline-)?(?:flex|grid)\b/, 'css-display-flex, css-display-grid'],
  ['property', /^background-image$/, 'css-background-image'],
  ['value', /url\(|gradient\(/, 'css-background-image'],
  ['value', /\d(?:rem|vh|vw|ch)\b|\b(?:var|calc|clamp|min|max)\(/, 'css-unit-*, css-variables'],
  ['value', /\b(?:rgba?|hsla?|oklch|color-mix|light-dark)\(/, 'css-rgba, css-modern-color'],
  ['property', /^(?:margin|padding|border)-(?:inline|block)/, 'css-margin-inline-block'],
  ['value', /system-ui/, 'css-sytem-ui'],
]

const declarationFaults = (style: string): string[] => {
  const declarations = declarationsOf(style)
  return badDeclarations
    .filter(([part, pattern]) => declarations.some((declaration) => pattern.test(declaration[part])))
    .map(([, , what]) => `${style} (${what})`)
}

/** Elements that one of them removes, or shows as text. */
const badElements =
  `script link base iframe object form input button select textarea svg video audio picture dialog progress meter
  bdi ruby marquee`.split(/\s+/)

const imageFaults = ({ alt, width = '', srcset, src = '' }: Attributes): string[] => [
  ...(alt === undefined ? ['an image without alt'] : []),
  ...(/^\d+$/.test(width) ? [] : ['an image without a width as an attribute (css-max-width)']),
  ...(srcset === undefined ? [] : ['srcset (html-srcset)']),
  ...(src.startsWith('data:') || /\.(?:svg|webp|avif)\b/.test(src.split('?')[0]!)
    ? ['an image of a type that is not shown (image-*)']
    : []),
]

const color = /^#[\da-f]{6}$/i

const buttonFaults = (buttons: readonly MailButton[], links: readonly Element[]): string[] => {
  // border-radius and padding of a link are lost; the cell around it keeps its colour and size.
  const padded = links.filter((link) => hasPadding(styleOf(link))).length
  return [
    ...(buttons.length === padded ? [] : ['a button without a cell around it (css-padding, note 1)']),
    ...buttons.flatMap(({ cell: { bgcolor = '', style = '' }, link }) => {
      const hasGround = color.test(bgcolor)
      const ink = declaredIn(link.style!, 'color') ?? ''
      return [
        ...(/^\d/.test(declaredIn(style, 'mso-padding-alt') ?? '')
          ? []
          : ['a button whose cell has no mso-padding-alt']),
        ...(hasGround ? [] : ['a button whose cell has no bgcolor']),
        ...(hasGround && !(color.test(ink) && contrastOf(bgcolor, ink) >= textContrast)
          ? ['a button whose label can’t be read']
          : []),
      ]
    }),
  ]
}

/** Whether the first cell is a heading: the table has data. Others are for layout. */
const startsWithHeading = (table: Element): boolean => {
  const group = table.childNodes.filter(isElement).find(({ tagName }) => tagName === 'tbody' || tagName === 'thead')
  const row = group && firstIn(group)
  return row !== undefined && firstIn(row)?.tagName === 'th'
}

/** Returns which rules an email breaks. */
export const brokenRules = (html: string): string[] => {
  const elements = elementsIn(html)
  if (elements.length === 0) return ['elements nested more than 500 deep']
  const elementsOfOutlook = elementsIn(forOutlook(html))
  const named = (...names: string[]) => elements.filter(({ tagName }) => names.includes(tagName))
  const [root] = named('html').map(attributesOf)
  const hidden = named('div', 'span', 'p', 'td').filter((element) => declaredIn(styleOf(element), 'display') === 'none')
  return [
    ...(/^<!doctype html>/i.test(html) ? [] : ['no doctype']),
    ...(root?.lang ? [] : ['no lang']),
    ...(/^(?:ltr|rtl|auto)$/.test(root?.dir ?? '') ? [] : ['no dir']),
    ...(named('meta').some((meta) => /charset/i.test(tagOf(meta))) ? [] : ['no charset']),
    ...(Buffer.byteLength(html) < gmailMaxBytes ? [] : ['more than 102 KB, which Gmail clips']),
    ...(hidden.length <= 1 ? [] : ['more than one preheader']),
    ...badElements.filter((name) => named(name).length > 0).map((name) => `the element ${name}`),
    ...elementsOfOutlook.map(styleOf).flatMap(declarationFaults),
    ...named('div', 'p', 'span', 'h1', 'h2', 'h3', 'body')
      .filter((element) => hasPadding(styleOf(element)))
      .map((element) => `padding that is not of a cell: ${tagOf(element)} (css-padding, note 1)`),
    ...elementsOfOutlook
      .filter((element) => element.tagName === 'table' && attributeOf(element, 'role') !== 'presentation')
      .filter((table) => !startsWithHeading(table))
      .map((table) => `a table for layout that is read as data: ${tagOf(table)}`),
    ...named('img').map(attributesOf).flatMap(imageFaults),
    ...buttonFaults(buttonsOf(elementsOfOutlook), named('a')),
    ...styleElementFaults(elements),
  ]
}
