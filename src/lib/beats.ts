/** When each of several threads last completed a heartbeat or a poll, in memory that they share. */
export interface Beats {
  /** Shared with the threads. */
  readonly memory: SharedArrayBuffer
  beat(name: string): void
  /** ms since the last beat; since the start of the machine where there was none. */
  ageMs(name: string): number
}

/** Monotonic, and the same in every thread of a process. */
const now = (): bigint => process.hrtime.bigint() / 1_000_000n

/** Beats of the threads `names`, in `memory` of another thread's beats or in new memory. Ignores other names. */
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
