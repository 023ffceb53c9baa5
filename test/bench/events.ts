import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { type ApiCall, openCallers, openHolders, portOf } from './callers.ts'
import { type Bench, interleaved, type Row, row } from './support.ts'

const calls = 6_400
const addresses = 10_000

/** What `fill` has written. */
const fields = { first_name: 'Ada', last_name: 'Lovelace', city: 'London', plan: 'pro' }
const emailOf = (n: number): string => `user${(n * 7919) % addresses}@example.org`

/** POST /events of known addresses, beside POST /contacts of the same addresses, which changes nothing. */
export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app({ SVC_RATE_LIMIT: '100000000' }, { queue: false })
  const holders = await openHolders(app, addresses)
  const lists = await app.sql<{ accountId: string; id: string }>(
    'select account_id as "accountId", id from contact_lists',
  )
  const listOf = new Map(lists.map(({ accountId, id }) => [accountId, id]))
  const { fastify } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  await fastify.listen({ port: 0, host: '127.0.0.1' })
  const callers = openCallers()
  const event = (n: number): Omit<ApiCall, 'key'> => ({
    method: 'POST',
    path: '/api/v1/events',
    body: JSON.stringify({ name: 'plan.upgraded', email: emailOf(n), data: { plan: 'pro' } }),
    expected: '"journeys":0',
  })
  const contact = (n: number, holder: number): Omit<ApiCall, 'key'> => ({
    method: 'POST',
    path: '/api/v1/contacts',
    body: JSON.stringify({ listId: listOf.get(holders[holder]!.accountId), email: emailOf(n), fields }),
    expected: '"updated":1',
  })
  const measure = (by: typeof holders) =>
    interleaved(
      5,
      () => callers.rate(portOf(fastify), by, calls, event),
      () => callers.rate(portOf(fastify), by, calls, contact),
    )
  const [manyKeys, oneKey] = [await measure(holders), await measure(holders.slice(0, 1))]
  callers.close()
  await fastify.close()
  const limit = 'against POST /contacts with identical data'
  return [
    row(`POST /events ${limit}, 32 keys of 4 accounts`, '/s', manyKeys, { atLeast: 0.5 }),
    row(`POST /events ${limit}, one key`, '/s', oneKey, { atLeast: 0.5 }),
  ]
}
