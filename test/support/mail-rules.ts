import { expect } from 'vitest'
import { contrastOf } from '../../src/lib/colors.ts'

/*
 * What Outlook on Windows, whose engine is Word, and Gmail need of an email (caniemail.com): layout in tables, sizes as attributes, no
 * layout by flex, grid or position, buttons whose padding is that of a cell, and at most 102 KB.
 */

const gmailMaxBytes = 102 * 1024

/** Returns all start tags of an element outside of comments. */
export const tagsOf = (html: string, name: string): string[] =>
  html.replace(/<!--[\s\S]*?-->/g, '').match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []

const stylesIn = (html: string): string[] => [...html.matchAll(/style="([^"]*)"/g)].map(([, style]) => style!)
const hasPadding = (style: string): boolean => /(?:^|;)padding:/.test(style)

/** Returns the table cells whose only content is a link with padding, each with the style of its link. */
export const buttonsIn = (html: string): RegExpMatchArray[] =>
  [...html.matchAll(/<td([^>]*)>\s*(?:<!\[endif\]-->)?<a\b[^>]*style="([^"]*)"/g)].filter(([, , style]) =>
    hasPadding(style!),
  )

/** Expects an email to keep the rules. */
export const expectMailRules = (html: string): void => {
  // Other tables have data with headings.
  for (const [table] of html.matchAll(/<table\b[^>]*>(?!\s*(?:<tbody>)?\s*<tr>\s*<th\b)/g))
    expect(table).toMatch(/role="presentation"/)
  for (const style of stylesIn(html)) {
    expect(style).not.toMatch(/(?:^|[;\s])(?:position|float|background-image)\s*:/)
    expect(style).not.toMatch(/display\s*:\s*(?:inline-)?(?:flex|grid)|\brem\b|\bvar\(|url\(/)
  }
  expect(html).not.toMatch(/<(?:script|link|form|video|svg|button|input)\b/)
  const buttons = buttonsIn(html)
  expect(buttons).toHaveLength(stylesIn(tagsOf(html, 'a').join('')).filter(hasPadding).length)
  for (const [, cell, style] of buttons) {
    expect(cell).toMatch(/mso-padding-alt:\d/)
    const [, ground] = /bgcolor="(#[\da-f]{6})"/.exec(cell!)!
    const [, ink] = /(?:^|;)color:(#[\da-f]{6})/.exec(style!)!
    expect(contrastOf(ground!, ink!)).toBeGreaterThanOrEqual(4.5)
  }
  for (const image of tagsOf(html, 'img')) {
    expect(image).toMatch(/\salt="/)
    expect(image).toMatch(/\swidth="\d+"/)
  }
  expect(Buffer.byteLength(html)).toBeLessThan(gmailMaxBytes)
}
