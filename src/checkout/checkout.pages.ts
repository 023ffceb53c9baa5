import { type BlockForm, viewUrl } from '../engagement/engagement.ts'
import { invalid } from '../lib/problem.ts'
import { type CheckoutEvent, readCheckoutEvent } from '../net/stripe.ts'
import { type Html, html } from '../pages/html.ts'
import { json, notFound, type Page, type PageView } from '../pages/page.ts'
import type { App, Work } from '../store/work.ts'
import { type CheckoutItem, priceLines, words } from '../studio/studio.ts'
import { closeOrder, findWebhookSecret, loadOrder, type Order, orderOfSession, settleOrder } from './checkout.ts'

const priceTable = (items: CheckoutItem[], currency: string): Html => {
  const lines = priceLines({ title: '', items, currency })
  const row = ([name, price]: [string, string]) => html`<tr><td>${name}</td><td>${price}</td></tr>`
  return html`<table><tbody>${lines.items.map(row)}</tbody>
<tfoot><tr><th scope="row">Total</th><td><strong>${lines.total}</strong></td></tr></tfoot></table>`
}

/** A checkout in the live view: what it costs, and the way to pay it until it is paid. */
export const checkoutForm: BlockForm<'checkout'> = {
  type: 'checkout',
  leaves: true,
  form: ({ props: { title, items, currency } }, { state }) => html`<h2>${title}</h2>
${priceTable(items, currency)}
${state ? html`<p><strong>Paid.</strong> Thank you.</p>` : html`<button>${words.checkout}</button>`}`,
  valueOf: () => ({}),
}

export const forms: readonly BlockForm[] = [checkoutForm] as unknown as readonly BlockForm[]

const tableStyle = `
table { width: 100%; border-collapse: collapse; margin: 0 0 1rem } td, th { padding: .25rem 0; text-align: left }
td:last-child { text-align: right; white-space: nowrap }
button[value=decline] { background: transparent; color: var(--ink); box-shadow: inset 0 0 0 1px var(--ink) }
`

const testPage = ({ items, currency }: Order): PageView => ({
  title: 'Test payment',
  style: tableStyle,
  body: html`<h1>Test payment</h1>
<p class="quiet">This page stands in for a payment provider. No money moves.</p>
${priceTable(items, currency)}
<form method="post"><button name="action" value="pay">Pay</button> <button name="action" value="decline">Decline</button></form>`,
})

/** What a link to the page for tests opens; null for one that is not ours, was changed, or is over. */
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
    async handle({ app, params }) {
      const order = await orderOfToken(app, params.token!)
      if (!order) return notFound
      if (order.status === 'open') return testPage(order)
      return { redirect: viewUrl(app, order.accountId, order.messageId) }
    },
  },
  {
    method: 'POST',
    path: testPath,
    async handle({ app, params, form }) {
      const order = await orderOfToken(app, params.token!)
      if (!order) return notFound
      const { accountId, id, messageId, status } = order
      if (form.action !== 'pay' && form.action !== 'decline') throw invalid('action must be pay or decline')
      // Who declined may come back to it, as with a card that is refused.
      if (form.action === 'pay' && status === 'open')
        await app.work(accountId, 'page:payment', (work) => settleOrder(work, id))
      return { redirect: viewUrl(app, accountId, messageId) }
    },
  },
]

const receive = async (work: Work, { session, outcome }: CheckoutEvent): Promise<void> => {
  const id = await orderOfSession(work, session)
  if (!id) throw invalid('There is no such session')
  if (outcome === 'paid') await settleOrder(work, id)
  if (outcome === 'over') await closeOrder(work, id)
}

/** What Stripe tells. It tells it again until it is answered 2xx. */
const stripe: Page = {
  method: 'POST',
  path: '/p/stripe/:accountId',
  takes: 'raw',
  async handle({ app, params, headers, raw }) {
    const accountId = params.accountId!
    const secret = await findWebhookSecret(app, accountId)
    // Said as of a wrong signature: which accounts there are is nobody's business.
    if (secret === null) throw invalid('The signature is not valid')
    const signature = String(headers['stripe-signature'] ?? '')
    const event = await readCheckoutEvent(raw, signature, secret)
    if (event) await app.work(accountId, 'page:payment', (work) => receive(work, event))
    return json(200, { received: true })
  },
}

export const pages: readonly Page[] = [...test, stripe]
