import { calculate } from './slowness.ts'

/** The CPU time of `calculate()` on the reference machine, in µs. */
const unit = 4500
const unitHere = (): number => {
  const before = process.threadCpuUsage()
  calculate(1e6)
  const { user, system } = process.threadCpuUsage(before)
  return user + system
}

/**
 * Returns the CPU time of this thread for a call, in ms of the reference machine. A fixed calculation before and after the call shows
 * how slow this machine is at the moment. Waiting costs nothing.
 */
export const costOf = async <T>(run: () => T | Promise<T>): Promise<[ms: number, result: T]> => {
  const first = unitHere()
  const before = process.threadCpuUsage()
  const result = await run()
  const { user, system } = process.threadCpuUsage(before)
  return [((user + system) / 1000) * Math.min(1, unit / Math.max(first, unitHere())), result]
}

/** Calls twice, and returns the cheaper call: what else the process and the machine do makes one of them dearer, and rarely both. */
export const leastCostOf = async <T>(run: () => Promise<T>): Promise<[ms: number, result: T]> => {
  const [first, second] = [await costOf(run), await costOf(run)]
  return first[0] < second[0] ? first : second
}

/** Returns the shortest duration of several runs in ms. Other programs lengthen some of the runs, and rarely all of them. */
export const fastest = async (run: () => Promise<unknown>): Promise<number> => {
  let shortest = Number.POSITIVE_INFINITY
  for (let turn = 0; turn < 7; turn++) {
    const from = performance.now()
    await run()
    shortest = Math.min(shortest, performance.now() - from)
  }
  return shortest
}
