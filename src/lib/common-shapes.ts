import { z } from 'zod'

/* Shapes that several features share. */

export const Color = z.string().regex(/^#([0-9a-f]{3}|[0-9a-f]{6})$/i, 'must be a colour such as #1a2b3c')

const isLanguage = (lang: string): boolean => {
  try {
    return Intl.getCanonicalLocales(lang).length === 1
  } catch {
    return false
  }
}

const languageError = 'must be a language such as en or pt-BR'

/** A BCP 47 language tag that `Intl` accepts. */
export const Lang = z
  .string()
  .max(60)
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, { error: languageError, abort: true })
  .refine(isLanguage, languageError)

/**
 * Returns a stored language. Returns undefined for none, and for one that `Intl` refuses: earlier versions accepted these in
 * projects.
 */
export const usableLang = (lang: string | undefined): string | undefined =>
  lang !== undefined && isLanguage(lang) ? lang : undefined

const times = new WeakSet<z.core.$ZodType>()

/** A time in the API. The unit is added to the first part of the description, before a semicolon. */
export const epochMs = (description: string) => {
  const shape = z.int().describe(description.replace(/;|$/, ', in epoch ms$&'))
  times.add(shape)
  return shape
}

export const isEpochMs = (shape: z.core.$ZodType): boolean => times.has(shape)
