import type { z } from 'zod'
import { invalid } from './problem.ts'
import { sentence } from './sentence.ts'

/** Checks input that came by no HTTP route against the same shape. Throws `invalid` with one sentence; `name` is what the whole goes by in it. */
export const parse = <S extends z.ZodType>(shape: S, input: unknown, name = 'input'): z.output<S> => {
  const checked = shape.safeParse(input)
  if (!checked.success) throw invalid(sentence(checked.error.issues, name))
  return checked.data
}
