import type { Side } from './journeys.walk.ts'

export type Path = readonly (string | number)[]

const sides: readonly Side[] = ['then', 'else', 'a', 'b']

/** The value where it is an object with properties, else null. */
export const recordOf = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : null

interface Placed {
  step: Record<string, unknown>
  path: Path
}

function* among(steps: unknown, path: Path): Generator<Placed> {
  if (!Array.isArray(steps)) return
  for (const [i, value] of steps.entries()) {
    const step = recordOf(value)
    if (!step) continue
    yield { step, path: [...path, i] }
    for (const side of sides) yield* among(step[side], [...path, i, side])
  }
}

/** Every step of a file with its place, those in sides after the step that holds them, however faulty the file is. */
export const stepsOf = (file: unknown): Generator<Placed> => among(recordOf(file)?.steps, ['steps'])

/** `steps[2].then[0].list` */
export const pathText = (path: Path): string =>
  path.map((part, i) => (typeof part === 'number' ? `[${part}]` : i === 0 ? part : `.${part}`)).join('')
