import { z } from 'zod'
import { infiniteFault } from './infinite.ts'
import { withMaxItems } from './max-items.ts'
import { text } from './text.ts'

const fieldsMax = 100

const Value = z.unknown().superRefine((value, { addIssue }) => {
  const fault = infiniteFault(value)
  if (fault) addIssue(fault)
})

const scalar = (value: unknown): string | null => {
  if (value === null || value === undefined) return ''
  return typeof value === 'object' ? null : String(value)
}

/**
 * Returns the shape of merge data whose names and values have at most `maxLength` characters. The result is flat: nested values
 * are dropped, null becomes an empty text, other values become their text.
 */
export const mergeDataOf = (maxLength: number) =>
  withMaxItems(z.record(text(maxLength), Value), fieldsMax, `can't have more than ${fieldsMax} fields`)
    .transform((fields) =>
      Object.fromEntries(
        Object.entries(fields).flatMap(([name, value]) => {
          const kept = scalar(value)
          return kept === null ? [] : [[name, kept] as const]
        }),
      ),
    )
    .pipe(z.record(z.string(), text(maxLength)))
    .meta({ maxProperties: fieldsMax })

/** The longest name or value of a trigger's data, and the largest size of all. Each step of a run writes its data again. */
const triggerLength = 10_000
const triggerBytes = 64 * 1024

/** The data of a trigger: merge data of the run that it starts. */
export const TriggerData = mergeDataOf(triggerLength).refine(
  (data) => Buffer.byteLength(JSON.stringify(data)) <= triggerBytes,
  'must be at most 64 KB of JSON',
)
export type TriggerData = z.output<typeof TriggerData>
