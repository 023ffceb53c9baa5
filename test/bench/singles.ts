import { createHash } from 'node:crypto'
import fastify from 'fastify'
import { pino } from 'pino'
import { Pool } from 'undici'
import { loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { buildServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Database, Sql } from '../../src/store/database.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { knowDomain, type Person, person } from './batch.ts'
import { type Bench, benchAccount, interleaved, named, type Row, row } from './support.ts'

const connections = 32
const calls = 2_000

/** Writes an address and its contact as raw upserts. Returns the contact. */
const upsert = async (sql: Sql, accountId: string, listId: string, { email, ...fields }: Person) => {
  const [address] = await sql(
    named<{ row_id: string }>(
      'bare_address',
      `insert into raw_addresses (account_id, email, row_id) values ($1, $2, $3)
     on conflict (account_id, email) do update set row_id = raw_addresses.row_id returning row_id`,
    ),
    [accountId, email, newId('row', Date.now())],
  )
  const [contact] = await sql(
    named(
      'bare_contact',
      `insert into raw_members as m (account_id, email, list_id, row_id, fields, updated_at)
     values ($1, $2, $3, $4, $5, now())
     on conflict (account_id, email, list_id) do update set fields = m.fields || excluded.fields, updated_at = now()
     returning *`,
    ),
    [accountId, email, listId, address!.row_id, JSON.stringify(fields)],
  )
  return contact
}

/** Reads an existing contact and writes nothing. */
const read = async (sql: Sql, accountId: string, listId: string, { email, ...fields }: Person) => {
  const [contact] = await sql(
    named(
      'bare_read',
      `select m.* from raw_members m join raw_addresses a on a.account_id = m.account_id and a.email = m.email
     where m.account_id = $1 and m.email = $2 and m.list_id = $3 and m.fields @> $4::jsonb`,
    ),
    [accountId, email, listId, JSON.stringify(fields)],
  )
  return contact
}

const tell = (sql: Sql, accountId: string, contact: unknown) => {
  const id = newId('evt', Date.now())
  return sql(
    named(
      'bare_event',
      `with e as (insert into raw_events (account_id, id, payload) values ($1, $2, $3))
     insert into raw_deliveries (account_id, id, event_id, due_at) values ($1, $4, $2, now())`,
    ),
    [accountId, id, JSON.stringify({ id, type: 'contact.created', data: { contact } }), newId('dlv', Date.now())],
  )
}

const tables = [
  `create table raw_addresses (account_id text collate "C", email text collate "C", row_id text collate "C", primary key (account_id, email))`,
  `create table raw_members (account_id text collate "C", email text collate "C", list_id text collate "C", row_id text collate "C",
     fields jsonb, updated_at timestamptz, primary key (account_id, email, list_id), unique (list_id, row_id))`,
  `create table raw_events (account_id text collate "C", id text collate "C", payload text, primary key (account_id, id))`,
  `create table raw_deliveries (account_id text collate "C", id text collate "C", event_id text collate "C", due_at timestamptz,
     primary key (account_id, id))`,
  'create index on raw_deliveries (due_at)',
]

/**
 * The limit: a bare Fastify and pg that read key, list and domain, and write address and contact in one transaction. It has
 * no checks and no counters: its callers would block each other on counters.
 */
const bareServer = (database: Database, isTelling: () => boolean) => {
  const server = fastify()
  server.post('/api/v1/contacts', async (request, reply) => {
    const hash = createHash('sha256').update(String(request.headers.authorization).slice(7)).digest('hex')
    const [key] = await database.sql(
      named<{ account_id: string }>(
        'bare_key',
        'select id, account_id from api_keys where hash = $1 and revoked_at is null',
      ),
      [hash],
    )
    const { listId, email, fields } = request.body as { listId: string; email: string; fields: Record<string, string> }
    const accountId = key!.account_id
    const [list] = await database.sql(
      named('bare_list', 'select * from contact_lists where account_id = $1 and id = $2'),
      [accountId, listId],
    )
    await database.sql(named('bare_domain', 'select finding from mail_domains where domain = $1'), [
      email.slice(email.indexOf('@') + 1),
    ])
    const input = { email, ...fields }
    const found = await read(database.sql, accountId, listId, input)
    if (found) return { created: 0, updated: 1, skipped: 0, contact: { ...list, ...found } }
    const contact = await database.transaction(async (sql) => {
      const written = await upsert(sql, accountId, listId, input)
      if (isTelling()) await tell(sql, accountId, written)
      return written
    })
    return reply.code(201).send({ created: 1, updated: 0, skipped: 0, contact: { ...list, ...contact } })
  })
  return server
}

export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app()
  const account = await benchAccount(app)
  await knowDomain(app.database)
  for (const table of tables) await app.sql(table)
  const list = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: 'bench' }))
  let isTelling = false
  const { fastify: ours } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const bare = bareServer(app.database, () => isTelling)
  await ours.listen({ port: 0, host: '127.0.0.1' })
  await bare.listen({ port: 0, host: '127.0.0.1' })

  /** Posts one contact per call; returns calls per second. */
  const load = async (server: { server: { address(): unknown } }, from: number, expected: number): Promise<number> => {
    const { port } = server.server.address() as { port: number }
    const pool = new Pool(`http://127.0.0.1:${port}`, { connections })
    const start = performance.now()
    let next = 0
    const caller = async () => {
      for (let n = next++; n < calls; n = next++) {
        const { email, ...fields } = person(from + n)
        const { statusCode, body } = await pool.request({
          method: 'POST',
          path: '/api/v1/contacts',
          headers: { authorization: `Bearer ${account.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ listId: list.id, email, fields }),
        })
        await body.dump()
        if (statusCode !== expected) throw new Error(`POST answered ${statusCode}`)
      }
    }
    await Promise.all(Array.from({ length: connections }, caller))
    await pool.close()
    return calls / ((performance.now() - start) / 1000)
  }

  let at = 0
  const fresh = (server: Parameters<typeof load>[0]) => () => {
    at += 1_000_000
    return load(server, at, 201)
  }
  const pairs = (one: (server: Parameters<typeof load>[0]) => () => Promise<number>) =>
    interleaved(5, one(ours), one(bare as never))
  await fresh(ours)()
  await fresh(bare as never)()
  const created = await pairs(fresh)
  await load(ours, 0, 201)
  await load(bare as never, 0, 201)
  const identical = await pairs((server) => () => load(server, 0, 200))
  const input = { url: 'http://127.0.0.1:9/hook', events: ['contact.created' as const] }
  await createWebhook(app, account.id, 'cli:bench', input, { createdVia: 'dashboard', trusted: true })
  isTelling = true
  const subscribed = await pairs(fresh)
  await ours.close()
  await bare.close()
  return [
    row('POST /contacts, one a call, 32 callers, one list, new', '/s', created, { atLeast: 0.7 }),
    row('POST /contacts, one a call, 32 callers, one list, identical', '/s', identical, { atLeast: 0.7 }),
    row('POST /contacts, one a call, 32 callers, one list, new, one subscription', '/s', subscribed, { atLeast: 0.6 }),
  ]
}
