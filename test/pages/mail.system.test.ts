import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { applyProjects, renderProject, sampleProject } from '../../src/studio/studio.ts'
import { testLinks } from '../studio/support.ts'
import { startApp, type TestApp } from '../support/app.ts'
import { describePages, emailScope, expectAccessible, faultsOf } from '../support/pages.ts'

const imageUrl = 'https://images.example/harbour.svg'
const picture =
  '<svg xmlns="http://www.w3.org/2000/svg" width="560" height="200"><rect width="560" height="200" fill="#7dd3fc"/></svg>'

let t: TestApp
let page: Page
/** URLs that the page loaded. */
let fetched: string[]

/** A project rendered as an email. */
const renderDocument = async (document: unknown, mergeData: Record<string, string>) => {
  const account = await t.account()
  const [applied] = await t.app.work(account.id, 'cli:test', (work) => applyProjects(work, [document]))
  const links = { ...testLinks, open: 'https://svc.test/t/o/token.gif', unsubscribe: 'https://svc.test/u/token' }
  return renderProject(t.app, { accountId: account.id, id: applied!.id!, version: 1, mergeData, links, nowMs: 0 })
}

/** The sample project rendered as an email, with the given merge data. */
const render = (mergeData: Record<string, string>, theme: object = {}) => {
  const sample = sampleProject(imageUrl)
  return renderDocument({ ...sample, theme: { ...sample.theme, ...theme } }, mergeData)
}

describePages('a rendered mail', (openPage) => {
  beforeAll(async () => {
    t = await startApp()
  })
  afterAll(() => t?.close())

  beforeEach(async () => {
    fetched = []
    page = await openPage()
    await page.route('**/*', (route) => {
      fetched.push(route.request().url())
      return route.fulfill({ contentType: 'image/svg+xml', body: picture })
    })
  })
  afterEach(() => page.close())

  const show = async (html: string, width: number) => {
    await page.setViewportSize({ width, height: 900 })
    await page.setContent(html, { waitUntil: 'load' })
  }
  const box = async (text: string) => (await page.getByText(text, { exact: true }).first().boundingBox())!

  test('skips no heading level, has the project’s language, and follows the reader’s dark mode', async () => {
    const heading = (id: string, level: number) => ({ id, type: 'heading', props: { text: `Heading ${id}`, level } })
    const boxed = { id: 'box', type: 'section', props: { background: '#fef3c7' }, children: [heading('c', 3)] }
    const column = { id: 'col', type: 'section', props: { background: '#dbeafe' }, children: [heading('d', 3)] }
    const blocks = [
      heading('a', 1),
      heading('b', 3),
      boxed,
      { id: 'two', type: 'columns', children: [column, heading('e', 2)] },
    ]
    const { html } = await renderDocument({ name: 'Skip', lang: 'pt-BR', blocks }, {})
    await show(html, 600)
    await expectAccessible(page, emailScope)
    expect(await page.locator('html').getAttribute('lang')).toBe('pt-BR')
    const levels = "[...document.querySelectorAll('h1, h2, h3')].map((one) => one.tagName).join(' ')"
    expect(await page.evaluate(levels)).toBe('H1 H2 H3 H3 H2')
    await page.emulateMedia({ colorScheme: 'dark' })
    await expectAccessible(page, emailScope)
    const bright = `[...document.querySelectorAll('body, body *')].filter((one) => {
      const [, r, g, b] = /^rgb\\((\\d+), (\\d+), (\\d+)\\)$/.exec(getComputedStyle(one).backgroundColor) ?? []
      return r !== undefined && Number(r) + Number(g) + Number(b) > 300
    }).map((one) => one.outerHTML.slice(0, 200))`
    expect(await page.evaluate(bright)).toEqual([])
  })

  test.each([320, 600, 1200])('fits a screen of %i pixels, and fetches nothing but its images', async (width) => {
    const { html } = await render({ name: 'Ada', email: 'ada@example.com' })
    await show(html, width)
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
    const widest = await page.evaluate(
      `Math.max(...Array.from(document.querySelectorAll('img,a,p,h1,table'), (one) => one.getBoundingClientRect().right))`,
    )
    expect(widest).toBeLessThanOrEqual(width)
    // The whole button of an option is clickable, not only its label.
    expect((await box('Red')).width).toBeGreaterThan(Math.min(width, 600) - 60)
    const logo = 'https://images.example/logo.png'
    expect([...new Set(fetched)].sort()).toEqual([imageUrl, logo, 'https://svc.test/t/o/token.gif'])
    expect(faultsOf(page)).toEqual([])
    const folder = process.env.SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/mail-${width}.png`, fullPage: true })
  })

  test('columns are side by side on wide screens and stacked on narrow ones', async () => {
    const { html } = await render({ name: 'Ada' })
    const texts = [
      'Send an email with one call, and see what happened to it.',
      'Or let a journey decide who gets which email, and when.',
    ]
    await show(html, 600)
    const [left, right] = await Promise.all(texts.map(box))
    expect(right!.x).toBeGreaterThan(left!.x + left!.width)
    await show(html, 320)
    const [above, below] = await Promise.all(texts.map(box))
    expect(below!.y).toBeGreaterThanOrEqual(above!.y + above!.height)
  })

  test('nested sections add up their padding, and the inner colour is visible', async () => {
    const text = (id: string) => ({ id, type: 'text', props: { text: id } })
    const section = (id: string, background: string, padding: number, ...children: object[]) => ({
      id,
      type: 'section',
      props: { background, padding },
      children,
    })
    const columns = {
      id: 'columns',
      type: 'columns',
      props: { padding: 10, widths: [1, 3] },
      children: [
        text('narrow'),
        section('wide', '#fde68a', 8, text('beside'), section('deep', '#fca5a5', 0, text('deepest'))),
      ],
    }
    const vote = { id: 'vote', type: 'vote', props: { question: 'Which?', options: ['This', 'That'] } }
    const inner = section('inner', '#bbf7d0', 30, text('inside'), columns, vote)
    const blocks = [text('outside'), section('outer', '#bfdbfe', 20, text('first'), inner, text('last'))]
    const { html } = await renderDocument({ name: 'Nested', theme: { logo: imageUrl, width: 640 }, blocks }, {})
    await show(html, 640)
    const folder = process.env.SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/mail-nested.png`, fullPage: true })
    const [outside, first, inside, last, narrow, wide] = await Promise.all(
      ['outside', 'first', 'inside', 'last', 'narrow', 'beside'].map(box),
    )
    expect(first!.x - outside!.x).toBe(20)
    expect(inside!.x - outside!.x).toBe(50)
    expect(last!.x).toBe(first!.x)
    expect(wide!.width / narrow!.width).toBeGreaterThan(2.5)
    const background = (label: string) =>
      page.evaluate<string>(`{
        let one = Array.from(document.querySelectorAll('p')).find((p) => p.textContent === '${label}')
        while (getComputedStyle(one).backgroundColor === 'rgba(0, 0, 0, 0)') one = one.parentElement
        getComputedStyle(one).backgroundColor
      }`)
    const seen = await Promise.all(
      ['outside', 'first', 'inside', 'narrow', 'beside', 'deepest', 'last'].map(background),
    )
    const [white, blue, green, yellow, red] = [
      '255, 255, 255',
      '191, 219, 254',
      '187, 247, 208',
      '253, 230, 138',
      '252, 165, 165',
    ]
    expect(seen).toEqual([white, blue, green, green, yellow, red, blue].map((color) => `rgb(${color})`))
  })

  test('a script in merge data is shown as text and never runs', async () => {
    const attack = `"><img src=x onerror=alert(1)><script>alert(2)</script><a href='javascript:alert(3)'>`
    const { html } = await render({ name: attack, email: attack })
    await show(html, 600)
    expect(await page.locator('h1').textContent()).toBe(`Welcome aboard ${attack}`)
    expect(await page.locator('script').count()).toBe(0)
    const hrefs = await page.evaluate<string[]>(`Array.from(document.querySelectorAll('a'), (link) => link.href)`)
    expect(hrefs.filter((href) => !href.startsWith('https://svc.test/'))).toEqual([])
    expect(hrefs.length).toBeGreaterThan(15)
    expect(faultsOf(page)).toEqual([])
  })

  test.each(['#fde047', '#111827', '#0f766e', '#f97316'])(
    'the label of a button in %s can be read',
    async (primary) => {
      const { html } = await render({ name: 'Ada' }, { primary })
      await show(html, 320)
      const contrast = await page.evaluate<number>(`{
      const channels = (color) => color.match(/\\d+/g).map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
      const luminance = (color) => { const [r, g, b] = channels(color); return 0.2126 * r + 0.7152 * g + 0.0722 * b }
      const link = Array.from(document.querySelectorAll('a')).find((one) => one.textContent.trim() === 'Start here')
      const style = getComputedStyle(link)
      const both = [luminance(style.color), luminance(style.backgroundColor)].sort((a, b) => b - a)
      ;(both[0] + 0.05) / (both[1] + 0.05)
    }`)
      expect(contrast).toBeGreaterThanOrEqual(4.5)
    },
  )
})
