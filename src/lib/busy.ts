const windowMs = 100
const busyFrom = 0.7

let last = performance.eventLoopUtilization()
let lastAt = performance.now()
let wasBusy = false

/** Returns whether this thread's event loop was in use for more than 70 % of the last 100 ms or more. */
export const isThreadBusy = (): boolean => {
  const nowMs = performance.now()
  if (nowMs - lastAt < windowMs) return wasBusy
  const now = performance.eventLoopUtilization()
  wasBusy = performance.eventLoopUtilization(now, last).utilization > busyFrom
  last = now
  lastAt = nowMs
  return wasBusy
}
