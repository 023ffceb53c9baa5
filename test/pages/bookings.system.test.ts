import type { AddressInfo } from 'node:net'
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

  beforeAll(async () => {
    // In the morning: late in the evening the first day has too few times.
    engaged = await startEngaged({ now: () => new Date(monday) })
    t = engaged.t
    await t.server.fastify.listen({ port: 0, host: '127.0.0.1' })
    origin = `http://127.0.0.1:${(t.server.fastify.server.address() as AddressInfo).port}`
    account = await engagedAccount(t, bookingProject({ availability: always }))
  })
  afterAll(() => engaged.close())

  test.each([true, false])('a time is booked, moved and cancelled; scripts: %s', async (javaScriptEnabled) => {
    const mail = await sendProject(t, engaged.sink, account, { to: `js-${javaScriptEnabled}@people.example` })
    const own = async () =>
      (await bookingsOf(t, account.id)).filter(({ email }) => email === `js-${javaScriptEnabled}@people.example`)
    const page = await openPage({ javaScriptEnabled, viewport: { width: 320, height: 800 } })
    await page.goto(`${origin}${mail.view}`)
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booking')
    // Each day opens its own times; the first is open.
    await page.locator('.days summary').nth(1).click()
    await page.locator('.days details').nth(1).getByRole('radio').first().check()
    await page.getByLabel('Your name').fill('Ada')
    await page.getByRole('button', { name: 'Book', exact: true }).click()
    await page.getByText('You are booked').waitFor()
    const [booking] = await own()
    expect([booking!.status, booking!.name]).toEqual(['confirmed', 'Ada'])
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booked')
    await page.getByText('Choose another time').click()
    await page.locator('.days details').first().getByRole('radio').nth(2).check()
    await page.getByRole('button', { name: 'Move my booking' }).click()
    await expect.poll(async () => (await own())[0]!.startAt).not.toEqual(booking!.startAt)
    const [told] = (await bookingMails(t, account.id)).filter(({ to }) => to === booking!.email)
    await page.goto(`${origin}${cancelPath(told!)}`)
    if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'booking-cancel')
    await page.getByLabel(/^Reason/).fill('I am ill')
    await page.getByRole('button', { name: 'Cancel the booking' }).click()
    await page.getByRole('heading', { name: 'Your booking is cancelled' }).waitFor()
    expect((await own()).map(({ status }) => status)).toEqual(['cancelled'])
    // Browsers request /favicon.ico.
    expect(faultsOf(page).filter((fault) => !fault.includes('404 (Not Found)'))).toEqual([])
    expectNothingFromElsewhere(page, origin)
    await page.close()
  })
})
