import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { setMode } from '../../src/tools/catcher/catcher.mode.ts'
import { caughtIds, removeCaught } from '../../src/tools/catcher/catcher.ts'
import { startConsole, type TestConsole } from '../support/console.ts'
import {
  describePages,
  expectGoodOnEveryScreen,
  expectNothingFromElsewhere,
  faultsOf,
  requestsOf,
} from '../support/pages.ts'

let c: TestConsole
let page: Page

const hostile = `<html><head><meta http-equiv="refresh" content="0;url=https://elsewhere.example/refresh"></head><body>
<h1>Order 7</h1><p><a href="https://elsewhere.example/more">More</a></p>
<script>parent.document.title = 'taken'; top.location = 'https://elsewhere.example/script'</script>
<img src="https://elsewhere.example/pixel.gif" onerror="parent.document.title = 'taken'">
<link rel="stylesheet" href="https://elsewhere.example/style.css"><iframe src="https://elsewhere.example/frame"></iframe>
<form action="/mail/clear" method="post" target="_top"><button>Press me</button></form></body></html>`

describePages('the console of svc dev', (openPage) => {
  beforeAll(async () => {
    c = await startConsole()
  })
  beforeEach(async () => {
    removeCaught(c.folder, caughtIds(c.folder))
    page = await openPage({ viewport: { width: 1200, height: 800 } })
  })
  afterEach(async () => {
    await page.close()
    setMode(c.folder, 'accept', null)
  })
  afterAll(() => c?.close())

  const go = (path: string) => page.goto(c.console.url + path)
  const shows = (text: string | RegExp) => page.getByText(text).first().waitFor()
  const content = { query: '?email=ada%40people.example', sent: { title: 'Annual plan' }, received: '{"error":"No"}' }
  const call = (status: number, path: string) =>
    c.console.addCall({ method: 'GET', path, status, ms: 12.3, requestId: 'req_01m80h0mcx04rxxvxgbf0v50ys' }, content)
  const subjects = () => page.locator('#mails .subject, #activity .subject').allTextContents()

  test('each page is accessible and fits every screen, empty and full, and loads nothing from other hosts', async () => {
    await go('/mail')
    await shows('svc send --project Welcome')
    await expectGoodOnEveryScreen(page, 'console-empty')
    for (const [status, path] of [
      [200, '/api/v1/lists'],
      [404, `/api/v1/deals/${'d'.repeat(150)}`],
    ] as const)
      call(status, path)
    await c.mail({ subject: 'Your order has shipped', text: 'It is on its way. '.repeat(30) })
    await c.mail({
      subject: `A long one ${'x'.repeat(120)}`,
      html: '<p>Hello, <a href="#">here</a> and <a href="http://127.0.0.1:1/u/x">there</a></p>',
      attachments: [{ filename: 'call.ics', content: 'BEGIN:VCALENDAR' }],
    })
    setMode(c.folder, 'defer', 3)
    const id = caughtIds(c.folder).at(-1)
    const pages = {
      all: '/',
      mail: '/mail',
      one: `/mail/${id}`,
      phone: `/mail/${id}?width=phone`,
      tablet: `/mail/${id}?width=tablet`,
      links: `/mail/${id}?show=links`,
      check: `/mail/${id}?show=check`,
      headers: `/mail/${id}?show=headers`,
      calls: '/calls',
    }
    for (const [name, path] of Object.entries(pages)) {
      await go(path)
      await shows('Email is deferred')
      if (name === 'calls') await page.locator('summary').first().click()
      await expectGoodOnEveryScreen(page, `console-${name}`)
    }
    expectNothingFromElsewhere(page, c.console.url)
    expect(faultsOf(page)).toEqual([])
  })

  test("an email's HTML runs no script, loads nothing from other hosts, and can’t access the page around it", async () => {
    await c.mail({ subject: 'Order 7', html: hostile })
    await c.mail({ subject: 'Another' })
    await go(`/mail/${caughtIds(c.folder)[0]}`)
    const frame = page.frameLocator('iframe')
    await frame.getByRole('heading', { name: 'Order 7' }).waitFor()
    await shows('Not loaded here: images from https://elsewhere.example.')
    await frame.getByRole('button', { name: 'Press me' }).click()
    // Two frames later, everything that the click has caused has begun.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
    expect(await page.title()).toBe('Order 7 · svc dev')
    expect(page.url()).toContain('/mail/msg_')
    expect(caughtIds(c.folder)).toHaveLength(2)
    expect(requestsOf(page).filter((url) => url.includes('elsewhere'))).toEqual([])
    expect(page.frames().some((one) => one.url().includes('elsewhere'))).toBe(false)
  })

  test('a link in an email opens in a new tab without access to the console', async () => {
    await c.mail({ subject: 'Order 7', html: '<p><a href="https://elsewhere.example/more">More</a></p>' })
    await page
      .context()
      .route('https://elsewhere.example/**', (route) =>
        route.fulfill({ contentType: 'text/html', body: '<h1>Elsewhere</h1>' }),
      )
    await go(`/mail/${caughtIds(c.folder)[0]}`)
    const opened = page.context().waitForEvent('page')
    await page.frameLocator('iframe').getByRole('link', { name: 'More' }).click()
    const other = await opened
    await other.getByRole('heading', { name: 'Elsewhere' }).waitFor()
    expect(await other.evaluate('[String(opener), document.referrer]')).toEqual(['null', ''])
    await other.close()
  })

  test('the page updates without a reload: emails, calls, switches and the clock', async () => {
    await go('/')
    await shows('0 emails')
    await c.mail({ subject: 'First' })
    await shows('First')
    await c.mail({ subject: 'Second' })
    await shows('2 emails')
    expect(await subjects()).toEqual(['Second', 'First'])
    call(200, '/api/v1/contacts')
    await shows('/api/v1/contacts')
    removeCaught(c.folder, caughtIds(c.folder))
    await shows('0 emails')
    expect(await subjects()).toEqual([])
    setMode(c.folder, 'refuse', null)
    await shows('Email is refused')
    await c.t.advance(86_400_000)
    await shows('1 d ahead')
    await page.getByRole('button', { name: 'Reset' }).click()
    await shows('system time')
    expect(faultsOf(page)).toEqual([])
  })

  test('nothing moves while a row is open or an email is read; new rows are shown when asked for', async () => {
    call(200, '/api/v1/first')
    await c.mail({ subject: 'First' })
    await go('/')
    const opened = page.locator('summary', { hasText: '/api/v1/first' })
    await opened.click()
    const body = page.locator('details[open] pre').first()
    await body.waitFor()
    await page.mouse.move(0, 0)
    const before = await opened.boundingBox()
    await c.mail({ subject: 'Second' })
    const news = page.getByRole('button', { name: '1 new: show' })
    await news.waitFor()
    await shows('2 emails')
    expect(await opened.boundingBox()).toEqual(before)
    await news.press('Enter')
    await shows('Second')
    expect(await news.count()).toBe(0)
    expect(await page.evaluate('document.activeElement.textContent')).toContain('Second')
    expect(await body.isVisible()).toBe(true)

    await go(`/mail/${caughtIds(c.folder)[1]}`)
    await c.mail({ subject: 'Third' })
    await news.waitFor()
    expect(await subjects()).toEqual(['Second', 'First'])
    expect(await page.locator('[aria-current="true"] .subject').textContent()).toBe('Second')
    await news.click()
    await page.locator('#mails .subject', { hasText: 'Third' }).waitFor()
    expect(await page.locator('[aria-current="true"] .subject').textContent()).toBe('Second')

    // A pointer that rests on a list holds new rows until it leaves.
    await go('/mail')
    await page.locator('#mails').hover()
    await c.mail({ subject: 'Fourth' })
    await news.waitFor()
    await page.mouse.move(0, 0)
    await shows('Fourth')
    expect(await news.count()).toBe(0)
    expect(faultsOf(page)).toEqual([])
  })

  test('the view for phones is 375 px wide on every screen', async () => {
    await c.mail({ subject: 'Narrow', html: '<meta name="viewport" content="width=device-width"><p id="x">Hello</p>' })
    for (const width of [320, 1200]) {
      await page.setViewportSize({ width, height: 700 })
      await go(`/mail/${caughtIds(c.folder)[0]}?width=phone`)
      const frame = page.frameLocator('iframe').locator('html')
      expect((await frame.boundingBox())?.width).toBe(375)
    }
  })

  test('it works with only the keyboard: find and read an email, and clear all', async () => {
    await c.mail({ subject: 'Apples', html: '<p>Red</p>', text: 'Red' })
    await c.mail({ subject: 'Pears', text: 'Green' })
    await go('/mail')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Skip to content')
    await page.getByLabel('Search address').focus()
    await page.keyboard.type('apples')
    await page.keyboard.press('Enter')
    await shows('1 of 2 found')
    await page.locator('#mails a').focus()
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'Apples' }).waitFor()
    await page.getByRole('link', { name: 'Text', exact: true }).focus()
    await page.keyboard.press('Enter')
    await page.locator('article pre', { hasText: 'Red' }).waitFor()
    await go('/mail')
    const refuse = page.getByRole('button', { name: 'Refuse (5xx)' })
    await refuse.focus()
    await page.keyboard.press('Enter')
    await shows('Email is refused')
    expect(await refuse.getAttribute('aria-pressed')).toBe('true')
    await page.getByRole('button', { name: 'Clear all 2' }).focus()
    await page.keyboard.press('Enter')
    await shows('0 caught')
  })

  test('the key / goes to the search, and its help has searches to try, on every screen', async () => {
    call(404, '/api/v1/deals')
    await go('/calls')
    await page.keyboard.press('/')
    await page.keyboard.type('status:5xx')
    await page.keyboard.press('Enter')
    await shows('Nothing matches')
    await page.getByRole('button', { name: 'How to search' }).click()
    await expectGoodOnEveryScreen(page, 'console-search')
    await page.getByRole('link', { name: 'status:4xx' }).click()
    await shows('/api/v1/deals')
    expect(faultsOf(page)).toEqual([])
  })

  test('it works without scripts, including its forms', async () => {
    const plain = await openPage({ javaScriptEnabled: false })
    await plain.goto(`${c.console.url}/mail`)
    await c.mail({ subject: 'First', html: '<p>Hello</p>' })
    await plain.reload()
    await plain.getByText('First').click()
    await plain.frameLocator('iframe').getByText('Hello').waitFor()
    await plain
      .getByRole('link', { name: 'All email' })
      .or(plain.getByRole('link', { name: 'Email', exact: true }))
      .first()
      .click()
    await plain.getByRole('button', { name: 'Hang' }).click()
    await plain.getByText('Email is held without an answer').waitFor()
    await plain.getByRole('button', { name: 'Accept email again' }).click()
    await plain.getByRole('button', { name: '+ 1 hour' }).click()
    await plain.getByText('1 h ahead').waitFor()
    await plain.getByRole('button', { name: 'Reset' }).click()
    await plain.getByText('system time').waitFor()
    expect(await plain.getByRole('button', { name: 'Pause' }).count()).toBe(0)
    await plain.close()
  })
})
