import { AsyncLocalStorage } from 'node:async_hooks'

/*
 * What a test starts ends with the test, and what the hooks of a file start ends with the file, whatever happens: setup.ts runs each
 * test and each file in a scope of its own. Outside of a scope, as in a measurement, all of this has no effect.
 */

interface Scope {
  isOver: boolean
  ends: (() => unknown)[]
}

const scopes = new AsyncLocalStorage<Scope>()

const endAll = async (ends: Scope['ends'], faults: unknown[] = []): Promise<void> => {
  for (let end = ends.pop(); end; end = ends.pop()) {
    try {
      await end()
    } catch (fault) {
      faults.push(fault)
    }
  }
  if (faults.length > 0) throw new AggregateError(faults)
}

/** Ends what the current test has started so far, last first, before the hooks that close what that uses. */
export const endStarted = (): Promise<void> => endAll(scopes.getStore()?.ends ?? [])

/** Runs `run` in a scope of its own; afterwards ends what was started in it, last first. Throws what failed of that. */
export const inScope = async (run: () => Promise<void>): Promise<void> => {
  const scope: Scope = { isOver: false, ends: [] }
  const faults: unknown[] = []
  await scopes.run(scope, run).catch((fault) => void faults.push(fault))
  scope.isOver = true
  await endAll(scope.ends, faults)
}

/** Runs `run` outside of the test and the file: what it starts lives as long as the worker. */
export const outOfScope = <T>(run: () => T): T => scopes.exit(run)

/** Has `end` called after the test or, in a hook of the file, after the file. It is called at once if the test is over. */
export const atEnd = (end: () => unknown): void => {
  const scope = scopes.getStore()
  if (scope?.isOver) end()
  else scope?.ends.push(end)
}

/**
 * Settles as `work` does, or never if the test is over by then. A test that has failed goes no further: it writes nothing that
 * the next test finds, and what it left running causes no unhandled rejection.
 */
export const inTest = async <T>(work: T | Promise<T>): Promise<T> => {
  const scope = scopes.getStore()
  try {
    return await work
  } finally {
    if (scope?.isOver) await new Promise(() => {})
  }
}
