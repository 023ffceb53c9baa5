import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { compileFrame, target } from '../../src/pages/plain-mail.mjml.ts'
import { plainMail } from '../../src/pages/plain-mail.ts'
import { brandOfShop, builtInMails } from '../support/built-in-mails.ts'
import { buttonsIn, expectMailRules, tagsOf } from '../support/mail-rules.ts'
import { limit } from '../support/slowness.ts'

test('the frame is what MJML makes of its source: npm run mails', { timeout: limit(30_000) }, async () => {
  expect(await readFile(target, 'utf8')).toBe(await compileFrame())
})

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

    test('keeps the rules of Outlook and Gmail, and has at most one button', () => {
      expectMailRules(html)
      expect(buttonsIn(html).length).toBeLessThanOrEqual(1)
      for (const [, cell] of buttonsIn(html)) expect(cell).toMatch(/mso-padding-alt:12px 24px/)
      expect(tagsOf(html, 'img')).toHaveLength(brand ? 1 : 0)
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

test('a logo is at most 240 by 48 pixels and keeps its proportions; one of unknown size is as low', () => {
  const imageOf = (logoSize: { width: number; height: number } | null) => {
    const { html } = plainMail('T', [], { preheader: 'p', brand: { ...brandOfShop, logoSize } })
    const [, size, style] = /<img[^>]* alt="[^"]*"([^>]*) style="([^"]*)"/.exec(html)!
    // The height of the attribute is for Outlook. Others take that of the style: logos from before their size was read have no width.
    expect(style).toContain('height:auto;max-height:48px')
    return size
  }
  expect(imageOf({ width: 560, height: 200 })).toBe(' width="134" height="48"')
  expect(imageOf({ width: 4_800, height: 20 })).toBe(' width="240" height="1"')
  expect(imageOf({ width: 20, height: 10 })).toBe(' width="20" height="10"')
  expect(imageOf(null)).toBe(' height="48"')
})
