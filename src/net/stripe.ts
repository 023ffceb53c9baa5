import type Stripe from 'stripe'
import { Problem } from '../lib/problem.ts'
import { cut, oneLine } from '../lib/strings.ts'

/** An account's access to Stripe. */
export interface StripeAccess {
  key: string
  /** It is null for the default of Stripe's library. */
  apiUrl: string | null
  /** Whether the account has another key by now: Stripe may have revoked this one. */
  isFormer?: boolean
}

/** Where Stripe redirects the browser after the payment, or without one. */
export interface ReturnUrls {
  paid: string
  declined: string
}

/** A payment. Amounts are in the currency's minor units. */
interface CheckoutRequest {
  /** Idempotency key: repeated requests return the same session. */
  id: string
  currency: string
  items: readonly { name: string; quantity: number; unitMinor: number }[]
  email: string
  returnUrls: ReturnUrls
}

export interface CheckoutSession {
  id: string
  /** The payment page. */
  url: string
  /** The time in epoch ms. It is null if it is unknown. */
  expiresAt: number | null
}

/**
 * The state of a checkout session. It is `pending` if it was paid by a method that takes days, `over` if it can no longer be
 * paid, and `unknown` if the key's account has no such session.
 */
export type CheckoutState = 'open' | 'pending' | 'paid' | 'over' | 'unknown'

/** An event of Stripe about a checkout session. */
export interface CheckoutEvent {
  /** It is null if the event does not say whether the session was paid or can no longer be paid. */
  outcome: 'paid' | 'over' | null
  session: { id: string; reference: string | null }
}

/** Limit of one request, because a person waits at a browser. The library repeats a request once if that can help. */
const requestMs = 5000
const repeats = 1
/** Stripe refuses longer names. */
const maxNameLength = 250

/** Currencies without decimals whose amounts Stripe takes in hundredths (docs.stripe.com/currencies, special cases). */
const inHundredths = ['ISK', 'UGX']

/** Loads the library, which takes 23 MB, with the first payment. */
const load = async () => (await import('stripe')).default

/** Drops a body that is not a JSON object: Stripe's library would never settle the call, and throw where nothing catches it. */
const fetchObject: typeof fetch = async (url, init) => {
  const response = await fetch(url, init)
  const body = await response.text()
  return new Response(/^\s*\{/.test(body) ? body : null, response)
}

const connect = async ({ key, apiUrl }: StripeAccess): Promise<Stripe> => {
  const Library = await load()
  const url = apiUrl === null ? null : new URL(apiUrl)
  return new Library(key, {
    // The fetch client's deadline covers the whole exchange; that of the default client restarts with every byte.
    httpClient: Library.createFetchHttpClient(fetchObject),
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

/** Returns an error for the log, with Stripe's codes only: its messages repeat their input, including the payer's address. */
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
  if (error.code === 'amount_too_small')
    return new Problem('upstream', 'The amount is below the minimum of the payment provider', { cause })
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

const lineItem = ({ currency }: CheckoutRequest, { name, quantity, unitMinor }: CheckoutRequest['items'][number]) => ({
  quantity,
  price_data: {
    currency: currency.toLowerCase(),
    unit_amount: inHundredths.includes(currency) ? unitMinor * 100 : unitMinor,
    product_data: { name: cut(name.trim(), maxNameLength) || 'Item' },
  },
})

/**
 * Opens a Stripe Checkout session: the same one for the same `id` (Stripe keeps idempotency keys for a day, as long as a session
 * is valid). Throws Problem `upstream` if Stripe does not answer or refuses.
 */
export const openCheckout = (access: StripeAccess, request: CheckoutRequest): Promise<CheckoutSession> =>
  ask(access, async (stripe) => {
    const { id, items, email, returnUrls } = request
    const session = await stripe.checkout.sessions.create(
      {
        mode: 'payment',
        client_reference_id: id,
        customer_email: email,
        line_items: items.map((item) => lineItem(request, item)),
        success_url: returnUrls.paid,
        cancel_url: returnUrls.declined,
      },
      { idempotencyKey: id },
    )
    if (!session.id || !session.url || !URL.canParse(session.url)) throw notAnswered()
    return { id: session.id, url: session.url, expiresAt: session.expires_at ? session.expires_at * 1000 : null }
  })

/** Whether Stripe refused because the key has no such session: it belongs to another account, or the former key was revoked. */
const isUnknown = (error: unknown, { isFormer = false }: StripeAccess): boolean => {
  const status = (error as { statusCode?: number }).statusCode
  return status === 404 || (isFormer && (status === 401 || status === 403))
}

/** Returns the state of a session. Throws Problem `upstream`. */
export const findCheckout = (access: StripeAccess, id: string): Promise<CheckoutState> =>
  ask(access, async (stripe) => {
    try {
      const session = await stripe.checkout.sessions.retrieve(id, { expand: ['payment_intent'] })
      if (session.payment_status === 'paid') return 'paid'
      if (session.status === 'open') return 'open'
      const payment = session.payment_intent
      return typeof payment === 'object' && payment?.status === 'processing' ? 'pending' : 'over'
    } catch (error) {
      if (isUnknown(error, access)) return 'unknown'
      throw error
    }
  })

/**
 * Ends an open session, so that it can no longer be paid. Returns false if the key has no such session. Throws Problem `upstream`, also
 * if it was paid meanwhile.
 */
export const endCheckout = (access: StripeAccess, id: string): Promise<boolean> =>
  ask(access, async (stripe) => {
    try {
      await stripe.checkout.sessions.expire(id)
      return true
    } catch (error) {
      if (isUnknown(error, access)) return false
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

const idIn = (value: unknown): string | null => (typeof value === 'string' && /^\w+$/.test(value) ? value : null)

/**
 * Parses an event that Stripe posted. Its signature must match one of `secrets` and be at most 5 minutes old by the system clock
 * (Stripe does not know a development clock). Returns null if the event is not about a session. Throws Problem `invalid`.
 */
export const readCheckoutEvent = async (
  payload: Buffer,
  header: string,
  secrets: readonly string[],
): Promise<CheckoutEvent | null> => {
  const { webhooks } = await load()
  const signed = (secret: string): Stripe.Event[] => {
    try {
      return [webhooks.constructEvent(payload, header, secret)]
    } catch {
      return []
    }
  }
  const [event] = secrets.flatMap(signed)
  if (!event) throw new Problem('invalid', 'The signature is not valid')
  if (!isOfSession(String(event.type))) return null
  const session = event.data?.object as Partial<Stripe.Checkout.Session> | undefined
  const id = idIn(session?.id)
  if (id === null) throw new Problem('invalid', 'There is no such session')
  return { outcome: outcomeOf(event), session: { id, reference: idIn(session!.client_reference_id) } }
}
