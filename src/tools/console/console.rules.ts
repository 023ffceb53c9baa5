import { contrastOf } from '../../lib/colors.ts'

/*
 * What Outlook on Windows, whose engine is Word, and Gmail need of an email, by the tables of caniemail.com: each rule names the
 * features of its tables. The built-in emails and the sample project break none (test/support/mail-rules.ts).
 */

/** Gmail clips what comes after. */
const gmailMaxBytes = 102 * 1024
/** Gmail ignores the style elements beyond (html-style, note 6). */
const gmailMaxStyleBytes = 16 * 1024

const withoutComments = (html: string): string => html.replace(/<!--[\s\S]*?-->/g, '')

/** Returns all start tags of an element outside of comments. */
export const tagsOf = (html: string, name: string): string[] =>
  withoutComments(html).match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []

const styleOf = (tag: string): string => /\sstyle="([^"]*)"/.exec(tag)?.[1] ?? ''
const stylesIn = (html: string): string[] => [...html.matchAll(/\sstyle="([^"]*)"/g)].map(([, style]) => style!)
const hasPadding = (style: string): boolean => /(?:^|;)\s*padding(?:-\w+)?:/.test(style)

/** Returns the table cells whose only content is a link with padding, each with the style of its link. */
export const buttonsIn = (html: string): RegExpMatchArray[] =>
  [...html.matchAll(/<td([^>]*)>\s*(?:<!\[endif\]-->)?<a\b[^>]*style="([^"]*)"/g)].filter(([, , style]) =>
    hasPadding(style!),
  )

/** Returns what an email that is right without style elements must not have there. */
const styleElementFaults = (html: string): string[] => {
  const sheets = [...withoutComments(html).matchAll(/<style\b[^>]*>([\s\S]*?)<\/style>/g)]
  const [, body = ''] = withoutComments(html).split(/<body\b/)
  const css = sheets.map(([, content]) => content!).join('\n')
  return [
    ...(/<style\b/.test(body) ? ['a style element in the body (html-style, note 1)'] : []),
    ...(Buffer.byteLength(css) > gmailMaxStyleBytes ? ['style elements of more than 16 KB (html-style, note 6)'] : []),
    ...(/@(?:import|font-face|supports|keyframes)\b/.test(css) ? ['an at-rule that Gmail drops (css-at-*)'] : []),
    ...(/url\(/.test(css) ? ['url() in a style element, which Gmail removes with it (css-background, note 7)'] : []),
    ...(/\/\*/.test(css) ? ['a comment in a style element, after which a rule is ignored (html-style, note 5)'] : []),
    ...(/@media[^{]*\{[^{}]*@media/.test(css) ? ['nested media queries (css-at-media, note 1)'] : []),
    ...[...css.matchAll(/@media([^{]*)\{/g)]
      .filter(
        ([, query]) => !/^\s*(?:only )?(?:screen and )?\((?:m(?:in|ax)-width|prefers-color-scheme)\b/.test(query!),
      )
      .map(([, query]) => `a media query that Gmail drops:${query}(css-at-media)`),
  ]
}

/** Properties and values of inline styles that Word ignores or that break its layout. */
const badDeclarations: readonly [pattern: RegExp, what: string][] = [
  [/(?:^|[;\s])(?:position|float|clear|z-index|transform|inset|gap|flex|grid|justify-content)\b[^:;]*:/, 'layout'],
  [/display\s*:\s*(?:inline-)?(?:flex|grid)/, 'css-display-flex, css-display-grid'],
  [/background-image|url\(|gradient\(/, 'css-background-image'],
  [/\d(?:rem|vh|vw|ch)\b|\b(?:var|calc|clamp|min|max)\(/, 'css-unit-*, css-variables'],
  [/\b(?:rgba?|hsla?|oklch|color-mix|light-dark)\(/, 'css-rgba, css-modern-color'],
  [/(?:margin|padding|border)-(?:inline|block)/, 'css-margin-inline-block'],
  [/system-ui/, 'css-sytem-ui'],
]

/** Elements that one of them removes, or shows as text. */
const badElements =
  `script link base iframe object form input button select textarea svg video audio picture dialog progress meter
  bdi ruby marquee`.split(/\s+/)

const imageFaults = (image: string): string[] => [
  ...(/\salt="/.test(image) ? [] : ['an image without alt']),
  ...(/\swidth="\d+"/.test(image) ? [] : ['an image without a width as an attribute (css-max-width)']),
  ...(/\ssrcset=/.test(image) ? ['srcset (html-srcset)'] : []),
  ...(/\ssrc="(?:data:|[^"?]*\.(?:svg|webp|avif)\b)/.test(image)
    ? ['an image of a type that is not shown (image-*)']
    : []),
]

const buttonFaults = (html: string): string[] => {
  const buttons = buttonsIn(html)
  const links = tagsOf(html, 'a').map(styleOf)
  // border-radius and padding of a link are lost; the cell around it keeps its colour and size.
  const padded = links.filter(hasPadding).length
  return [
    ...(buttons.length === padded ? [] : ['a button without a cell around it (css-padding, note 1)']),
    ...buttons.flatMap(([, cell, style]) => {
      const ground = /bgcolor="(#[\da-f]{6})"/.exec(cell!)?.[1]
      const ink = /(?:^|;)color:(#[\da-f]{6})/.exec(style!)?.[1]
      return [
        ...(/mso-padding-alt:\d/.test(cell!) ? [] : ['a button whose cell has no mso-padding-alt']),
        ...(ground ? [] : ['a button whose cell has no bgcolor']),
        ...(ground && !(ink && contrastOf(ground, ink) >= 4.5) ? ['a button whose label can’t be read'] : []),
      ]
    }),
  ]
}

/** Returns which rules an email breaks. */
export const brokenRules = (html: string): string[] => {
  const seen = withoutComments(html)
  const hidden = seen.match(/<(?:div|span|p|td)\b[^>]*style="[^"]*display:\s*none[^"]*"/g) ?? []
  return [
    ...(/^<!doctype html>/i.test(html) ? [] : ['no doctype']),
    ...(/<html\b[^>]*\slang="[^"]+"/.test(html) ? [] : ['no lang']),
    ...(/<html\b[^>]*\sdir="(?:ltr|rtl|auto)"/.test(html) ? [] : ['no dir']),
    ...(/<meta\b[^>]*charset/i.test(html) ? [] : ['no charset']),
    ...(Buffer.byteLength(html) < gmailMaxBytes ? [] : ['more than 102 KB, which Gmail clips']),
    ...(hidden.length <= 1 ? [] : ['more than one preheader']),
    ...badElements.filter((name) => tagsOf(html, name).length > 0).map((name) => `the element ${name}`),
    ...stylesIn(html).flatMap((style) =>
      badDeclarations.filter(([pattern]) => pattern.test(style)).map(([, what]) => `${style} (${what})`),
    ),
    ...['div', 'p', 'span', 'h1', 'h2', 'h3', 'body']
      .flatMap((name) => tagsOf(html, name))
      .filter((tag) => hasPadding(styleOf(tag)))
      .map((tag) => `padding that is not of a cell: ${tag} (css-padding, note 1)`),
    // Other tables have data with headings.
    ...[...html.matchAll(/<table\b[^>]*>(?!\s*(?:<tbody>)?\s*<tr>\s*<th\b)/g)]
      .filter(([table]) => !/role="presentation"/.test(table))
      .map(([table]) => `a table for layout that is read as data: ${table}`),
    ...tagsOf(html, 'img').flatMap(imageFaults),
    ...buttonFaults(html),
    ...styleElementFaults(html),
  ]
}
