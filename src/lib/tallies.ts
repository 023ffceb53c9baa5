/** What a process counts of its work, by its ends. A mail or a delivery that is tried again later has no end yet. */
const outcomes = {
  /** Attempts: `retried` ones are tried again, the others have ended their delivery. */
  deliveries: ['delivered', 'retried', 'exhausted', 'cancelled'],
  sends: ['sent', 'failed', 'suppressed'],
  /** Claims that nobody held any more, by the job whose they were. */
  freedClaims: ['deliveries', 'mail'],
  /** Steps of the housekeeping. */
  housekeeping: ['done', 'failed'],
} as const

export type Counted = keyof typeof outcomes
export type Outcome<Of extends Counted> = (typeof outcomes)[Of][number]

/** What a process takes the time of. */
const timed = ['request', 'delivery'] as const
export type Timed = (typeof timed)[number]

/** Upper bounds of the classes of durations, in seconds; the last class has none. */
export const bounds = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const

export interface Durations {
  /** How many took at most the bound of the same place. */
  within: number[]
  count: number
  /** In seconds. */
  sum: number
}

export interface Tallies {
  /** Shared with the threads of the process: what one counts all see, also when it is gone. */
  readonly memory: SharedArrayBuffer
  count<Of extends Counted>(what: Of, outcome: Outcome<Of>, by?: number): void
  took(what: Timed, ms: number): void
  counts<Of extends Counted>(what: Of): [outcome: Outcome<Of>, count: number][]
  durations(what: Timed): Durations
}

const places = Object.entries(outcomes).flatMap(([what, ends]) => ends.map((end) => `${what} ${end}`))
const cellOf = new Map(places.map((place, n) => [place, n]))
/** A class each, and the sum. */
const cellsOfTimed = bounds.length + 2
const cells = places.length + timed.length * cellsOfTimed

/** Counts in `memory` that another thread's tallies gave, or in one of its own. No count is ever lost or made twice. */
export const createTallies = (
  memory: SharedArrayBuffer = new SharedArrayBuffer(cells * BigInt64Array.BYTES_PER_ELEMENT),
): Tallies => {
  const numbers = new BigInt64Array(memory)
  const first = (what: Timed) => places.length + timed.indexOf(what) * cellsOfTimed
  return {
    memory,
    count(what, outcome, by = 1) {
      Atomics.add(numbers, cellOf.get(`${what} ${outcome}`)!, BigInt(by))
    },
    took(what, ms) {
      const nth = bounds.findIndex((bound) => ms <= bound * 1000)
      Atomics.add(numbers, first(what) + (nth < 0 ? bounds.length : nth), 1n)
      Atomics.add(numbers, first(what) + bounds.length + 1, BigInt(Math.round(ms * 1000)))
    },
    counts: (what) =>
      outcomes[what].map((outcome) => [
        outcome,
        Number(Atomics.load(numbers, cellOf.get(`${what} ${outcome}`)!)),
      ]) as never,
    durations(what) {
      const classes = Array.from({ length: bounds.length + 1 }, (_, n) =>
        Number(Atomics.load(numbers, first(what) + n)),
      )
      let count = 0
      const within = classes.map((inClass) => (count += inClass))
      return { within: within.slice(0, -1), count, sum: Number(numbers[first(what) + bounds.length + 1]) / 1e6 }
    },
  }
}
