import { Logger, run, runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { OpenApp } from '../../src/app/app.ts'
import { runDeliveries } from '../../src/deliveries/delivery.loop.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { signedHeaders } from '../../src/lib/signature.ts'
import { type Bench, below, median, type Row, row, timed } from './support.ts'
import { emitEvents, openSink, type Sink, subscribe, until } from './webhooks.ts'

const count = 20_000
const rounds = 3
const secret = 'whsec_bench'

/** Statements that this process sends, by whatever pool. */
let statements = 0
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  statements++
  return (query as (...args: unknown[]) => unknown).apply(this, args)
} as typeof query

/** Asks the sink, which costs nothing, and the database only at the end. */
const untilDone = async (sink: Sink, arrived: number, isLeft: () => Promise<boolean>) => {
  await until(async () => (await sink.count()) - arrived >= count)
  await until(async () => !(await isLeft()), 5)
}

const ours = async (app: OpenApp, sink: Sink) => {
  const { accountId, webhookId } = await subscribe(app, sink.url)
  for (let left = count; left > 0; left -= 500) await emitEvents(app, accountId, 500)
  await app.sql('vacuum analyze pending_deliveries')
  const [arrived, before] = [await sink.count(), statements]
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const elapsedMs = await timed(async () => {
    running = runDeliveries(app, stop.signal)
    const pending = 'select from pending_deliveries where target_id = $1 limit 1'
    await untilDone(sink, arrived, async () => (await app.sql(pending, [webhookId])).length > 0)
  })
  stop.abort()
  await running
  const sent = statements - before
  const [recorded] = await app.sql<{ count: number }>(
    `select count(*) from ended_deliveries where target_id = $1 and status = 'delivered' and jsonb_array_length(attempts) = 1`,
    [webhookId],
  )
  if (recorded!.count !== count) throw new Error(`${recorded!.count} of ${count} delivered once`)
  return { perSecond: count / (elapsedMs / 1000), statements: sent / count }
}

/** As its documentation tunes it for throughput: a local queue, completions in batches. */
const worker = { concurrentJobs: 64, localQueue: { size: 512 }, completeJobBatchDelay: 5, failJobBatchDelay: 5 }

const graphile = async (app: OpenApp, sink: Sink): Promise<number> => {
  const pool = new pg.Pool({ connectionString: app.databaseUrl, max: 20 })
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  const deliver = async (payload: unknown) => {
    const { url, secret, id, body } = payload as Record<'url' | 'secret' | 'id' | 'body', string>
    const headers = signedHeaders(secret, Date.now(), id, body)
    const { ok } = await app.http.post(url, { headers, body, timeoutMs: 5000 })
    if (!ok) throw new Error('failed')
  }
  const settings = { pgPool: pool, logger: new Logger(() => () => {}), preset: { worker }, taskList: { deliver } }
  await runMigrations(settings)
  const body = JSON.stringify(sampleEvent('contact.created', { now: Date.now() }))
  await pool.query(
    `select graphile_worker.add_job('deliver',
       json_build_object('url', $1::text, 'secret', $2::text, 'id', 'evt_' || i, 'body', $3::text))
     from generate_series(1, $4::int) i`,
    [sink.url, secret, body, count],
  )
  await pool.query('vacuum analyze graphile_worker._private_jobs')
  const arrived = await sink.count()
  let runner: Awaited<ReturnType<typeof run>> | undefined
  const elapsedMs = await timed(async () => {
    runner = await run(settings)
    const left = 'select from graphile_worker._private_jobs limit 1'
    await untilDone(sink, arrived, async () => (await pool.query(left)).rows.length > 0)
  })
  await runner!.stop()
  await pool.end()
  return count / (elapsedMs / 1000)
}

const bare = async (app: OpenApp, sink: Sink): Promise<number> => {
  const body = JSON.stringify(sampleEvent('contact.created', { now: Date.now() }))
  let left = count
  const lane = async () => {
    while (left-- > 0) {
      const headers = signedHeaders(secret, Date.now(), 'evt_x', body)
      await app.http.post(sink.url, { headers, body, timeoutMs: 5000 })
    }
  }
  return count / ((await timed(() => Promise.all(Array.from({ length: 64 }, lane)))) / 1000)
}

/** Deliveries per second, each recorded, beside graphile-worker doing the same posts, and beside posts alone. */
export const bench = async ({ app: open }: Bench): Promise<Row[]> => {
  const app = await open()
  const sink = await openSink()
  const seen = { ours: [] as number[], graphile: [] as number[], bare: [] as number[], statements: [] as number[] }
  await bare(app, sink)
  for (let round = 0; round < rounds; round++) {
    seen.graphile.push(await graphile(app, sink))
    const result = await ours(app, sink)
    seen.ours.push(result.perSecond)
    seen.statements.push(result.statements)
    seen.bare.push(await bare(app, sink))
  }
  sink.close()
  const perSecond = median(seen.ours)
  return [
    row('deliveries, beside graphile-worker', '/s', { ours: perSecond, limit: median(seen.graphile) }, { atLeast: 1 }),
    row('deliveries, beside bare posts', '/s', { ours: perSecond, limit: median(seen.bare) }, { atLeast: 0 }),
    below('statements per delivery', '', median(seen.statements), 1),
  ]
}
