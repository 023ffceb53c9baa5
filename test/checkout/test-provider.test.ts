import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { setTest, showProvider } from '../../src/checkout/checkout.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { answer, type EngagedApp, person, publicUrl, startEngaged } from '../support/engagement.ts'
import { openShop, ordersOf, payByStripe, type Shop } from './support.ts'

let engaged: EngagedApp
let t: TestApp
let shop: Shop
let accountId: string
/** The path of the test page on which the order is paid. */
let path: string

beforeAll(async () => {
  engaged = await startEngaged({ development: true })
  t = engaged.t
})
beforeEach(async () => {
  shop = await openShop(engaged)
  accountId = shop.account.id
  path = await opened()
})
afterAll(() => engaged.close())

const opened = async () => {
  const { body } = await ok(answer(t, shop.mail, 'pay', {}))
  expect(body).toEqual({ ok: true, duplicate: false, redirectUrl: expect.stringContaining(`${publicUrl}/p/test/`) })
  return body.redirectUrl!.slice(publicUrl.length)
}
const post = (to: string, action: string) =>
  t.request('POST', to, {
    body: `action=${action}`,
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
  })
const firedEvents = async () => (await t.events(accountId)).map(({ type }) => type).sort()
const view = (end: string) => `${publicUrl}${shop.mail.view}?block=pay&value=${end}#pay`

test('an account of a database made by svc dev has the provider test: a page with Pay and Decline', async () => {
  const reply = await t.request('GET', path)
  expect(reply.status).toBe(200)
  expect(reply.body).toContain('<tr><td>2 × Seat for Ada</td><td>$39.80</td></tr>')
  expect(reply.body).toContain('<strong>$39.85</strong>')
  expect(reply.body).toMatch(/value="pay">Pay<.*value="decline">Decline</s)
  expect(await firedEvents()).toEqual([])
})

test('Pay marks the order paid once, fires its events once, and redirects to the live view', async () => {
  for (let i = 0; i < 2; i++) {
    const reply = await post(path, 'pay')
    expect([reply.status, reply.headers.location]).toEqual([303, view('paid')])
  }
  expect(await ordersOf(t, accountId)).toMatchObject([{ status: 'paid' }])
  expect(await firedEvents()).toEqual(['interaction.received', 'purchase.completed'])
  const again = await t.request('GET', path)
  expect([again.status, again.headers.location]).toEqual([302, view('paid')])
  expect((await answer(t, shop.mail, 'pay', {})).body).toEqual({ ok: true, duplicate: true })
})

test('Decline redirects to the live view, fires nothing and leaves the order unchanged', async () => {
  const reply = await post(path, 'decline')
  expect([reply.status, reply.headers.location]).toEqual([303, view('declined')])
  expect(await ordersOf(t, accountId)).toMatchObject([{ status: 'open' }])
  expect(await firedEvents()).toEqual([])
  expect(await opened()).toBe(path)
})

test('the way back to the email after Pay and Decline is no click', async () => {
  for (const end of ['declined', 'paid']) {
    await post(path, end === 'paid' ? 'pay' : 'decline')
    await ok(t.request('GET', view(end).slice(publicUrl.length).split('#')[0]!, { headers: person }))
  }
  expect(await firedEvents()).toEqual(['interaction.received', 'purchase.completed'])
})

test('a link that is changed, of another purpose or expired is a 404 page; an unknown action is 400', async () => {
  const token = path.split('/').at(-1)!
  const [order] = await ordersOf(t, accountId)
  const other = t.app.tokens.sign('liveview', [accountId, order!.id], null)
  const stranger = t.app.tokens.sign('payment', ['acc_0', order!.id], null)
  for (const bad of ['x', `${token}A`, token.slice(1), other, stranger])
    expect([
      bad,
      (await t.request('GET', `/p/test/${bad}`)).status,
      (await post(`/p/test/${bad}`, 'pay')).status,
    ]).toEqual([bad, 404, 404])
  expect((await post(path, 'steal')).status).toBe(400)
  expect(await ordersOf(t, accountId)).toMatchObject([{ status: 'open' }])
  await t.advance(24 * 60 * 60_000)
  expect((await t.request('GET', path)).status).toBe(404)
  expect((await post(path, 'pay')).status).toBe(404)
  expect(await opened()).not.toBe(path)
  expect((await ordersOf(t, accountId)).map(({ status }) => status)).toEqual(['expired', 'open'])
  expect(await firedEvents()).toEqual([])
})

test('Stripe replaces the test page; setting test brings it back', async () => {
  await payByStripe(t, accountId)
  const show = () => t.app.work(accountId, 'cli:test', (work) => showProvider(t.app, work))
  expect(await show()).toEqual({
    provider: 'stripe',
    keyLast4: '4242',
    webhookUrl: `${publicUrl}/p/stripe/${accountId}`,
  })
  await t.app.work(accountId, 'cli:test', setTest)
  expect(await show()).toEqual({ provider: 'test', keyLast4: null, webhookUrl: null })
})

test('an order of the test page can not be paid by a Stripe event that names its session', async () => {
  await payByStripe(t, accountId)
  const [order] = await ordersOf(t, accountId)
  const { postStripeEvent } = await import('../support/stripe.ts')
  const paid = { id: order!.sessionId, payment_status: 'paid', client_reference_id: order!.id }
  expect((await postStripeEvent(t, accountId, 'checkout.session.completed', paid)).status).toBe(400)
  expect(await ordersOf(t, accountId)).toMatchObject([{ status: 'open' }])
})

test('the age of Stripe events is measured in real time, even if the clock of a development database was moved', async () => {
  await payByStripe(t, accountId)
  await t.advance(60 * 60_000)
  const { postStripeEvent } = await import('../support/stripe.ts')
  const errors = []
  for (const age of [0, 301])
    errors.push(
      (await postStripeEvent(t, accountId, 'checkout.session.completed', { id: 'cs_unknown' }, { age })).body.error,
    )
  expect(errors).toEqual(['There is no such session', 'The signature is not valid'])
})

test('an order of the former provider is closed, and one of the current provider opened', async () => {
  const { openStripe } = await import('../support/stripe.ts')
  const stripe = await openStripe()
  const moved = await startEngaged({ development: true, env: { SVC_STRIPE_API_URL: stripe.url } })
  const other = await openShop(moved)
  await ok(answer(moved.t, other.mail, 'pay', {}))
  await payByStripe(moved.t, other.account.id)
  expect((await answer(moved.t, other.mail, 'pay', {})).body.redirectUrl).toBe(stripe.sessions[0]!.url)
  expect((await ordersOf(moved.t, other.account.id)).map(({ status }) => status)).toEqual(['expired', 'open'])
  await moved.close()
  await stripe.close()
})
