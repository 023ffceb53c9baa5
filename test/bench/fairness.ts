import { startDaemon } from '../../src/app/daemon.ts'
import { type Bench, percentile, type Row, row } from './support.ts'
import { emitEvents, gentleLoad, openSink, subscribe } from './webhooks.ts'

const rounds = 2
const load = { count: 300, everyMs: 30 }

/** What an account's events take from commit to arrival beside another account's 5,000 to an endpoint that hangs, and alone. */
export const bench = async ({ app: open }: Bench): Promise<Row[]> => {
  const app = await open()
  const sink = await openSink()
  const healthy = await subscribe(app, `${sink.url}/timed`)
  const hanging = await subscribe(app, `${sink.url}/hang`)
  const daemon = await startDaemon(app.config, { api: false, jobs: true })
  await gentleLoad(app, sink, healthy.accountId, { count: 50, everyMs: 20 })
  const alone: number[] = []
  const beside: number[] = []
  for (let round = 0; round < rounds; round++) {
    alone.push(...(await gentleLoad(app, sink, healthy.accountId, load)))
    for (let i = 0; i < 10; i++) await emitEvents(app, hanging.accountId, 500)
    beside.push(...(await gentleLoad(app, sink, healthy.accountId, load)))
    await app.sql('delete from pending_deliveries where target_id = $1', [hanging.webhookId])
  }
  await daemon.stop()
  sink.close()
  const figures = (p: number) => ({ ours: percentile(beside, p), limit: percentile(alone, p) })
  return [
    row('beside a hanging endpoint with 5,000 waiting, p50', 'ms', figures(50), { atMost: 1.5 }),
    row('beside a hanging endpoint with 5,000 waiting, p99', 'ms', figures(99), { atMost: 1.5 }),
  ]
}
