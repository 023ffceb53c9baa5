import { setFlagsFromString } from 'node:v8'

/**
 * Makes V8 collect garbage early, for commands that stream. By default V8 trades memory for time: it keeps about 150 MB of
 * dead rows beside 35 MB of live data. A command that waits for the database has time to spare. Call this before anything
 * is loaded (in a `preAction` hook), since the heap does not shrink again.
 */
export const collectEarly = (): void => {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=40')
}
