import { pino } from 'pino'
import { Pool } from 'undici'
import type { OpenApp } from '../../src/app/app.ts'
import { loadRoutes } from '../../src/app/features.ts'
import { createList } from '../../src/contacts/contacts.ts'
import { buildServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Database, Sql } from '../../src/store/database.ts'
import { createWebhook } from '../../src/webhooks/webhooks.ts'
import { type Bench, benchAccount, interleaved, named, type Row, row } from './support.ts'

const batchSize = 500
const batches = 40
/** Warm-up rounds of both before the measurement: the code of a daemon is compiled in its first seconds. */
const warmUps = 3
const callers = 2

export interface Person extends Record<string, string> {
  email: string
}

/** Returns a contact of eight columns, as in an import. */
export const person = (n: number): Person => ({
  email: `person${(n * 2_654_435_761) % 4_294_967_296}.${n}@example.org`,
  first_name: `First${n % 997}`,
  last_name: `Last${n % 1009}`,
  company: `Company ${n % 5003}`,
  job_title: 'Principal Research Architect',
  city: `City ${n % 301}`,
  country: 'PT',
  plan: n % 3 ? 'starter' : 'pro',
})

const people = (from: number, count: number) => Array.from({ length: count }, (_, i) => person(from + i))

/**
 * The limit: one `insert … select … on conflict` per batch into one table with the same columns and number of indexes. The
 * indexes grow as those of the product do: one by address, two by row.
 */
export const prepareRaw = (database: Database) =>
  database.sql(`create table if not exists raw_contacts (id text primary key, list_id text not null, email text not null,
    fields jsonb not null, created_at timestamptz not null, updated_at timestamptz not null, unique (list_id, email),
    unique (list_id, id))`)

interface RawRow {
  id: string
  email: string
  fields: Record<string, string>
}

const rawRows = (rows: readonly Person[]): RawRow[] =>
  rows.map(({ email, ...fields }) => ({ id: newId('row', Date.now()), email, fields }))

const upsertRaw = (sql: Sql, rows: readonly RawRow[]) =>
  sql(
    named(
      'raw_upsert',
      `insert into raw_contacts (id, list_id, email, fields, created_at, updated_at)
     select id, 'list', email, fields, now(), now() from jsonb_to_recordset($1::jsonb) as r(id text, email text, fields jsonb)
     on conflict (list_id, email) do update set fields = raw_contacts.fields || excluded.fields, updated_at = now()
       where raw_contacts.fields || excluded.fields is distinct from raw_contacts.fields`,
    ),
    [JSON.stringify(rows)],
  )

export const rawUpsert = (database: Database, rows: readonly Person[]) => upsertRaw(database.sql, rawRows(rows))

/** Tables of events and deliveries with the same indexes as the product. */
const prepareRawOutbox = async ({ sql }: Database) => {
  await sql(`create table raw_events (account_id text, id text, type text not null, payload text not null,
    created_at timestamptz not null, primary key (account_id, id))`)
  await sql(`create table raw_deliveries (account_id text, id text, target_id text not null, key text not null, type text not null,
    tries int not null default 0, attempts jsonb not null default '[]', created_at timestamptz not null, bytes int not null,
    due_at timestamptz not null, primary key (account_id, id))`)
  await sql('create index on raw_deliveries (target_id, due_at)')
}

/** The same upsert, with an event and a delivery for each row in the same transaction. */
const rawUpsertTold = ({ transaction }: Database, given: readonly Person[]) =>
  transaction(async (sql) => {
    const rows = rawRows(given)
    await upsertRaw(sql, rows)
    const now = Date.now()
    const events = rows.map((contact) => {
      const [id, delivery] = [newId('evt', now), newId('dlv', now)]
      const payload = JSON.stringify({ id, type: 'contact.created', createdAt: now, data: { contact } })
      return { id, delivery, payload, bytes: payload.length }
    })
    const json = JSON.stringify(events)
    await sql(
      named(
        'raw_events',
        `insert into raw_events select 'account', id, 'contact.created', payload, now()
       from jsonb_to_recordset($1::jsonb) as r(id text, payload text)`,
      ),
      [json],
    )
    await sql(
      named(
        'raw_deliveries',
        `insert into raw_deliveries (account_id, id, target_id, key, type, created_at, bytes, due_at)
       select 'account', delivery, 'target', id, 'contact.created', now(), bytes, now()
       from jsonb_to_recordset($1::jsonb) as r(id text, delivery text, bytes int)`,
      ),
      [json],
    )
  })

/** Runs `write` for each batch with a few concurrent callers; returns rows per second. */
const rate = async (from: number, write: (rows: Person[]) => Promise<unknown>): Promise<number> => {
  const start = performance.now()
  let next = 0
  const caller = async () => {
    for (let batch = next++; batch < batches; batch = next++) await write(people(from + batch * batchSize, batchSize))
  }
  await Promise.all(Array.from({ length: callers }, caller))
  return (batches * batchSize) / ((performance.now() - start) / 1000)
}

const poster = (app: OpenApp, origin: string, key: string, listId: string) => {
  const pool = new Pool(origin, { connections: callers })
  const post = async (rows: Person[]) => {
    const { statusCode, body } = await pool.request({
      method: 'POST',
      path: '/api/v1/contacts',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ listId, contacts: rows }),
    })
    const answer = (await body.json()) as { created?: number; updated?: number }
    if (statusCode !== 200 || (answer.created ?? 0) + (answer.updated ?? 0) !== rows.length)
      throw new Error(`POST /contacts answered ${statusCode} ${JSON.stringify(answer)}`)
  }
  return { post, close: () => pool.close(), app }
}

/** The DNS result of the domain is cached during the bench: it measures the write, not a resolver. */
export const knowDomain = (database: Database) =>
  database.sql(
    `insert into mail_domains (domain, finding, expires_at) values ('example.org', 'mx', now() + interval '1 day') on conflict do nothing`,
  )

export const bench = async (b: Bench): Promise<Row[]> => {
  const app = await b.app()
  const account = await benchAccount(app)
  await prepareRaw(app.database)
  await knowDomain(app.database)
  const { fastify: server } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  await server.listen({ port: 0, host: '127.0.0.1' })
  const origin = `http://127.0.0.1:${(server.server.address() as { port: number }).port}`
  const list = (name: string) => app.work(account.id, 'cli:bench', (work) => createList(work, { name }))
  const { post, close } = poster(app, origin, account.key, (await list('plain')).id)

  let at = 0
  const fresh = (write: (rows: Person[]) => Promise<unknown>) => () => {
    at += 1_000_000
    return rate(at, write)
  }
  const raw = (rows: Person[]) => rawUpsert(app.database, rows)
  for (let i = 0; i < warmUps; i++) {
    await fresh(raw)()
    await fresh(post)()
  }
  const created = await interleaved(5, fresh(post), fresh(raw))
  await rate(0, raw)
  await rate(0, post)
  const identical = await interleaved(
    5,
    () => rate(0, post),
    () => rate(0, raw),
  )

  const input = { url: 'http://127.0.0.1:9/hook', events: ['contact.created', 'contact.updated'] as const }
  await createWebhook(
    app,
    account.id,
    'cli:bench',
    { ...input, events: [...input.events] },
    { createdVia: 'dashboard', trusted: true },
  )
  await prepareRawOutbox(app.database)
  const rawTold = (rows: Person[]) => rawUpsertTold(app.database, rows)
  await fresh(post)()
  await fresh(rawTold)()
  const subscribed = await interleaved(5, fresh(post), fresh(rawTold))
  await close()
  await server.close()
  return [
    row('POST /contacts, 500 new, verified, against the raw upsert', 'rows/s', created, { atLeast: 0.65 }),
    row('POST /contacts, 500 identical, against the raw upsert', 'rows/s', identical, { atLeast: 0.55 }),
    row('POST /contacts, 500 new, one subscription, against the raw upsert and raw inserts', 'rows/s', subscribed, {
      atLeast: 0.6,
    }),
  ]
}
