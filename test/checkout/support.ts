import { setStripe } from '../../src/checkout/checkout.ts'
import type { TestApp } from '../support/app.ts'
import {
  type Arrived,
  type EngagedAccount,
  type EngagedApp,
  engagedAccount,
  sendProject,
} from '../support/engagement.ts'
import { stripeKey, webhookSecret } from '../support/stripe.ts'

/** Seats and a lunch, paid by a block `pay`; 2 × 19.9 + 0.05 in all. */
export const shop = (props: object = {}) => ({
  name: 'Spring offer',
  blocks: [
    {
      id: 'pay',
      type: 'checkout',
      props: {
        title: 'Your seats, {{ name }}',
        items: [
          { name: 'Seat for {{ name }}', quantity: 2, amount: 19.9 },
          { name: 'Bag', quantity: 1, amount: 0.05 },
        ],
        currency: 'usd',
        ...props,
      },
    },
    { id: 'vote', type: 'vote', props: { question: 'Which?', options: ['This', 'That'] } },
  ],
})

export const payByStripe = (
  t: TestApp,
  accountId: string,
  input: { key: string; webhookSecret: string } = { key: stripeKey, webhookSecret },
) => t.app.work(accountId, 'cli:test', (work) => setStripe(t.app, work, input))

export interface Shop {
  account: EngagedAccount
  mail: Arrived
}

/** An account with the shop, and its mail to Ada. */
export const openShop = async ({ t, sink }: EngagedApp, props: object = {}): Promise<Shop> => {
  const account = await engagedAccount(t, shop(props))
  return { account, mail: await sendProject(t, sink, account) }
}

export const ordersOf = (t: TestApp, accountId: string) =>
  t.app.sql<{ id: string; status: string; sessionId: string | null; email: string; amount: string }>(
    'select id, status, session_id as "sessionId", email, amount from payment_orders where account_id = $1 order by id',
    [accountId],
  )
