import { monitorEventLoopDelay } from 'node:perf_hooks'

/**
 * Measures the longest stall of this process since the call, in ms: a measure of the load of the machine. A test with a
 * short deadline allows a multiple of it where that is longer than the deadline on an idle machine.
 */
export const watchStalls = (): { worstMs(): number; stop(): void } => {
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  return { worstMs: () => delays.max / 1e6, stop: () => delays.disable() }
}
