import { afterAll, beforeAll, expect, test } from 'vitest'
import { openShop, payByStripe } from '../checkout/support.ts'
import { ok } from '../support/app.ts'
import { type EngagedApp, startEngaged } from '../support/engagement.ts'
import { describePages, expectGoodOnEveryScreen, expectNothingFromElsewhere, faultsOf } from '../support/pages.ts'
import { type FakeStripe, openStripe, postStripeEvent } from '../support/stripe.ts'

describePages('a checkout in a real browser', (openPage) => {
  let engaged: EngagedApp
  let stripe: FakeStripe
  let origin: string

  beforeAll(async () => {
    stripe = await openStripe()
    // Links are made with the public URL, which must be known before the server listens.
    const probe = await openStripe()
    origin = probe.url
    await probe.close()
    engaged = await startEngaged({
      development: true,
      env: { SVC_STRIPE_API_URL: stripe.url, SVC_PUBLIC_URL: origin },
    })
    await engaged.t.server.fastify.listen({ host: '127.0.0.1', port: Number(new URL(origin).port) })
  })
  afterAll(async () => {
    await engaged?.close()
    await stripe?.close()
  })

  test.each([true, false])(
    'the page for tests is reached, declined, paid, and led back from (scripts: %s)',
    async (javaScriptEnabled) => {
      const { mail } = await openShop(engaged)
      const page = await openPage({ javaScriptEnabled })
      await page.goto(origin + mail.view)
      await page.getByRole('button', { name: 'Go to checkout' }).click()
      await page.getByRole('heading', { name: 'Test payment' }).waitFor()
      if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'test-payment')
      await page.getByRole('button', { name: 'Decline' }).click()
      // Back at the block, with a notice.
      await page.getByText('Nothing was paid.').waitFor()
      expect(new URL(page.url()).hash).toBe('#pay')
      await page.getByRole('button', { name: 'Go to checkout' }).click()
      await page.getByRole('button', { name: 'Pay' }).click()
      await page.getByText('Paid.').waitFor()
      expect(new URL(page.url()).pathname).toBe(mail.view)
      expect(await page.getByRole('button', { name: 'Go to checkout' }).count()).toBe(0)
      if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'paid')
      expectNothingFromElsewhere(page, origin)
      expect(faultsOf(page)).toEqual([])
    },
  )

  test.each([true, false])(
    'a provider on another host is reached by one click (scripts: %s)',
    async (javaScriptEnabled) => {
      const { mail, account } = await openShop(engaged)
      await payByStripe(engaged.t, account.id)
      const page = await openPage({ javaScriptEnabled })
      await page.goto(origin + mail.view)
      if (javaScriptEnabled) await expectGoodOnEveryScreen(page, 'checkout')
      await page.getByRole('button', { name: 'Go to checkout' }).click()
      await page.getByRole('heading', { name: 'Pay here' }).waitFor()
      const session = stripe.sessions.at(-1)!
      expect(page.url()).toBe(session.url)
      expect(faultsOf(page)).toEqual([])
      await ok(
        postStripeEvent(engaged.t, account.id, 'checkout.session.completed', { ...session, payment_status: 'paid' }),
      )
      await page.goto(session.asked.success_url!)
      await page.getByText('Paid.').waitFor()
    },
  )

  test('an unavailable provider is reported at the block', async () => {
    const { mail, account } = await openShop(engaged)
    await payByStripe(engaged.t, account.id)
    stripe.manner = { status: 503, error: { type: 'api_error' } }
    const page = await openPage()
    await page.goto(origin + mail.view)
    await page.getByRole('button', { name: 'Go to checkout' }).click()
    await page.getByRole('alert').getByText('The payment provider did not answer').waitFor()
    // At the block that was pressed, not at the top of the page.
    expect(await page.evaluate("document.activeElement.getAttribute('role')")).toBe('alert')
    stripe.manner = 'well'
  })
})
