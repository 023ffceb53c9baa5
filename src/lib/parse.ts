import type { z } from 'zod'
import { invalid } from './problem.ts'
import { sentence } from './sentence.ts'

/** Validates input that does not come from an HTTP route. Throws Problem `invalid`, whose message calls the input `name`. */
export const parse = <S extends z.ZodType>(shape: S, input: unknown, name = 'input'): z.output<S> => {
  const checked = shape.safeParse(input)
  if (!checked.success) throw invalid(sentence(checked.error.issues, name))
  return checked.data
}
