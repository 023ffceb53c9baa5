import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { bookingMails, bookingProject, bookingsOf, cancelPath, monday } from '../bookings/support.ts'
import type { TestApp } from '../support/app.ts'
import {
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
  startEngaged,
} from '../support/engagement.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'

const always = [1, 2, 3, 4, 5, 6, 7].map((day) => ({ day, from: '00:00', to: '23:59' }))

describePages('bookings', (openPage) => {
  let engaged: EngagedApp
  let t: TestApp
  let account: EngagedAccount
  let origin: string
  let now = monday

  beforeAll(async () => {
    // In the morning: late in the evening the first day has too few times.
    engaged = await startEngaged({ now: () => new Date(now) })
    t = engaged.t
    await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    origin = `http://127.0.0.1:${(t.server.fastify.server.address() as AddressInfo).port}`
    account = await engagedAccount(t, bookingProject({ availability: always }))
  })
  afterAll(() => engaged.close())

  const ownOf = async (to: string) => (await bookingsOf(t, account.id)).filter(({ email }) => email === to)
  const day = (page: Page, name: string) => page.getByRole('button', { name: new RegExp(`^${name}, \\d+ times?$`) })
  const time = (page: Page, name: string) => page.getByRole('radio', { name, exact: true })

  test.each([true, false])('a time is booked, moved and cancelled; scripts: %s', async (javaScriptEnabled) => {
    const to = `js-${javaScriptEnabled}@people.example`
    const mail = await sendProject(t, engaged.sink, account, { to })
    const page = await openPage({
      javaScriptEnabled,
      viewport: { width: 320, height: 800 },
      timezoneId: 'Europe/Berlin',
    })
    /** Picks a time of Wednesday or of Monday, the first day. */
    const pick = async (isFirst: boolean) => {
      const name = isFirst ? '11:00' : '09:30'
      if (javaScriptEnabled) {
        if (!isFirst) await day(page, 'Wednesday, 25 November 2026').click()
        return time(page, name).check()
      }
      if (!isFirst) await page.locator('.days summary').nth(2).click()
      return page
        .locator('.days details')
        .nth(isFirst ? 0 : 2)
        .getByRole('radio', { name })
        .check()
    }
    await page.goto(`${origin}${mail.view}`)
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booking')
    await pick(false)
    if (javaScriptEnabled) {
      await expectGoodOnEveryScreen(page, 'booking-chosen')
      expect(await page.getByRole('status').textContent()).toBe(
        'Wednesday, 25 November 202609:30–10:00 (Europe/Berlin)',
      )
    }
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Book', exact: true }).click()
    await page.getByRole('heading', { name: 'You are booked' }).waitFor()
    const [booking] = await ownOf(to)
    expect([booking!.status, booking!.name, booking!.startAt]).toEqual([
      'confirmed',
      'Ada',
      new Date('2026-11-25T08:30Z'),
    ])
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booked')
    await page.getByRole('link', { name: 'Choose another time' }).click()
    await pick(true)
    await page.getByRole('button', { name: 'Move my booking' }).click()
    await page.getByRole('heading', { name: 'You are booked' }).waitFor()
    expect((await ownOf(to))[0]!.startAt).toEqual(new Date('2026-11-23T10:00Z'))
    const [told] = (await bookingMails(t, account.id)).filter((one) => one.to === to)
    await page.goto(`${origin}${cancelPath(told!)}`)
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booking-cancel')
    await page.getByLabel(/^Reason/).fill('I am ill')
    await page.getByRole('button', { name: 'Cancel the booking' }).click()
    await page.getByRole('heading', { name: 'Your booking is cancelled' }).waitFor()
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booking-cancelled')
    expect((await ownOf(to)).map(({ status }) => status)).toEqual(['cancelled'])
    // Browsers request /favicon.ico.
    expect(faultsOf(page).filter((fault) => !fault.includes('404 (Not Found)'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
    await page.close()
  })

  /** The page of a block whose free times are those of a project, opened in a time zone. */
  const open = async (props: object, timezoneId: string) => {
    account = await engagedAccount(t, bookingProject({ availability: always, ...props }))
    const mail = await sendProject(t, engaged.sink, account)
    const page = await openPage({ timezoneId })
    await page.goto(`${origin}${mail.view}`)
    return page
  }
  const clocks = async (page: Page) => (await page.locator('.times label').allTextContents()).map((text) => text.trim())

  test('the keyboard chooses a day and turns the months; other days and months cannot be chosen', async () => {
    const page = await open({ days: 60, durationMinutes: 240 }, 'Europe/Berlin')
    const month = page.getByRole('heading', { level: 3 }).first()
    expect(await month.textContent()).toBe('November 2026')
    const focused = () => page.evaluate<string>('document.activeElement.dataset.day')
    await page.locator('[data-day][tabindex="0"]').focus()
    expect(await focused()).toBe('2026-11-23')
    const moves = [
      ...[
        ['ArrowRight', '2026-11-24'],
        ['ArrowDown', '2026-12-01'],
        ['ArrowUp', '2026-11-24'],
        ['End', '2026-11-30'],
      ],
      ...[
        ['Home', '2026-11-23'],
        ['ArrowLeft', '2026-11-23'],
        ['PageDown', '2026-12-01'],
        ['PageDown', '2027-01-01'],
      ],
    ]
    for (const [key, day] of moves) {
      await page.keyboard.press(key!)
      expect([key, await focused()]).toEqual([key, day])
    }
    expect(await month.textContent()).toBe('January 2027')
    await page.keyboard.press('Enter')
    const chosen = page.getByRole('heading', { name: 'Fri 1 Jan' })
    await chosen.waitFor()
    for (const width of [320, 1200]) {
      await page.setViewportSize({ width, height: 900 })
      // A line is 24 px high.
      expect((await chosen.boundingBox())!.height).toBeLessThan(30)
    }
    expect(await focused()).toBe('2027-01-01')
    const turn = (name: string) => page.getByRole('button', { name })
    expect(await turn('Next month').getAttribute('aria-disabled')).toBe('true')
    await turn('Previous month').click()
    await turn('Previous month').click()
    expect(await month.textContent()).toBe('November 2026')
    expect(await turn('Previous month').getAttribute('aria-disabled')).toBe('true')
    expect(await page.getByRole('button', { name: '22', exact: true }).isDisabled()).toBe(true)
    // One day of the grid is a stop of the Tab key.
    expect(await page.locator('[data-day][tabindex="0"]').count()).toBe(1)
    await page.getByRole('radiogroup').getByRole('radio').first().focus()
    await page.keyboard.press('Space')
    await page.getByRole('button', { name: 'Book', exact: true }).waitFor()
  })

  test('times are in the visitor’s zone, by a switch in the host’s, also where the clocks change on different days', async () => {
    const availability = always.map(({ day }) => ({ day, from: '09:00', to: '10:00' }))
    now = Date.parse('2026-10-23T06:00Z')
    // Berlin sets its clocks back on 25 October, New York on 1 November.
    const page = await open({ availability, days: 14, durationMinutes: 60 }, 'America/New_York')
    const shown = async (name: string) => {
      await day(page, name).click()
      return clocks(page)
    }
    expect(await shown('Saturday, 24 October 2026')).toEqual(['03:00'])
    expect(await shown('Monday, 26 October 2026')).toEqual(['04:00'])
    await page.getByRole('button', { name: 'Next month' }).click()
    expect(await shown('Monday, 2 November 2026')).toEqual(['03:00'])
    await time(page, '03:00').check()
    const another = page.getByLabel('Another time zone')
    await another.selectOption('Asia/Tokyo')
    expect(await clocks(page)).toEqual(['17:00'])
    expect(await page.getByRole('button', { name: /^(Your|Host’s) time/, pressed: true }).count()).toBe(0)
    await page.getByRole('button', { name: /^Host’s time/ }).click()
    expect(await another.inputValue()).toBe('')
    expect(await clocks(page)).toEqual(['09:00'])
    expect(await time(page, '09:00').isChecked()).toBe(true)
    expect(await page.getByRole('status').textContent()).toContain('09:00–10:00 (Europe/Berlin)')
    await page.getByRole('button', { name: 'Book', exact: true }).click()
    await page.getByText('In your time zone').waitFor()
    expect(await page.locator('#when').textContent()).toContain('(America/New York)')
    expect((await bookingsOf(t, account.id))[0]!.startAt).toEqual(new Date('2026-11-02T08:00Z'))
  })

  test('today is marked, and times have 12 hours where the visitor’s language writes them so', async () => {
    now = monday
    account = await engagedAccount(t, bookingProject({ availability: always, days: 60 }))
    const mail = await sendProject(t, engaged.sink, account)
    const page = await openPage({ timezoneId: 'Europe/Berlin', locale: 'en-US' })
    await page.goto(`${origin}${mail.view}`)
    const today = page.locator('[aria-current=date]')
    expect(await today.textContent()).toBe('23')
    expect(await clocks(page)).toContain('2:30 pm')
    await time(page, '2:30 pm').check()
    expect(await page.getByRole('status').textContent()).toContain('2:30 pm–3:00 pm (Europe/Berlin)')
    await page.getByRole('button', { name: 'Next month' }).click()
    expect(await today.count()).toBe(0)
  })

  test('a switch shows times with 12 or 24 hours, moves nothing, and holds for the pages after it', async () => {
    now = monday
    const page = await open({ days: 2 }, 'Europe/Berlin')
    const clock = (name: string) => page.getByRole('button', { name, exact: true })
    expect(await clocks(page)).toContain('14:30')
    await time(page, '14:30').check()
    const before = await page.locator('.panes').boundingBox()
    await clock('12h').click()
    expect([await clock('12h').getAttribute('aria-pressed'), await clock('24h').getAttribute('aria-pressed')]).toEqual([
      'true',
      'false',
    ])
    expect(await page.locator('.panes').boundingBox()).toEqual(before)
    expect(await time(page, '2:30 pm').isChecked()).toBe(true)
    expect(await page.getByRole('status').textContent()).toContain('2:30 pm–3:00 pm')
    await page.reload()
    expect(await clocks(page)).toContain('2:30 pm')
    await clock('24h').click()
    expect(await clocks(page)).toContain('14:30')
  })

  test('a time that comes twice on the day of the change says which one it is', async () => {
    now = Date.parse('2026-10-31T06:00Z')
    const page = await open({ timezone: 'UTC', days: 3 }, 'America/New_York')
    await page.getByRole('button', { name: 'Next month' }).click()
    await day(page, 'Sunday, 1 November 2026').click()
    const twice = (await clocks(page)).filter((text) => text.startsWith('01:'))
    expect(twice).toEqual(['01:00 GMT-4', '01:30 GMT-4', '01:00 GMT-5', '01:30 GMT-5'])
    await time(page, '01:30 GMT-5').check()
    await page.getByRole('button', { name: 'Book', exact: true }).click()
    await page.getByRole('heading', { name: 'You are booked' }).waitFor()
    expect((await bookingsOf(t, account.id))[0]!.startAt).toEqual(new Date('2026-11-01T06:30Z'))
  })
})
