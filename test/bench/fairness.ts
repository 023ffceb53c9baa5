import { startDaemon } from '../../src/app/daemon/daemon.ts'
import { type Bench, percentile, type Row, row } from './support.ts'
import { emitEvents, gentleLoad, openSink, type Sink, subscribe } from './webhooks.ts'

const rounds = 2
const load = { count: 300, everyMs: 30 }
const accounts = 6
const endpointsEach = 50

interface Neighbour {
  accountId: string
  /** Pending deliveries before each round. */
  backlog: number
}

/** Measures the time from commit to arrival of an account's events, in turns with hanging neighbours and without. */
const compare = async (
  { app: open }: Bench,
  settle: (app: Awaited<ReturnType<Bench['app']>>, sink: Sink) => Promise<Neighbour[]>,
) => {
  const app = await open()
  const sink = await openSink()
  const healthy = await subscribe(app, `${sink.url}/timed`)
  const neighbours = await settle(app, sink)
  const daemon = await startDaemon(app.config, { api: false, jobs: true })
  await gentleLoad(app, sink, healthy.accountId, { count: 50, everyMs: 20 })
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < rounds; round++) {
    alone.push(...(await gentleLoad(app, sink, healthy.accountId, load)))
    for (const { accountId, backlog } of neighbours) {
      for (let left = backlog; left > 0; left -= 500) await emitEvents(app, accountId, Math.min(left, 500))
    }
    beside.push(...(await gentleLoad(app, sink, healthy.accountId, load)))
    for (const { accountId } of neighbours) {
      await app.sql('delete from pending_deliveries where account_id = $1', [accountId])
      await app.sql('update delivery_targets set timeouts = 0, quiet_until = null where account_id = $1', [accountId])
    }
  }
  await daemon.stop()
  sink.close()
  return (p: number) => ({ ours: percentile(beside, p), limit: percentile(alone, p) })
}

export const bench = async (bench: Bench): Promise<Row[]> => {
  const one = await compare(bench, async (app, sink) => [
    { accountId: (await subscribe(app, `${sink.url}/hang`)).accountId, backlog: 5000 },
  ])
  const many = await compare(bench, async (app, sink) => {
    const neighbours: Neighbour[] = []
    for (let i = 0; i < accounts; i++) {
      const { accountId } = await subscribe(app, `${sink.url}/hang`)
      for (let j = 1; j < endpointsEach; j++) await subscribe(app, `${sink.url}/hang`, accountId)
      neighbours.push({ accountId, backlog: 10 })
    }
    return neighbours
  })
  return [
    row('beside a hanging endpoint with 5,000 waiting, p50', 'ms', one(50), { atMost: 1.5 }),
    row('beside a hanging endpoint with 5,000 waiting, p99', 'ms', one(99), { atMost: 1.2 }),
    row('beside 300 hanging endpoints of 6 accounts, p50', 'ms', many(50), { atMost: 2 }),
    row('beside 300 hanging endpoints of 6 accounts, p99', 'ms', many(99), { atMost: 2 }),
  ]
}
