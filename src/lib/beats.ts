/** When each of several things happened last, such as a thread's heartbeat, in memory that the threads of a process share. */
export interface Beats {
  /** Shared with the threads. */
  readonly memory: SharedArrayBuffer
  beat(name: string): void
  /** Forgets the last beat. */
  clear(name: string): void
  /** Returns the ms since the last beat, or since the machine's start if there was none. */
  ageMs(name: string): number
}

/** Monotonic, with the same origin in every thread of the process. */
const now = (): bigint => process.hrtime.bigint() / 1_000_000n

/** Creates the beats of `names` in new memory or in that of another thread. Other names are ignored. */
export const createBeats = (
  names: readonly string[],
  memory = new SharedArrayBuffer(names.length * BigInt64Array.BYTES_PER_ELEMENT),
): Beats => {
  const times = new BigInt64Array(memory)
  const set = (name: string, time: bigint) => {
    const at = names.indexOf(name)
    if (at >= 0) Atomics.store(times, at, time)
  }
  return {
    memory,
    beat: (name) => set(name, now()),
    clear: (name) => set(name, 0n),
    ageMs(name) {
      const at = names.indexOf(name)
      return Number(now() - (at < 0 ? 0n : Atomics.load(times, at)))
    },
  }
}
