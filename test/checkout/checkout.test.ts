import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { personalData } from '../../src/app/personal-data.ts'
import { unsetProvider } from '../../src/checkout/checkout.ts'
import { readPerson } from '../../src/contacts/contacts.personal-data.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import type { TestApp } from '../support/app.ts'
import { ok } from '../support/app.ts'
import { type Arrived, answer, type EngagedApp, publicUrl, sendProject, startEngaged } from '../support/engagement.ts'
import { eventually, settlesWithin } from '../support/eventually.ts'
import { isSlow } from '../support/slowness.ts'
import {
  type FakeStripe,
  openStripe,
  otherKey,
  otherSecret,
  postStripeEvent,
  rolledKey,
  stripeKey,
  webhookSecret,
} from '../support/stripe.ts'
import { openShop, ordersOf, payByStripe, type Shop } from './support.ts'

let engaged: EngagedApp
let t: TestApp
let stripe: FakeStripe
let shop: Shop
let accountId: string

beforeAll(async () => {
  stripe = await openStripe()
  engaged = await startEngaged({ env: { SVC_STRIPE_API_URL: stripe.url } })
  t = engaged.t
})
beforeEach(async () => {
  Object.assign(stripe, {
    manner: 'well',
    until: null,
    delay: 0,
    revoked: [],
    creations: 0,
    sessions: [],
    requests: [],
  })
  shop = await openShop(engaged)
  accountId = shop.account.id
  await payByStripe(t, accountId)
})
afterAll(async () => {
  await engaged.close()
  await stripe.close()
})

/** A person repeats an answer that failed. On a slow machine the provider can be later than it may. */
const payFor = async (mail: Arrived, value: unknown = {}) => {
  const call = () => answer(t, mail, 'pay', value)
  let reply = await call()
  while (isSlow() && stripe.manner === 'well' && reply.status === 502) reply = await call()
  return reply
}
const pay = (value?: unknown) => payFor(shop.mail, value)
const orders = () => ordersOf(t, accountId)
/** The fired events, purchases first: events of the same millisecond have no order. */
const firedEvents = async () =>
  (await t.events(accountId)).map(({ type, data }) => ({ type, data })).sort((a, b) => (a.type > b.type ? -1 : 1))
const state = async () => (await t.request('GET', `/liveview/${shop.mail.token}`)).body.state
/** Opens an order and returns its session. */
const opened = async () => {
  expect((await pay()).status).toBe(200)
  return stripe.sessions.at(-1)!
}
const completed = (session: object) => ({ ...session, status: 'complete', payment_status: 'paid' })

test('an answer opens an order and returns redirectUrl; no event fires yet', async () => {
  const reply = await pay()
  const [session] = stripe.sessions
  expect([reply.status, reply.body]).toEqual([200, { ok: true, duplicate: false, redirectUrl: session!.url }])
  expect(await orders()).toMatchObject([
    { id: expect.stringMatching(/^pay_/), status: 'open', sessionId: session!.id, amount: '39.85' },
  ])
  expect(await firedEvents()).toEqual([])
  expect(await state()).toEqual({})
})

test('amounts come from the sent version, in minor units; the browser returns to the live view', async () => {
  const { asked, client_reference_id } = await opened()
  expect(asked).toEqual({
    mode: 'payment',
    client_reference_id,
    customer_email: 'ada@people.example',
    success_url: `${publicUrl}${shop.mail.view}?block=pay&value=paid#pay`,
    cancel_url: `${publicUrl}${shop.mail.view}?block=pay&value=declined#pay`,
    'line_items[0][quantity]': '2',
    'line_items[0][price_data][currency]': 'usd',
    'line_items[0][price_data][unit_amount]': '1990',
    'line_items[0][price_data][product_data][name]': 'Seat for Ada',
    'line_items[1][quantity]': '1',
    'line_items[1][price_data][currency]': 'usd',
    'line_items[1][price_data][unit_amount]': '5',
    'line_items[1][price_data][product_data][name]': 'Bag',
  })
  expect(stripe.requests).toEqual([{ line: 'POST /v1/checkout/sessions', key: stripeKey }])
})

test.each([
  ['JPY', 500, '500', 1000],
  ['KWD', 1.25, '1250', 2.5],
  ['HUF', 1500, '150000', 3000],
  ['EUR', 1.1, '110', 2.2],
  // Stripe counts this one in hundredths, although ISO 4217 has none.
  ['ISK', 500, '50000', 1000],
  ['UGX', 500, '50000', 1000],
  // ISO 4217 has two decimals for this one, Stripe none.
  ['MGA', 500, '500', 1000],
])(
  '%s %d is sent as %s to the provider, and two of them are %d in the event',
  async (currency, amount, minor, total) => {
    shop = await openShop(engaged, { items: [{ name: 'Mug', quantity: 2, amount }], currency })
    accountId = shop.account.id
    await payByStripe(t, accountId)
    const session = await opened()
    expect(session.asked['line_items[0][price_data][unit_amount]']).toBe(minor)
    expect((await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
    const [purchase] = await t.events(accountId, 'purchase.completed')
    expect(purchase!.data.purchase).toMatchObject({
      amount: total,
      currency,
      items: [{ name: 'Mug', quantity: 2, amount }],
    })
  },
)

test('an open order is reused while its session is valid: duplicate false, same redirectUrl, no second session', async () => {
  const first = (await pay()).body
  const second = (await pay()).body
  expect(second).toEqual(first)
  expect(stripe.creations).toBe(1)
  expect(await orders()).toHaveLength(1)
})

test('20 concurrent answers create one order and one session', async () => {
  stripe.delay = 50
  const replies = await Promise.all(Array.from({ length: 20 }, () => pay()))
  expect(new Set(replies.map(({ body }) => JSON.stringify(body)))).toEqual(
    new Set([JSON.stringify({ ok: true, duplicate: false, redirectUrl: stripe.sessions[0]!.url })]),
  )
  expect(stripe.creations).toBe(1)
  expect(await orders()).toHaveLength(1)
})

test('two emails of one project are two orders', async () => {
  await ok(pay())
  const other = await sendProject(t, engaged.sink, shop.account)
  await ok(payFor(other))
  expect((await orders()).map(({ status }) => status)).toEqual(['open', 'open'])
  expect(stripe.sessions).toHaveLength(2)
})

test('amounts in the request are refused', async () => {
  for (const value of [{ amount: 1 }, { items: [] }, 'free', 1, null, [], true])
    expect([value, (await pay(value)).body]).toEqual([value, { error: 'value must be {}' }])
  expect(await orders()).toEqual([])
})

test('paid: purchase.completed and interaction.received fire once, even for repeated reports', async () => {
  const session = await opened()
  for (let i = 0; i < 5; i++)
    expect((await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  const more = await Promise.all(
    Array.from({ length: 5 }, () =>
      postStripeEvent(t, accountId, 'checkout.session.async_payment_succeeded', completed(session)),
    ),
  )
  expect(more.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const [order] = await orders()
  expect(await firedEvents()).toEqual([
    {
      type: 'purchase.completed',
      data: {
        purchase: {
          id: order!.id,
          amount: 39.85,
          currency: 'USD',
          items: [
            { name: 'Seat for Ada', quantity: 2, amount: 19.9 },
            { name: 'Bag', quantity: 1, amount: 0.05 },
          ],
          paidAt: expect.any(Number),
        },
        project: { id: shop.account.projectId, name: 'Spring offer' },
        contact: null,
      },
    },
    {
      type: 'interaction.received',
      data: {
        interaction: {
          id: expect.stringMatching(/^int_/),
          kind: 'purchase',
          blockId: 'pay',
          value: { amount: 39.85, currency: 'USD' },
          at: expect.any(Number),
        },
        project: { id: shop.account.projectId, name: 'Spring offer' },
        recipient: { email: 'ada@people.example', rowId: null },
        source: { kind: 'send', id: shop.mail.id },
      },
    },
  ])
  const scores = await t.app.sql('select email, points from lead_scores where account_id = $1', [accountId])
  expect(scores).toEqual([{ email: 'ada@people.example', points: 25 }])
})

test('concurrent reports of one payment fire once', async () => {
  const session = await opened()
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))),
  )
  expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200))
  expect((await firedEvents()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

test('a paid block is answered: its state, and a further answer is a duplicate without redirectUrl', async () => {
  await ok(postStripeEvent(t, accountId, 'checkout.session.completed', completed(await opened())))
  expect(await state()).toEqual({
    pay: { kind: 'purchase', value: { amount: 39.85, currency: 'USD' }, answeredAt: expect.any(Number) },
  })
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
  expect(stripe.creations).toBe(1)
  // A paid order stays paid, even if the provider is removed.
  await t.app.work(accountId, 'cli:test', unsetProvider)
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
})

test('the contact of purchase.completed is the payer’s', async () => {
  await t.app.work(accountId, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'Friends' })
    await writeContacts(work, id, [{ email: 'ada@people.example', fields: { first_name: 'Ada' } }], new Map())
  })
  await ok(postStripeEvent(t, accountId, 'checkout.session.completed', completed(await opened())))
  const [purchase] = await t.events(accountId, 'purchase.completed')
  expect(purchase!.data.contact).toMatchObject({ email: 'ada@people.example', fields: { first_name: 'Ada' } })
})

test('async_payment_succeeded pays; a completed session that is not paid changes nothing', async () => {
  const session = await opened()
  const unpaid = { ...session, status: 'complete', payment_status: 'unpaid' }
  expect((await postStripeEvent(t, accountId, 'checkout.session.completed', unpaid)).status).toBe(200)
  expect((await postStripeEvent(t, accountId, 'checkout.session.async_payment_failed', unpaid)).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect(await firedEvents()).toEqual([])
  await ok(postStripeEvent(t, accountId, 'checkout.session.async_payment_succeeded', completed(session)))
  expect(await orders()).toMatchObject([{ status: 'paid' }])
})

test('checkout.session.expired closes the order; the next answer opens a new one', async () => {
  const session = await opened()
  expect(
    (await postStripeEvent(t, accountId, 'checkout.session.expired', { ...session, status: 'expired' })).status,
  ).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'expired' }])
  const next = await opened()
  expect(next.id).not.toBe(session.id)
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
  expect(await firedEvents()).toEqual([])
  // A late event about the first session does not close the second order.
  await ok(postStripeEvent(t, accountId, 'checkout.session.expired', { ...session, status: 'expired' }))
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('a paid order can not be closed', async () => {
  const session = await opened()
  await ok(postStripeEvent(t, accountId, 'checkout.session.completed', completed(session)))
  expect((await postStripeEvent(t, accountId, 'checkout.session.expired', session)).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid' }])
})

test('a wrong signature, a stale time, a changed body or a foreign session is 400 and changes nothing', async () => {
  const session = await opened()
  const stranger = await openShop(engaged)
  await payByStripe(t, stranger.account.id)
  const paid = completed(session)
  const type = 'checkout.session.completed'
  const unsigned = await t.request('POST', `/p/stripe/${accountId}`, { body: { type, data: { object: paid } } })
  const replies = [
    unsigned,
    await postStripeEvent(t, accountId, type, paid, { secret: 'whsec_another' }),
    await postStripeEvent(t, accountId, type, paid, { age: 301 }),
    await postStripeEvent(t, accountId, type, paid, { instead: JSON.stringify({ type, data: { object: paid } }) }),
    await postStripeEvent(t, accountId, type, { ...paid, id: 'cs_test_foreign', client_reference_id: null }),
    await postStripeEvent(t, accountId, type, { ...paid, id: 'cs_test_foreign' }),
    await postStripeEvent(t, accountId, 'checkout.session.expired', { ...paid, id: 'cs_test_foreign' }),
    await postStripeEvent(t, accountId, type, { ...paid, id: 'cs_test_\0' }),
    await postStripeEvent(t, accountId, type, { ...paid, id: 'cs_test_foreign', client_reference_id: 'pay_\0' }),
    await postStripeEvent(t, stranger.account.id, type, paid),
    await postStripeEvent(t, 'acc_0000000000', type, paid),
  ]
  expect(replies.map(({ status, body }) => [status, body])).toEqual(
    [
      ...Array(4).fill('The signature is not valid'),
      ...Array(6).fill('There is no such session'),
      'The signature is not valid',
    ].map((error) => [400, { error }]),
  )
  expect(await orders()).toMatchObject([{ status: 'open', sessionId: session.id }])
  expect(await firedEvents()).toEqual([])
  expect(await ordersOf(t, stranger.account.id)).toEqual([])
})

test('signatures from now to 5 minutes ago are valid', async () => {
  const session = await opened()
  expect(
    (await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session), { age: 299 })).status,
  ).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid' }])
})

test('any other event is 200 and changes nothing', async () => {
  const session = await opened()
  for (const type of ['payment_intent.succeeded', 'charge.refunded', 'customer.created', 'checkout.session.unheard_of'])
    expect([type, (await postStripeEvent(t, accountId, type, { ...completed(session), id: 'x' })).status]).toEqual([
      type,
      200,
    ])
  expect(await orders()).toMatchObject([{ status: 'open' }])
})

test('without a provider: 409, and no order', async () => {
  await t.app.work(accountId, 'cli:test', unsetProvider)
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([409, { error: 'Payments are not set up' }])
  expect(await orders()).toEqual([])
  expect((await t.request('POST', `/p/stripe/${accountId}`, { body: '{}' })).status).toBe(400)
})

test('a provider that answers 500: 502; its retry gets the same order', async () => {
  stripe.manner = { status: 500, error: { type: 'api_error', message: 'oops' } }
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([502, { error: 'The payment provider did not answer' }])
  const [order] = await orders()
  stripe.manner = 'well'
  expect((await opened()).client_reference_id).toBe(order!.id)
  expect(await orders()).toHaveLength(1)
})

test.each(['null', '[]', '"ok"', '{"id":1,"url":2}', '<h1>Maintenance</h1>'])(
  'a provider that answers %s with 200: 502',
  async (body) => {
    stripe.manner = { status: 200, body }
    const reply = await pay()
    expect([reply.status, reply.body]).toEqual([502, { error: 'The payment provider did not answer' }])
    expect(await orders()).toMatchObject([{ status: 'open', sessionId: null }])
  },
)

test('a provider that does not answer: 502 within 12 s, and other requests do not wait for it', async () => {
  stripe.manner = 'silent'
  const waiting = pay()
  const voting = answer(t, shop.mail, 'vote', 'This')
  expect((await Promise.race([voting, waiting])).body).toEqual({ ok: true, duplicate: false })
  expect(await settlesWithin(waiting, 12_000)).toBe(true)
  expect((await waiting).body).toEqual({ error: 'The payment provider did not answer' })
})

test('a provider that refuses, for example a wrong key: 502 with a text of our own that repeats none of the reply', async () => {
  stripe.manner = {
    status: 401,
    error: {
      type: 'invalid_request_error',
      code: 'api_key_expired',
      message: `Expired API Key provided: ${stripeKey}`,
    },
  }
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([502, { error: 'The payment provider refused the payment' }])
})

test('a crash between session and record: the next answer gets the same session, and pays once', async () => {
  stripe.manner = 'drop'
  expect((await pay()).status).toBe(502)
  stripe.manner = 'well'
  expect(stripe.sessions).toHaveLength(1)
  expect(await orders()).toMatchObject([{ status: 'open', sessionId: null }])
  const { body } = await ok(pay())
  expect(body.redirectUrl).toBe(stripe.sessions[0]!.url)
  expect(stripe.sessions).toHaveLength(1)
})

test('a session that was not recorded is matched by its order when it is paid', async () => {
  stripe.manner = 'drop'
  await ok(pay(), 502)
  const session = stripe.sessions[0]!
  expect((await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid', sessionId: session.id }])
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
})

test('a crash between payment and record is repaired by the provider’s retry', async () => {
  const session = await opened()
  // A failure in the middle of the transaction rolls all of it back.
  await t.app.sql('alter table interactions rename to interactions_away')
  const failed = await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))
  await t.app.sql('alter table interactions_away rename to interactions')
  expect(failed.status).toBe(500)
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect(await firedEvents()).toEqual([])
  expect((await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect((await firedEvents()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

const endSession = () =>
  t.app.sql(`update payment_orders set session_ends_at = session_ends_at - interval '2 days' where account_id = $1`, [
    accountId,
  ])

test('an expired session is checked at the provider: expired, so a new one is opened', async () => {
  const session = await opened()
  await endSession()
  session.status = 'expired'
  const next = await opened()
  expect(next.id).not.toBe(session.id)
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('an expired session is checked at the provider: paid, although no event arrived', async () => {
  const session = await opened()
  await endSession()
  Object.assign(session, { status: 'complete', payment_status: 'paid' })
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
  expect((await firedEvents()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

test('no second session is opened while a debit is pending', async () => {
  const session = await opened()
  await endSession()
  Object.assign(session, { status: 'complete', payment_intent: { status: 'processing' } })
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([409, { error: 'The payment is under way' }])
  expect(stripe.sessions).toHaveLength(1)
  session.payment_intent = { status: 'requires_payment_method' }
  expect((await pay()).body.redirectUrl).toBe(stripe.sessions[1]!.url)
})

const other = { key: otherKey, webhookSecret: otherSecret }

test('a change of the Stripe account closes the order and ends its session before opening a new one', async () => {
  const former = await opened()
  await payByStripe(t, accountId, other)
  const next = await opened()
  expect([former.status, former.account, next.account]).toEqual(['expired', 'AbCdEf', 'XyXyXy'])
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
  const { body } = await ok(pay())
  expect(body.redirectUrl).toBe(next.url)
  expect(stripe.sessions).toHaveLength(2)
  expect(await firedEvents()).toEqual([])
})

test('an order paid at the former Stripe account is not requested again, even without an event', async () => {
  const former = await opened()
  await payByStripe(t, accountId, other)
  Object.assign(former, { status: 'complete', payment_status: 'paid' })
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
  expect(stripe.sessions).toHaveLength(1)
  expect((await firedEvents()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

test('an event signed with the former secret is accepted, one signed with neither secret is not', async () => {
  const former = await opened()
  await payByStripe(t, accountId, other)
  const type = 'checkout.session.completed'
  expect((await postStripeEvent(t, accountId, type, completed(former), { secret: 'whsec_OfNobody123' })).status).toBe(
    400,
  )
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect((await postStripeEvent(t, accountId, type, completed(former), { secret: webhookSecret })).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid' }])
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
})

test('no second session is opened while a debit is pending at the former Stripe account', async () => {
  const former = await opened()
  await payByStripe(t, accountId, other)
  Object.assign(former, { status: 'complete', payment_intent: { status: 'processing' } })
  expect((await pay()).status).toBe(409)
  expect(stripe.sessions).toHaveLength(1)
})

test.each([
  { former: 'revoked', revoked: [stripeKey], asked: [stripeKey, rolledKey] },
  { former: 'still valid', revoked: [], asked: [stripeKey] },
])('a rolled key of the same Stripe account ends the session of the former key, which is $former', async (given) => {
  const former = await opened()
  await payByStripe(t, accountId, { key: rolledKey, webhookSecret })
  stripe.revoked = given.revoked
  const next = await opened()
  expect([former.status, next.status, next.account]).toEqual(['expired', 'open', 'AbCdEf'])
  const ends = stripe.requests.filter(({ line }) => line.endsWith('/expire'))
  expect([...new Set(ends.map(({ key }) => key))]).toEqual(given.asked)
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('with another Stripe account and a revoked former key, the order is still closed', async () => {
  await opened()
  await payByStripe(t, accountId, other)
  stripe.revoked = [stripeKey]
  expect((await opened()).account).toBe('XyXyXy')
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('a corrected webhook secret keeps the key of the former Stripe account, whose session is ended', async () => {
  const former = await opened()
  await payByStripe(t, accountId, { ...other, webhookSecret: 'whsec_Mistyped1234' })
  await payByStripe(t, accountId, other)
  const next = await opened()
  expect([former.status, next.status, next.account]).toEqual(['expired', 'open', 'XyXyXy'])
})

test('the same key with another webhook secret keeps the order and its session', async () => {
  const session = await opened()
  await payByStripe(t, accountId, { key: stripeKey, webhookSecret: otherSecret })
  expect((await pay()).body.redirectUrl).toBe(session.url)
  expect(stripe.sessions).toHaveLength(1)
})

test('no second session is opened if the provider can not be asked about the former one', async () => {
  await opened()
  await payByStripe(t, accountId, other)
  stripe.manner = { status: 500, error: { type: 'api_error', message: 'oops' } }
  expect((await pay()).status).toBe(502)
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect(stripe.sessions).toHaveLength(1)
})

test('a name that Stripe’s limit cuts inside an emoji loses the emoji, and is paid', async () => {
  shop = await openShop(engaged, { items: [{ name: '{{ long }}', quantity: 1, amount: 5 }] })
  accountId = shop.account.id
  await payByStripe(t, accountId)
  shop.mail = await sendProject(t, engaged.sink, shop.account, { mergeData: { long: `${'x'.repeat(249)}🎁🎁` } })
  expect((await opened()).asked['line_items[0][price_data][product_data][name]']).toBe('x'.repeat(249))
})

test('an amount below the provider’s minimum is 502 with that reason', async () => {
  const message = 'The Checkout Session total amount must convert to at least 50 cents'
  stripe.manner = { status: 400, error: { type: 'invalid_request_error', code: 'amount_too_small', message } }
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([
    502,
    { error: 'The amount is below the minimum of the payment provider' },
  ])
})

const erase = () =>
  t.app.work(accountId, 'cli:test', (work) => eraseContact(work, 'ada@people.example', { dryRun: false, personalData }))
const held = () => t.app.work(accountId, 'cli:test', (work) => readPerson(t.app, work, 'ada@people.example'))

test('an erased payer is removed from all orders; the payments stay', async () => {
  await t.app.work(accountId, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'Friends' })
    await writeContacts(work, id, [{ email: 'ada@people.example', fields: {} }], new Map())
  })
  const session = await opened()
  const payments = () =>
    t.app.work(accountId, 'cli:test', (work) =>
      personalData.find(({ name }) => name === 'payments')!.read(work, 'ada@people.example'),
    )
  expect(await payments()).toMatchObject([{ status: 'open', amount: 39.85, email: 'ada@people.example' }])
  await erase()
  expect(await orders()).toMatchObject([{ status: 'open', email: '', amount: '39.85' }])
  expect(await payments()).toEqual([])
  expect((await postStripeEvent(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect(await firedEvents()).toMatchObject(
    [
      { type: 'contact.created' },
      { type: 'purchase.completed', data: { purchase: { amount: 39.85 }, contact: null } },
    ].reverse(),
  )
  expect(await t.app.sql('select email from lead_scores where account_id = $1', [accountId])).toEqual([])
})

/** Pays, and erases the payer while the provider answers request number `asked`. */
const payWhileErased = async (asked: number) => {
  const { promise: until, resolve: release } = Promise.withResolvers<void>()
  stripe.until = until
  const reply = pay()
  await eventually(() => stripe.requests.length === asked)
  await erase()
  release()
  return reply
}

test('a payer who is erased while the provider opens a session is sent nowhere', async () => {
  const reply = await payWhileErased(1)
  expect(reply).toMatchObject({ status: 404, body: { error: 'There is no such live view' } })
  expect((await pay()).body).toEqual(reply.body)
  expect(await orders()).toMatchObject([{ status: 'open', email: '', sessionId: null }])
  await expect(held()).rejects.toMatchObject({ kind: 'not_found' })
})

test('a payer who is erased while the provider is asked for a session gets no new order', async () => {
  const session = await opened()
  session.status = 'expired'
  await t.app.sql('update payment_orders set session_ends_at = now() where account_id = $1', [accountId])
  const reply = await payWhileErased(2)
  expect(reply.status).toBe(404)
  expect(await orders()).toMatchObject([{ status: 'expired', email: '' }])
  await expect(held()).rejects.toMatchObject({ kind: 'not_found' })
})

test.each([
  ['open', 'open'],
  ['paid', 'paid'],
])('a payer who is erased while the provider says that the session is %s is sent nowhere', async (state, status) => {
  const session = await opened()
  Object.assign(session, state === 'paid' ? { status: 'complete', payment_status: 'paid' } : {})
  await t.app.sql('update payment_orders set session_ends_at = now() where account_id = $1', [accountId])
  const reply = await payWhileErased(2)
  expect(reply).toMatchObject({ status: 404, body: { error: 'There is no such live view' } })
  expect(await orders()).toMatchObject([{ status, email: '' }])
  await expect(held()).rejects.toMatchObject({ kind: 'not_found' })
})

test('secrets are stored sealed', async () => {
  const [row] = await t.app.sql('select * from payment_providers where account_id = $1', [accountId])
  expect(JSON.stringify(row)).not.toMatch(/sk_test|whsec/)
  expect(row).toMatchObject({ key_last4: '4242' })
})
