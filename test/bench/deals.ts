import { createHash } from 'node:crypto'
import fastify from 'fastify'
import { pino } from 'pino'
import { loadRoutes } from '../../src/app/features.ts'
import { listPipelines, type PipelineView } from '../../src/deals/deals.ts'
import { buildServer } from '../../src/http/server.ts'
import { newId } from '../../src/lib/ids.ts'
import type { Database, Sql } from '../../src/store/database.ts'
import { type ApiCall, type Holder, openCallers, openHolders, portOf } from './callers.ts'
import { type Bench, interleaved, named, type Row, row } from './support.ts'

const calls = 3_200
const addresses = 10_000

const admit = async (database: Database, authorization: unknown) => {
  const hash = createHash('sha256').update(String(authorization).slice(7)).digest('hex')
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
    named(
      'bare_history',
      `insert into deal_history (account_id, deal_id, number, actor, from_stage_id, to_stage_id, at)
     values ($1, $2, $3, $4, $5, $6, now())`,
    ),
    [accountId, id, number, actor, from, to],
  )

/** The limit: a bare Fastify and pg that read and write the same rows in one transaction, without input checks. */
const bareServer = (database: Database) => {
  const server = fastify()
  server.post('/deals', async (request, reply) => {
    const key = await admit(database, request.headers.authorization)
    const { title, email, value } = request.body as { title: string; email: string; value: number }
    const deal = await database.transaction(async (sql) => {
      const [stage] = await sql(
        named<{ id: string; pipeline_id: string; name: string; kind: string }>(
          'bare_stage',
          `select s.* from stages s join pipelines p on p.id = s.pipeline_id
         where p.account_id = $1 and p.is_default and s.kind = 'open' order by s.position limit 1`,
        ),
        [key.account_id],
      )
      const [contact] = await sql(
        named<{ list_id: string; row_id: string }>(
          'bare_contact',
          `select list_id, row_id from contacts
         where account_id = $1 and row_id = (select row_id from addresses where account_id = $1 and email = $2)
         order by updated_at desc limit 1`,
        ),
        [key.account_id, email],
      )
      const [made] = await sql(
        named<{ id: string }>(
          'bare_insert',
          `insert into deals (account_id, id, title, value, currency, pipeline_id, stage_id, status, source, list_id, row_id, email, moves, created_at, updated_at)
         values ($1, $2, $3, $4, 'USD', $5, $6, $7, 'api', $8, $9, $10, 1, now(), now()) returning *`,
        ),
        [
          ...[key.account_id, newId('deal', Date.now()), title, value, stage!.pipeline_id, stage!.id, stage!.kind],
          ...[contact!.list_id, contact!.row_id, email],
        ],
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
      const [before] = await sql(
        named<{ stage_id: string; moves: number }>(
          'bare_lock',
          'select * from deals where account_id = $1 and id = $2 for update',
        ),
        [key.account_id, id],
      )
      const [stage] = await sql(
        named<{ kind: string }>('bare_target', 'select kind from stages where account_id = $1 and id = $2'),
        [key.account_id, stageId],
      )
      const [deal] = await sql(
        named(
          'bare_update',
          `update deals set stage_id = $3, status = $4, moves = moves + 1, updated_at = now()
         where account_id = $1 and id = $2 returning *`,
        ),
        [key.account_id, id, stageId, stage!.kind],
      )
      await record(sql, key.account_id, id, before!.moves + 1, key.id, before!.stage_id, stageId)
      return { deal, moved: true }
    })
  })
  return server
}

/** Each round moves every deal to its next stage, so that every call is a move. */
const mover = (prefix: string, deals: readonly (readonly string[])[], pipelines: readonly PipelineView[]) => {
  let round = 0
  return () => {
    round++
    return (n: number, holder: number): Omit<ApiCall, 'key'> => {
      const { stages } = pipelines[holder]!
      return {
        method: 'PATCH',
        path: `${prefix}/deals/${deals[holder]![n]}`,
        body: JSON.stringify({ stageId: stages[round % stages.length]!.id }),
        expected: '"moved":true',
      }
    }
  }
}

const post =
  (prefix: string) =>
  (n: number): Omit<ApiCall, 'key'> => ({
    method: 'POST',
    path: `${prefix}/deals`,
    body: JSON.stringify({ title: `Deal ${n}`, email: `user${(n * 7919) % addresses}@example.org`, value: 1234.5 }),
    expected: '"deal":{',
  })

export const bench = async (b: Bench): Promise<Row[]> => {
  // The rate limiter counts calls as that of the bare server does; its limit is never reached.
  const app = await b.app({ SVC_RATE_LIMIT: '100000000' }, { queue: false })
  const holders = await openHolders(app, addresses)
  const pipelines = await Promise.all(
    holders.map(async ({ accountId }) => (await app.work(accountId, 'cli:bench', listPipelines))[0]!),
  )
  const { fastify: ours } = await buildServer(app, await loadRoutes(), pino({ level: 'error' }))
  const bare = bareServer(app.database)
  await ours.listen({ port: 0, host: '127.0.0.1' })
  await bare.listen({ port: 0, host: '127.0.0.1' })
  const callers = openCallers()

  const measure = async (by: readonly Holder[]) => {
    const created = await interleaved(
      5,
      () => callers.rate(portOf(ours), by, calls, post('/api/v1')),
      () => callers.rate(portOf(bare), by, calls, post('')),
    )
    await app.sql('vacuum analyze deals')
    const dealsOf = async ({ accountId }: Holder) => {
      const rows = await app.sql<{ id: string }>(
        'select id from deals where account_id = $1 order by id desc limit $2',
        [accountId, 2 * calls],
      )
      return rows.map(({ id }) => id)
    }
    const deals = await Promise.all(by.map(dealsOf))
    const half = (n: number) => deals.map((ids) => ids.filter((_, i) => i % 2 === n))
    const [moveOurs, moveBare] = [mover('/api/v1', half(0), pipelines), mover('', half(1), pipelines)]
    const moved = await interleaved(
      5,
      () => callers.rate(portOf(ours), by, calls, moveOurs()),
      () => callers.rate(portOf(bare), by, calls, moveBare()),
    )
    return { created, moved }
  }
  const manyKeys = await measure(holders)
  const oneKey = await measure(holders.slice(0, 1))
  callers.close()
  await ours.close()
  await bare.close()
  const limit = 'against the same writes in one bare transaction'
  return [
    row(`POST /deals ${limit}, 32 keys of 4 accounts`, '/s', manyKeys.created, { atLeast: 0.8 }),
    row(`PATCH /deals ${limit}, 32 keys of 4 accounts`, '/s', manyKeys.moved, { atLeast: 0.8 }),
    row(`POST /deals ${limit}, one key`, '/s', oneKey.created, { atLeast: 0.8 }),
    row(`PATCH /deals ${limit}, one key`, '/s', oneKey.moved, { atLeast: 0.8 }),
  ]
}
