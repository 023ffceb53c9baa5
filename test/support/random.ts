/** A generator of random numbers, determined by a seed (mulberry32). */
export interface Random {
  /** Returns a number in [0, 1). */
  next(): number
  /** Returns a whole number from `least` to `most`, inclusive. */
  between(least: number, most: number): number
  pick<T>(items: readonly T[]): T
  shuffled<T>(items: readonly T[]): T[]
  /** Returns an independent generator, determined by this one's seed and a name. */
  fork(name: string): Random
}

export const createRandom = (seed: number): Random => {
  let state = seed | 0
  const next = () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    pick: (items) => items[between(0, items.length - 1)]!,
    shuffled(items) {
      const result = [...items]
      for (let i = result.length - 1; i > 0; i--) {
        const j = between(0, i)
        ;[result[i], result[j]] = [result[j]!, result[i]!]
      }
      return result
    },
    fork: (name) => createRandom([...name].reduce((hash, letter) => Math.imul(hash, 31) + letter.charCodeAt(0), seed)),
  }
}

/**
 * Returns a generator for one test. Its seed is that of the run, which vitest prints; `TEST_SEED` repeats a run as far as its
 * processes and clocks allow.
 */
export const randomOfTest = (): Random => createRandom(Number(process.env.TEST_SEED))
