import { Logger, run, runMigrations } from 'graphile-worker'
import pg from 'pg'
import type { OpenApp } from '../../src/app/app.ts'
import { runDeliveries } from '../../src/deliveries/queue/queue.ts'
import { sampleEvent } from '../../src/events/samples.ts'
import { signedHeaders } from '../../src/lib/signature.ts'
import { type Bench, below, coresOf, createMeter, type Meter, median, type Row, row, timed } from './support.ts'
import { emitEvents, openSink, type Sink, subscribe, until } from './webhooks.ts'

const rounds = 3
const drains = 10
const secret = 'whsec_bench'

/** The number of statements that this process sends, over all pools. */
let statements = 0
const { query } = pg.Client.prototype
pg.Client.prototype.query = function (this: pg.Client, ...args: unknown[]) {
  statements++
  return (query as (...args: unknown[]) => unknown).apply(this, args)
} as typeof query

/** Polls the sink, which costs nothing, and the database only at the end. */
const untilDone = async (sink: Sink, arrived: number, wanted: number, isLeft: () => Promise<boolean>) => {
  await until(async () => (await sink.count()) - arrived >= wanted)
  await until(async () => !(await isLeft()), 5)
}

const isLeftOf = (app: OpenApp, webhookId: string) => async () =>
  (await app.sql('select from pending_deliveries where target_id = $1 limit 1', [webhookId])).length > 0

const requireOnce = async (app: OpenApp, webhookId: string, wanted: number) => {
  const [recorded] = await app.sql<{ count: number }>(
    `select count(*) from ended_deliveries where target_id = $1 and status = 'delivered' and jsonb_array_length(attempts) = 1`,
    [webhookId],
  )
  if (recorded!.count !== wanted) throw new Error(`${recorded!.count} of ${wanted} delivered once`)
}

interface Run {
  perSecond: number
  /** Statements per delivery. */
  statements: number
}

/** Measures how fast a newly started loop delivers a backlog. */
const drain = async (app: OpenApp, sink: Sink, wanted: number, meter: Meter): Promise<Run> => {
  const { accountId, webhookId } = await subscribe(app, sink.url)
  for (let left = wanted; left > 0; left -= 500) await emitEvents(app, accountId, Math.min(left, 500))
  const [arrived, before] = [await sink.count(), statements]
  const stop = new AbortController()
  let running: Promise<void> | undefined
  const deliver = async () => {
    running = runDeliveries(app, stop.signal)
    await untilDone(sink, arrived, wanted, isLeftOf(app, webhookId))
  }
  const elapsedMs = await meter.measure(() => timed(deliver))
  stop.abort()
  await running
  const sent = statements - before
  await requireOnce(app, webhookId, wanted)
  return { perSecond: wanted / (elapsedMs / 1000), statements: sent / wanted }
}

/** Measures how fast the events of one account arrive while 20 writers emit them, 20 at a time, beside the loop. */
const live = async (app: OpenApp, sink: Sink, wanted: number, meter: Meter): Promise<number> => {
  const { accountId, webhookId } = await subscribe(app, sink.url)
  const arrived = await sink.count()
  const stop = new AbortController()
  const running = runDeliveries(app, stop.signal)
  let left = wanted / 20
  const writer = async () => {
    while (left-- > 0) await emitEvents(app, accountId, 20)
  }
  const deliver = async () => {
    await Promise.all(Array.from({ length: 10 }, writer))
    await untilDone(sink, arrived, wanted, isLeftOf(app, webhookId))
  }
  const elapsedMs = await meter.measure(() => timed(deliver))
  stop.abort()
  await running
  return wanted / (elapsedMs / 1000)
}

/** The throughput settings of its documentation: a local queue, completions in batches. */
const worker = { concurrentJobs: 64, localQueue: { size: 512 }, completeJobBatchDelay: 5, failJobBatchDelay: 5 }

interface Peer {
  pool: pg.Pool
  settings: Parameters<typeof run>[0]
  add(jobs: number): Promise<void>
  isLeft(): Promise<boolean>
}

/** Opens graphile-worker on the same database, with the same posts. */
const openPeer = async (app: OpenApp, sink: Sink): Promise<Peer> => {
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
  return {
    pool,
    settings,
    async add(jobs) {
      await pool.query(
        `select graphile_worker.add_job('deliver',
           json_build_object('url', $1::text, 'secret', $2::text, 'id', 'evt_' || i, 'body', $3::text))
         from generate_series(1, $4::int) i`,
        [sink.url, secret, body, jobs],
      )
    },
    isLeft: async () => (await pool.query('select from graphile_worker._private_jobs limit 1')).rows.length > 0,
  }
}

const peerDrain = async (app: OpenApp, sink: Sink, wanted: number, meter: Meter): Promise<number> => {
  const peer = await openPeer(app, sink)
  await peer.add(wanted)
  await peer.pool.query('vacuum analyze graphile_worker._private_jobs')
  const arrived = await sink.count()
  let runner: Awaited<ReturnType<typeof run>> | undefined
  const deliver = async () => {
    runner = await run(peer.settings)
    await untilDone(sink, arrived, wanted, peer.isLeft)
  }
  const elapsedMs = await meter.measure(() => timed(deliver))
  await runner!.stop()
  await peer.pool.end()
  return wanted / (elapsedMs / 1000)
}

const peerLive = async (app: OpenApp, sink: Sink, wanted: number, meter: Meter): Promise<number> => {
  const peer = await openPeer(app, sink)
  const arrived = await sink.count()
  const runner = await run(peer.settings)
  let left = wanted / 20
  const writer = async () => {
    while (left-- > 0) await peer.add(20)
  }
  const deliver = async () => {
    await Promise.all(Array.from({ length: 10 }, writer))
    await untilDone(sink, arrived, wanted, peer.isLeft)
  }
  const elapsedMs = await meter.measure(() => timed(deliver))
  await runner.stop()
  await peer.pool.end()
  return wanted / (elapsedMs / 1000)
}

/** Rates of one side, and its CPU use. */
const series = () => ({ rates: [] as number[], meter: createMeter() })
type Series = ReturnType<typeof series>

const figures = (ours: Series, limit: Series) => ({
  ours: median(ours.rates),
  limit: median(limit.rates),
  cores: coresOf(ours.meter, limit.meter),
})

/** Compares deliveries per second, each recorded, with graphile-worker doing the same posts, and round ten with round one. */
export const bench = async ({ app: open }: Bench, count = 40_000): Promise<Row[]> => {
  const coldCount = Math.ceil(count / 80) * 20
  const some = (deliveries: number) => deliveries.toLocaleString('en')
  const app = await open()
  const sink = await openSink()
  const ours = { drain: series(), cold: series(), live: series() }
  const peer = { drain: series(), cold: series(), live: series() }
  const statements: number[] = []
  const drainInto = async (to: Series, on: OpenApp, wanted: number) => {
    const { perSecond, statements } = await drain(on, sink, wanted, to.meter)
    to.rates.push(perSecond)
    return statements
  }
  for (let round = 0; round < rounds; round++) {
    peer.drain.rates.push(await peerDrain(app, sink, count, peer.drain.meter))
    statements.push(await drainInto(ours.drain, app, count))
    peer.cold.rates.push(await peerDrain(app, sink, coldCount, peer.cold.meter))
    await drainInto(ours.cold, app, coldCount)
    peer.live.rates.push(await peerLive(app, sink, coldCount, peer.live.meter))
    ours.live.rates.push(await live(app, sink, coldCount, ours.live.meter))
  }
  const later = { first: series(), middle: series(), last: series() }
  const fresh = await open()
  for (let round = 0; round < drains; round++) {
    const part = round < 3 ? later.first : round < drains - 3 ? later.middle : later.last
    await drainInto(part, fresh, count)
  }
  sink.close()
  const beside = 'beside graphile-worker'
  return [
    row(`a drain of ${some(count)}, ${beside}`, '/s', figures(ours.drain, peer.drain), { atLeast: 1.2 }),
    row(`a cold drain of ${some(coldCount)}, ${beside}`, '/s', figures(ours.cold, peer.cold), { atLeast: 1.2 }),
    row(`fed live, ${beside}`, '/s', figures(ours.live, peer.live), { atLeast: 1 }),
    row('the last three of ten drains, beside the first three', '/s', figures(later.last, later.first), {
      atLeast: 0.95,
    }),
    below('statements per delivery', '', median(statements), 0.05),
  ]
}
