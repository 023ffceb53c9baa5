import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { heldAbout } from '../../src/app/features.ts'
import { unsetProvider } from '../../src/checkout/checkout.ts'
import { createList, eraseContact, writeContacts } from '../../src/contacts/contacts.ts'
import type { TestApp } from '../support/app.ts'
import { answer, type EngagedApp, publicUrl, sendProject, startEngaged } from '../support/engagement.ts'
import { type FakeStripe, openStripe, stripeKey, tell } from '../support/stripe.ts'
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
  Object.assign(stripe, { manner: 'well', delay: 0, creations: 0, sessions: [], requests: [] })
  shop = await openShop(engaged)
  accountId = shop.account.id
  await payByStripe(t, accountId)
})
afterAll(async () => {
  await engaged.close()
  await stripe.close()
})

const pay = (value: unknown = {}) => answer(t, shop.mail, 'pay', value)
const orders = () => ordersOf(t, accountId)
/** The events, the purchase before the interaction: in the same millisecond they have no order. */
const told = async () =>
  (await t.events(accountId)).map(({ type, data }) => ({ type, data })).sort((a, b) => (a.type > b.type ? -1 : 1))
const state = async () => (await t.request('GET', `/liveview/${shop.mail.token}`)).body.state
/** Opens an order and gives its session. */
const opened = async () => {
  expect((await pay()).status).toBe(200)
  return stripe.sessions.at(-1)!
}
const completed = (session: object) => ({ ...session, status: 'complete', payment_status: 'paid' })

test('an answer opens an order, gives redirectUrl, and tells nothing yet', async () => {
  const reply = await pay()
  const [session] = stripe.sessions
  expect([reply.status, reply.body]).toEqual([200, { ok: true, duplicate: false, redirectUrl: session!.url }])
  expect(await orders()).toMatchObject([
    { id: expect.stringMatching(/^pay_/), status: 'open', sessionId: session!.id, amount: '39.85' },
  ])
  expect(await told()).toEqual([])
  expect(await state()).toEqual({})
})

test('amounts come from the version that was sent, in minor units; the browser returns to the live view', async () => {
  const { asked, client_reference_id } = await opened()
  expect(asked).toEqual({
    mode: 'payment',
    client_reference_id,
    customer_email: 'ada@people.example',
    success_url: `${publicUrl}${shop.mail.view}`,
    cancel_url: `${publicUrl}${shop.mail.view}`,
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
])('%s %d is %s to the provider, and %d in the event for two', async (currency, amount, minor, total) => {
  shop = await openShop(engaged, { items: [{ name: 'Mug', quantity: 2, amount }], currency })
  accountId = shop.account.id
  await payByStripe(t, accountId)
  const session = await opened()
  expect(session.asked['line_items[0][price_data][unit_amount]']).toBe(minor)
  expect((await tell(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  const [purchase] = await told()
  expect(purchase!.data.purchase).toMatchObject({
    amount: total,
    currency,
    items: [{ name: 'Mug', quantity: 2, amount }],
  })
})

test('the open order is found again while its session lives: duplicate false, the same redirectUrl, no second session', async () => {
  const first = (await pay()).body
  const second = (await pay()).body
  expect(second).toEqual(first)
  expect(stripe.creations).toBe(1)
  expect(await orders()).toHaveLength(1)
})

test('20 concurrent answers: one order, one session', async () => {
  stripe.delay = 50
  const replies = await Promise.all(Array.from({ length: 20 }, () => pay()))
  expect(new Set(replies.map(({ body }) => JSON.stringify(body)))).toEqual(
    new Set([JSON.stringify({ ok: true, duplicate: false, redirectUrl: stripe.sessions[0]!.url })]),
  )
  expect(stripe.creations).toBe(1)
  expect(await orders()).toHaveLength(1)
})

test('two mails of one project are two orders', async () => {
  await pay()
  const other = await sendProject(t, engaged.sink, shop.account)
  await answer(t, other, 'pay', {})
  expect((await orders()).map(({ status }) => status)).toEqual(['open', 'open'])
  expect(stripe.sessions).toHaveLength(2)
})

test('what the request says of amounts is refused', async () => {
  for (const value of [{ amount: 1 }, { items: [] }, 'free', 1, null, [], true])
    expect([value, (await pay(value)).body]).toEqual([value, { error: 'value must be {}' }])
  expect(await orders()).toEqual([])
})

test('paid: purchase.completed and interaction.received, once, however often it is told', async () => {
  const session = await opened()
  for (let i = 0; i < 5; i++)
    expect((await tell(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  const more = await Promise.all(
    Array.from({ length: 5 }, () => tell(t, accountId, 'checkout.session.async_payment_succeeded', completed(session))),
  )
  expect(more.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
  const [order] = await orders()
  expect(await told()).toEqual([
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

test('many at the same moment tell one payment once', async () => {
  const session = await opened()
  const replies = await Promise.all(
    Array.from({ length: 10 }, () => tell(t, accountId, 'checkout.session.completed', completed(session))),
  )
  expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200))
  expect((await told()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

test('a paid block is answered: its state, and a further answer is a duplicate without redirectUrl', async () => {
  await tell(t, accountId, 'checkout.session.completed', completed(await opened()))
  expect(await state()).toEqual({
    pay: { kind: 'purchase', value: { amount: 39.85, currency: 'USD' }, answeredAt: expect.any(Number) },
  })
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
  expect(stripe.creations).toBe(1)
  // Paid stays paid, whatever becomes of the provider.
  await t.app.work(accountId, 'cli:test', unsetProvider)
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
})

test('the contact of purchase.completed is the payer’s', async () => {
  await t.app.work(accountId, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'Friends' })
    await writeContacts(work, id, [{ email: 'ada@people.example', fields: { first_name: 'Ada' } }], new Map())
  })
  await tell(t, accountId, 'checkout.session.completed', completed(await opened()))
  const purchase = (await told()).find(({ type }) => type === 'purchase.completed')!
  expect(purchase.data.contact).toMatchObject({ email: 'ada@people.example', fields: { first_name: 'Ada' } })
})

test('async_payment_succeeded pays; a session that is complete and not paid changes nothing', async () => {
  const session = await opened()
  const unpaid = { ...session, status: 'complete', payment_status: 'unpaid' }
  expect((await tell(t, accountId, 'checkout.session.completed', unpaid)).status).toBe(200)
  expect((await tell(t, accountId, 'checkout.session.async_payment_failed', unpaid)).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect(await told()).toEqual([])
  await tell(t, accountId, 'checkout.session.async_payment_succeeded', completed(session))
  expect(await orders()).toMatchObject([{ status: 'paid' }])
})

test('checkout.session.expired closes the order; the next answer opens a new one', async () => {
  const session = await opened()
  expect((await tell(t, accountId, 'checkout.session.expired', { ...session, status: 'expired' })).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'expired' }])
  const next = await opened()
  expect(next.id).not.toBe(session.id)
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
  expect(await told()).toEqual([])
  // What is told late of the first one closes no other.
  await tell(t, accountId, 'checkout.session.expired', { ...session, status: 'expired' })
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('a paid order is closed by nothing', async () => {
  const session = await opened()
  await tell(t, accountId, 'checkout.session.completed', completed(session))
  expect((await tell(t, accountId, 'checkout.session.expired', session)).status).toBe(200)
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
    await tell(t, accountId, type, paid, { secret: 'whsec_another' }),
    await tell(t, accountId, type, paid, { age: 301 }),
    await tell(t, accountId, type, paid, { instead: JSON.stringify({ type, data: { object: paid } }) }),
    await tell(t, accountId, type, { ...paid, id: 'cs_test_foreign', client_reference_id: null }),
    await tell(t, accountId, type, { ...paid, id: 'cs_test_foreign' }),
    await tell(t, accountId, 'checkout.session.expired', { ...paid, id: 'cs_test_foreign' }),
    await tell(t, stranger.account.id, type, paid),
    await tell(t, 'acc_0000000000', type, paid),
  ]
  expect(replies.map(({ status, body }) => [status, body])).toEqual(
    [
      ...Array(4).fill('The signature is not valid'),
      ...Array(4).fill('There is no such session'),
      'The signature is not valid',
    ].map((error) => [400, { error }]),
  )
  expect(await orders()).toMatchObject([{ status: 'open', sessionId: session.id }])
  expect(await told()).toEqual([])
  expect(await ordersOf(t, stranger.account.id)).toEqual([])
})

test('what is signed just now and 5 minutes ago is good', async () => {
  const session = await opened()
  expect((await tell(t, accountId, 'checkout.session.completed', completed(session), { age: 299 })).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid' }])
})

test('anything else is 200 and changes nothing', async () => {
  const session = await opened()
  for (const type of ['payment_intent.succeeded', 'charge.refunded', 'customer.created', 'checkout.session.unheard_of'])
    expect([type, (await tell(t, accountId, type, { ...completed(session), id: 'x' })).status]).toEqual([type, 200])
  expect(await orders()).toMatchObject([{ status: 'open' }])
})

test('no provider: 409, and no order', async () => {
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

test('a provider that is silent: 502 within 12 s, and nobody else waits for it', async () => {
  stripe.manner = 'silent'
  const startedAt = performance.now()
  const waiting = pay()
  const vote = await answer(t, shop.mail, 'vote', 'This')
  expect(vote.body).toEqual({ ok: true, duplicate: false })
  expect((await waiting).body).toEqual({ error: 'The payment provider did not answer' })
  expect(performance.now() - startedAt).toBeLessThan(12_000)
}, 30_000)

test('a provider that refuses, as for a wrong key: 502 in other words, which repeat nothing of it', async () => {
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
  const { body } = await pay()
  expect(body.redirectUrl).toBe(stripe.sessions[0]!.url)
  expect(stripe.sessions).toHaveLength(1)
})

test('a session that was not noted is known by its order when it is paid', async () => {
  stripe.manner = 'drop'
  await pay()
  const session = stripe.sessions[0]!
  expect((await tell(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect(await orders()).toMatchObject([{ status: 'paid', sessionId: session.id }])
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
})

test('a crash between payment and record is healed by the provider’s retry', async () => {
  const session = await opened()
  // What fails in the middle of the transaction leaves nothing of it.
  await t.app.sql('alter table interactions rename to interactions_away')
  const failed = await tell(t, accountId, 'checkout.session.completed', completed(session))
  await t.app.sql('alter table interactions_away rename to interactions')
  expect(failed.status).toBe(500)
  expect(await orders()).toMatchObject([{ status: 'open' }])
  expect(await told()).toEqual([])
  expect((await tell(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect((await told()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

const endSession = () =>
  t.app.sql(`update payment_orders set session_ends_at = session_ends_at - interval '2 days' where account_id = $1`, [
    accountId,
  ])

test('of a session whose time is over the provider is asked: over, and the next one is opened', async () => {
  const session = await opened()
  await endSession()
  session.status = 'expired'
  const next = await opened()
  expect(next.id).not.toBe(session.id)
  expect((await orders()).map(({ status }) => status)).toEqual(['expired', 'open'])
})

test('of a session whose time is over the provider is asked: paid, though nobody had told it', async () => {
  const session = await opened()
  await endSession()
  Object.assign(session, { status: 'complete', payment_status: 'paid' })
  expect((await pay()).body).toEqual({ ok: true, duplicate: true })
  expect((await told()).map(({ type }) => type)).toEqual(['purchase.completed', 'interaction.received'])
})

test('beside a debit that is still under way no second session is opened', async () => {
  const session = await opened()
  await endSession()
  Object.assign(session, { status: 'complete', payment_intent: { status: 'processing' } })
  const reply = await pay()
  expect([reply.status, reply.body]).toEqual([409, { error: 'The payment is under way' }])
  expect(stripe.sessions).toHaveLength(1)
  session.payment_intent = { status: 'requires_payment_method' }
  expect((await pay()).body.redirectUrl).toBe(stripe.sessions[1]!.url)
})

test('an erased payer stands in no order any more; what was paid stays in the books', async () => {
  await t.app.work(accountId, 'cli:test', async (work) => {
    const { id } = await createList(work, { name: 'Friends' })
    await writeContacts(work, id, [{ email: 'ada@people.example', fields: {} }], new Map())
  })
  const session = await opened()
  const payments = () =>
    t.app.work(accountId, 'cli:test', (work) =>
      heldAbout.find(({ name }) => name === 'payments')!.read(work, 'ada@people.example'),
    )
  expect(await payments()).toMatchObject([{ status: 'open', amount: 39.85, email: 'ada@people.example' }])
  await t.app.work(accountId, 'cli:test', (work) =>
    eraseContact(work, 'ada@people.example', { dryRun: false, heldAbout }),
  )
  expect(await orders()).toMatchObject([{ status: 'open', email: '', amount: '39.85' }])
  expect(await payments()).toEqual([])
  expect((await tell(t, accountId, 'checkout.session.completed', completed(session))).status).toBe(200)
  expect(await told()).toMatchObject(
    [
      { type: 'contact.created' },
      { type: 'purchase.completed', data: { purchase: { amount: 39.85 }, contact: null } },
    ].reverse(),
  )
  expect(await t.app.sql('select email from lead_scores where account_id = $1', [accountId])).toEqual([])
})

test('no secret is kept as it is', async () => {
  const [row] = await t.app.sql('select * from payment_providers where account_id = $1', [accountId])
  expect(JSON.stringify(row)).not.toMatch(/sk_test|whsec/)
  expect(row).toMatchObject({ key_last4: '4242' })
})
