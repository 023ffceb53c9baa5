import { setTimeout as sleep } from 'node:timers/promises'
import { waitLimitMs } from './slowness.ts'

type Falsy = false | null | undefined

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
    const found = await check()
    if (found) return found as Exclude<T, Falsy>
    const now = performance.now()
    if (now - began > limitMs) throw new Error(`Not so after ${limitMs} ms: ${check}`)
    await sleep(Math.min(200, Math.max(15, Math.min(60, (now - began) / 20), 4 * (now - from))))
  }
}
