import { z } from 'zod'
import { recordOf } from '../lib/faults.ts'
import { text } from '../lib/text.ts'
import { FormFields } from '../studio/studio.ts'

/**
 * The field that people do not see and programs fill (decisions.md, Public pages and forms). No form may ask for it.
 */
export const trapName = 'confirm_url'

/** `first_name` is asked for as `First name`. */
const labelOf = (name: string): string => {
  const words = name.replace(/[_-]+/g, ' ').trim() || name.trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A field may be its name alone: a line of text then. */
const wholeField = (given: unknown): unknown => {
  const field = typeof given === 'string' ? { name: given } : recordOf(given)
  if (!field) return given
  return { ...(typeof field.name === 'string' && { label: labelOf(field.name) || 'Field' }), type: 'text', ...field }
}

const reserved = ['email', trapName]

const Fields = z
  .preprocess((given) => (Array.isArray(given) ? given.map(wholeField) : given), FormFields)
  .superRefine((fields, context) => {
    for (const [i, { name }] of fields.entries()) {
      if (reserved.includes(name.toLowerCase()))
        context.addIssue({ code: 'custom', path: [i, 'name'], message: 'must be another name' })
    }
  })

/** `https://shop.example`: scheme, host and port, as a browser sends it. */
const Origin = text(300)
  .refine(
    (url) => URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && /^[^/]+\/\/[^/?#@*]+\/?$/.test(url),
    {
      error: 'must be an origin such as https://shop.example',
      abort: true,
    },
  )
  .transform((url) => new URL(url).origin)

const Ref = text(200).min(1)

/** What an author writes. The list goes by id or name, under `list` or, as the form is shown, `listId`. */
export const FormFile = z
  .strictObject({
    id: Ref.optional(),
    name: text(200).trim().min(1),
    list: Ref.optional(),
    listId: Ref.optional(),
    fields: Fields.default([]),
    doubleOptIn: z.boolean().default(false),
    origins: z
      .array(Origin)
      .max(50)
      .default([])
      .transform((origins) => [...new Set(origins)]),
  })
  .superRefine(({ list, listId }, context) => {
    if (list === undefined && listId === undefined)
      context.addIssue({ code: 'custom', path: ['list'], message: 'is required' })
    if (list !== undefined && listId !== undefined)
      context.addIssue({ code: 'custom', path: ['list'], message: 'must not stand beside listId' })
  })
export type FormFile = z.output<typeof FormFile>
