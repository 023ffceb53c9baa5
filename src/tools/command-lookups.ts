import type { Lookups } from '../cli/run.ts'

/** Each is loaded when a command looks something up. */
export const lookups: Lookups = {
  namesOf: async (...given) => (await import('../app/find-ids.ts')).namesOf(...given),
  consoleUrl: async () => (await import('./dev/dev.ts')).consoleUrl(),
}
