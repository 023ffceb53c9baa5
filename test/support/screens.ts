import { existsSync } from 'node:fs'

/** Chromium without its window, tabs and menus: the tests of pages take half of the CPU time that they take with `chromium`. */
const shell = '/usr/bin/chromium-headless-shell'

/** The path of the Chromium of the tests. */
export const executablePath = process.env.CHROMIUM ?? (existsSync(shell) ? shell : '/usr/bin/chromium')

export const launchOptions = {
  args: [
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-gpu',
    '--no-first-run',
    // Pages see a browser that a person uses: a test says if its page is to see a program (Emulation.setAutomationOverride).
    '--disable-blink-features=AutomationControlled',
    // Chromium's sandbox does not work for root or in a container without user namespaces.
    '--no-sandbox',
  ],
}

export type Screen = (typeof screens)[number]

/** The screens that every page must support. */
export const screens = [320, 1200].flatMap((width) =>
  (['light', 'dark'] as const).map((colorScheme) => ({ width, colorScheme })),
)
