import { setTimeout as sleep } from 'node:timers/promises'
import { isUnavailable } from '../../src/store/faults.ts'
import { inTest } from './scope.ts'
import { isSlow, limit, waitLimitMs } from './slowness.ts'

type Falsy = false | null | undefined

/** Returns what the check returns, or null if the database is unavailable on a slow machine: the check runs again. */
const asked = async <T>(check: () => T | Promise<T>): Promise<T | null> => {
  try {
    return await inTest(check())
  } catch (error) {
    if (isSlow() && isUnavailable(error)) return null
    throw error
  }
}

/**
 * Waits until `check` returns a truthy value, and returns it. The pauses grow with the duration of a check and with the time
 * waited, so that checks don't slow down what they wait for.
 */
export const eventually = async <T>(
  check: () => T | Promise<T>,
  limitMs: number = waitLimitMs,
): Promise<Exclude<T, Falsy>> => {
  const began = performance.now()
  for (;;) {
    const from = performance.now()
    const found = await asked(check)
    if (found) return found as Exclude<T, Falsy>
    const now = performance.now()
    if (now - began > limitMs) throw new Error(`Not so after ${limitMs} ms: ${check}`)
    await inTest(sleep(Math.min(200, Math.max(15, Math.min(60, (now - began) / 20), 4 * (now - from)))))
  }
}

/**
 * Repeats a function while the database is unavailable, as a client repeats a call at 503: on a slow machine one of many concurrent
 * calls waits longer for a lock or a connection than it may.
 */
export const served = async <T>(call: () => Promise<T>): Promise<T> => {
  for (;;) {
    try {
      return await inTest(call())
    } catch (error) {
      if (!isUnavailable(error)) throw error
    }
  }
}

/**
 * Whether a promise settles within `ms`, by a clock that counts turns of this process's event loop: a pause of the process counts as one
 * turn, and a slow machine delays the clock as it delays what the promise waits for.
 */
export const settlesWithin = async (promise: Promise<unknown>, ms: number): Promise<boolean> => {
  let isSettled = false
  const settled = promise.finally(() => {
    isSettled = true
  })
  settled.catch(() => {})
  const turns = 50
  for (let turn = 0; turn < turns && !isSettled; turn++) await Promise.race([settled, sleep(limit(ms) / turns)])
  return isSettled
}
