import { hash } from 'node:crypto'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { deleteAccount } from '../../src/accounts/accounts.delete.ts'
import { contrastOf } from '../../src/lib/colors.ts'
import { dateText, timeText } from '../../src/lib/dates.ts'
import { parseSince, parseTime } from '../../src/lib/since.ts'
import { brandColors } from '../../src/pages/brand.ts'
import { type FormBench, formBench, publicUrl, useForms } from '../forms/support.ts'
import { svc } from '../support/cli.ts'
import { makeWebinar, register } from '../webinars/support.ts'

let bench: FormBench

const t = useForms()
beforeEach(async () => {
  bench = await formBench(t)
})

const run = (args: string[]) => svc(t, ['accounts', ...args, '--account', bench.account.id])
const json = async (...args: string[]) => {
  const ran = await run([...args, '--json'])
  expect([ran.stderr, ran.status]).toEqual(['', 0])
  return ran.json
}
const page = async (path: string) => {
  const reply = await t.server.fastify.inject({
    url: new URL(path, publicUrl).pathname + new URL(path, publicUrl).search,
  })
  return { status: reply.statusCode, headers: reply.headers, html: reply.body, raw: reply.rawPayload }
}

const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==',
  'base64',
)
const folder = await mkdtemp(join(tmpdir(), 'svc-brand-'))
const fileOf = async (name: string, content: Buffer) => {
  const file = join(folder, name)
  await writeFile(file, content)
  return file
}

const none = {
  ...{ brandName: null, logo: null, color: null, postalAddress: null },
  ...{ privacyUrl: null, timezone: null, lang: null },
}

test('update changes the named values only, show has them, and an empty value removes one', async () => {
  expect(await json('show')).toMatchObject({ id: bench.account.id, ...none })
  const logo = await fileOf('logo.png', png)
  const texts = ['--brand-name', 'Shop & Co', '--color', '#0F766E', '--postal-address', 'Shop\n1 Main Street']
  const more = ['--privacy-url', 'https://shop.example/privacy', '--timezone', 'Europe/Berlin', '--lang', 'DE-at']
  const all = {
    brandName: 'Shop & Co',
    logo: `${publicUrl}/assets/${bench.account.id}/logo?v=${hash('sha256', png).slice(0, 12)}`,
    color: '#0f766e',
    postalAddress: 'Shop\n1 Main Street',
    privacyUrl: 'https://shop.example/privacy',
    timezone: 'Europe/Berlin',
    lang: 'de-AT',
  }
  const planned = await run(['update', ...texts, ...more, '--logo', logo, '--dry-run', '--json'])
  expect(planned.json).toMatchObject({ dryRun: true, ...all })
  expect(await json('show')).toMatchObject(none)
  expect(await json('update', ...texts, ...more, '--logo', logo)).toMatchObject({ id: bench.account.id, ...all })
  expect(await json('show')).toMatchObject(all)
  expect((await run(['show'])).stdout).toContain('Shop & Co')
  // Extensions and private parts are BCP 47, too.
  for (const lang of ['ar-EG-u-nu-latn', 'en-US-x-twain', 'fr'])
    expect(await json('update', '--lang', lang)).toMatchObject({ ...all, lang })
  expect(await json('update', '--logo', '', '--brand-name', '')).toMatchObject({
    ...{ ...all, lang: 'fr', logo: null, brandName: null },
  })
})

test.each([
  ['--color', 'red'],
  ['--color', '#12345'],
  ['--privacy-url', 'javascript:alert(1)'],
  ['--timezone', 'Berlin'],
  ['--timezone', '+02:00'],
  ['--lang', 'german'],
  ['--lang', 'de-x'],
  ['--postal-address', 'x'.repeat(501)],
  ['--logo', '/nowhere/logo.png'],
])('a value that is none is refused: %s %s', async (flag, value) => {
  const ran = await run(['update', flag, value])
  expect([ran.status, ran.stdout]).toEqual([2, ''])
  expect(await json('show')).toMatchObject(none)
})

test('update without a value is refused, and so is an unknown account', async () => {
  expect((await run(['update'])).status).toBe(2)
  expect((await svc(t, ['accounts', 'update', 'Nobody', '--lang', 'de'])).status).toBe(3)
})

describe('the logo', () => {
  const webp = Buffer.concat([Buffer.from('RIFF\x10\0\0\0WEBPVP8 '), Buffer.alloc(20)])
  const jpeg = Buffer.concat([Buffer.from('ffd8ffe000104a464946', 'hex'), Buffer.alloc(20)])

  test.each([
    ['image/png', png],
    ['image/jpeg', jpeg],
    ['image/webp', webp],
  ])('is served as %s, with a policy that lets it do nothing', async (type, content) => {
    const { logo } = await json('update', '--logo', await fileOf('logo', content))
    const { status, headers, raw } = await page(logo)
    expect([status, headers['content-type'], raw]).toEqual([200, type, content])
    expect(headers).toMatchObject({
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'x-content-type-options': 'nosniff',
      'cache-control': 'public, max-age=3600',
    })
  })

  test('has at most 200 KB, and is what it says', async () => {
    const most = Buffer.concat([png, Buffer.alloc(200 * 1024 - png.length)])
    await json('update', '--logo', await fileOf('most.png', most))
    const svg = await run(['update', '--logo', await fileOf('logo.png', Buffer.from('<svg onload="alert(1)"/>'))])
    expect([svg.status, svg.stderr]).toEqual([2, expect.stringContaining('must be a PNG, JPEG or WebP image')])
    const large = await run(['update', '--logo', await fileOf('large.png', Buffer.concat([most, Buffer.alloc(1)]))])
    expect([large.status, large.stderr]).toEqual([2, expect.stringContaining('must have at most 200 KB')])
    const { logo } = await json('show')
    expect((await page(logo)).raw).toEqual(most)
  })

  test('of another account, or of a deleted one, is not there', async () => {
    const { logo } = await json('update', '--logo', await fileOf('logo.png', png))
    const other = await t.account()
    expect((await page(`/assets/${other.id}/logo`)).status).toBe(404)
    await deleteAccount(t.app, bench.account.id, { actor: 'cli:test' })
    expect((await page(logo)).status).toBe(404)
    expect(await t.app.sql('select account_id from brands where account_id = $1', [bench.account.id])).toEqual([])
  })
})

test('a form, its email and the page of its link show the brand of their account only', async () => {
  const form = await bench.form({ name: 'News', doubleOptIn: true })
  const plain = await page(`/f/${form.id}`)
  expect(plain.html).toContain('<html lang="en">')
  expect(plain.html).not.toMatch(/class="brand"|imprint/)
  await json(
    'update',
    '--brand-name',
    'Shop <Co>',
    '--color',
    '#0f766e',
    '--lang',
    'de',
    '--postal-address',
    'Main\nBerlin',
  )
  await json('update', '--privacy-url', 'https://shop.example/privacy?a&b', '--logo', await fileOf('logo.png', png))
  const { logo } = await json('show')
  const submitted = await t.server.fastify.inject({
    method: 'POST',
    url: `/f/${form.id}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    payload: 'email=ada%40acme.test',
  })
  expect(submitted.statusCode).toBe(303)
  const link = new URL(await bench.link(), publicUrl)
  for (const path of [`/f/${form.id}`, `/f/${form.id}/thanks`, link.pathname]) {
    const { html, headers } = await page(path)
    expect(html).toContain('<html lang="de">')
    expect(html).toContain(`<p class="brand"><img src="${new URL(logo).pathname}?v=`)
    expect(html).toContain('alt="Shop &lt;Co&gt;"')
    expect(html).toContain('<p>Shop &lt;Co&gt;<br>Main<br>Berlin</p>')
    expect(html).toContain('href="https://shop.example/privacy?a&amp;b"')
    // Each style is allowed by its hash.
    const styles = [...html.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(([, style]) =>
      hash('sha256', style!, 'base64'),
    )
    expect(styles.length).toBeGreaterThan(1)
    for (const own of styles) expect(headers['content-security-policy']).toContain(`'sha256-${own}'`)
  }
  const [mail] = await t.app.sql<{ html: string; text: string }>(
    'select html, text from messages where account_id = $1',
    [bench.account.id],
  )
  expect(mail!.html).toContain('<html lang="de"')
  expect(mail!.html).toContain(`<img src="${logo}" alt="Shop &lt;Co&gt;" width="1" height="1"`)
  expect(mail!.html).toContain('background:#0f766e;color:#ffffff')
  expect(mail!.html).toContain('Shop &lt;Co&gt;<br>Main<br>Berlin<br><a href="https://shop.example/privacy?a&amp;b"')
  expect(mail!.text).toMatch(/\n-- \nShop <Co>\nMain\nBerlin\nPrivacy policy: https:\/\/shop.example\/privacy\?a&b\n$/)
  const other = await formBench(t)
  const { html } = await page(`/f/${(await other.form({ name: 'News' })).id}`)
  expect(html).not.toMatch(/class="brand"|imprint|lang="de"/)
})

test.each(['#0f766e', '#ffffff', '#000000', '#ffff00', '#808080', '#1f4fbf', '#fff', '#d4145a'])(
  'buttons and links in %s can be seen and read',
  (color) => {
    for (const [scheme, grounds] of [
      ['light', ['#ffffff', '#f6f7f9']],
      ['dark', ['#1a2027', '#101418']],
    ] as const) {
      const { act, onAct, link } = brandColors(color, scheme)
      expect(contrastOf(onAct, act)).toBeGreaterThanOrEqual(4.5)
      for (const ground of grounds) {
        expect(contrastOf(act, ground)).toBeGreaterThanOrEqual(3)
        expect(contrastOf(link, ground)).toBeGreaterThanOrEqual(4.5)
      }
    }
    expect(brandColors('#0f766e', 'light')).toEqual({ act: '#0f766e', onAct: '#ffffff', link: '#0f766e' })
  },
)

test('times are in the time zone of the account, with its name, and in its language', () => {
  const time = new Date('2026-07-01T16:30:00Z')
  expect(timeText(time)).toBe('Wednesday, 1 July 2026 at 16:30 UTC')
  expect(timeText(time, { lang: null, timezone: 'UTC' })).toBe('Wednesday, 1 July 2026 at 16:30 UTC')
  const berlin = { lang: 'de', timezone: 'Europe/Berlin' }
  expect(timeText(time, berlin)).toBe('Mittwoch, 1. Juli 2026 um 18:30 (Europe/Berlin)')
  expect(dateText(new Date('2026-07-01T23:30:00Z'), berlin)).toBe('2. Juli 2026')
})

test('flags without an offset are in the time zone; skipped and repeated times have a meaning', () => {
  const berlin = 'Europe/Berlin'
  const iso = (text: string) => new Date(parseTime(text, 0, berlin)).toISOString()
  expect(iso('2026-07-01T09:00')).toBe('2026-07-01T07:00:00.000Z')
  expect(iso('2026-07-01T09:00:30.5')).toBe('2026-07-01T07:00:30.500Z')
  expect(iso('2026-07-01T09:00Z')).toBe('2026-07-01T09:00:00.000Z')
  expect(iso('2026-07-01T09:00-05:00')).toBe('2026-07-01T14:00:00.000Z')
  expect(iso('2026-12-01')).toBe('2026-11-30T23:00:00.000Z')
  expect(iso('2026-03-29T02:30')).toBe('2026-03-29T01:30:00.000Z')
  expect(iso('2026-10-25T02:30')).toBe('2026-10-25T00:30:00.000Z')
  expect(() => iso('2026-02-30T09:00')).toThrow('is not a time such as')
  expect(parseTime('2026-12-01', 0)).toBe(Date.parse('2026-12-01T00:00:00Z'))
  expect(parseTime('2026-12-01T09:00', 0)).toBe(Date.parse('2026-12-01T09:00:00Z'))
  expect(parseTime('2h', 5, berlin)).toBe(7_200_005)
  expect(parseSince('2026-07-01T09:00', 0, berlin)).toBe(Date.parse('2026-07-01T07:00:00Z'))
})

test('a webinar at a time of the account is emailed in its time zone; JSON has the instant', async () => {
  await json('update', '--timezone', 'America/New_York', '--lang', 'en-US')
  const args = ['webinars', 'create', '--title', 'Tour', '--at', '2027-07-01T09:00', '--json']
  const created = (await svc(t, [...args, '--account', bench.account.id])).json
  expect(created.scheduledAt).toBe(Date.parse('2027-07-01T13:00:00Z'))
  await register(t, bench.account, created.id, 'ada@acme.test')
  const [mail] = await bench.mails()
  expect(mail!.text.replace(/[\u2009\u202f]/g, ' ')).toContain(
    'Thursday, July 1, 2027\n9:00 – 10:00 AM (America/New_York)\n',
  )
  const other = await formBench(t)
  const webinar = await makeWebinar(t, other.account, { scheduledAt: created.scheduledAt })
  await register(t, other.account, webinar.id, 'ada@acme.test')
  expect((await other.mails())[0]!.text).toContain('Thursday, 1 July 2027\n13:00–14:00 UTC\n')
})
