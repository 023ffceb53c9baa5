import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { type EngagedAccount, type EngagedApp, engagedAccount, startEngaged } from '../support/engagement.ts'
import {
  describePages,
  expectGoodOnEveryScreen,
  expectNothingFromElsewhere,
  faultsOf,
  type OpenPage,
} from '../support/pages.ts'

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

let engaged: EngagedApp
let t: TestApp
let origin: string
let account: EngagedAccount
let page: Page
/** The email that `view` sent last. */
let sentId: string

const view = async (query = ''): Promise<string> => {
  const body = { to: 'ada@people.example', projectId: account.projectId, mergeData: { name: 'Ada' } }
  const { body: sent } = await ok(t.request('POST', '/send', { key: account.key, body }))
  sentId = sent.id
  return `${origin}/v/${t.app.tokens.sign('liveview', [account.id, sent.id], null)}${query}`
}
const interactions = async () =>
  (await t.events(account.id, 'interaction.received')).map(({ data }) => data.interaction)

/** The user agent of a person's browser: that of a headless one is on the list of bots. */
const userAgent =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/140.0.0.0 Safari/537.36'
const linked = '?block=colour&value=Blue#colour'
const blueVote = [{ kind: 'vote', blockId: 'colour', value: 'Blue' }]
const answers = async () => (await interactions()).filter(({ kind }) => kind !== 'click')

const vote = async () => {
  await page.goto(await view(linked))
  expect(await page.getByText('You chose Blue').isVisible()).toBe(true)
  expect(await answers()).toEqual([])
  await page.getByRole('button', { name: 'Blue' }).click()
  await page.getByText('You can still change it').first().waitFor()
  expect(await answers()).toMatchObject(blueVote)
}

const fillForm = async () => {
  await page.getByLabel('Company').fill('Acme')
  await page.getByLabel('Team size').selectOption('2 to 10')
  await page.getByRole('button', { name: 'Send' }).click()
  await page.getByText('Thank you, we have your answers.').waitFor()
  expect((await answers()).map(({ kind }) => kind).sort()).toEqual(['form', 'vote'])
}

describePages('a live view', (openPage: OpenPage) => {
  beforeAll(async () => {
    const port = await freePort()
    origin = `http://127.0.0.1:${port}`
    engaged = await startEngaged({ env: { SVC_PUBLIC_URL: origin } })
    t = engaged.t
    await t.server.fastify.listen({ port, host: '127.0.0.1' })
  })
  beforeEach(async () => {
    account = await engagedAccount(t)
  })
  afterEach(() => page?.close())
  afterAll(() => engaged?.close())

  test('arrows move between options, and the letter of one answers while an option has the focus', async () => {
    page = await openPage()
    await page.goto(await view('?block=colour'))
    await page.keyboard.press('c')
    await page.locator('#colour .option').first().focus()
    const focused = () => page.evaluate<string>('document.activeElement.value')
    const first = await focused()
    await page.keyboard.press('ArrowDown')
    const second = await focused()
    await page.keyboard.press('ArrowUp')
    expect([await focused(), second === first]).toEqual([first, false])
    expect(await answers()).toEqual([])
    await page.keyboard.press('b')
    await page.getByText(`Your answer is saved: ${second}`).waitFor()
    expect((await answers()).map(({ value }) => value)).toEqual([second])
  })

  test('a link in the email answers at once for a person, above the email, and a reload does not answer again', async () => {
    page = await openPage({ userAgent })
    await page.goto(await view(linked))
    await page.getByText('Your answer is saved: Blue').waitFor()
    expect(await answers()).toMatchObject(blueVote)
    expect(new URL(page.url()).search).toBe('?block=colour')
    expect(await page.locator('main > section').first().getAttribute('id')).toBe('colour')
    expect(await page.locator('#colour').count()).toBe(1)
    await expectGoodOnEveryScreen(page, 'vote-answered')
    await page.getByRole('button', { name: 'White' }).click()
    await page.getByText('Your answer is saved: White').waitFor()
    await page.reload()
    await page.getByText('Your answer is saved: White').waitFor()
    expect((await answers()).map(({ value }) => value).sort()).toEqual(['Blue', 'White'])
    expect(faultsOf(page)).toEqual([])
  })

  test('another link in the email changes the answer at once; a quiz says that an answer is wrong', async () => {
    page = await openPage({ userAgent })
    const url = await view()
    await page.goto(`${url}${linked}`)
    await page.getByText('Your answer is saved: Blue').waitFor()
    await page.goto(`${url}?block=colour&value=Red#colour`)
    await page.getByText('Your answer is saved: Red').waitFor()
    await page.goto(`${url}?block=knots&value=3.6+km%2Fh#knots`)
    const verdict = page.getByRole('status').filter({ hasText: 'Not quite.' })
    await verdict.waitFor()
    const ground = (status: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('${status}')).backgroundColor`)
    expect(await ground('#knots .notice')).not.toBe(await ground('#colour .notice'))
    expect(await page.getByRole('listitem').filter({ hasText: 'Right answer' }).textContent()).toContain('1.852 km/h')
    await expectGoodOnEveryScreen(page, 'quiz-wrong')
    await page.goto(await view('?block=knots'))
    await page.getByRole('button', { name: '1.852 km/h' }).click()
    await page.getByRole('status').filter({ hasText: 'Right!' }).waitFor()
    await expectGoodOnEveryScreen(page, 'quiz-right')
  })

  const open = async (prepare: () => Promise<unknown> = async () => undefined, options: object = { userAgent }) => {
    page = await openPage(options)
    await prepare()
    await page.goto(await view(linked))
  }
  // Playwright focuses every page that it opens.
  const unfocused = () => page.addInitScript('document.hasFocus = () => window.hasIt === true')
  /** The page has run its script, and the server has seen a later request of it. */
  const expectNoAnswer = async () => {
    await page.evaluate(`fetch('/v/x')`)
    expect(await page.getByText('You chose Blue').isVisible()).toBe(true)
    expect(await answers()).toEqual([])
  }

  test('a scanner that only fetches the page of an answer records none', async () => {
    for (const method of ['GET', 'HEAD'])
      await fetch(await view('?block=colour&value=Blue'), { method, headers: { 'user-agent': userAgent } })
    expect(await answers()).toEqual([])
  })

  test('a scanner that runs scripts in a page without the focus records none; the button answers', async () => {
    await open(unfocused)
    await expectNoAnswer()
    await page.getByRole('button', { name: 'Blue' }).click()
    await page.getByText('Your answer is saved: Blue').waitFor()
    expect(await answers()).toMatchObject(blueVote)
  })

  test('a page that gets the focus later answers then', async () => {
    await open(unfocused)
    await expectNoAnswer()
    await page.evaluate(`window.hasIt = true; dispatchEvent(new Event('focus'))`)
    await page.getByText('Your answer is saved: Blue').waitFor()
  })

  test('a scanner with a browser in the foreground that followed the invisible link before records none', async () => {
    const url = await view(linked)
    const honeypot = t.app.tokens.sign('honeypot', [account.id, sentId], null)
    await fetch(`${origin}/t/h/${honeypot}`, { headers: { 'user-agent': userAgent } })
    page = await openPage({ userAgent })
    await page.goto(url)
    await expectNoAnswer()
  })

  test('a browser that a program drives records none, nor does one that says so', async () => {
    await open(async () =>
      (await page.context().newCDPSession(page)).send('Emulation.setAutomationOverride', { enabled: true }),
    )
    expect(await page.evaluate('[document.hasFocus(), navigator.webdriver]')).toEqual([true, true])
    await expectNoAnswer()
    await page.close()
    await open(undefined, {})
    expect(await page.evaluate('[document.hasFocus(), navigator.webdriver]')).toEqual([true, false])
    await expectNoAnswer()
  })

  test('a click answers in place, and a form can be submitted', async () => {
    page = await openPage()
    await vote()
    await fillForm()
    expect(new URL(page.url()).search).toBe('?block=colour')
    expectNothingFromElsewhere(page, origin)
    expect(faultsOf(page)).toEqual([])
  })

  test('chosen, answered and focused options look different and have different accessible states', async () => {
    page = await openPage()
    await page.goto(await view('?block=colour&value=Blue#colour'))
    const look = (name: string) =>
      page.evaluate<{ ground: string; shadow: string; pressed: string }>(`(() => {
        const one = [...document.querySelectorAll('#colour button')].find((button) => button.value === '${name}')
        const { backgroundColor: ground, boxShadow: shadow } = getComputedStyle(one)
        return { ground, shadow, pressed: one.getAttribute('aria-pressed') }
      })()`)
    const [chosen, other] = [await look('Blue'), await look('White')]
    expect([chosen.pressed, other.pressed]).toEqual(['false', 'false'])
    expect(chosen.shadow).not.toBe(other.shadow)
    await page.getByRole('button', { name: 'Blue' }).click()
    await page.getByRole('status').getByText('Thank you').waitFor()
    const given = await look('Blue')
    expect(given.pressed).toBe('true')
    expect(given.ground).not.toBe(other.ground)
    expect((await look('White')).pressed).toBe('false')
  })

  test('skipped heading levels of an author are closed, and their colours are adapted to dark mode', async () => {
    const heading = (id: string, level: number) => ({ id, type: 'heading', props: { text: `Heading ${id}`, level } })
    const boxed = { id: 'box', type: 'section', props: { background: '#fef3c7' }, children: [heading('c', 2)] }
    account = await engagedAccount(t, {
      name: 'Skip',
      lang: 'de',
      blocks: [heading('a', 1), heading('b', 3), boxed, heading('d', 3)],
    })
    page = await openPage()
    await page.goto(await view())
    await expectGoodOnEveryScreen(page, 'headings')
    const levels = "[...document.querySelectorAll('h1, h2, h3, h4')].map((one) => one.tagName)"
    expect(await page.evaluate(levels)).toEqual(['H1', 'H2', 'H3', 'H3', 'H4'])
    expect(await page.locator('html').getAttribute('lang')).toBe('de')
    const ground = () => page.evaluate<string>('getComputedStyle(document.body).backgroundColor')
    await page.emulateMedia({ colorScheme: 'light' })
    const light = await ground()
    await page.emulateMedia({ colorScheme: 'dark' })
    expect([light, await ground()]).toEqual([
      'rgb(255, 255, 255)',
      expect.stringMatching(/^rgb\(2?\d, [23]?\d, [23]?\d\)$/),
    ])
  })

  test('a block of HTML keeps its styles and its own colours in dark mode, and loads nothing', async () => {
    const html =
      '<h2 style="color:#7c2d12;margin:0">Prices</h2><table role="presentation" width="600" cellpadding="8" style="border-collapse:collapse"><tr><td style="border:1px solid #ccc">Front</td><td align="right">5 €</td></tr></table><p>Hello {{ name }} <a href="https://x.example/">here</a></p><img src="https://x.example/a.png" alt="A harbour" onerror="alert(1)"><script>alert(1)</script>'
    const box = {
      id: 'box',
      type: 'section',
      props: { background: '#fef3c7' },
      children: [{ id: 'in', type: 'html', props: { html } }],
    }
    account = await engagedAccount(t, { name: 'Html', blocks: [{ id: 'h', type: 'html', props: { html } }, box] })
    page = await openPage()
    await page.goto(await view())
    await expectGoodOnEveryScreen(page, 'liveview-html')
    await page.emulateMedia({ colorScheme: 'dark' })
    const looks = (id: string, property: string) =>
      page.evaluate<string>(`getComputedStyle(document.querySelector('.html-${id}')).${property}`)
    expect([await looks('h', 'backgroundColor'), await looks('in', 'backgroundColor')]).toEqual([
      'rgb(255, 255, 255)',
      'rgb(254, 243, 199)',
    ])
    expect(await page.evaluate(`getComputedStyle(document.querySelector('.html-h h2')).color`)).toBe('rgb(124, 45, 18)')
    expect(await page.getByText('A harbour').first().isVisible()).toBe(true)
    expectNothingFromElsewhere(page, origin)
    expect(faultsOf(page)).toEqual([])
  })

  test('it does the same without scripts', async () => {
    page = await openPage({ javaScriptEnabled: false })
    await vote()
    await fillForm()
    expect(new URL(page.url()).search).toBe('?block=colour')
  })

  test('if the script can’t post, the form is submitted with the pressed button', async () => {
    page = await openPage()
    await page.route('**/v/**', (route) =>
      route.request().resourceType() === 'fetch' ? route.abort() : route.continue(),
    )
    await page.goto(await view())
    await page.getByRole('button', { name: 'Blue' }).click()
    await page.getByText('You can still change it').first().waitFor()
    expect(await interactions()).toMatchObject([{ kind: 'vote', blockId: 'colour', value: 'Blue' }])
  })

  test.each([true, false])(
    'a refused form keeps what was typed, and an option with two blanks is chosen; scripts: %s',
    async (javaScriptEnabled) => {
      const fields = [
        { name: 'n', label: 'Full name', type: 'text' },
        { name: 'size', label: 'Size', type: 'select', options: ['Small', 'Very  large'] },
        { name: 'age', label: 'Your age', type: 'text', required: true },
        { name: 'mail', label: 'Work email', type: 'email' },
      ]
      account = await engagedAccount(t, {
        name: 'Form',
        blocks: [{ id: 'f', type: 'form', props: { title: 'You', fields } }],
      })
      page = await openPage({ javaScriptEnabled })
      await page.goto(await view())
      await page.getByLabel('Full name').fill('Ada')
      await page.getByLabel('Size').selectOption('Very  large')
      // Input that the browser accepts and the server refuses.
      await page.getByLabel('Your age').fill(' ')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByRole('alert').getByText('Your age is required').waitFor()
      expect(await page.getByLabel('Full name').inputValue()).toBe('Ada')
      expect(await page.getByLabel('Size').inputValue()).toBe('Very  large')
      await page.getByLabel('Your age').fill('36')
      await page.getByRole('button', { name: 'Send' }).click()
      await page.getByText('Thank you, we have your answers.').waitFor()
      expect(await interactions()).toMatchObject([{ value: { n: 'Ada', size: 'Very  large', age: '36' } }])
    },
  )

  test.each([true, false])(
    'who answers sees how many questions are left, and the way to the next; scripts: %s',
    async (javaScriptEnabled) => {
      page = await openPage({ javaScriptEnabled })
      await page.goto(await view())
      const questions = page.getByRole('navigation', { name: 'Questions' })
      expect(await questions.count()).toBe(0)
      await page.getByRole('button', { name: 'White' }).click()
      await questions.getByText(/^1 of \d answered$/).waitFor()
      const all = Number(await page.getByRole('progressbar').getAttribute('max'))
      expect(await page.getByRole('progressbar').getAttribute('value')).toBe('1')
      await questions.getByRole('link', { name: 'Next question' }).click()
      await page.getByRole('button', { name: '3.6 km/h' }).click()
      await questions.getByText(`2 of ${all} answered`).waitFor()
    },
  )

  test('it is accessible and fits every screen, before and after an answer', async () => {
    page = await openPage()
    await page.goto(await view())
    await expectGoodOnEveryScreen(page, 'liveview')
    await page.getByRole('button', { name: 'White' }).click()
    await page.getByRole('button', { name: '3.6 km/h' }).click()
    await page.getByText('Not quite.').waitFor()
    await expectGoodOnEveryScreen(page, 'liveview-answered')
    expectNothingFromElsewhere(page, origin)
  })
})
