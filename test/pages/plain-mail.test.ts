import { glob, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { compileFrame, target } from '../../src/pages/plain-mail.mjml.ts'
import { plainMail } from '../../src/pages/plain-mail.ts'
import { brandOfShop, builtInMails } from '../support/built-in-mails.ts'
import { brokenRules, buttonsIn, expectMailRules, imagesIn } from '../support/mail-rules.ts'

test('the frame is what MJML makes of its source: npm run mails', async () => {
  expect(await readFile(target, 'utf8')).toBe(await compileFrame())
})

test('every email that is built in is among those below', async () => {
  const root = join(import.meta.dirname, '../..')
  const listed = await readFile(join(root, 'test/support/built-in-mails.ts'), 'utf8')
  const made: string[] = []
  for await (const file of glob('src/**/*.mails.ts', { cwd: root })) {
    const source = await readFile(join(root, file), 'utf8')
    made.push(...[...source.matchAll(/export const (\w+Mail)\b/g)].map(([, name]) => name!))
  }
  expect(made.length).toBeGreaterThan(10)
  expect(made.filter((name) => !new RegExp(`\\b${name}\\(`).test(listed))).toEqual([])
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
      for (const { cell } of buttonsIn(html)) expect(cell.style).toMatch(/mso-padding-alt:12px 24px/)
      expect(imagesIn(html)).toHaveLength(brand ? 1 : 0)
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

describe('the rules of emails', () => {
  const { html } = builtInMails(brandOfShop).registered!
  const inside = (markup: string) => html.replace('</h1>', `</h1>${markup}`)
  const styled = (css: string) => html.replace('</head>', `<style>${css}</style></head>`)
  const link = (cell: string, style: string) =>
    inside(
      `<table role="presentation"><tr><td ${cell}><a href="https://x.example" style="${style}">Go</a></td></tr></table>`,
    )

  test.each([
    ['a layout by flex', inside('<p style="display:flex">x</p>'), /css-display-flex/],
    ['a layout by grid', inside('<p style="display:inline-grid">x</p>'), /css-display-grid/],
    ['a position', inside('<p style="margin:0;position:absolute">x</p>'), /layout/],
    ['a float', inside('<p style="float:left">x</p>'), /layout/],
    ['a picture as background', inside('<p style="background:url(https://x.example/a.png)">x</p>'), /background/],
    ['a gradient', inside('<p style="background:linear-gradient(#fff,#000)">x</p>'), /background/],
    ['a relative unit', inside('<p style="margin:1rem">x</p>'), /css-unit/],
    ['a variable', inside('<p style="color:var(--ink)">x</p>'), /css-variables/],
    ['a transparent colour', inside('<p style="color:rgba(0,0,0,.5)">x</p>'), /css-rgba/],
    ['padding of a div', inside('<div style="padding:8px">x</div>'), /padding that is not of a cell/],
    ['an svg', inside('<svg></svg>'), /the element svg/],
    ['a form', inside('<form></form>'), /the element form/],
    ['a script', inside('<script></script>'), /the element script/],
    ['a picture without a width', inside('<img src="https://x.example/a.png" alt="">'), /width/],
    ['a picture without alt', inside('<img src="https://x.example/a.png" width="9">'), /without alt/],
    ['a picture in the address', inside('<img src="data:image/png;base64,x" width="9" alt="">'), /not shown/],
    ['a picture as svg', inside('<img src="https://x.example/a.svg" width="9" alt="">'), /not shown/],
    ['a table that is read as data', inside('<table><tr><td>x</td></tr></table>'), /read as data/],
    ['a second preheader', inside('<div style="display:none">x</div>'), /preheader/],
    ['a button without a cell', inside('<p><a href="https://x.example" style="padding:9px">x</a></p>'), /cell around/],
    ['a button without a background', link('style="mso-padding-alt:9px"', 'padding:9px;color:#ffffff'), /no bgcolor/],
    ['a flat button in Word', link('bgcolor="#000000"', 'padding:9px;color:#ffffff'), /no mso-padding-alt/],
    [
      'a button that can’t be read',
      link('bgcolor="#eeeeee" style="mso-padding-alt:9px"', 'padding:9px;color:#ffffff'),
      /can’t be read/,
    ],
    ['a comment in the style', styled('/* x */ .a { color: #000000 }'), /after which a rule is ignored/],
    ['a picture in the style', styled('.a { background: url(https://x.example/a.png) }'), /Gmail removes/],
    ['an import', styled('@import "https://x.example/a.css";'), /Gmail drops/],
    ['a query of the pointer', styled('@media (hover: hover) { .a { color: #000000 } }'), /media query/],
    [
      'nested queries',
      styled('@media (min-width:9px) { @media (max-width:99px) { .a { color: #000000 } } }'),
      /nested/,
    ],
    ['a large style', styled('.a { color: #000000 }'.repeat(900)), /16 KB/],
    ['a style in the body', inside('<style>.a { color: #000000 }</style>'), /in the body/],
    ['no language', html.replace(/ lang="[^"]*"/, ''), /no lang/],
    ['no direction', html.replace(/ dir="[^"]*"/, ''), /no dir/],
    ['elements nested too deep', inside('<div>'.repeat(20_000)), /more than 500 deep/],
    ['too large', inside('x'.repeat(103 * 1024)), /102 KB/],
  ])('find %s', (_, broken, fault) => {
    expect(brokenRules(html)).toEqual([])
    expect(brokenRules(broken)).toEqual([expect.stringMatching(fault)])
  })
})

const mails = builtInMails(brandOfShop)

test('date, time and zone are one block below the title', () => {
  const lines = 'Montag, 4. Januar 2027<br>10:00–11:00 Uhr (Europe/Berlin)'
  expect(mails.registered!.html).toContain(`Tour &lt;1&gt; &amp; more</strong><br>${lines}`)
  expect(mails.booked!.html).toContain('Montag, 4. Januar 2027<br>10:00–10:30 (Europe/Berlin)')
  expect(mails['registered without a time']!.html).toContain('Tour &lt;1&gt; &amp; more</strong></td>')
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
