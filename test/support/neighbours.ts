import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { expect } from 'vitest'
import type { OpenApp } from '../../src/app/app.ts'
import { newId } from '../../src/lib/ids.ts'
import { emitEvents, eventually, subscribe, tally } from './deliveries.ts'
import { settlesWithin } from './eventually.ts'
import type { Received, Receiver } from './receiver.ts'
import { atEnd } from './scope.ts'
import { limit } from './slowness.ts'

/**
 * Creates webhooks of the account, each with its own path at the receiver; returns their ids. The others are copies of the first one:
 * creating one as an API client does takes ten times as long.
 */
export const subscribeMany = async (app: OpenApp, accountId: string, url: string, count: number): Promise<string[]> => {
  const { id: first, secret } = await subscribe(app, accountId, `${url}/1`)
  const others = Array.from({ length: count - 1 }, (_, n) => {
    const id = newId('whk', Date.now())
    return { id, url: `${url}/${n + 2}`, sealed_secret: app.box.seal(secret, id) }
  })
  await app.sql(
    `with targets as (
       insert into delivery_targets
       select copy.* from delivery_targets t, jsonb_array_elements($2::jsonb) other, jsonb_populate_record(t, other) copy where t.id = $1
     )
     insert into webhooks
     select copy.* from webhooks w, jsonb_array_elements($2::jsonb) other, jsonb_populate_record(w, other) copy where w.id = $1`,
    [first, JSON.stringify(others)],
  )
  return [first, ...others.map(({ id }) => id)]
}

/** Inserts `count` pending deliveries for each of the webhooks, without a notification. */
export const backlog = async (
  app: OpenApp,
  accountId: string,
  webhookIds: readonly string[],
  count: number,
  body = '{}',
): Promise<void> => {
  await app.sql(
    `with clock as materialized (
       select svc_now() as now
     ), target as (
       update delivery_targets t set next_due_at = least(next_due_at, clock.now), version = version + 1
       from clock, (select id from delivery_targets where id = any($3) order by id for no key update) l where t.id = l.id
     )
     insert into pending_deliveries (account_id, id, target_id, key, type, body, bytes, due_at, created_at)
     select $1, $2 || lpad(((t.place - 1) * $4 + n)::text, 12, '0'), t.id, 'evt_' || $2 || ((t.place - 1) * $4 + n), 'contact.created',
       $5, octet_length($5), clock.now + n * interval '1 microsecond', clock.now
     from clock, unnest($3::text[]) with ordinality as t(id, place), generate_series(1, $4::int8) n`,
    [accountId, newId('dlv', Date.now()).slice(0, 18), webhookIds, count, body],
  )
}

/** Emits events of the account one by one, `everyMs` apart, at least `least` and until `isDone`; returns their number. */
export const emitSteadily = async (
  app: OpenApp,
  accountId: string,
  { everyMs, least }: { everyMs: number; least: number },
  isDone: () => boolean = () => true,
): Promise<number> => {
  let count = 0
  while (count < least || !isDone()) {
    await emitEvents(app, accountId)
    count++
    await sleep(everyMs)
  }
  return count
}

export const keyOf = ({ headers }: Received): string => String(headers['x-service-idempotency-key'])

/** Returns the number of posts that repeat an earlier one. */
export const repeatsOf = ({ requests }: Pick<Receiver, 'requests'>): number =>
  requests.length - new Set(requests.map(keyOf)).size

/** Returns the time from the creation of each event to its first arrival, in ms. */
export const latenciesOf = (requests: readonly Received[]): number[] => {
  const seen = new Set<string>()
  return requests.flatMap((request) => {
    if (seen.has(keyOf(request))) return []
    seen.add(keyOf(request))
    return request.arrivedAtMs - JSON.parse(request.body.toString()).createdAt
  })
}

/** Opens a session that holds the locks of `statement` until it is released, or until the end of the test. */
export const hold = async (url: string, statement: string, params: unknown[]): Promise<() => Promise<void>> => {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  const release = () => client.end()
  await client.connect()
  atEnd(release)
  await client.query('begin')
  await client.query(statement, params)
  return release
}

/** A delivery that waits for a hanging request waits for its timeout of five seconds. */
export const heldBackMs = limit(4500)

/** The events of `staysHealthy` in six seconds: a request that hangs meanwhile times out after five. */
export const pastTimeout = 50

/**
 * Emits events of the account until `isDone`; expects that all arrive and are recorded, without delay and none twice. They are so
 * close to each other that whatever holds the account back for `heldBackMs` delays several of them.
 */
export const staysHealthy = async (
  app: OpenApp,
  accountId: string,
  receiver: Receiver,
  { isDone = (): boolean => true, least = 17 } = {},
): Promise<void> => {
  const from = receiver.requests.length
  const count = await emitSteadily(app, accountId, { everyMs: 120, least }, isDone)
  await receiver.arrived(from + count)
  await eventually(async () => (await tally(app, accountId)).pending === undefined)
  expect(Math.max(...latenciesOf(receiver.requests.slice(from)))).toBeLessThan(heldBackMs)
  expect(repeatsOf(receiver)).toBe(0)
}

/** Requests that a worker makes to one endpoint at the same time. */
const inFlight = 64

/** The requests that the receiver of `claimHundreds` answers at once: each earns its worker one claim more at a time. */
export const answeredAtOnce = 500

/**
 * Queues deliveries of a webhook for two workers. The receiver answers the first ones at once, so that the workers claim hundreds, and
 * the next ones after `answer` is called. Resolves once a worker has as many posts in flight as it can.
 */
export const claimHundreds = async (app: OpenApp, accountId: string, webhookId: string, receiver: Receiver) => {
  const { promise, resolve } = Promise.withResolvers<void>()
  receiver.next(...Array(answeredAtOnce).fill({}))
  receiver.always({ until: promise })
  await backlog(app, accountId, [webhookId], 1200)
  await app.sql(`select pg_notify('svc_deliveries', '')`)
  await receiver.arrived(answeredAtOnce + inFlight)
  return {
    answer() {
      receiver.always({})
      resolve()
    },
  }
}

/** Shorter than the second after which a worker returns the claims of an endpoint that does not answer. */
export const momentMs = 700

/**
 * Lets two workers notice a change for a moment, and returns the number of posts so far. Expects that they begin at most as many
 * meanwhile as can be in flight.
 */
export const postsAfterMoment = async ({ requests }: Pick<Receiver, 'requests'>): Promise<number> => {
  const before = requests.length
  await settlesWithin(new Promise(() => {}), momentMs)
  expect(requests.length - before).toBeLessThanOrEqual(2 * inFlight)
  return requests.length
}
