import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { contrastOf } from '../../src/lib/colors.ts'
import { compileFrame, target } from '../../src/pages/plain-mail.mjml.ts'
import { plainMail } from '../../src/pages/plain-mail.ts'
import { brandOfShop, builtInMails } from '../support/built-in-mails.ts'
import { limit } from '../support/slowness.ts'

/*
 * What Outlook on Windows, whose engine is Word, and Gmail need of an email (caniemail.com): layout in tables, sizes as attributes, no
 * layout by flex, grid or position, buttons whose padding is that of a cell, and at most 102 KB.
 */

test('the frame is what MJML makes of its source: npm run mails', { timeout: limit(30_000) }, async () => {
  expect(await readFile(target, 'utf8')).toBe(await compileFrame())
})

/** Returns all start tags of an element outside of comments. */
const tagsOf = (html: string, name: string): string[] =>
  html.replace(/<!--[\s\S]*?-->/g, '').match(new RegExp(`<${name}\\b[^>]*>`, 'g')) ?? []
const stylesIn = (html: string): string[] => [...html.matchAll(/style="([^"]*)"/g)].map(([, style]) => style!)

describe.each([
  ['without a brand', undefined],
  ['with a brand', brandOfShop],
])('built-in emails %s', (_, brand) => {
  describe.each(Object.entries(builtInMails(brand)))('%s', (_name, { subject, html, text }) => {
    test('has a language, a title, a preheader, a heading, and no markup of its texts', () => {
      expect(html).toMatch(new RegExp(`^<!doctype html>\\n<html lang="${brand?.lang ?? 'en'}"`))
      expect(html).toContain('charset=UTF-8')
      expect(/<title>([^<]+)<\/title>/.exec(html)?.[1]).toBeTruthy()
      const preheader = /<body[^>]*>\s*<div style="display:none[^"]*">([^<&]{10,})/.exec(html)?.[1]
      expect(preheader).toBeTruthy()
      expect(subject).not.toContain(preheader)
      expect(html.match(/<h1\b/g)).toHaveLength(1)
      expect(html).not.toMatch(/<Ada>|<more>|<1>|<b>|\{\{|%%|undefined|null\b/)
      expect(text).not.toMatch(/\{\{|%%|undefined|null\b/)
    })

    test('is laid out in tables, without what Outlook or Gmail ignore', () => {
      for (const table of tagsOf(html, 'table')) expect(table).toMatch(/role="presentation"/)
      for (const style of stylesIn(html)) {
        expect(style).not.toMatch(/(?:^|[;\s])(?:position|float|background-image)\s*:/)
        expect(style).not.toMatch(/display\s*:\s*(?:inline-)?(?:flex|grid)|\brem\b|\bvar\(|url\(/)
      }
      expect(html).not.toMatch(/<(?:script|link|form|video|svg|button|input)\b/)
    })

    test('a link with padding is a button: its cell has the colour and the padding that Outlook uses', () => {
      const padded = [...html.matchAll(/<td([^>]*)>\s*<a\b[^>]*style="([^"]*)"/g)].filter(([, , style]) =>
        /(?:^|;)padding:/.test(style!),
      )
      const all = stylesIn(tagsOf(html, 'a').join('')).filter((style) => /(?:^|;)padding:/.test(style))
      expect(padded).toHaveLength(all.length)
      expect(padded.length).toBeLessThanOrEqual(1)
      for (const [, cell, style] of padded) {
        expect(cell).toMatch(/bgcolor="#[\da-f]{6}"/)
        expect(cell).toMatch(/mso-padding-alt:12px 24px/)
        const [, ground] = /background:(#[\da-f]{6})/.exec(style!)!
        const [, ink] = /(?:^|;)color:(#[\da-f]{6})/.exec(style!)!
        expect(contrastOf(ground!, ink!)).toBeGreaterThanOrEqual(4.5)
      }
    })

    test('pictures have their size as attributes and an alternative text', () => {
      const images = tagsOf(html, 'img')
      expect(images).toHaveLength(brand ? 1 : 0)
      for (const image of images) expect(image).toMatch(/ alt="[^"]+" width="\d+" height="\d+"/)
    })

    test('is far below the 102 KB at which Gmail cuts it', () => {
      expect(Buffer.byteLength(html)).toBeLessThan(20_000)
    })

    test('shows the imprint of the account, and no other', () => {
      const shown = html.includes('1 Quay Street') && text.includes('1 Quay Street')
      expect([shown, html.includes('Privacy policy'), text.includes('/privacy')]).toEqual(
        brand ? [true, true, true] : [false, false, false],
      )
    })
  })
})

const mails = builtInMails(brandOfShop)

test('date, time and zone are one block below the title', () => {
  const lines = 'Montag, 4. Januar 2027<br>10:00–11:00 Uhr (Europe/Berlin)'
  expect(mails.registered!.html).toContain(`<strong>Tour &lt;1&gt; &amp; more</strong><br>${lines}`)
  expect(mails.booked!.html).toContain('Montag, 4. Januar 2027<br>10:00–10:30 (Europe/Berlin)')
  expect(mails['registered without a time']!.html).toContain('<strong>Tour &lt;1&gt; &amp; more</strong></td>')
})

test('a logo is at most 240 by 48 pixels and keeps its proportions; one of unknown size has only a height', () => {
  const imageOf = (logoSize: { width: number; height: number } | null) => {
    const { html } = plainMail('T', [], { preheader: 'p', brand: { ...brandOfShop, logoSize } })
    return /<img[^>]* alt="[^"]*"([^>]*) style/.exec(html)![1]
  }
  expect(imageOf({ width: 560, height: 200 })).toBe(' width="134" height="48"')
  expect(imageOf({ width: 4_800, height: 20 })).toBe(' width="240" height="1"')
  expect(imageOf({ width: 20, height: 10 })).toBe(' width="20" height="10"')
  expect(imageOf(null)).toBe(' height="48"')
})
