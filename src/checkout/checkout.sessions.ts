import { hash } from 'node:crypto'
import {
  type CheckoutSession,
  type CheckoutState,
  endCheckout,
  findCheckout,
  openCheckout,
  type ReturnUrls,
  type StripeAccess,
} from '../net/stripe.ts'
import type { App } from '../store/work.ts'
import { currencyDigits } from '../studio/studio.ts'
import type { Order } from './checkout.orders.ts'
import type { Provider, ProviderKind } from './checkout.provider.ts'

/** The interface of payment providers. A session is the page where one order is paid. All calls use a socket, except with `test`. */
export interface PaymentProvider {
  kind: ProviderKind
  /** The hash of the current key. It is null if the provider has no keys. */
  key: string | null
  /** Opens the order's session. It is idempotent: repeated calls return the same session. Throws Problem `upstream`. */
  open(order: Order, returnUrls: ReturnUrls): Promise<CheckoutSession>
  /** Returns the state of a session that has expired, or that another key opened. Throws Problem `upstream`. */
  checkState(session: Session): Promise<Exclude<CheckoutState, 'unknown'>>
  /** Ends an open session, so that it can't be paid any more. Throws Problem `upstream`. */
  end(session: Session): Promise<void>
}

type Session = NonNullable<Order['session']>

/** Identifies a key without revealing it. */
const hashOf = (key: string): string => hash('sha256', key).slice(0, 32)

const stripe = (
  { config }: Pick<App, 'config'>,
  { key, formerKey }: Extract<Provider, { kind: 'stripe' }>,
): PaymentProvider => {
  const access: StripeAccess = { key, apiUrl: config.stripeApiUrl }
  // The current key is the second try: if the former key belongs to the same Stripe account, it may be revoked.
  const accessesTo = (session: Session): StripeAccess[] =>
    formerKey !== null && session.key === hashOf(formerKey)
      ? [{ ...access, key: formerKey, isFormer: true }, access]
      : [access]
  return {
    kind: 'stripe',
    key: hashOf(key),
    open({ id, currency, items, email }, returnUrls) {
      const unit = 10 ** currencyDigits(currency)
      const inMinor = items.map(({ name, quantity, amount }) => ({
        name,
        quantity,
        unitMinor: Math.round(amount * unit),
      }))
      return openCheckout(access, { id, currency, items: inMinor, email, returnUrls })
    },
    async checkState(session) {
      for (const one of accessesTo(session)) {
        const state = await findCheckout(one, session.id)
        if (state !== 'unknown') return state
      }
      return 'over'
    },
    async end(session) {
      for (const one of accessesTo(session)) if (await endCheckout(one, session.id)) return
    },
  }
}

const testSessionMs = 24 * 60 * 60_000

const test = ({ config, tokens, now }: Pick<App, 'config' | 'tokens' | 'now'>): PaymentProvider => ({
  kind: 'test',
  key: null,
  async open({ accountId, id }) {
    const expiresAt = now().getTime() + testSessionMs
    const token = tokens.sign('payment', [accountId, id], expiresAt)
    return { id: `test_${id}`, url: `${config.publicUrl}/p/test/${token}`, expiresAt }
  },
  checkState: async () => 'over',
  end: async () => {},
})

export const openProvider = (app: App, provider: Provider): PaymentProvider =>
  provider.kind === 'stripe' ? stripe(app, provider) : test(app)
