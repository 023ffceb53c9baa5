import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { AxeResults } from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { describe, expect } from 'vitest'
import { endWithWorker } from './children.ts'
import { needs } from './needs.ts'
import { atEnd } from './scope.ts'
import { executablePath, launchOptions, type Screen, screens } from './screens.ts'
import { waitLimitMs } from './slowness.ts'

interface Watch {
  /** Errors of the page, dialogs, and requests that its policy blocked. */
  faults: string[]
  /** The address of every request, including that of the page itself. */
  requests: string[]
}

const watches = new WeakMap<Page, Watch>()

const watchOf = (page: Page): Watch => {
  const watch = watches.get(page)
  if (!watch) throw new Error('openPage of test/support/pages.ts opens pages that can be asked for what they did')
  return watch
}

/** Returns the errors of a page since it was opened. */
export const faultsOf = (page: Page): string[] => watchOf(page).faults

/** Returns the requests of a page since it was opened. */
export const requestsOf = (page: Page): string[] => watchOf(page).requests

const launch = async (): Promise<Browser> => {
  // It would keep the worker from ending at a signal.
  const signals = { handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false }
  const browser = await chromium.launch({ executablePath, ...launchOptions, ...signals })
  const session = await browser.newBrowserCDPSession()
  const { processInfo } = await session.send('SystemInfo.getProcessInfo')
  endWithWorker(processInfo.find(({ type }) => type === 'browser')!.id)
  return browser
}

/** All files of a worker use one browser: a start takes 0.4 s of CPU time. */
let browser: Promise<Browser> | undefined

export type OpenPage = (options?: BrowserContextOptions) => Promise<Page>

/**
 * Tests that need a real Chromium. `openPage` opens a page in its own context, watched from its first request. The page is closed
 * after the test, or after the file if a hook of the file opens it.
 */
export const describePages = (what: string, tests: (openPage: OpenPage) => void): void => {
  describe(what, needs('chromium-headless-shell', existsSync(executablePath)), () => {
    tests(async (options) => {
      browser ??= launch()
      const page = await (await browser).newPage({ locale: 'en-GB', ...options })
      atEnd(() => page.close())
      page.setDefaultTimeout(waitLimitMs)
      const watch: Watch = { faults: [], requests: [] }
      watches.set(page, watch)
      page.on('console', (message) => {
        if (message.type() === 'error') watch.faults.push(message.text())
      })
      page.on('pageerror', (error) => watch.faults.push(error.message))
      page.on('dialog', (dialog) => {
        watch.faults.push(dialog.message())
        return dialog.dismiss()
      })
      page.on('request', (request) => watch.requests.push(request.url()))
      // A request that the page's policy blocked was never sent.
      page.on('requestfailed', (request) => {
        if (request.failure()?.errorText !== 'csp') return
        watch.requests.splice(watch.requests.lastIndexOf(request.url()), 1)
      })
      return page
    })
  })
}

// Less than half of the source that axe-core exports, which is not minified. Each document parses it.
const axe = readFileSync(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** axe-core's rules about colors (its category cat.color). */
const colorRules = ['color-contrast', 'link-in-text-block']

interface Scope {
  /** Rules of axe-core that the page may violate. */
  except?: readonly string[]
  /** Selects the part of the page that is checked. The whole of /docs takes axe-core 12 s of CPU time on all screens. */
  within?: string
}

/**
 * Expects axe-core to find no violation in the current page (docs/reference/pages.md#pages); with `only`, none of these rules.
 */
export const expectAccessible = async (
  page: Page,
  { except = [], within }: Scope = {},
  only?: readonly string[],
): Promise<void> => {
  // Evaluated by the browser's developer tools, which a page's policy does not restrict; once for a page on several screens.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(`${axe}\n;0`)
  // axe-core needs more time to describe passed checks than to find violations.
  const rules = Object.fromEntries(except.map((id) => [id, { enabled: false }]))
  const runOnly = only?.filter((id) => !except.includes(id))
  const options = { iframes: false, resultTypes: ['violations'], rules, ...(runOnly && { runOnly }) }
  const context = within ? JSON.stringify(within) : 'document'
  const { violations } = await page.evaluate<AxeResults>(`axe.run(${context}, ${JSON.stringify(options)})`)
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`)
  expect(found).toEqual([])
}

/** Expects every request of the page since it was opened to be for `origin` or for data in the page itself. */
export const expectNothingFromElsewhere = (page: Page, origin: string): void => {
  const asked = requestsOf(page)
  expect(asked.length).toBeGreaterThan(0)
  expect(asked.filter((url) => new URL(url).origin !== new URL(origin).origin && !/^(data|about):/.test(url))).toEqual(
    [],
  )
}

/** Expects the page not to be wider than its screen. */
export const expectNoSidewaysScroll = async (page: Page): Promise<void> => {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}

/** Expects the page to print in the same colours whatever the reader's scheme is, without an axe-core violation of colors. */
const expectGoodOnPaper = async (page: Page, scope: Scope): Promise<void> => {
  const colorsOf = async (colorScheme: 'light' | 'dark') => {
    await page.emulateMedia({ media: 'print', colorScheme })
    const elements = "['body', 'main', 'h1', 'p'].map((name) => document.querySelector(name)).filter(Boolean)"
    return await page.evaluate<string[]>(
      `${elements}.map((one) => getComputedStyle(one)).map(({ color, backgroundColor }) => color + ' on ' + backgroundColor)`,
    )
  }
  const light = await colorsOf('light')
  expect(await colorsOf('dark')).toEqual(light)
  await expectAccessible(page, scope, colorRules)
  await page.emulateMedia({ media: null, colorScheme: null })
}

/** Leaves out the rules that an email can't meet: mail programs show it inside their own page. */
export const emailScope: Scope = { except: ['landmark-one-main', 'region'] }

interface Repeats {
  /** Selects parts that repeat others. Their colors are checked on the first screen only: the parts are removed after the other rules. */
  repeats?: string
}

/**
 * Expects the page to fit every screen without an axe-core violation, and to be legible on paper. If the environment variable
 * SCREENSHOTS names a folder, saves screenshots there as `<name>-<width>-<light|dark>.png`.
 */
export const expectGoodOnEveryScreen = async (
  page: Page,
  name: string,
  { repeats, ...scope }: Scope & Repeats = {},
): Promise<void> => {
  const show = async ({ width, colorScheme }: Screen) => {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
  }
  const look = async (screen: Screen) => {
    await show(screen)
    const folder = process.env.SCREENSHOTS
    const file = `${name}-${screen.width}-${screen.colorScheme}.png`
    if (folder) await page.screenshot({ path: `${folder}/${file}`, fullPage: true })
    await expectNoSidewaysScroll(page)
  }
  const [light, dark] = (['light', 'dark'] as const).map((scheme) =>
    screens.filter(({ colorScheme }) => colorScheme === scheme),
  ) as [Screen[], Screen[]]
  const [first, ...others] = light as [Screen, ...Screen[]]
  await look(first)
  await expectAccessible(page, scope)
  for (const screen of others) {
    await look(screen)
    await expectAccessible(page, repeats ? { ...scope, except: [...(scope.except ?? []), ...colorRules] } : scope)
  }
  if (repeats) {
    for (const screen of dark) await look(screen)
    await page.locator(repeats).evaluateAll((elements) => {
      for (const element of elements) element.remove()
    })
  }
  // Between light and dark only colors differ.
  for (const screen of repeats ? [...others, ...dark] : dark) {
    await (repeats ? show : look)(screen)
    await expectAccessible(page, scope, colorRules)
  }
  // Emails are documents without an address.
  if (page.url().startsWith('http')) await expectGoodOnPaper(page, scope)
}
