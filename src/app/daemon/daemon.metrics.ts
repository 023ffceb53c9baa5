import type { Metric } from 'prom-client'
import type { Metrics } from '../../http/metrics.ts'
import { bucketBounds, type CounterName, type Counters, type Durations } from '../../lib/counters.ts'
import { isUnavailable } from '../../store/database.ts'
import type { App } from '../../store/work.ts'
import type { QueueDepth } from '../queue-depths.ts'
import type { JobStates } from './jobs.states.ts'

/** The minimum time between two reads of the queues, for any number of scrapers. */
const queuesMs = 10_000

/** Returns a metric that reads its values at each scrape. The cast fills in for prom-client's base class. */
const metric = (name: string, help: string, type: string, read: () => Promise<object[]> | object[]) =>
  ({ name, help, type, get: async () => ({ name, help, type, values: await read() }) }) as unknown as Metric

const histogram = (name: string, help: string, read: () => Durations) =>
  metric(name, help, 'histogram', () => {
    const { buckets, count, sum } = read()
    const samples = [...bucketBounds, '+Inf'].map((le, n) => ({
      metricName: `${name}_bucket`,
      labels: { le },
      value: buckets[n] ?? count,
    }))
    return [...samples, { metricName: `${name}_sum`, value: sum }, { metricName: `${name}_count`, value: count }]
  })

/** Returns a reader of the queues that keeps its result for 10 s. */
const queueReader = (read: Sources['queues'], nowMs: () => number): Sources['queues'] => {
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<QueueDepth[]> = Promise.resolve([])
  return () => {
    if (nowMs() - readAt < queuesMs) return reading
    readAt = nowMs()
    reading = read()
    return reading
  }
}

/** Drops series without a number, such as the event loop's lag if nothing was measured since the last scrape. */
const withoutNan = (text: string): string =>
  text
    .split('\n')
    .filter((line) => !/ nan$/i.test(line))
    .join('\n')

interface Sources {
  counters: Counters
  /** Returns no queues while the database is unavailable: old numbers would mislead. */
  queues(): Promise<QueueDepth[]>
  /** Returns undefined if this process runs no jobs. */
  jobs?(): JobStates | undefined
  nowMs?(): number
}

/**
 * Creates the metrics of this process (docs/reference/api.md#metrics). Their names are part of the contract. prom-client is
 * loaded at the first scrape: it takes 50 ms and 18 MB.
 */
export const createMetrics = ({ counters, queues, jobs, nowMs = () => performance.now() }: Sources): Metrics => {
  const requests = new Map<string, { labels: object; value: number }>()
  const depths = queueReader(queues, nowMs)

  const load = async () => {
    const { collectDefaultMetrics, Registry } = await import('prom-client')
    const registry = new Registry()
    const counter = (name: string, help: string, what: CounterName, label: string) =>
      metric(name, help, 'counter', () =>
        counters.counts(what).map(([outcome, value]) => ({ labels: { [label]: outcome }, value })),
      )
    const gauge = (name: string, help: string, value: (depth: QueueDepth) => number) =>
      metric(name, help, 'gauge', async () =>
        (await depths()).map((depth) => ({ labels: { queue: depth.queue }, value: value(depth) })),
      )
    for (const one of [
      metric('svc_http_requests_total', 'Answered HTTP requests', 'counter', () => [...requests.values()]),
      histogram('svc_http_request_duration_seconds', 'Duration of HTTP requests', () => counters.durations('request')),
      counter('svc_deliveries_total', 'Delivery attempts by outcome', 'deliveries', 'outcome'),
      histogram('svc_delivery_duration_seconds', 'Duration of delivery attempts', () => counters.durations('delivery')),
      counter('svc_sends_total', 'Messages by status', 'sends', 'status'),
      counter('svc_freed_claims_total', 'Orphaned claims that were released, by job', 'freedClaims', 'job'),
      counter('svc_housekeeping_steps_total', 'Housekeeping steps by outcome', 'housekeeping', 'outcome'),
      metric('svc_job_up', 'Whether a job of this process runs and is not stalled', 'gauge', () =>
        Object.entries(jobs?.() ?? {}).map(([job, state]) => ({ labels: { job }, value: Number(state === 'ok') })),
      ),
      gauge('svc_queue_depth', 'Due items of a queue', ({ depth }) => depth),
      gauge('svc_queue_paused', 'Whether a queue is paused', ({ pausedAt }) => Number(pausedAt !== null)),
      gauge('svc_queue_oldest_seconds', 'Age of the oldest due item of a queue', ({ oldestSeconds }) => oldestSeconds),
    ])
      registry.registerMetric(one)
    collectDefaultMetrics({ register: registry })
    // Totals of nodejs_active_*: promtool refuses gauges whose name ends in _total.
    for (const kind of ['handles', 'requests', 'resources']) registry.removeSingleMetric(`nodejs_active_${kind}_total`)
    return registry
  }
  let loading: ReturnType<typeof load> | undefined

  return {
    answered({ route, method, status, ms }) {
      const key = `${method} ${route} ${status}`
      const kept = requests.get(key)
      if (kept) kept.value++
      else requests.set(key, { labels: { route, method, status }, value: 1 })
      counters.observe('request', ms)
    },
    async read() {
      loading ??= load()
      const registry = await loading
      return { type: registry.contentType, text: withoutNan(await registry.metrics()) }
    },
  }
}

/** Creates the metrics of an app's process and its jobs. */
export const metricsOf = (app: App, jobs: () => JobStates | undefined = () => undefined): Metrics =>
  createMetrics({
    counters: app.counters,
    jobs,
    queues: async () => {
      // Loaded at the first scrape, like prom-client: it loads all queues.
      const { readQueues } = await import('../queue-depths.ts')
      return readQueues(app).catch((error) => {
        if (!isUnavailable(error)) app.report(error, { metrics: 'queues' })
        return []
      })
    },
  })
