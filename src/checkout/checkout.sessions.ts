import { type CheckoutSession, type CheckoutState, findCheckout, openCheckout } from '../net/stripe.ts'
import type { App } from '../store/work.ts'
import { currencyDigits } from '../studio/studio.ts'
import type { Order } from './checkout.orders.ts'
import type { Provider, ProviderKind } from './checkout.provider.ts'

/** The port of a payment provider: a session is where one order is paid. Both use a socket where the provider has one. */
export interface PaymentProvider {
  kind: ProviderKind
  /** The order's session: however often it is asked for, it is one. Throws Problem `upstream`. */
  open(order: Order, returnUrl: string): Promise<CheckoutSession>
  /** What has become of a session whose time is over. Throws Problem `upstream`. */
  look(sessionId: string): Promise<CheckoutState>
}

const stripe = ({ config }: Pick<App, 'config'>, key: string): PaymentProvider => {
  const access = { key, apiUrl: config.stripeApiUrl }
  return {
    kind: 'stripe',
    open({ id, currency, items, email }, returnUrl) {
      const digits = currencyDigits(currency)
      const inMinor = items.map(({ name, quantity, amount }) => ({
        ...{ name, quantity },
        unitMinor: Math.round(amount * 10 ** digits),
      }))
      return openCheckout(access, { id, currency, digits, items: inMinor, email, returnUrl })
    },
    look: (sessionId) => findCheckout(access, sessionId),
  }
}

const testSessionMs = 24 * 60 * 60_000

const test = ({ config, tokens, now }: Pick<App, 'config' | 'tokens' | 'now'>): PaymentProvider => ({
  kind: 'test',
  async open({ accountId, id }) {
    const expiresAt = now().getTime() + testSessionMs
    const token = tokens.sign('payment', [accountId, id], expiresAt)
    return { id: `test_${id}`, url: `${config.publicUrl}/p/test/${token}`, expiresAt }
  },
  look: async () => 'over',
})

/** The provider that is in force, ready to be used. */
export const openProvider = (app: App, provider: Provider): PaymentProvider =>
  provider.kind === 'stripe' ? stripe(app, provider.key) : test(app)
