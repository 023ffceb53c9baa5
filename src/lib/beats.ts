/** The time of each thread's last heartbeat or poll, in memory that the threads share. */
interface Beats {
  /** Shared with the threads. */
  readonly memory: SharedArrayBuffer
  beat(name: string): void
  /** Returns the ms since the last beat, or since the machine's start if there was none. */
  ageMs(name: string): number
}

/** Monotonic, with the same origin in every thread of the process. */
const now = (): bigint => process.hrtime.bigint() / 1_000_000n

/** Creates the beats of the threads `names` in new memory or in that of another thread. Other names are ignored. */
export const createBeats = (
  names: readonly string[],
  memory = new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT),
): Beats => {
  const times = new BigInt64Array(memory)
  return {
    memory,
    beat(name) {
      const at = names.indexOf(name)
      if (at >= 0) Atomics.store(times, at, now())
    },
    ageMs: (name) => Number(now() - Atomics.load(times, names.indexOf(name))),
  }
}
