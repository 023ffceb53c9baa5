import { z } from 'zod'

/* Shapes that several features share. */

export const Color = z.string().regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a colour such as #1a2b3c')

/** A BCP 47 language tag. */
export const Lang = z
  .string()
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8}){0,3}$/, 'must be a language such as en or pt-BR')

const times = new WeakSet<z.core.$ZodType>()

/** A time in the API. The unit is added to the first part of the description, before a semicolon. */
export const epochMs = (description: string) => {
  const shape = z.int().describe(description.replace(/;|$/, ', in epoch ms$&'))
  times.add(shape)
  return shape
}

/** Returns whether a shape was made by `epochMs`. */
export const isEpochMs = (shape: z.core.$ZodType): boolean => times.has(shape)
