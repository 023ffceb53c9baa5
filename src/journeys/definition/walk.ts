import { pathText } from '../../lib/file-faults.ts'
import type { Definition, Step } from './definition.schema.ts'

/** The lists of steps that a step can hold. */
export type Side = 'then' | 'else' | 'a' | 'b'

export const sides: readonly Side[] = ['then', 'else', 'a', 'b']

/** The place of a step: its index in `steps`, then side and index for each nested level: `[2, 'then', 0]`. */
export type Cursor = readonly (number | Side)[]

const sideOf = (step: Step | undefined, side: Side): readonly Step[] =>
  ((step as Partial<Record<Side, readonly Step[]>> | undefined)?.[side] ?? []) as readonly Step[]

/** Returns the step at a place. Throws Error if the definition has none there: a cursor belongs to one version. */
export const stepAt = ({ steps }: Pick<Definition, 'steps'>, cursor: Cursor): Step => {
  let among: readonly Step[] = steps
  let step: Step | undefined
  for (const part of cursor) {
    if (typeof part === 'number') step = among[part]
    else among = sideOf(step, part)
  }
  if (typeof cursor.at(-1) !== 'number' || !step) throw new Error(`The definition has no step at ${pathOf(cursor)}`)
  return step
}

const hasStep = ({ steps }: Pick<Definition, 'steps'>, cursor: Cursor): boolean => {
  const among = cursor.length === 1 ? steps : sideOf(stepAt({ steps }, cursor.slice(0, -2)), cursor.at(-2) as Side)
  return (cursor.at(-1) as number) < among.length
}

/** Returns the place where a run begins, or null if the definition has no steps. */
export const firstCursor = (definition: Pick<Definition, 'steps'>): Cursor | null =>
  definition.steps.length > 0 ? [0] : null

/**
 * Returns the place after a completed step; after the last step of a side, the place after the step that has the side; null at the
 * end of the journey.
 */
export const after = (definition: Pick<Definition, 'steps'>, cursor: Cursor): Cursor | null => {
  for (let done = cursor; done.length > 0; done = done.slice(0, -2)) {
    const next = [...done.slice(0, -1), (done.at(-1) as number) + 1]
    if (hasStep(definition, next)) return next
  }
  return null
}

/** Returns the first place in a side of the step at `cursor`; if the side is absent or empty, the place after that step. */
export const into = (definition: Pick<Definition, 'steps'>, cursor: Cursor, side: Side): Cursor | null =>
  sideOf(stepAt(definition, cursor), side).length > 0 ? [...cursor, side, 0] : after(definition, cursor)

/** Returns the maximum number of emails that one run can send. A run takes one side of each step that has sides. */
export const mostEmails = (steps: readonly Step[]): number =>
  steps.reduce((sum, step) => {
    const own = step.kind === 'send-email' ? 1 : 0
    return sum + own + Math.max(...sides.map((side) => mostEmails(sideOf(step, side))))
  }, 0)

/** Returns a place as text: `steps[2].then[0]`. */
export const pathOf = (cursor: Cursor): string => pathText(['steps', ...cursor])
