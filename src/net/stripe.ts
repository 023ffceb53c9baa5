import type Stripe from 'stripe'
import { Problem } from '../lib/problem.ts'
import { oneLine } from '../lib/text.ts'

/** How Stripe is reached for an account. */
export interface StripeAccess {
  key: string
  /** null: where Stripe says. */
  apiUrl: string | null
}

/** What is paid: amounts in the currency's minor units by ISO 4217. */
export interface CheckoutRequest {
  /** Makes it one session, however often it is asked for. */
  id: string
  currency: string
  /** The decimals of the currency by ISO 4217. */
  digits: number
  items: readonly { name: string; quantity: number; unitMinor: number }[]
  email: string
  /** Where the browser goes once it is paid, or not. */
  returnUrl: string
}

export interface CheckoutSession {
  id: string
  /** Where it is paid. */
  url: string
  /** epoch ms; null: not told. */
  expiresAt: number | null
}

/** What a checkout session has come to; `pending`: paid by a way that takes days, `over`: it can't be paid any more. */
export type CheckoutState = 'open' | 'pending' | 'paid' | 'over'

/** What Stripe tells of a checkout session. */
export interface CheckoutEvent {
  /** null: nothing that says whether it is paid, or can't be any more. */
  outcome: 'paid' | 'over' | null
  session: { id: string; reference: string | null }
}

/** The whole of one request; the library repeats it once where that can help. Somebody waits at a browser. */
const requestMs = 5000
const repeats = 1
/** Stripe cuts no name, it refuses it. */
const maxNameLength = 250

/** Where Stripe counts a currency otherwise than ISO 4217 (docs.stripe.com/currencies, special cases). */
const stripeDigits: Readonly<Record<string, number>> = { ISK: 2, UGX: 2, MGA: 0 }

/** 23 MB of it: loaded with the first payment. */
const load = async () => (await import('stripe')).default

const connect = async ({ key, apiUrl }: StripeAccess): Promise<Stripe> => {
  const Library = await load()
  const url = apiUrl === null ? null : new URL(apiUrl)
  return new Library(key, {
    // Its deadline is of the whole exchange; that of the other client begins anew with every byte.
    httpClient: Library.createFetchHttpClient(),
    timeout: requestMs,
    maxNetworkRetries: repeats,
    telemetry: false,
    ...(url && {
      host: url.hostname,
      port: url.port || (url.protocol === 'http:' ? '80' : '443'),
      protocol: url.protocol === 'http:' ? 'http' : 'https',
    }),
  })
}

/** Stripe's messages repeat what they were given, the payer's address too: the log gets what Stripe calls it. */
const causeOf = ({ type, code, statusCode, requestId }: Stripe.errors.StripeError): Error =>
  new Error(
    oneLine(
      `Stripe: ${[type, code, statusCode && `status ${statusCode}`, requestId && `request ${requestId}`].filter(Boolean).join(', ')}`,
      500,
    ),
  )

const notAnswered = (cause?: Error) =>
  new Problem('upstream', 'The payment provider did not answer', cause && { cause })

const refusalOf = (error: unknown, Library: typeof Stripe): unknown => {
  if (!(error instanceof Library.errors.StripeError)) return error
  const cause = causeOf(error)
  const status = error.statusCode ?? 0
  const isTheirs = status < 400 || status >= 500 || status === 409 || status === 429
  return isTheirs ? notAnswered(cause) : new Problem('upstream', 'The payment provider refused the payment', { cause })
}

const ask = async <T>(access: StripeAccess, question: (stripe: Stripe) => Promise<T>): Promise<T> => {
  const stripe = await connect(access)
  try {
    return await question(stripe)
  } catch (error) {
    throw refusalOf(error, await load())
  }
}

const lineItem = (
  { currency, digits }: CheckoutRequest,
  { name, quantity, unitMinor }: CheckoutRequest['items'][number],
) => ({
  quantity,
  price_data: {
    currency: currency.toLowerCase(),
    unit_amount: Math.round(unitMinor * 10 ** ((stripeDigits[currency] ?? digits) - digits)),
    product_data: { name: name.trim().slice(0, maxNameLength) || 'Item' },
  },
})

/**
 * Opens a Stripe Checkout session: the same one for the same `id` (Stripe keeps idempotency keys for a day, as long as a session
 * lives). Throws Problem `upstream` where Stripe does not answer, or refuses.
 */
export const openCheckout = (access: StripeAccess, request: CheckoutRequest): Promise<CheckoutSession> =>
  ask(access, async (stripe) => {
    const { id, items, email, returnUrl } = request
    const session = await stripe.checkout.sessions.create(
      {
        mode: 'payment',
        client_reference_id: id,
        customer_email: email,
        line_items: items.map((item) => lineItem(request, item)),
        success_url: returnUrl,
        cancel_url: returnUrl,
      },
      { idempotencyKey: id },
    )
    if (!session.id || !session.url) throw notAnswered()
    return { id: session.id, url: session.url, expiresAt: session.expires_at ? session.expires_at * 1000 : null }
  })

/** Looks at a session; one that Stripe does not know is over. Throws Problem `upstream`. */
export const findCheckout = (access: StripeAccess, id: string): Promise<CheckoutState> =>
  ask(access, async (stripe) => {
    try {
      const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent'] })
      if (session.payment_status === 'paid') return 'paid'
      if (session.status === 'open') return 'open'
      const payment = session.payment_intent
      return typeof payment === 'object' && payment?.status === 'processing' ? 'pending' : 'over'
    } catch (error) {
      if ((error as { statusCode?: number }).statusCode === 404) return 'over'
      throw error
    }
  })

const outcomeOf = ({ type, data }: Stripe.Event): CheckoutEvent['outcome'] => {
  if (type === 'checkout.session.async_payment_succeeded') return 'paid'
  if (type === 'checkout.session.expired') return 'over'
  return type === 'checkout.session.completed' && data.object.payment_status === 'paid' ? 'paid' : null
}

const isOfSession = (type: string): boolean =>
  /^checkout\.session\.(completed|async_payment_succeeded|expired)$/.test(type)

/**
 * Reads what Stripe posted, whose signature must be by `secret` and at most 5 minutes old: by the real time, as Stripe knows of no
 * other. null: it is about something else. Throws Problem `invalid`.
 */
export const readCheckoutEvent = async (
  payload: Buffer,
  header: string,
  secret: string,
): Promise<CheckoutEvent | null> => {
  const { webhooks } = await load()
  let event: Stripe.Event
  try {
    event = webhooks.constructEvent(payload, header, secret)
  } catch {
    throw new Problem('invalid', 'The signature is not valid')
  }
  if (!isOfSession(String(event?.type))) return null
  const session = event.data?.object as Partial<Stripe.Checkout.Session> | undefined
  if (typeof session?.id !== 'string') throw new Problem('invalid', 'There is no such session')
  const reference = session.client_reference_id
  return {
    outcome: outcomeOf(event),
    session: { id: session.id, reference: typeof reference === 'string' ? reference : null },
  }
}
