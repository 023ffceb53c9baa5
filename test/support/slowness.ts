import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { availableParallelism, loadavg } from 'node:os'
import { Worker } from 'node:worker_threads'

/**
 * How many times slower this machine is than the one on which limits of the tests were chosen, when that one is idle; at least 1.
 * It is measured once, by the process that starts the run; its children read it from TEST_SLOWNESS, which can also be set by hand.
 */

/** Calculates. A million turns take 4.5 ms on the reference machine. */
export const calculate = (turns: number): number => {
  let state = 1
  for (let turn = 0; turn < turns; turn++) state = (state * 1_103_515_245 + turn) & 0x7fff_ffff
  return state
}

const durationOf = async (run: () => unknown): Promise<number> => {
  const from = performance.now()
  await run()
  return performance.now() - from
}

/** Calculates and starts processes, one after the other: how fast a core and the system are. */
const oneAfterTheOther = () => {
  for (let round = 0; round < 3; round++) {
    calculate(4e6)
    spawnSync(process.execPath, ['--version'])
  }
}
/** Its duration on the reference machine. */
const oneAfterTheOtherMs = 105

/**
 * Calculates in two threads at once, as the reference machine has two cores. A limit of CPU time, as containers have, applies to
 * periods of 100 ms: only work that is longer shows it.
 */
const together = () => {
  const thread = () => new Worker(`(${calculate})(50e6)`, { eval: true })
  return Promise.all([once(thread(), 'exit'), once(thread(), 'exit')])
}
/** Its duration on the reference machine. */
const togetherMs = 250

const measure = async (): Promise<number> => {
  const factors = [(await durationOf(oneAfterTheOther)) / oneAfterTheOtherMs, (await durationOf(together)) / togetherMs]
  return Math.round(10 * Math.max(1, ...factors)) / 10
}

export const readSlowness = (text: string): number => {
  const given = Number(text)
  if (!(given >= 1 && given <= 1000)) throw new Error('TEST_SLOWNESS must be a number from 1 to 1000')
  return given
}

const { TEST_SLOWNESS } = process.env
export const slowness = TEST_SLOWNESS ? readSlowness(TEST_SLOWNESS) : await measure()
process.env.TEST_SLOWNESS = String(slowness)

/**
 * On a slow machine a call can wait longer for a lock or a connection than it may. Then it is repeated, as by a client. A machine
 * that became busy after the start of the run is also slow: the load is that of the last minute.
 */
export const isSlow = (): boolean => slowness >= 4 || loadavg()[0]! >= 5 * availableParallelism()

/** Returns what a limit of `ms` on the reference machine is on this one. */
export const limit = (ms: number): number => Math.round(ms * slowness)

/**
 * The limit of a test and of a hook. No working test comes near it, also if the machine becomes busy after the start of the run:
 * only a hanging test exceeds it.
 */
export const testLimitMs = limit(300_000)

/** The limit of waiting for a state. It ends before the test's, so that the failure shows the state. */
export const waitLimitMs = limit(240_000)
