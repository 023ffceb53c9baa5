import type { Metric } from 'prom-client'
import type { Metrics } from '../http/metrics.ts'
import { bounds, type Counted, type Durations, type Tallies } from '../lib/tallies.ts'
import { isUnavailable } from '../store/database.ts'
import type { App } from '../store/work.ts'
import type { JobStates } from './jobs.states.ts'
import { type QueueDepth, readQueues } from './queues.ts'

/** Queues are read from the database at most so often, however many scrape. */
const queuesMs = 10_000

/** A metric whose numbers are counted elsewhere, as the registry asks for it. */
const given = (name: string, help: string, type: string, read: () => Promise<object[]> | object[]) =>
  ({ name, help, type, get: async () => ({ name, help, type, values: await read() }) }) as unknown as Metric

const histogram = (name: string, help: string, read: () => Durations) =>
  given(name, help, 'histogram', () => {
    const { within, count, sum } = read()
    const classes = [...bounds, '+Inf'].map((le, n) => ({
      metricName: `${name}_bucket`,
      labels: { le },
      value: within[n] ?? count,
    }))
    return [...classes, { metricName: `${name}_sum`, value: sum }, { metricName: `${name}_count`, value: count }]
  })

/** What was read last, unless that is too long ago. */
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

interface Sources {
  tallies: Tallies
  /** Nothing while the database is away: a number of before would be a lie. */
  queues(): Promise<QueueDepth[]>
  /** undefined: this process runs none. */
  jobs?(): JobStates | undefined
  nowMs?(): number
}

/**
 * The metrics of this process (decisions.md, Metrics), under names that dashboards rely on. prom-client is loaded at the first
 * scrape: 50 ms and 18 MB that a daemon which nobody scrapes does not spend.
 */
export const createMetrics = ({ tallies, queues, jobs, nowMs = () => performance.now() }: Sources): Metrics => {
  const requests = new Map<string, { labels: object; value: number }>()
  const depths = queueReader(queues, nowMs)

  const load = async () => {
    const { collectDefaultMetrics, Registry } = await import('prom-client')
    const registry = new Registry()
    const counted = (name: string, help: string, what: Counted, label: string) =>
      given(name, help, 'counter', () =>
        tallies.counts(what).map(([outcome, value]) => ({ labels: { [label]: outcome }, value })),
      )
    const gauge = (name: string, help: string, value: (depth: QueueDepth) => number) =>
      given(name, help, 'gauge', async () =>
        (await depths()).map((depth) => ({ labels: { queue: depth.queue }, value: value(depth) })),
      )
    for (const metric of [
      given('svc_http_requests_total', 'Requests answered', 'counter', () => [...requests.values()]),
      histogram('svc_http_request_duration_seconds', 'How long their answers took', () => tallies.durations('request')),
      counted('svc_deliveries_total', 'Attempts at deliveries, by what they led to', 'deliveries', 'outcome'),
      histogram('svc_delivery_duration_seconds', 'How long endpoints took', () => tallies.durations('delivery')),
      counted('svc_sends_total', 'Mails, by what became of them', 'sends', 'status'),
      counted('svc_freed_claims_total', 'Claims freed because no worker held them', 'freedClaims', 'job'),
      counted('svc_housekeeping_steps_total', 'Steps of the housekeeping', 'housekeeping', 'outcome'),
      given('svc_job_up', 'Whether a job of this process runs and is not stalled', 'gauge', () =>
        Object.entries(jobs?.() ?? {}).map(([job, state]) => ({ labels: { job }, value: Number(state === 'ok') })),
      ),
      gauge('svc_queue_depth', 'How much of a queue is due', ({ depth }) => depth),
      gauge('svc_queue_oldest_seconds', 'How long the oldest has been due', ({ oldestSeconds }) => oldestSeconds),
    ])
      registry.registerMetric(metric)
    collectDefaultMetrics({ register: registry })
    return registry
  }
  let loading: ReturnType<typeof load> | undefined

  return {
    answered({ route, method, status, ms }) {
      const key = `${method} ${route} ${status}`
      const kept = requests.get(key)
      if (kept) kept.value++
      else requests.set(key, { labels: { route, method, status }, value: 1 })
      tallies.took('request', ms)
    },
    async read() {
      loading ??= load()
      const registry = await loading
      return { type: registry.contentType, text: await registry.metrics() }
    },
  }
}

/** The metrics of an app's process, and of its jobs. */
export const metricsOf = (app: App, jobs: () => JobStates | undefined = () => undefined): Metrics =>
  createMetrics({
    tallies: app.tallies,
    jobs,
    queues: () =>
      readQueues(app).catch((error) => {
        if (!isUnavailable(error)) app.report(error, { metrics: 'queues' })
        return []
      }),
  })
