import { startDaemon } from '../../src/app/daemon/daemon.ts'
import { type Bench, below, percentile, type Row } from './support.ts'
import { gentleLoad, openSink, subscribe } from './webhooks.ts'

/** The time from the commit of a change to the arrival of its event, sent by a daemon's jobs, at 25 events per second. */
export const bench = async ({ app: open }: Bench): Promise<Row[]> => {
  const app = await open()
  const sink = await openSink()
  const { accountId } = await subscribe(app, `${sink.url}/timed`)
  const daemon = await startDaemon({ ...app.config, port: 0 }, { api: true, jobs: true })
  await gentleLoad(app, sink, accountId, { count: 50, everyMs: 20 })
  const waits = await gentleLoad(app, sink, accountId, { count: 500, everyMs: 40 })
  await daemon.stop()
  sink.close()
  return [
    below('commit to arrival, p50', 'ms', percentile(waits, 50), 5),
    below('commit to arrival, p99', 'ms', percentile(waits, 99), 20),
  ]
}
