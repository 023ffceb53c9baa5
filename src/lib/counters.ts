/*
 * Threads count in shared memory. Jobs run in threads, and a message for each count would cost more than the count.
 * Threads count in shared memory (`lib/counters.ts`). What a transaction counts is counted at its commit. prom-client
 * formats the numbers and is loaded at the first scrape. A new counter needs a line in `lib/counters.ts`. Figure
 * (2026-11-22): Saves 18 MB in each daemon that is not scraped.
 */

/** The process-wide counters, with the outcomes of each. A message or delivery that will be retried has no final outcome yet. */
const outcomes = {
  /** The attempts. After `retried` the delivery goes on; the other outcomes end it. */
  deliveries: ['delivered', 'retried', 'exhausted', 'cancelled'],
  sends: ['sent', 'failed', 'suppressed'],
  /** Claims of workers that are gone, by job. */
  freedClaims: ['deliveries', 'mail'],
  /** Steps of the housekeeping. */
  housekeeping: ['done', 'failed'],
} as const

export type CounterName = keyof typeof outcomes
export type CounterOutcome<Name extends CounterName> = (typeof outcomes)[Name][number]

const histograms = ['request', 'delivery'] as const
type HistogramName = (typeof histograms)[number]

/** Upper bounds of the histograms' buckets in seconds. One more bucket, without a bound, follows. */
export const bucketBounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export interface Durations {
  /** The number of durations up to each bound. */
  buckets: number[]
  count: number
  /** The sum of the durations in seconds. */
  sum: number
}

export interface Counters {
  /** Shared with the process's threads. Their counts stay when a thread ends. */
  readonly memory: SharedArrayBuffer
  count<Name extends CounterName>(name: Name, outcome: CounterOutcome<Name>, by?: number): void
  observe(name: HistogramName, ms: number): void
  counts<Name extends CounterName>(name: Name): [outcome: CounterOutcome<Name>, count: number][]
  durations(name: HistogramName): Durations
}

const counterKeys = Object.entries(outcomes).flatMap(([name, ends]) => ends.map((end) => `${name} ${end}`))
const cellOf = new Map(counterKeys.map((key, index) => [key, index]))
/** Per histogram: a cell per bucket and one for the sum in microseconds. */
const cellsPerHistogram = bucketBounds.length + 2
const cellCount = counterKeys.length + histograms.length * cellsPerHistogram

/** Counts in `memory`, which another thread's counters supply, or in memory of its own. Updates are atomic across threads. */
export const createCounters = (
  memory: SharedArrayBuffer = new SharedArrayBuffer(cellCount * BigInt64Array.BYTES_PER_ELEMENT),
): Counters => {
  const cells = new BigInt64Array(memory)
  const firstCellOf = (name: HistogramName) => counterKeys.length + histograms.indexOf(name) * cellsPerHistogram
  const read = (cell: number) => Number(Atomics.load(cells, cell))
  return {
    memory,
    count(name, outcome, by = 1) {
      Atomics.add(cells, cellOf.get(`${name} ${outcome}`)!, BigInt(by))
    },
    observe(name, ms) {
      const bucket = bucketBounds.findIndex((bound) => ms <= bound * 1000)
      Atomics.add(cells, firstCellOf(name) + (bucket < 0 ? bucketBounds.length : bucket), 1n)
      Atomics.add(cells, firstCellOf(name) + bucketBounds.length + 1, BigInt(Math.round(ms * 1000)))
    },
    // TypeScript can't relate the outcomes of one name to the union of all.
    counts: (name) => outcomes[name].map((outcome) => [outcome, read(cellOf.get(`${name} ${outcome}`)!)]) as never,
    durations(name) {
      const first = firstCellOf(name)
      let count = 0
      const cumulative = Array.from({ length: bucketBounds.length + 1 }, (_, bucket) => (count += read(first + bucket)))
      return { buckets: cumulative.slice(0, -1), count, sum: read(first + bucketBounds.length + 1) / 1e6 }
    },
  }
}
