import { readBrand } from '../accounts/accounts.ts'
import type { BlockForm } from '../engagement/engagement.ts'
import { invalid } from '../lib/problem.ts'
import { type CheckoutEvent, readCheckoutEvent } from '../net/stripe.ts'
import { type Html, html } from '../pages/html.ts'
import { json, notFoundPage, type Page, type PageView } from '../pages/page.ts'
import type { App, Work } from '../store/work.ts'
import { type CheckoutItem, priceLines, words } from '../studio/studio.ts'
import { returnTo } from './checkout.block.ts'
import { closeOrder, loadOrder, type Order, orderOfSession, settleOrder } from './checkout.orders.ts'
import { findWebhookSecrets } from './checkout.provider.ts'

const priceTable = (order: { items: CheckoutItem[]; currency: string }, lang: string | null): Html => {
  const lines = priceLines(order, lang)
  const row = ([name, price]: [string, string]) => html`<tr><td>${name}</td><td>${price}</td></tr>`
  return html`<table>
<tbody>${lines.items.map(row)}</tbody>
<tfoot>
<tr><th scope="row">Total</th><td><strong>${lines.total}</strong></td></tr>
</tfoot>
</table>`
}

/** Notices for a browser that returns from the provider (`returnTo`) while the order is not yet paid, by outcome. */
const returnNotices: ReadonlyMap<string, Html> = new Map([
  [
    'paid',
    html`<p class="notice" role="status">
The payment provider has not confirmed your payment yet. Please reload this page in a moment.
</p>`,
  ],
  ['declined', html`<p class="notice" role="status">Nothing was paid. You can try again.</p>`],
])

/** A checkout block in the live view: its prices, and a button to pay until it is paid. */
const checkoutForm: BlockForm<'checkout'> = {
  type: 'checkout',
  leaves: true,
  form: ({ props }, { state, chosen, lang }) => html`<h2>${props.title}</h2>
${priceTable(props, lang)}
${
  state
    ? html`<p class="notice good" role="status"><strong>Paid.</strong> Thank you.</p>`
    : html`${chosen !== undefined && returnNotices.get(chosen)}
<button>${words.checkout}</button>`
}`,
  valueOf: () => ({}),
}

// A list of several kinds: each is called only with blocks of its own type.
export const forms: readonly BlockForm[] = [checkoutForm]

const tableStyle = `
table { width: 100%; border-collapse: collapse; margin: 0 0 1rem }
td, th { padding: .25rem 0; text-align: left }
td:last-child { text-align: right; white-space: nowrap }
.paying { display: flex; flex-wrap: wrap; gap: .75rem }
.paying button { flex: 1 }
tfoot :is(th, td) { padding-top: .6rem; border-top: 1px solid var(--line) }
`

const testPage = (order: Order, lang: string | null): PageView => ({
  title: 'Test payment',
  style: tableStyle,
  body: html`<h1>Test payment</h1>
<p class="quiet">This page stands in for a payment provider. No money moves.</p>
${priceTable(order, lang)}
<form method="post" class="paying">
<button name="action" value="pay">Pay</button>
<button class="plain" name="action" value="decline">Decline</button>
</form>`,
})

/** Returns the order of a test page's token, or null if the token is not valid or has expired. */
const orderOfToken = async (app: App, token: string): Promise<Order | null> => {
  const [accountId, id] = app.tokens.read('payment', token, app.now().getTime()) ?? []
  const order = accountId && id ? await loadOrder(app, accountId, id) : null
  return order?.provider === 'test' ? order : null
}

const testPath = '/p/test/:token'

const test: Page[] = [
  {
    method: 'GET',
    path: testPath,
    token: 'payment',
    async handle({ app, params }) {
      const order = await orderOfToken(app, params.token!)
      if (!order) return notFoundPage
      const { accountId, status } = order
      if (status === 'open') return testPage(order, (await readBrand({ sql: app.sql, accountId })).lang)
      return { redirect: returnTo(app, order, status === 'paid' ? 'paid' : 'declined') }
    },
  },
  {
    method: 'POST',
    path: testPath,
    token: 'payment',
    async handle({ app, params, form }) {
      const order = await orderOfToken(app, params.token!)
      if (!order) return notFoundPage
      const { accountId, id, status } = order
      if (form.action !== 'pay' && form.action !== 'decline') throw invalid('action must be pay or decline')
      // A declined order stays open, as after a refused card: the recipient can try again.
      if (form.action === 'pay' && status === 'open')
        await app.work(accountId, 'page:payment', (work) => settleOrder(work, id))
      return { redirect: returnTo(app, order, form.action === 'pay' && status !== 'expired' ? 'paid' : 'declined') }
    },
  },
]

const receive = async (work: Work, { session, outcome }: CheckoutEvent): Promise<void> => {
  const id = await orderOfSession(work, session)
  if (!id) throw invalid('There is no such session')
  if (outcome === 'paid') await settleOrder(work, id)
  if (outcome === 'over') await closeOrder(work, id)
}

/** Receives Stripe's events. Stripe repeats an event until the response is 2xx. */
const stripe: Page = {
  method: 'POST',
  path: '/p/stripe/:accountId',
  takes: 'raw',
  limited: 'signed',
  async handle({ app, params, headers, raw }) {
    const accountId = params.accountId!
    // An unknown account has no secrets, so its signature is never valid: the response doesn't reveal which accounts exist.
    const secrets = await findWebhookSecrets(app, accountId)
    const signature = String(headers['stripe-signature'] ?? '')
    const event = await readCheckoutEvent(raw, signature, secrets)
    if (event) await app.work(accountId, 'page:payment', (work) => receive(work, event))
    return json(200, { received: true })
  },
}

export const pages: readonly Page[] = [...test, stripe]
