import { z } from 'zod'
import { recordOf } from '../lib/file-faults.ts'
import { text } from '../lib/text.ts'
import { FormFields } from '../studio/studio.ts'

/**
 * The honeypot field: invisible to people, filled in by bots (docs/reference/pages.md#signup-forms). No form may have a field of
 * this name.
 */
export const honeypotName = 'confirm_url'

/** Returns a label for a field without one: `First name` for `first_name`. */
const labelOf = (name: string): string => {
  const words = name.replace(/[_-]+/g, ' ').trim() || name.trim()
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** Completes a field. A field may be given as its name only; it is a text field then. */
const wholeField = (given: unknown): unknown => {
  const field = typeof given === 'string' ? { name: given } : recordOf(given)
  if (!field) return given
  return { ...(typeof field.name === 'string' && { label: labelOf(field.name) || 'Field' }), type: 'text', ...field }
}

const reserved = ['email', honeypotName]

const Fields = z
  .preprocess((given) => (Array.isArray(given) ? given.map(wholeField) : given), FormFields)
  .superRefine((fields, context) => {
    for (const [i, { name }] of fields.entries()) {
      if (reserved.includes(name.toLowerCase()))
        context.addIssue({ code: 'custom', path: [i, 'name'], message: 'is reserved' })
    }
  })

/** An origin as browsers send it: scheme, host and port, such as `https://shop.example`. */
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

/** A form file. The list is given by id or name, as `list` or (as in the output of `svc forms show`) as `listId`. */
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
      context.addIssue({ code: 'custom', path: ['list'], message: 'cannot be used together with listId' })
  })
export type FormFile = z.output<typeof FormFile>
