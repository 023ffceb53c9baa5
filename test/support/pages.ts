import { existsSync } from 'node:fs'
import axe from 'axe-core'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'
import { afterAll, beforeAll, describe, expect } from 'vitest'

const executablePath = process.env.CHROMIUM ?? '/usr/bin/chromium'
const isInstalled = existsSync(executablePath)
const skipped = `skipped: there is no Chromium at ${executablePath}; CHROMIUM may name another`

/** The screens that every page has to be good on. */
export const screens = [320, 1200].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)

interface Watch {
  /** Errors of the page, dialogs, and what its policy refused. */
  faults: string[]
  /** The address of everything that it asked for, itself included. */
  requests: string[]
}

const watches = new WeakMap<Page, Watch>()

const watchOf = (page: Page): Watch => {
  const watch = watches.get(page)
  if (!watch) throw new Error('openPage of test/support/pages.ts opens pages that can be asked for what they did')
  return watch
}

/** What went wrong in a page since it was opened. */
export const faultsOf = (page: Page): string[] => watchOf(page).faults

/** What a page asked for since it was opened. */
export const requestsOf = (page: Page): string[] => watchOf(page).requests

export type OpenPage = (options?: BrowserContextOptions) => Promise<Page>

/**
 * Tests that need a real Chromium; where there is none they are skipped, and their title says so. `openPage` opens a page
 * in a context of its own, watched from its first request on.
 */
export const describePages = (what: string, tests: (openPage: OpenPage) => void): void => {
  describe.skipIf(!isInstalled)(isInstalled ? what : `${what} (${skipped})`, () => {
    let browser: Browser
    beforeAll(async () => {
      const quiet = [
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
        '--disable-gpu',
        '--no-first-run',
      ]
      const asRoot = process.getuid?.() === 0 ? ['--no-sandbox'] : []
      browser = await chromium.launch({ executablePath, args: [...quiet, ...asRoot] })
    })
    afterAll(() => browser?.close())

    tests(async (options) => {
      const page = await browser.newPage(options)
      page.setDefaultTimeout(10_000)
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
      // What the page's policy held back was never asked for.
      page.on('requestfailed', (request) => {
        if (request.failure()?.errorText !== 'csp') return
        watch.requests.splice(watch.requests.lastIndexOf(request.url()), 1)
      })
      return page
    })
  })
}

/** axe-core finds no violation in the page as it stands (decisions.md, Public pages and forms). */
export const expectAccessible = async (page: Page): Promise<void> => {
  // Evaluated by the browser's own tools, which a page's policy does not bind; once for a page on several screens.
  if (!(await page.evaluate('"axe" in window'))) await page.evaluate(`${axe.source}\n;0`)
  // To describe what passes takes axe-core longer than to find what does not.
  const options = { iframes: false, resultTypes: ['violations'] }
  const { violations } = await page.evaluate<axe.AxeResults>(`axe.run(document, ${JSON.stringify(options)})`)
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes.map(({ html }) => html).join(' ')}`)
  expect(found).toEqual([])
}

/** Everything that the page has asked for since it was opened came from `origin`, or stood in the page itself. */
export const expectNothingFromElsewhere = (page: Page, origin: string): void => {
  const asked = requestsOf(page)
  expect(asked.length).toBeGreaterThan(0)
  expect(asked.filter((url) => new URL(url).origin !== new URL(origin).origin && !/^(data|about):/.test(url))).toEqual(
    [],
  )
}

/** The page is not wider than its screen. */
export const expectNoSidewaysScroll = async (page: Page): Promise<void> => {
  expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBeLessThanOrEqual(0)
}

/**
 * The page fits every screen and axe-core finds no violation on any. With the environment variable SCREENSHOTS, a folder,
 * it is pictured there as `<name>-<width>-<light|dark>.png`.
 */
export const expectGoodOnEveryScreen = async (page: Page, name: string): Promise<void> => {
  for (const { width, colorScheme } of screens) {
    await page.setViewportSize({ width, height: 900 })
    await page.emulateMedia({ colorScheme })
    const folder = process.env.SCREENSHOTS
    if (folder) await page.screenshot({ path: `${folder}/${name}-${width}-${colorScheme}.png`, fullPage: true })
    await expectNoSidewaysScroll(page)
    await expectAccessible(page)
  }
}
