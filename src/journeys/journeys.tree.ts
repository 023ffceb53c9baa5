import { type Path, recordOf } from '../lib/faults.ts'
import type { Side } from './journeys.walk.ts'

const sides: readonly Side[] = ['then', 'else', 'a', 'b']

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
