import { createHash } from 'node:crypto'
import fastify from 'fastify'
import { pino } from 'pino'
import { Pool } from 'undici'
import { loadRoutes } from '../../src/app/features.ts'
import { listPipelines, type PipelineView } from '../../src/deals/deals.ts'
import { buildServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Database, Sql } from '../../src/store/database.ts'
import { fill } from './lookup.ts'
import { type Bench, benchAccount, interleaved, type Row, row } from './support.ts'

const connections = 32
const calls = 2_000
const addresses = 10_000

const admit = async (database: Database, authorization: unknown) => {
  const hash = createHash('sha256').update(String(authorization).slice(7)).digest('hex')
  const [key] = await database.sql<{ id: string; account_id: string }>(
    'select id, account_id from api_keys where hash = $1 and revoked_at is null',
    [hash],
    'bare_key',
  )
  await database.sql(
    `insert into rate_windows as w (key_id, family, started_at, used) values ($1, 'bare', now(), 1)
     on conflict (key_id, family) do update set used = w.used + 1 returning used`,
    [key!.id],
    'bare_limit',
  )
  return key!
}

const record = (
  sql: Sql,
  accountId: string,
  id: string,
  number: number,
  actor: string,
  from: string | null,
  to: string,
) =>
  sql(
    `insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
     values ($1, $2, $3, $4, $5, $6, now())`,
    [accountId, id, number, actor, from, to],
    'bare_history',
  )

/** The limit: a bare Fastify and pg that reads and writes the same rows in one transaction, without a check of its input. */
const bareServer = (database: Database) => {
  const server = fastify()
  server.post('/deals', async (request, reply) => {
    const key = await admit(database, request.headers.authorization)
    const { title, email, value } = request.body as { title: string; email: string; value: number }
    const deal = await database.transaction(async (sql) => {
      const [stage] = await sql<{ id: string; pipeline_id: string; name: string; kind: string }>(
        `select s.* from stages s join pipelines p on p.id = s.pipeline_id
         where p.account_id = $1 and p.is_default and s.kind = 'open' order by s.position limit 1`,
        [key.account_id],
        'bare_stage',
      )
      const [contact] = await sql<{ list_id: string; row_id: string }>(
        `select list_id, row_id from contacts
         where account_id = $1 and row_id = (select row_id from addresses where account_id = $1 and email = $2)
         order by updated_at desc limit 1`,
        [key.account_id, email],
        'bare_contact',
      )
      const [made] = await sql<{ id: string }>(
        `insert into deals (account_id, id, title, value, currency, pipeline_id, stage_id, status, source, list_id, row_id, email, moves, created_at, updated_at)
         values ($1, $2, $3, $4, 'USD', $5, $6, $7, 'api', $8, $9, $10, 1, now(), now()) returning *`,
        [
          ...[key.account_id, newId('deal', Date.now()), title, value, stage!.pipeline_id, stage!.id, stage!.kind],
          ...[contact!.list_id, contact!.row_id, email],
        ],
        'bare_insert',
      )
      await record(sql, key.account_id, made!.id, 1, key.id, null, stage!.id)
      return made
    })
    return reply.code(201).send({ deal, created: true })
  })
  server.patch('/deals/:id', async (request) => {
    const key = await admit(database, request.headers.authorization)
    const { id } = request.params as { id: string }
    const { stageId } = request.body as { stageId: string }
    return database.transaction(async (sql) => {
      const [before] = await sql<{ stage_id: string; moves: number }>(
        'select * from deals where account_id = $1 and id = $2 for update',
        [key.account_id, id],
        'bare_lock',
      )
      const [stage] = await sql<{ kind: string }>(
        'select kind from stages where account_id = $1 and id = $2',
        [key.account_id, stageId],
        'bare_target',
      )
      const [deal] = await sql(
        `update deals set stage_id = $3, status = $4, moves = moves + 1, updated_at = now()
         where account_id = $1 and id = $2 returning *`,
        [key.account_id, id, stageId, stage!.kind],
        'bare_update',
      )
      await record(sql, key.account_id, id, before!.moves + 1, key.id, before!.stage_id, stageId)
      return { deal, moved: true }
    })
  })
  return server
}

const portOf = (server: { server: { address(): unknown } }) => (server.server.address() as { port: number }).port

/** `calls` calls over `connections` connections; gives calls a second. */
const load = async (
  port: number,
  key: string,
  call: (n: number) => { method: 'POST' | 'PATCH'; path: string; body: object },
): Promise<number> => {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections })
  let next = 0
  const start = performance.now()
  const caller = async () => {
    for (let n = next++; n < calls; n = next++) {
      const { body, ...where } = call(n)
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
      const answer = await pool.request({ ...where, headers, body: JSON.stringify(body) })
      const { deal, moved = true } = (await answer.body.json()) as { deal?: { id: string }; moved?: boolean }
      if (!deal || !moved) throw new Error(`${where.method} ${where.path} answered ${answer.statusCode}`)
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  const rate = calls / ((performance.now() - start) / 1000)
  await pool.close()
  return rate
}

const post = (prefix: string) => (n: number) => ({
  method: 'POST' as const,
  path: `${prefix}/deals`,
  body: { title: `Deal ${n}`, email: `user${(n * 7919) % addresses}@example.org`, value: 1234.5 },
})

/** Each round moves deals of its own to the stage after theirs, so that every call is a move. */
const mover = (prefix: string, ids: string[], { stages }: PipelineView) => {
  let round = 0
  return () => {
    round++
    return (n: number) => ({
      method: 'PATCH' as const,
      path: `${prefix}/deals/${ids[n]}`,
      body: { stageId: stages[round % stages.length]!.id },
    })
  }
}

export const bench = async (b: Bench): Promise<Row[]> => {
  // The limiter counts in ours as it does in the bare one.
  const app = await b.app({ SVC_RATE_LIMIT: '100000000' })
  const account = await benchAccount(app)
  const { createList } = await import('../../src/contacts/contacts.ts')
  const list = await app.work(account.id, 'cli:bench', (work) => createList(work, { name: 'bench' }))
  await fill(app.database, account.id, list.id, 0, addresses)
  const [pipeline] = await app.work(account.id, 'cli:bench', listPipelines)

  const { fastify: ours } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const bare = bareServer(app.database)
  await ours.listen({ port: 0, host: '127.0.0.1' })
  await bare.listen({ port: 0, host: '127.0.0.1' })
  const viaOurs = (call: Parameters<typeof load>[2]) => load(portOf(ours), account.key, call)
  const viaBare = (call: Parameters<typeof load>[2]) => load(portOf(bare as never), account.key, call)

  const created = await interleaved(
    5,
    () => viaOurs(post('/api/v1')),
    () => viaBare(post('')),
  )
  await app.sql('vacuum analyze deals')
  const rows = await app.sql<{ id: string }>('select id from deals where account_id = $1 order by id limit $2', [
    account.id,
    2 * calls,
  ])
  const ids = rows.map(({ id }) => id)
  const [moveOurs, moveBare] = [
    mover('/api/v1', ids.slice(0, calls), pipeline!),
    mover('', ids.slice(calls), pipeline!),
  ]
  const moved = await interleaved(
    5,
    () => viaOurs(moveOurs()),
    () => viaBare(moveBare()),
  )
  await ours.close()
  await bare.close()
  return [
    row('POST /deals against the same writes in one bare transaction', '/s', created, { atLeast: 0.75 }),
    row('PATCH /deals against the same writes in one bare transaction', '/s', moved, { atLeast: 0.75 }),
  ]
}
