import type { App, Work } from '../store/work.ts'

/** Runs `run` in a unit of work that `open` opens, rolls the unit back, and returns the result of `run`. */
export const rolledBack = async <Unit, T>(
  open: (run: (unit: Unit) => Promise<never>) => Promise<never>,
  run: (unit: Unit) => Promise<T>,
): Promise<T> => {
  const rollback = new Error('Rolled back after a trial')
  let result: { value: T } | undefined
  const trial = async (unit: Unit): Promise<never> => {
    result = { value: await run(unit) }
    throw rollback
  }
  await open(trial).catch((error) => {
    if (error !== rollback) throw error
  })
  return result!.value
}

/** Returns an app whose units of work are rolled back, for operations that open their own. */
export const rollingBack = (app: App): App =>
  Object.create(app, {
    work: {
      value: <T>(accountId: string, actor: string, run: (work: Work) => Promise<T>) =>
        rolledBack<Work, T>((trial) => app.work<never>(accountId, actor, trial), run),
    },
  })
