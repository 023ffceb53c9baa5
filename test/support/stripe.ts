import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import Stripe from 'stripe'
import type { TestApp } from './app.ts'

export const stripeKey = 'sk_test_51AbCdEfGhIjKlMn4242'
/** Another key of the same Stripe account. */
export const rolledKey = 'sk_test_51AbCdEfRolledRolled4343'
/** A key of another Stripe account. */
export const otherKey = 'sk_test_51XyXyXyGhIjKlMn5151'
export const webhookSecret = 'whsec_OfTheTestsAlone123'
export const otherSecret = 'whsec_OfTheOtherAccount456'

/** Returns the Stripe account of a key. */
const accountOf = (key: string): string => key.slice('sk_test_51'.length).slice(0, 6)

export interface FakeSession {
  id: string
  url: string
  status: 'open' | 'complete' | 'expired'
  payment_status: 'unpaid' | 'paid'
  client_reference_id: string
  payment_intent: { status: string } | null
  /** The Stripe account that it belongs to; it does not exist for the keys of other accounts. */
  account: string
  /** The parameters of its request, with Stripe's names: `line_items[0][quantity]`. */
  asked: Record<string, string>
}

/** How the next requests are answered: `silent` never, `drop` closes the connection after the session was created. */
type Manner = 'well' | 'silent' | 'drop' | { status: number; error: object } | { status: number; body: string }

export interface FakeStripe {
  url: string
  sessions: FakeSession[]
  /** The number of requests to create a session, including repeats. */
  creations: number
  /** All requests, such as `POST /v1/checkout/sessions`, with their keys. */
  requests: { line: string; key: string }[]
  manner: Manner
  /** Keys that Stripe no longer accepts. */
  revoked: string[]
  /** Responses wait for it. */
  until: Promise<void> | null
  /** The delay of a response, in ms. */
  delay: number
  close(): Promise<void>
}

/** The few Stripe endpoints that a checkout needs, with their idempotency. */
export const openStripe = async (): Promise<FakeStripe> => {
  const made = new Map<string, FakeSession>()
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request)
    const line = `${request.method} ${request.url!.split('?')[0]}`
    const bearer = String(request.headers.authorization).replace('Bearer ', '')
    const account = accountOf(bearer)
    fake.requests.push({ line, key: bearer })
    const answer = (status: number, json: object) =>
      response
        .writeHead(status, { 'content-type': 'application/json', 'request-id': 'req_1' })
        .end(JSON.stringify(json))
    const { manner } = fake
    if (manner === 'silent') return
    if (typeof manner === 'object' && 'body' in manner)
      return response.writeHead(manner.status, { 'content-type': 'application/json' }).end(manner.body)
    if (typeof manner === 'object') return answer(manner.status, { error: manner.error })
    if (fake.revoked.includes(bearer))
      return answer(401, { error: { type: 'invalid_request_error', code: 'api_key_expired', message: 'Expired' } })
    await fake.until
    if (fake.delay > 0) await new Promise((resolve) => setTimeout(resolve, fake.delay))
    if (line === 'POST /v1/checkout/sessions') {
      fake.creations++
      const key = `${account} ${request.headers['idempotency-key']}`
      const asked = Object.fromEntries(new URLSearchParams(body))
      const session = made.getOrInsertComputed(key, () => {
        const id = `cs_test_${Math.random().toString(36).slice(2)}`
        return {
          ...{ id, object: 'checkout.session', url: `${fake.url}/pay/${id}`, status: 'open', payment_status: 'unpaid' },
          ...{ client_reference_id: asked.client_reference_id!, payment_intent: null, asked, account },
          expires_at: Math.floor(Date.now() / 1000) + 86_400,
        } as FakeSession
      })
      if (!fake.sessions.includes(session)) fake.sessions.push(session)
      if (manner === 'drop') return void request.socket.destroy()
      return answer(200, session)
    }
    const [, id, action] = /^\w+ \/v1\/checkout\/sessions\/(\w+)(\/expire)?$/.exec(line) ?? []
    const session = fake.sessions.find((one) => one.id === id && one.account === account)
    if (session && action) {
      if (session.status !== 'open')
        return answer(400, { error: { type: 'invalid_request_error', message: 'Only open sessions can be expired' } })
      session.status = 'expired'
      return answer(200, session)
    }
    if (id)
      return session
        ? answer(200, session)
        : answer(404, { error: { type: 'invalid_request_error', code: 'resource_missing', message: `No such ${id}` } })
    if (line === 'GET /favicon.ico') return void response.writeHead(204).end()
    if (line.startsWith('GET /pay/'))
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<title>Pay</title><h1>Pay here</h1>')
    answer(404, { error: { type: 'invalid_request_error', message: 'Unrecognized request URL' } })
  }
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const fake: FakeStripe = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    ...{ sessions: [], creations: 0, requests: [], manner: 'well', revoked: [], until: null, delay: 0 },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return fake
}

interface Told {
  secret?: string
  /** Seconds since the signature. */
  age?: number
  /** Posted instead of the signed body. */
  instead?: string
}

/** Posts an event to the account's webhook, signed by Stripe's library as Stripe does. */
export const postStripeEvent = (
  t: TestApp,
  accountId: string,
  type: string,
  object: object,
  { secret = webhookSecret, age = 0, instead }: Told = {},
) => {
  const payload = JSON.stringify({ id: 'evt_1', object: 'event', type, data: { object } }, null, 2)
  const timestamp = Math.floor(Date.now() / 1000) - age
  const header = Stripe.webhooks.generateTestHeaderString({ payload, secret, timestamp })
  return t.request('POST', `/p/stripe/${accountId}`, {
    body: instead ?? payload,
    headers: { 'stripe-signature': header },
  })
}
