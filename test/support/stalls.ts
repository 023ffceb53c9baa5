import { monitorEventLoopDelay } from 'node:perf_hooks'

/**
 * For how long at most this process was held up since the call, in ms: a measure of how busy the machine is. A test of what
 * is to happen at once allows so many times that, where it is more than the time that it has on a machine of its own.
 */
export const watchStalls = (): { worstMs(): number; stop(): void } => {
  const delays = monitorEventLoopDelay({ resolution: 10 })
  delays.enable()
  return { worstMs: () => delays.max / 1e6, stop: () => delays.disable() }
}
