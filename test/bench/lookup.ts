import { createHash } from 'node:crypto'
import fastify, { type FastifyInstance } from 'fastify'
import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { buildServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Database } from '../../src/store/database.ts'
import { type Holder, openCallers, openHolders, portOf } from './callers.ts'
import { type Bench, interleaved, named, type Row, row } from './support.ts'

const calls = 6_400
const addresses = 10_000

/** The limit: a bare Fastify and pg with the same four statements: key, limit, read, access log. */
const bareServer = (database: Database) => {
  const server = fastify()
  server.get('/contacts', async (request) => {
    const hash = createHash('sha256').update(String(request.headers.authorization).slice(7)).digest('hex')
    const [key] = await database.sql(
      named<{ id: string; account_id: string }>(
        'bare_key',
        'select id, account_id from api_keys where hash = $1 and revoked_at is null',
      ),
      [hash],
    )
    await database.sql(
      named(
        'bare_limit',
        `insert into rate_windows as w (key_id, family, started_at, used) values ($1, 'bare', now(), 1)
       on conflict (key_id, family) do update set used = w.used + 1 returning used`,
      ),
      [key!.id],
    )
    const { email } = request.query as { email: string }
    const contacts = await database.sql(
      named(
        'bare_read',
        `select c.*, l.name, a.verification_status from contacts c join contact_lists l on l.id = c.list_id
       join addresses a on a.account_id = c.account_id and a.row_id = c.row_id
       where a.account_id = $1 and a.email = $2 order by c.updated_at desc`,
      ),
      [key!.account_id, email],
    )
    await database.sql(
      named(
        'bare_log',
        'insert into access_log (account_id, id, at, actor, email, found) values ($1, $2, now(), $3, $4, $5)',
      ),
      [key!.account_id, newId('log', Date.now()), key!.id, email, contacts.length],
    )
    return { contacts }
  })
  return server
}

export const fill = async (
  database: Database,
  accountId: string,
  listId: string,
  from: number,
  to: number,
): Promise<void> => {
  const fields = JSON.stringify({ first_name: 'Ada', last_name: 'Lovelace', city: 'London', plan: 'pro' })
  await database.sql(
    `with made as (
       insert into addresses (account_id, email, row_id, domain, verification_status, verification_reasons, verified_at)
       select $1, 'user' || i || '@example.org', 'row_' || lpad(i::text, 26, '0'), 'example.org', 'valid', '{}', now()
       from generate_series($3::int, $4::int - 1) i returning email, row_id
     )
     insert into contacts (account_id, email, list_id, row_id, fields, status, created_at, updated_at)
     select $1, email, $2, row_id, $5::jsonb, 'active', now(), now() from made`,
    [accountId, listId, from, to, fields],
  )
  await database.sql('update contact_lists set row_count = $2 where id = $1', [listId, to])
  await database.sql('update accounts set contact_count = $2 where id = $1', [accountId, to])
  await database.sql('vacuum analyze contacts')
  await database.sql('vacuum analyze addresses')
}

export const bench = async (b: Bench): Promise<Row[]> => {
  // The rate limiter counts calls as that of the bare server does; its limit is never reached.
  const app = await b.app({ SVC_RATE_LIMIT: '100000000' }, { queue: false })
  const holders = await openHolders(app, addresses)
  const { fastify: ours } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const bare = bareServer(app.database)
  await ours.listen({ port: 0, host: '127.0.0.1' })
  await bare.listen({ port: 0, host: '127.0.0.1' })
  const callers = openCallers()
  const via = (server: FastifyInstance, path: string, by: readonly Holder[]) => () =>
    callers.rate(portOf(server), by, calls, (n) => {
      const email = `user${(n * 7919) % addresses}@example.org`
      return { method: 'GET', path: `${path}?email=${email}`, expected: `"email":"${email}"` }
    })
  const measure = (by: readonly Holder[]) =>
    interleaved(5, via(ours, '/api/v1/contacts', by), via(bare, '/contacts', by))
  const manyKeys = await measure(holders)
  const oneKey = await measure(holders.slice(0, 1))
  callers.close()
  await ours.close()
  await bare.close()
  const name = 'GET /contacts?email= against four bare statements'
  return [
    row(`${name}, 32 keys of 4 accounts`, '/s', manyKeys, { atLeast: 1 }),
    row(`${name}, one key`, '/s', oneKey, { atLeast: 1.1 }),
  ]
}
