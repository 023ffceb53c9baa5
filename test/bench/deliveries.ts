import { Logger, run } from 'graphile-worker'
import pg from 'pg'
import { emit } from '../../src/events/emit.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { signedHeaders } from '../../src/lib/signature.ts'
import type { OpenApp } from '../../src/app/app.ts'
import { runDeliveries } from '../../src/webhooks/delivery.loop.ts'
import { type BenchRow, median, openBench, openSink, stopwatch, subscribe, until } from './setup.ts'

const count = 15_000
const rounds = 3

/** Statements that this process sends, by whatever pool. */
let statements = 0
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  statements++
  return (query as (...args: unknown[]) => unknown).apply(this, args)
} as typeof query

const ours = async (app: OpenApp, url: string) => {
  const { accountId } = await subscribe(app, url)
  for (let left = count; left > 0; left -= 500) {
    await app.work(accountId, 'cli:bench', (work) =>
      emit(work, 'contact.created', () =>
        Array.from({ length: 500 }, () => ({
          contact: sampleEvent('contact.created', { now: work.now.getTime() }).data.contact,
        })),
      ),
    )
  }
  await app.sql('vacuum analyze deliveries')
  const before = statements
  const stop = new AbortController()
  const elapsed = stopwatch()
  const running = runDeliveries(app, stop.signal)
  let asked = 0
  await until(async () => {
    asked++
    const [row] = await app.sql<{ left: boolean }>(
      `select exists (select from deliveries where account_id = $1 and status = 'pending') as left`,
      [accountId],
    )
    return !row!.left
  }, 50)
  const seconds = elapsed() / 1000
  stop.abort()
  await running
  const [row] = await app.sql<{ count: number }>(
    `select count(*) from deliveries where account_id = $1 and status = 'delivered' and jsonb_array_length(attempts) = 1`,
    [accountId],
  )
  if (row!.count !== count) throw new Error(`${row!.count} of ${count} delivered once`)
  return { perSecond: count / seconds, statements: (statements - before - asked) / count }
}

const graphile = async (app: OpenApp, url: string) => {
  const pool = new pg.Pool({ connectionString: app.databaseUrl, max: 20 })
  const settings = {
    pgPool: pool,
    logger: new Logger(() => () => {}),
    preset: {
      worker: { concurrentJobs: 64, localQueue: { size: 512 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
    },
    taskList: {
      deliver: async (payload: unknown) => {
        const { url, secret, id, body } = payload as Record<'url' | 'secret' | 'id' | 'body', string>
        const headers = signedHeaders(secret, Date.now(), id, body)
        const { ok } = await app.http.post(url, { headers, body, timeoutMs: 5000 })
        if (!ok) throw new Error('failed')
      },
    },
  }
  const { runMigrations } = await import('graphile-worker')
  await runMigrations(settings)
  const body = JSON.stringify(sampleEvent('contact.created', { now: Date.now() }))
  await pool.query(
    `select graphile_worker.add_job('deliver', json_build_object('url', $1::text, 'secret', $2::text, 'id', 'evt_' || i, 'body', $3::text))
     from generate_series(1, $4::int) i`,
    [url, 'whsec_bench', body, count],
  )
  await pool.query('vacuum analyze graphile_worker._private_jobs')
  const elapsed = stopwatch()
  const runner = await run(settings)
  await until(async () => {
    const { rows } = await pool.query('select exists (select from graphile_worker._private_jobs) as left')
    return !rows[0].left
  }, 50)
  const seconds = elapsed() / 1000
  await runner.stop()
  await pool.end()
  return count / seconds
}

const bare = async (app: OpenApp, url: string) => {
  const body = JSON.stringify(sampleEvent('contact.created', { now: Date.now() }))
  let left = count
  const elapsed = stopwatch()
  await Promise.all(
    Array.from({ length: 64 }, async () => {
      while (left-- > 0) {
        const headers = signedHeaders('whsec_bench', Date.now(), 'evt_x', body)
        await app.http.post(url, { headers, body, timeoutMs: 5000 })
      }
    }),
  )
  return count / (elapsed() / 1000)
}

/** Deliveries per second, recorded, against graphile-worker with its batches and against the bare loop of posts. */
export const benchDeliveries = async (): Promise<BenchRow[]> => {
  const { app, close } = await openBench()
  const sink = await openSink()
  const seen = { ours: [] as number[], graphile: [] as number[], bare: [] as number[], statements: [] as number[] }
  for (let round = 0; round < rounds; round++) {
    const result = await ours(app, sink.url)
    seen.ours.push(result.perSecond)
    seen.statements.push(result.statements)
    seen.graphile.push(await graphile(app, sink.url))
    seen.bare.push(await bare(app, sink.url))
  }
  sink.close()
  await close()
  const perSecond = median(seen.ours)
  const peer = median(seen.graphile)
  const limit = median(seen.bare)
  return [
    { name: 'deliveries, against graphile-worker', ours: perSecond, limit: peer, ratio: perSecond / peer, unit: '/s' },
    { name: 'deliveries, against bare posts', ours: perSecond, limit, ratio: perSecond / limit, unit: '/s' },
    { name: 'statements per delivery', ours: median(seen.statements), limit: 1, ratio: median(seen.statements), unit: '' },
  ]
}

if (import.meta.main) console.table(await benchDeliveries())
