/** When each of several things happened last, such as a thread's heartbeat, in memory that the threads of a process share. */
export interface Beats {
  /** Shared with the threads. */
  readonly memory: SharedArrayBuffer
  beat(name: string): void
  /** Forgets the last beat, and returns whether there was one. */
  clear(name: string): boolean
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
  /** Returns the former time. */
  const set = (name: string, time: bigint): bigint => {
    const at = names.indexOf(name)
    return at < 0 ? 0n : Atomics.exchange(times, at, time)
  }
  return {
    memory,
    beat: (name) => void set(name, now()),
    clear: (name) => set(name, 0n) !== 0n,
    ageMs(name) {
      const at = names.indexOf(name)
      return Number(now() - (at < 0 ? 0n : Atomics.load(times, at)))
    },
  }
}
